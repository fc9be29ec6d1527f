"""Values that users get compare, unpack and are pickled; types and verbs agree on documents."""

import copy
import dataclasses
import pickle
from collections import Counter

import numpy as np
import pyarrow
import pytest
from over import over
from type_checking import checked

import simdb
from simdb.core import documents, errors
from simdb.database import estimate_deviation

WEIGHTS = np.linspace(-1, 1, 64).astype(np.float32)
BITS = sum(1 << place for place in range(64) if WEIGHTS[place] >= 0)


@over("bits", [-1, 2**64, True, 1.0, "1", None])
def test_bits_that_are_no_64_bits_are_refused(bits):
    with pytest.raises(simdb.InputError, match=r"2\*\*64 - 1"):
        simdb.Fingerprint(bits)


@over(
    "weights",
    [
        np.zeros(63),
        np.zeros(257),
        np.zeros((2, 64)),
        np.array(1.0),
        "text",
        [None] * 64,
        np.full(64, np.nan),
        np.full(64, np.inf),
    ],
)
def test_weights_that_cannot_be_are_refused(weights):
    with pytest.raises(simdb.InputError, match="weights"):
        simdb.Fingerprint(0, weights)


def test_fingerprints_compare_by_bits_and_weights():
    plain = simdb.Fingerprint(5)

    assert plain == simdb.Fingerprint(5)
    assert plain != simdb.Fingerprint(6)
    assert plain != simdb.Fingerprint(5, WEIGHTS)
    assert simdb.Fingerprint(5, WEIGHTS) == simdb.Fingerprint(5, WEIGHTS.copy())
    assert plain != simdb.Fingerprint(5, is_empty=True)
    assert plain != 5
    assert len({plain, simdb.Fingerprint(5), simdb.Fingerprint(6)}) == 2
    assert int(plain) == 5


def test_the_most_volatile_bit_has_the_smallest_weight():
    fingerprint = simdb.Fingerprint(BITS, WEIGHTS)

    assert sorted(fingerprint.volatility.tolist()) == list(range(64))
    assert set(fingerprint.volatility[:2].tolist()) == {31, 32}
    with pytest.raises(simdb.InputError, match="no weights"):
        _ = simdb.Fingerprint(5).volatility


def test_many_fingerprints_are_a_sequence_of_single_ones():
    many = simdb.Fingerprints(
        np.array([BITS, 2**64 - 1], np.uint64), np.stack([WEIGHTS, 0 * WEIGHTS])
    )

    assert len(many) == 2
    assert many[0] == simdb.Fingerprint(BITS, WEIGHTS)
    assert many[1].is_empty
    assert list(simdb.Fingerprints(np.array([5], np.uint64))) == [simdb.Fingerprint(5)]


@over(
    "bits",
    [
        [1, 2],
        np.arange(3),
        np.arange(32, dtype=np.uint8),
        np.zeros((2, 0), np.uint8),
        np.zeros((2, 5), np.uint8),
        np.zeros((2, 68), np.uint8),
        np.zeros((2, 9), np.uint64),
        np.zeros((2, 60), np.bool_),
        np.zeros((2, 56), np.bool_),
        np.zeros(64, np.bool_),
        np.zeros((2, 4), np.int8),
        5,
    ],
)
def test_bits_of_another_type_or_size_are_refused(bits):
    with pytest.raises(simdb.InputError, match=r"bits must be uint64\[n\]"):
        simdb.Fingerprints(bits)


@over("size", [0, 16, 33, 48, 544, -64, 64.5, True, "64", None])
def test_sizes_that_no_hash_has_are_refused(size):
    with pytest.raises(simdb.InputError, match="32 to 512 bits, a multiple of 32"):
        simdb.Fingerprint(0, size=size)


