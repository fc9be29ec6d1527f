"""MinHashLSH and MinHash, against a dict and a double loop and against the real package.

record_datasketch.py says how the results of datasketch were recorded.
"""

import copy
import gc
import json
import os
import pickle
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from forked import code_of_child
from hypothesis import given, strategies as st
from over import over

import simdb
from simdb.compat import rows
from simdb.compat.datasketch import MinHash, MinHashLSH, sha1_hash32, sha1_hash64
from simdb.compat.minwise import AFFINE32, AFFINE64, LEGACY
from simdb.compat.row_form import MARK, WEIGHTED, WrittenKeys, packed

SCHEMES = ("affine32", "affine64", "legacy", "weighted")


@pytest.fixture(autouse=True)
def directories(tmp_path, monkeypatch):
    """Settle rows often, in a directory that must be empty at the end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(rows, "SETTLED", 7)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    gc.collect()
    assert list(tmp_path.glob("simdb-*")) == []


def many(count, scheme="affine32", num_perm=16):
    chosen = random.Random(count)
    sets = [chosen.choices(range(9), k=chosen.randrange(1, 9)) for _ in range(count)]
    if scheme != "weighted":
        data = [[b"%d" % value for value in values] for values in sets]
        return MinHash.bulk(data, num_perm=num_perm, scheme=scheme)
    return [weighted(values, num_perm) for values in sets]


def weighted(values, num_perm):
    """Return the parts of a WeightedMinHash of datasketch: a seed, and pairs of whole numbers."""
    orders = np.random.default_rng(1).random((num_perm, 9))
    chosen = [min(values, key=order.__getitem__) for order in orders]
    pairs = [(value, values.count(value) - 3) for value in chosen]
    return SimpleNamespace(seed=1, hashvalues=np.array(pairs))


def agree(left, right, bands, rows):
    return any(
        np.array_equal(left.hashvalues[start:][:rows], right.hashvalues[start:][:rows])
        for start in range(0, bands * rows, rows)
    )


def answers(index, queries):
    return [set(index.query(each)) for each in queries]


def expected(stored, queries, bands, rows):
    return [
        {key for key, each in stored.items() if agree(query, each, bands, rows)}
        for query in queries
    ]


PLACES = pytest.mark.parametrize("place", [{}, {"path": "index", "durability": "none"}], ids=len)


@PLACES
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("params", [(4, 3), (16, 1), (2, 8)])
def test_candidates_are_those_of_a_double_loop(scheme, params, place) -> None:
    made = many(40, scheme)
    index = MinHashLSH(num_perm=16, params=params, **place, **({"scheme": scheme} if place else {}))
    stored = {}

    for number, each in enumerate(made):
        key = (number, "key") if number % 2 else number
        index.insert(key, each)
        stored[key] = each
        if number % 5 == 4:
            removed = chosen_key(stored, number)
            index.remove(removed)
            del stored[removed]

    assert answers(index, made) == expected(stored, made, *params)
    assert [set(keys) for keys in index.query_many(made)] == expected(stored, made, *params)
    assert [set(index.query_b(each, 2)) for each in made] == expected(stored, made, 2, params[1])
    assert set(index.keys) == set(stored)


def chosen_key(stored, number):
    return list(stored)[number % len(stored)]


@PLACES
def test_a_session_inserts_replaces_and_removes(place) -> None:
    made = many(30)
    index = MinHashLSH(num_perm=16, params=(4, 3), **place)
    index.insert((1,), made[0])

    with index.insertion_session(buffer_size=4) as session:
        for number, each in enumerate(made):
            session.insert((number,), each, check_duplication=number != 1)
        with pytest.raises(ValueError, match=r"the key \(29,\) exists"):
            session.insert((29,), made[0])
    with index.deletion_session(buffer_size=4) as session:
        for number in range(0, 30, 2):
            session.remove((number,))
        with pytest.raises(ValueError, match=r"the key \(2,\) is not in the index"):
            session.remove((2,))

    stored = {(number,): made[number] for number in range(1, 30, 2)}
    assert answers(index, made) == expected(stored, made, 4, 3)


def test_keys_are_those_of_a_dict() -> None:
    made = many(20)
    keys = [
        0, -5, 2**63, 2**80, 2.5, "", "a", b"", b"a", "\ud800", "long" * 1000, None, (1, (2, "x")),
        frozenset({1}), b"\0simdb-key:0", b"\0simdb-key:", Ellipsis, np.int64(77), int, (),
    ]  # fmt: skip
    index = MinHashLSH(num_perm=16, params=(2, 8))

    for key, each in zip(keys, made, strict=True):
        index.insert(key, each)

    assert set(index.keys) == set(keys)
    assert all(key in index for key in keys)
    assert all(key in index.query(each) for key, each in zip(keys, made, strict=True))
    assert 1 not in index
    with pytest.raises(ValueError, match="exists"):
        index.insert(False, made[0])
    with pytest.raises(ValueError, match="exists"):
        index.insert(0.0, made[0])
    with pytest.raises(simdb.InputError, match="list, which has no hash"):
        index.insert([1], made[0])
    for key in keys:
        index.remove(key)
    assert index.is_empty()


@PLACES
def test_a_key_that_is_removed_or_replaced_has_one_minhash(place) -> None:
    made = many(20)
    more = place or {"storage_config": {"type": "dict"}, "prepickle": True}
    index = MinHashLSH(num_perm=16, params=(2, 8), **more)
    for number, each in enumerate(made):
        index.insert(number, each)
        index.remove(number)
        index.insert(number, each)

    index.insert(0, made[19], check_duplication=False)
    index.insert(19, made[0], check_duplication=False)

    stored = {**dict(enumerate(made)), 0: made[19], 19: made[0]}
    assert answers(index, made) == expected(stored, made, 2, 8)


@PLACES
def test_a_batch_is_inserted_completely_or_not_at_all(place) -> None:
    made = many(3)
    index = MinHashLSH(num_perm=16, params=(2, 8), **place)
    index.insert("a", made[0])

    with pytest.raises(ValueError, match=r"exists|stored already"):
        index.insert_many(["b", "a"], made[:2])
    with pytest.raises(ValueError, match=r"\('b',\) is given twice"):
        index.insert_many([("b",), ("b",)], made[:2])
    with pytest.raises(ValueError, match="2 keys but 3 MinHash"):
        index.insert_many(["b", "c"], made)

    assert set(index.keys) == {"a"}
    assert index.insert_many([], []) == 0


@over("scheme", SCHEMES)
def test_buckets_hold_the_bytes_of_the_hash_values(scheme) -> None:
    made = many(12, scheme)
    index = MinHashLSH(num_perm=16, params=(5, 3))
    for number, each in enumerate(made):
        index.insert(number, each)
    bands = {
        number: [
            each.hashvalues[start : start + 3].byteswap().tobytes() for start in range(0, 15, 3)
        ]
        for number, each in enumerate(made)
    }

    tables = [
        {parts[band]: {key for key, other in bands.items() if other[band] == parts[band]}
         for parts in bands.values()}
        for band in range(5)
    ]  # fmt: skip
    assert index.keys == bands
    assert index.hashtables == tables
    assert index.get_counts() == [
        dict(Counter(p[band] for p in bands.values())) for band in range(5)
    ]
    assert index.get_subset_counts(3, 3, "none") == [{part: 1} for part in bands[3]]


def test_more_bands_than_a_database_has_stay_in_memory() -> None:
    made = many(20, num_perm=200)
    index = MinHashLSH(num_perm=200, params=(100, 2))
    for number, each in enumerate(made):
        index.insert(number, each)

    assert answers(index, made) == expected(dict(enumerate(made)), made, 100, 2)
    with pytest.raises(simdb.OptionError, match="100 bands are too many"):
        index.database.find_all(similarity=0.5)


def test_a_small_index_writes_nothing(directories) -> None:
    index = MinHashLSH(0.5, 16)
    index.insert("a", many(1)[0])

    assert list(directories.iterdir()) == []


def test_the_directory_is_private_and_goes_when_the_index_is_closed(directories) -> None:
    index = filled_index()
    (place,) = directories.glob("simdb-*")
    mode = os.stat(place).st_mode & 0o777

    index.close()
    index.close()

    assert mode == 0o700
    assert list(directories.iterdir()) == []
    with pytest.raises(simdb.ClosedError, match="the index is closed"):
        index.query(many(1)[0])


def test_the_directory_goes_when_the_index_is_collected(directories) -> None:
    index = filled_index()
    before = len(list(directories.iterdir()))

    del index
    gc.collect()

    assert (before, list(directories.iterdir())) == (1, [])


def filled_index():
    index = MinHashLSH(num_perm=16, params=(4, 3))
    for number, each in enumerate(many(20)):
        index.insert((number,), each)
    return index


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))]
)
def test_a_pickle_holds_all_keys(duplicate) -> None:
    made = many(20)
    index = filled_index()

    again = duplicate(index)
    again.remove((0,))

    stored = {(number,): each for number, each in enumerate(made)}
    assert answers(index, made) == expected(stored, made, 4, 3)
    del stored[(0,)]
    assert answers(again, made) == expected(stored, made, 4, 3)
    assert (again.h, again.scheme, again.seed) == (16, "affine32", 1)
    assert pickle.loads(pickle.dumps(MinHashLSH(0.5, 16))).is_empty()


def test_indexes_are_merged(tmp_path) -> None:
    made = many(20)
    index, other = filled_index(), MinHashLSH(num_perm=16, params=(4, 3))
    other.insert(("new",), made[4])
    other.insert((0,), made[5])

    with pytest.raises(ValueError, match=r"\(0,\) exists"):
        index.merge(other, check_overlap=True)
    with pytest.raises(ValueError, match="same scheme, seed"):
        index.merge(MinHashLSH(0.5, 16))
    index.merge(other)
    with MinHashLSH(num_perm=16, params=(4, 3), path=tmp_path / "index") as stored:
        stored.merge(index)
        found = answers(stored, made)

    keys = {(number,): each for number, each in enumerate(made)}
    keys |= {("new",): made[4], (0,): made[5]}
    assert found == answers(index, made) == expected(keys, made, 4, 3)


def test_the_first_minhash_decides_the_scheme_and_seed() -> None:
    index = MinHashLSH(0.5, 16)
    legacy = many(2, "legacy")
    before = index.scheme, index.seed, index.query(many(1)[0])

    index.insert("a", legacy[0])

    assert before == (None, None, [])
    assert (index.scheme, index.seed) == ("legacy", 1)
    for other in (many(1)[0], MinHash(16, seed=2, scheme="legacy"), many(1, "weighted")[0]):
        with pytest.raises(ValueError, match="but the index has 'legacy' and 1"):
            index.query(other)
    with pytest.raises(ValueError, match="has 8 hash values, but the index needs 16"):
        index.query(MinHash(8, scheme="legacy"))


def test_an_empty_index_answers() -> None:
    index = MinHashLSH(0.5, 16)

    assert index.is_empty()
    assert index.query(many(1)[0]) == index.collect_query_buffer() == []
    assert index.query_many(many(2)) == [[], []]
    assert index.keys == {}
    assert "a" not in index
    with pytest.raises(simdb.InputError, match="insert a MinHash first"):
        index.database.check()
    with pytest.raises(ValueError, match="is not in the index"):
        index.remove("a")
    assert len(MinHashLSH(0.5, 16, scheme="affine32", seed=1).database) == 0


@pytest.mark.parametrize("b", [0, 5])
def test_a_number_of_bands_outside_the_index_is_refused(b) -> None:
    with pytest.raises(simdb.InputError, match="b must be from 1 to 4"):
        MinHashLSH(num_perm=16, params=(4, 3)).query_b(many(1)[0], b)


@over(
    ("options", "message"),
    [
        ({"storage_config": {"type": "redis"}}, "type 'redis'.*give path="),
        ({"storage_config": "dict2"}, "'dict2'"),
        ({"hashfunc": len}, "leave it out"),
        ({"scheme": "sha"}, "scheme must be one of"),
        ({"threshold": -1}, "threshold"),
    ],
)
def test_what_simdb_has_not_is_refused_with_the_remedy(options, message) -> None:
    with pytest.raises(simdb.OptionError, match=message):
        MinHashLSH(**options)


@pytest.mark.parametrize("count", [2, 9, 30, 33])
def test_any_number_of_hash_values_is_kept_at_a_path(tmp_path, count) -> None:
    made = many(20, num_perm=count)
    bands = (2, count // 2)

    with MinHashLSH(num_perm=count, params=bands, path=tmp_path / "index") as index:
        index.insert_many(range(20), made)

        assert answers(index, made) == expected(dict(enumerate(made)), made, *bands)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_is_kept_at_a_path(tmp_path, scheme) -> None:
    made = many(20, scheme)
    keys = [(number, None, 2.5, "x", b"y") for number in range(20)]
    with MinHashLSH(
        num_perm=16, params=(4, 3), path=tmp_path / "index", scheme=scheme, durability="none"
    ) as index:
        index.insert_many(keys, made)

    with MinHashLSH(path=tmp_path / "index") as again:
        stored = dict(zip(keys, made, strict=True))
        assert (again.scheme, again.b, again.r) == (scheme, 4, 3)
        assert answers(again, made) == expected(stored, made, 4, 3)
        assert list(again.database.check(deep=True)) == []
        for key in (frozenset(), [1], object(), float("nan"), (float("inf"),)):
            assert key not in again
            with pytest.raises(simdb.InputError, match=r"for example str\(key\)"):
                again.insert(key, made[0])


def test_a_child_forked_while_a_thread_inserts_does_not_wait():
    (minhash,) = many(1)
    index = MinHashLSH(params=(4, 3), num_perm=16)
    index.insert("a", minhash)

    def insert(wait):
        with index._rows._lock:
            wait()

    assert code_of_child(lambda: index.query(minhash), meanwhile=insert) == 0


def test_a_forked_child_queries_the_index_of_its_parent():
    minhashes = many(20)
    index = MinHashLSH(params=(4, 3), num_perm=16)
    for key, each in enumerate(minhashes):
        index.insert(key, each)
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sending, pickle.dumps(answers(index, minhashes)))
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        found = pickle.load(pipe)
    os.waitpid(child, 0)

    assert found == expected(dict(enumerate(minhashes)), minhashes, 4, 3)


RECORDED = json.loads((Path(__file__).parent / "datasketch" / "values.json").read_text("ascii"))
SETS = [[word.encode() for word in words] for words in RECORDED["sets"]]


def minhashes(**options):
    return MinHash.bulk(SETS, **{"num_perm": 32, **options})


def filled(path, made, **options):
    index = MinHashLSH(threshold=0.5, num_perm=32, path=path, durability="none", **options)
    index.insert_many([f"d{number}" for number in range(len(made))], made)
    return index


def insert_in_session(index, made):
    with index.insertion_session() as session:
        for key, each in made.items():
            session.insert(key, each)


@pytest.fixture
def index(tmp_path):
    with filled(tmp_path / "index", minhashes()) as opened:
        yield opened
        assert list(opened.database.check()) == []


@over("recorded", RECORDED["hashes"])
def test_hash_values_counts_and_similarities_are_those_of_datasketch(recorded) -> None:
    names = ("scheme", "num_perm", "seed")
    options = {name: recorded[name] for name in names}
    single = MinHash(**options)

    made = MinHash.bulk(SETS, **options)
    for value in SETS[7]:
        single.update(value)

    assert [each.hashvalues.tolist() for each in made] == recorded["hashvalues"]
    assert single == made[7]
    width = np.uint32 if recorded["scheme"] == "affine32" else np.uint64
    assert made[0].hashvalues.dtype == width
    assert [each.count() for each in made[1:]] == recorded["counts"]
    assert [made[5].jaccard(each) for each in made] == recorded["jaccards"]


def test_a_large_set_is_the_union_of_its_parts() -> None:
    values = [b"%d" % number for number in range(1000)]

    whole = MinHash.bulk([values], num_perm=128)[0]
    parts = MinHash.bulk([values[:400], values[300:]], num_perm=128)
    united = MinHash.union(*parts)
    parts[0].merge(parts[1])

    assert united == whole == parts[0]


def test_a_hash_function_of_the_caller_is_used() -> None:
    ours = MinHash(hashfunc=lambda text: sha1_hash32(text.encode()))
    wide = MinHash(hashfunc=sha1_hash64)

    ours.update("w1")

    assert ours == MinHash.bulk([[b"w1"]])[0]
    with pytest.raises(simdb.InputError, match="32 bits"):
        wide.update(b"w1")


@over("other", [MinHash(64), MinHash(seed=2), MinHash(scheme="legacy")])
def test_minhashes_of_different_kinds_cannot_be_compared(other) -> None:
    for verb in (MinHash().jaccard, MinHash().merge):
        with pytest.raises(ValueError, match="same scheme, seed and num_perm"):
            verb(other)


@over(
    "options",
    [
        {"num_perm": 0},
        {"scheme": "sha"},
        {"hashvalues": [1, 2]},
        {"hashvalues": [1, 2**32], "scheme": "affine32"},
        {"hashvalues": [1, -2], "scheme": "legacy"},
        {"hashvalues": [1.5], "scheme": "legacy"},
        {"hashvalues": [1], "permutations": ([2], [3]), "scheme": "affine32"},
        {"hashvalues": [1], "permutations": ([1, 3], [3, 4]), "scheme": "affine32"},
    ],
)
def test_invalid_arguments_of_a_minhash_are_refused(options) -> None:
    with pytest.raises(ValueError, match=" "):
        MinHash(**options)


def test_hash_values_can_be_given_and_copies_are_independent() -> None:
    first = minhashes()[4]

    second = MinHash(hashvalues=first.digest(), permutations=first.permutations, scheme="affine32")
    copied = first.copy()
    copied.update(b"more")
    cleared = first.copy()
    cleared.clear()

    assert first == second == minhashes()[4] != copied
    assert cleared.is_empty()
    assert not first.is_empty()


@over("recorded", RECORDED["bands"][::7])
def test_bands_are_those_of_datasketch(recorded) -> None:
    threshold, count, weights, *bands = recorded

    index = MinHashLSH(threshold, count, weights=weights)

    assert [index.b, index.r] == bands


def test_candidates_are_those_of_datasketch(index) -> None:
    made = minhashes()

    assert [sorted(index.query(each)) for each in made] == RECORDED["candidates"]
    assert [sorted(keys) for keys in index.query_many(made)] == RECORDED["candidates"]


def test_buckets_are_those_of_datasketch(index) -> None:
    counts = index.get_counts()

    assert sorted(bucket.hex() for bucket in counts[0]) == RECORDED["buckets"]
    assert [sum(each.values()) for each in counts] == [len(SETS)] * index.b
    assert [sum(each.values()) for each in index.get_subset_counts("d1", "x")] == [1] * index.b


def test_a_session_commits_its_buffer_after_an_exception(tmp_path) -> None:
    with MinHashLSH(num_perm=32, path=tmp_path / "index") as index:
        with pytest.raises(ValueError, match="but the index needs 32"):
            insert_in_session(index, {"a": minhashes()[1], "b": minhashes(num_perm=8)[1]})

        assert "a" in index


def test_buffered_queries_return_the_common_keys(index) -> None:
    made = minhashes()

    nothing = index.collect_query_buffer()
    for number in (8, 9):
        index.add_to_query_buffer(made[number])
    both = index.collect_query_buffer()

    assert nothing == index.collect_query_buffer() == []
    candidates = RECORDED["candidates"]
    assert sorted(both) == sorted(set(candidates[8]) & set(candidates[9]))


def test_a_minhash_of_another_kind_is_refused(index) -> None:
    wide = minhashes(scheme="affine64")
    for other in (5, None, np.arange(32)):
        with pytest.raises(simdb.InputError, match="has no hash values"):
            index.query(other)
    for other in (minhashes(scheme="legacy"), wide, minhashes(seed=2), minhashes(num_perm=64)):
        with pytest.raises(ValueError, match="but the index"):
            index.query(other[1])
        with pytest.raises(ValueError, match="but the index"):
            index.insert("x", other[1])


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 1.1},
        {"weights": (0.5, 0.6)},
        {"num_perm": 1},
        {"params": (1, 4)},
        {"params": (33, 4)},
        {"params": (65, 1)},
        {"scheme": "sha"},
        {"params": (64, 17), "num_perm": 1088},
    ],
)
def test_invalid_arguments_of_an_index_are_refused(tmp_path, options) -> None:
    with pytest.raises(simdb.OptionError):
        MinHashLSH(path=tmp_path / "index", **options)

    assert not (tmp_path / "index").exists()


def test_an_index_is_opened_as_it_was_made(index, tmp_path) -> None:
    path = tmp_path / "index"
    plain = tmp_path / "plain"
    simdb.open(plain).close()

    for options in ({"threshold": 0.9}, {"scheme": "legacy"}, {"seed": 2}, {"params": (2, 3)}):
        with pytest.raises(simdb.OptionError, match="leave out these arguments"):
            MinHashLSH(**{"num_perm": 32, **options}, path=path, durability="none")
    with pytest.raises(simdb.OptionError, match="num_perm=8"):
        MinHashLSH(num_perm=8, path=path, durability="none")
    with pytest.raises(simdb.OptionError, match="is not an index"):
        MinHashLSH(path=plain)


def test_texts_are_refused_by_the_database(index) -> None:
    for document in ("a text", ["tokens"], simdb.Features(np.arange(2, dtype=np.uint64))):
        with pytest.raises(simdb.InputError, match="takes only ready signatures"):
            index.database.insert("text", document)
    with pytest.raises(simdb.InputError, match="takes only ready signatures"):
        index.database.query("a text")


def test_a_pickle_names_the_directory_and_opens_it_again(tmp_path):
    signed = MinHash(32)
    signed.update(b"a")
    with MinHashLSH(0.5, 32, path=tmp_path / "lsh") as index:
        index.insert("a", signed)
        content = pickle.dumps(index)

    with pickle.loads(content) as again:
        assert (again.b, again.r, again.h) == (index.b, index.r, 32)
        assert again.query(signed) == ["a"]
    shutil.rmtree(tmp_path / "lsh")
    with pytest.raises(simdb.NotFoundError):
        pickle.loads(content)


@pytest.mark.parametrize("name", ["MinHashLSHForest", "LeanMinHash", "WeightedMinHashGenerator"])
def test_the_import_of_a_class_without_a_database_names_datasketch(name):
    with pytest.raises(ImportError, match=f"from datasketch import {name}"):
        exec(f"from simdb.compat.datasketch import {name}")


@over(
    ("values", "scheme"),
    [
        (np.array([2**32], np.uint64), LEGACY),
        (np.array([1.5]), AFFINE32),
        (np.array([[1]], np.uint32), AFFINE32),
        (np.array([-1]), AFFINE64),
        (np.array([[1, 2, 3]]), WEIGHTED),
        (np.array([[-1, 2]]), WEIGHTED),
        (np.array([[2**32, 2]]), WEIGHTED),
        (np.array([[1, 2**31]]), WEIGHTED),
        (np.array([[1.0, 2.0]]), WEIGHTED),
    ],
)
def test_values_that_do_not_fit_are_refused(values, scheme) -> None:
    with pytest.raises(simdb.InputError, match=r"hash value|pair"):
        packed(values, scheme)


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters()),
    st.binary(),
    st.binary().map(MARK.__add__),
)
KEYS = st.recursive(PLAIN, lambda each: st.lists(each, max_size=3).map(tuple), max_leaves=6)


@given(KEYS, KEYS)
def test_written_keys_come_back_and_are_equal_when_the_keys_are(left, right) -> None:
    keys = WrittenKeys()

    first, second = keys.encode(left), keys.encode(right)

    assert keys.decode(first) == left
    assert (first == second) == (left == right)
    assert isinstance(first, str | bytes | int)


@over("content", [b"", b"f(1)", b"(" * 100000, b"\xff", b"__import__('os')"])
def test_bytes_that_only_begin_like_a_written_key_are_a_key(content) -> None:
    id = MARK + content

    assert WrittenKeys().decode(id) == id