@over("size", range(32, 513, 32))
def test_a_fingerprint_of_any_size_is_bytes_digits_and_a_number(size):
    content = bytes(range(7, 7 + size // 8))
    number = int.from_bytes(content, "big")

    found = simdb.Fingerprint(number, size=size)

    assert (bytes(found), found.hex(), int(found)) == (content, content.hex(), number)
    assert repr(found).startswith(f"<simdb.Fingerprint 0x{content.hex()}, ")
    assert bytes(simdb.Fingerprint(1, size=size)) == bytes(size // 8 - 1) + b"\1"
    assert simdb.Fingerprint(2**size - 1, size=size).hex() == "f" * (size // 4)
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found
    assert len({found, simdb.Fingerprint(number, size=size)}) == 1
    with pytest.raises(simdb.InputError, match=rf"0 .. 2\*\*{size} - 1"):
        simdb.Fingerprint(2**size, size=size)


def test_fingerprints_of_two_sizes_differ_and_have_no_distance():
    narrow, wide = simdb.Fingerprint(5, size=32), simdb.Fingerprint(5, size=256)

    assert narrow != wide
    assert repr(wide).endswith("0005, 256 bits>")
    assert simdb.distance(wide, simdb.Fingerprint(2**255, size=256)) == 3
    assert simdb.distance(2**200, wide) == 3
    with pytest.raises(simdb.InputError, match="32 bits; a hash has 256 here"):
        simdb.distance(wide, narrow)
    with pytest.raises(simdb.InputError, match="of 256 bits have no weights"):
        simdb.Fingerprint(5, WEIGHTS, size=256)
    with pytest.raises(simdb.InputError, match="hashes of 32 bits have no weights"):
        simdb.Fingerprints(np.zeros((1, 4), np.uint8), WEIGHTS[None])


@over("size", [32, 64, 96, 128, 256, 512])
def test_hashes_are_given_packed_as_words_or_as_flags(size):
    rows = np.random.default_rng(size).integers(0, 256, (3, size // 8), np.uint8)
    contents = [bytes(row) for row in rows]
    flags = np.unpackbits(rows, axis=1).astype(np.bool_)
    words = [rows.view(">u8").astype(np.uint64)] if size % 64 == 0 else []

    for given in (rows, flags, flags.reshape(3, 4, -1), rows[::-1][::-1], *words):
        many = simdb.Fingerprints(given)

        assert (len(many), many.size) == (3, size)
        assert (many.bits.ndim, many.bits.dtype) == ((1, "u8") if size == 64 else (2, "u1"))
        assert [bytes(each) for each in many] == contents
        assert [bytes(each) for each in many.taken(slice(1, 3))] == contents[1:]
        assert [bytes(each) for each in many.taken(np.array([2, 0]))] == [contents[2], contents[0]]
        assert not many.is_empty().any()
        assert many[-1].hex() == contents[2].hex()
        assert f": 0x{contents[0].hex()}, 0x{contents[1].hex()}" in repr(many)
        assert [*map(bytes, pickle.loads(pickle.dumps(many)))] == contents
    assert len(simdb.Fingerprints(rows[:0])) == len(simdb.Fingerprints(flags[:0])) == 0


def test_hashes_in_columns_of_bytes_are_fingerprints():
    contents = [bytes(range(at, at + 32)) for at in (0, 9)]

    for kind in (pyarrow.binary(32), pyarrow.binary()):
        batch = pyarrow.table({"bits": pyarrow.array(contents, kind)})

        assert [*map(bytes, simdb.Fingerprints.from_arrow(batch))] == contents


def test_a_database_of_fingerprints_refuses_hashes_of_another_size(database):
    wide = simdb.Fingerprint(5, size=128)
    many = simdb.Fingerprints(np.zeros((1, 16), np.uint8))

    for refused in (
        lambda: database.insert("a", wide),
        lambda: database.query(wide, distance=3),
        lambda: database.insert_many(["a", "b"], [simdb.Fingerprint(5), wide]),
        lambda: database.insert_many(["a"], many),
        lambda: simdb.find_clusters([simdb.Fingerprint(5), wide]),
    ):
        with pytest.raises(simdb.InputError):
            refused()


def test_bits_and_weights_are_of_one_length():
    with pytest.raises(simdb.InputError, match="3 fingerprints have weights of 2"):
        simdb.Fingerprints(np.zeros(3, np.uint64), np.zeros((2, 64)))


@over(
    ("hashes", "weights"),
    [
        ([1, 2], None),
        (np.arange(2), None),
        (np.zeros((2, 2), np.uint64), None),
        (np.zeros(2, np.uint64), np.zeros(3)),
        (np.zeros(2, np.uint64), [1.0, np.nan]),
        (np.zeros(2, np.uint64), 1.0),
    ],
)
def test_features_that_cannot_be_are_refused(hashes, weights):
    with pytest.raises(simdb.InputError):
        simdb.Features(hashes, weights)


@pytest.fixture
def matches(database):
    """Return matches of three queries: two, none and one."""
    database.insert_many(["a", "b", "c"], [0, 1, 2**60 - 1])
    return database.query_many([0, 0xFF << 20, 2**60 - 1], distance=2)


def test_matches_are_arrays_and_a_sequence_and_outlive_the_database(database, matches):
    database.close()

    assert (len(matches), matches.offsets.tolist()) == (3, [0, 2, 2, 3])
    assert matches.ids.tolist() == ["a", "b", "c"]
    assert matches.distances.tolist() == [0, 1, 0]
    assert np.isnan(matches.similarities).all()
    assert [[match.id for match in row] for row in matches] == [["a", "b"], [], ["c"]]
    assert matches[-1] == matches[2] == [simdb.Match("c", 0)]
    with pytest.raises(IndexError, match="query 3 of 3"):
        matches[3]


def test_clusters_are_arrays_and_a_sequence(database):
    database.insert_many(list("abcdef"), [0, 0, 2**40 - 1, 2**40 - 1, 2**40 - 1, 5 << 50])

    clusters = database.find_clusters(distance=1)

    assert clusters.sizes.tolist() == [2, 3]
    assert clusters.representatives.tolist() == ["a", "c"]
    assert [cluster.representative for cluster in clusters] == ["a", "c"]
    assert clusters[-1] == simdb.Cluster(["c", "d", "e"])
    assert [len(cluster) for cluster in clusters[:5]] == [2, 3]
    assert list(clusters[0]) == ["a", "b"]
    with pytest.raises(IndexError):
        clusters[2]


def test_pairs_can_be_gathered_or_streamed_once(database):
    database.insert_many(list("abc"), [0, 1, 2**40])
    gathered = database.find_all(distance=1)
    streamed = database.find_all(distance=1)

    assert len(gathered) == 2
    assert list(gathered) == [simdb.Pair("a", "b", 1), simdb.Pair("a", "c", 1)]
    assert list(gathered) == list(streamed.__iter__())
    assert gathered.similarity.dtype == np.float32
    with pytest.raises(simdb.ClosedError, match="streamed already"):
        next(iter(streamed))


def test_values_can_be_pickled(database):
    database.insert_many(["a", "b"], ["some text of words", 7], [{"n": 1}, None])
    values = [
        database.get("a"),
        database.query(7),
        database.plan(),
        database.stats(),
        simdb.fingerprint("text"),
        simdb.Options(),
        next(database.find_all(distance=64).chunks()).left.tolist(),
    ]

    assert pickle.loads(pickle.dumps(values)) == values


RECORDS = {
    simdb.Match("a", 3, 0.5): {"id": "a", "distance": 3, "similarity": 0.5},
    simdb.Pair("a", b"b", 0): {"left": "a", "right": b"b", "distance": 0, "similarity": None},
}


@over("record", RECORDS)
def test_a_record_unpacks_in_the_order_of_its_fields_and_stays_as_it_is(record):
    values = RECORDS[record]

    assert list(record) == list(record[:]) == list(values.values())
    assert record[0] == next(iter(values.values()))
    with pytest.raises(IndexError):
        record[len(values)]
    known = values | {"measure": "jaccard"}
    assert record._asdict() == dataclasses.asdict(record) == known
    assert type(record)(*record) == type(record)(**record._asdict()) == record
    assert pickle.loads(pickle.dumps(record)) == copy.copy(record) == record
    assert not hasattr(record, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.distance = 7


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_matches_become_columns_of_a_data_frame(name):
    library = pytest.importorskip(name)

    frame = library.DataFrame([simdb.Match("a", 3, 0.5), simdb.Match("b", 4, 0.25)])

    assert list(frame.columns) == ["id", "distance", "similarity", "measure"]
    assert list(frame["id"]) == ["a", "b"]


def test_a_class_is_given_the_type_of_its_ids_at_run_time_too():
    for each in (simdb.Database, simdb.Match, simdb.Matches, simdb.Pair, simdb.Pairs):
        assert each[str].__args__ == (str,)


TEXTS = ["the cat sat on the mat today", "the cat sat on the mat", "quite other words than those"]


@pytest.mark.parametrize(
    ("stored_bits", "permutations"), [(1, 1024), (2, 512), (8, 128), (32, 128)]
)
def test_similarities_are_those_of_pairs(stored_bits, permutations):
    sketch = simdb.Minhash(stored_bits=stored_bits, permutations=permutations)
    signatures = simdb.signatures([*TEXTS, ""], sketch)

    to_one = simdb.similarities(signatures[0], signatures)
    pairwise = simdb.similarities(signatures, signatures)

    assert to_one.dtype == np.float32
    expected = [np.float32(simdb.similarity(signatures[0], each)) for each in signatures]
    assert to_one.tolist() == expected
    assert to_one[0] == 1
    assert 0.5 < to_one[1] < 1
    assert to_one[2] < 0.05
    assert pairwise.tolist() == [1, 1, 1, 0]


def test_eight_bits_allow_for_chance():
    sketch = simdb.Minhash(permutations=256, stored_bits=8)
    minima = np.zeros((4, 256), np.uint8)
    for row, agreeing in enumerate([256, 129, 1, 0]):
        minima[row, agreeing:] = 1
    signatures = simdb.Signatures(minima, sketch, np.zeros(4, np.bool_))

    found = simdb.similarities(signatures[0], signatures)

    # Chance alone makes 1 of 256 agree; fewer count as similarity 0.
    assert found.tolist() == [1, np.float32(128 / 255), 0, 0]


@pytest.mark.parametrize("stored_bits", [1, 2])
def test_few_bits_allow_for_chance_and_are_no_more(stored_bits):
    sketch = simdb.Minhash(permutations=64, stored_bits=stored_bits)
    minima = np.zeros((4, 64), np.uint8)
    for row, agreeing in enumerate([64, 48, 64 // 2**stored_bits, 0]):
        minima[row, agreeing:] = 1
    signatures = simdb.Signatures(minima, sketch, np.zeros(4, np.bool_))

    found = simdb.similarities(signatures[0], signatures)

    # Of b bits one in 2^b agrees by chance: 3/4 are .5 of one bit, and 2/3 of two.
    assert found.tolist() == [1, np.float32({1: 1 / 2, 2: 2 / 3}[stored_bits]), 0, 0]
    minima[3, 5] = 2**stored_bits
    with pytest.raises(simdb.InputError, match=f"below {2**stored_bits}, got {2**stored_bits}"):
        simdb.Signatures(minima, sketch, np.zeros(4, np.bool_))


@pytest.mark.parametrize(("stored_bits", "permutations"), [(1, 512), (2, 256), (8, 64), (32, 64)])
def test_estimates_are_right_on_average_and_scatter_as_judges_suppose(stored_bits, permutations):
    """Six standard deviations of 2,000 pairs: each fails by chance once in a billion runs."""
    sketch = simdb.Minhash(
        stored_bits=stored_bits, permutations=permutations, family="multiply-shift"
    )
    generator = np.random.default_rng(4)
    shared, *own = (generator.integers(0, 2**63, (2000, size), np.uint64) for size in (60, 20, 20))
    left, right = (
        simdb.signatures([simdb.Features(each) for each in np.hstack([shared, side])], sketch)
        for side in own
    )

    found = simdb.similarities(left, right)

    deviation = estimate_deviation(simdb.Options(sketch=sketch), 0.6)
    assert abs(found.mean() - 0.6) < 6 * deviation / 2000**0.5
    assert abs(found.std() / deviation - 1) < 6 / 4000**0.5


def test_signatures_of_different_options_do_not_compare():
    one, other = (simdb.signature("a b c", simdb.Minhash(seed=seed)) for seed in (1, 2))

    with pytest.raises(simdb.OptionError, match=r"seed=1.*seed=2"):
        simdb.similarity(one, other)
    with pytest.raises(simdb.InputError, match="two signatures"):
        simdb.similarity(one, simdb.fingerprint("a b c"))


def test_unequal_numbers_of_signatures_do_not_pair():
    signatures = simdb.signatures(TEXTS)

    with pytest.raises(simdb.InputError, match="left has 2 signatures and right 3"):
        simdb.similarities(simdb.signatures(TEXTS[:2]), signatures)


def test_values_of_another_shape_are_refused():
    sketch = simdb.Minhash(permutations=16)

    for minima in (np.zeros(16, np.uint8), np.zeros(8, np.uint32), [0] * 16):
        with pytest.raises(simdb.InputError, match=r"minima must be uint32\[16\]"):
            simdb.Signature(minima, sketch)
    with pytest.raises(simdb.InputError, match=r"is_empty must be bool\[2\]"):
        simdb.Signatures(np.zeros((2, 16), np.uint32), sketch, np.zeros(3, np.bool_))


def test_signatures_are_equal_by_minima_and_options():
    one, same, other = simdb.signatures(["a b", "A, b.", "b a"])

    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != simdb.signature("a b", simdb.Minhash(seed=1))
    assert one != "a b"


TEXT = " ".join(f"w{number}" for number in range(40))
STORED = {"a": TEXT, "b": TEXT + " more", "c": "another text of some words"}


@pytest.fixture
def filled(open_database):
    database = open_database()
    database.insert_many(STORED)
    return database


def rows(pairs):
    return [(pair.left, pair.right, pair.distance, pair.similarity) for pair in pairs]


@pytest.mark.parametrize("made", [lambda pairs: pickle.loads(pickle.dumps(pairs)), copy.deepcopy])
def test_pairs_are_pickled_with_all_that_was_not_read_yet(filled, made):
    expected = rows(filled.find_all(similarity=0.5))
    pairs = filled.find_all(similarity=0.5)

    again = made(pairs)

    assert len(expected) == 1
    assert rows(again) == rows(again) == rows(pairs) == expected
    assert again.plan == pairs.plan
    assert again.to_arrow().equals(pairs.to_arrow())


def test_pairs_of_positions_are_pickled():
    pairs = simdb.find_all(np.array([1, 3, 2**40], np.uint64), 4, 3)

    again = pickle.loads(pickle.dumps(pairs))

    assert again.left.tolist() == pairs.left.tolist() == [0, 0, 1]


def test_pairs_that_were_streamed_say_so_when_they_are_pickled(filled):
    pairs = filled.find_all(similarity=0.5)
    for _ in pairs.chunks():
        pass

    with pytest.raises(simdb.ClosedError, match="call find_all again"):
        pickle.dumps(pairs)


def test_what_reads_an_open_database_is_no_copy_and_says_what_to_do(filled):
    chunks = filled.find_all(similarity=0.5).chunks()
    with filled.read() as snapshot, filled.write() as transaction:
        for each, message in [
            (snapshot, "pickle the Database, .* and take a snapshot there"),
            (transaction, "pickle the Database, .* and write there"),
            (chunks, "pickle what find_all returns"),
        ]:
            for made in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(simdb.NotPickledError, match=message):
                    made(each)
    assert isinstance(simdb.NotPickledError(), simdb.Error)
    assert issubclass(simdb.NotPickledError, TypeError)


@over("name", [name for name in simdb.__all__ if name.endswith("Error")])
def test_an_error_is_pickled_and_named_as_users_catch_it(name):
    kind = getattr(simdb, name)

    again = pickle.loads(pickle.dumps(kind("what to do")))

    assert type(again) is kind is getattr(errors, name)
    assert str(again) == "what to do"
    assert kind.__module__ == "simdb"


VERBS = """\


def use{at}(database: simdb.Database, document: {kind}) -> None:
    database.query(document)
    database.first(document)
    database.nearest(document)
    database.explain(1, document=document)
    database.insert(1, document)
    database.add_if_new(1, document)
    with database.read() as snapshot, database.write() as transaction:
        snapshot.query(document)
        transaction.insert(1, document)
        transaction.add_if_new(1, document)
    with simdb.open_sharded("shards") as sharded:
        sharded.query(document)
        sharded.first(document)
        sharded.nearest(document)
"""
DOCUMENTS = [
    "str", "bytes", "list[str]", "list[bytes]", "tuple[str, ...]", "simdb.Features",
    "simdb.Fingerprint", "simdb.Signature", "npt.NDArray[np.float32]", "npt.NDArray[np.float64]",
    "int", "np.uint64", "simdb.DocumentLike",
]  # fmt: skip
OTHERS = ["float", "object", "dict[str, str]", "npt.NDArray[np.int64]", "list[int]", "list[float]"]


def test_every_kind_of_document_is_taken_and_what_is_none_is_found_in_every_verb(tmp_path):
    program = "import numpy as np\nimport numpy.typing as npt\n\nimport simdb\n" + "".join(
        VERBS.format(kind=kind, at=at) for at, kind in enumerate([*DOCUMENTS, *OTHERS])
    )

    errors = checked(tmp_path, program)

    wrong = [line for line in errors if " error: " in line]
    found = Counter(line.split('incompatible type "')[1].split(";")[0] for line in wrong)
    assert len(found) == len(OTHERS)
    assert set(found.values()) == {VERBS.count("document)\n")}


def test_a_result_has_the_type_of_the_data(tmp_path):
    program = """\
import simdb

texts: list[str] = ["a"]
kept: list[str] = simdb.deduplicate(texts).data
clean: list[str] = simdb.decontaminate(texts, against=texts).data
by_id: dict[int, str] = simdb.decontaminate({1: "a"}, against=texts).data
wrong: set[str] = simdb.decontaminate(texts, against=texts).data
"""

    errors = checked(tmp_path, program)

    assert [line.split(":")[1] for line in errors if " error: " in line] == ["7"]


def test_every_record_of_values_stays_as_it_is():
    records = [
        each
        for each in (*vars(documents).values(), *(getattr(simdb, name) for name in simdb.__all__))
        if dataclasses.is_dataclass(each)
    ]

    changeable = {each.__name__ for each in records if not each.__dataclass_params__.frozen}

    assert len(records) > 30
    assert changeable == {"Matches", "Verification"}  # gathered while they are read
