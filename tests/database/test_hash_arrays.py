"""Pairs, clusters and distances of hashes of any size, without a database, by double loops."""

import numpy as np
import pytest
from oracle import components
from over import over

import simdb


def drawn(bits, count, seed=0):
    """Return hashes, half of them near an earlier one or equal to it, and some with few ones."""
    chance = np.random.default_rng([seed, bits])
    flags = chance.integers(0, 2, (count, bits), np.uint8)
    flags[: count // 8] = chance.random((count // 8, bits)) < 0.03
    for at in range(count // 2, count):
        flags[at] = flags[chance.integers(0, at)]
        flags[at, chance.permutation(bits)[: chance.integers(0, bits // 6)]] ^= 1
    return np.packbits(flags, axis=1)


def apart(left, right):
    return int(np.unpackbits(np.bitwise_xor(left, right)).sum())


def by_comparing(rows, distance):
    return {
        (left, right, apart(rows[left], rows[right]))
        for right in range(len(rows))
        for left in range(right)
        if apart(rows[left], rows[right]) <= distance
    }


def as_words(rows):
    return rows.view(">u8").astype(np.uint64).reshape(len(rows), -1)


FORMS = {
    "packed": np.asarray,
    "flags": lambda rows: np.unpackbits(rows, axis=1).astype(bool).reshape(len(rows), 4, -1),
    "words": as_words,
    "fingerprints": simdb.Fingerprints,
}


@over("bits", [32, 96, 128, 256, 512])
@over("share", [0, 16, 8])
def test_pairs_and_clusters_are_those_of_comparing_every_two(bits, share):
    rows = drawn(bits, 100)
    distance = bits // share if share else 0

    pairs = simdb.find_all(rows, distance=distance)
    clusters = simdb.find_clusters(rows, distance=distance)

    wanted = by_comparing(rows, distance)
    found = [(pair.left, pair.right, pair.distance) for pair in pairs]
    assert len(found) == len(wanted)
    assert set(found) == wanted
    linked = components(range(100), {pair[:2] for pair in wanted})
    assert [each.tolist() for each in clusters] == sorted(sorted(each) for each in linked)


@over("form", FORMS)
@over("bits", [64, 128])
def test_every_form_of_an_array_has_the_same_pairs(form, bits):
    rows = drawn(bits, 60, seed=1)
    given = FORMS[form](rows)

    pairs, clusters = simdb.find_all(given, distance=3), simdb.find_clusters(given, distance=3)
    if form == "packed":
        given[:] = 0  # the array may change before the pairs are read

    rows = drawn(bits, 60, seed=1)
    wanted = by_comparing(rows, 3)
    assert {(pair.left, pair.right, pair.distance) for pair in pairs} == wanted
    linked = components(range(60), {pair[:2] for pair in wanted})
    assert [each.tolist() for each in clusters] == sorted(sorted(each) for each in linked)


class Hashed:
    """An object with `.hash`, as imagehash makes them."""

    def __init__(self, row):
        self.hash = np.unpackbits(row).astype(bool).reshape(8, -1)


LISTS = {
    "bytes": lambda rows: [bytes(row) for row in rows],
    "hexadecimal": lambda rows: tuple(bytes(row).hex() for row in rows),
    "packed": list,
    "objects": lambda rows: [Hashed(row) for row in rows],
    "fingerprints": lambda rows: list(simdb.Fingerprints(rows)),
}
SIZED = LISTS | {  # forms that do not say of how many bits they are
    "numbers": lambda rows: [int.from_bytes(bytes(row), "big") for row in rows],
    "iterator": lambda rows: (bytes(row) for row in rows),
    "texts in an array": lambda rows: np.array([bytes(row).hex() for row in rows]),
}


@over("form", SIZED)
@over("bits", [64, 256])
def test_lists_of_hashes_have_the_same_pairs_and_clusters(form, bits):
    rows = drawn(bits, 40, seed=3)
    wanted = by_comparing(rows, 3)

    for given in [{"bits": bits}] + [{}] * (form in LISTS):
        pairs = simdb.find_all(SIZED[form](rows), distance=3, **given)
        assert {(pair.left, pair.right, pair.distance) for pair in pairs} == wanted, given
        clusters = simdb.find_clusters(SIZED[form](rows), distance=3, **given)
        linked = components(range(40), {pair[:2] for pair in wanted})
        assert [each.tolist() for each in clusters] == sorted(sorted(each) for each in linked)


def test_lists_that_do_not_say_of_how_many_bits_they_are_need_bits():
    for given in ([1 << 200], np.array(["ab" * 32])):
        for verb in (simdb.find_all, simdb.find_clusters):
            with pytest.raises(simdb.InputError, match=r"of hashes give .* bits=256"):
                verb(given)
    with pytest.raises(simdb.InputError, match="document 1 is hexadecimal text of 6 digits"):
        simdb.find_all(["ab" * 32, "ab" * 3])
    with pytest.raises(simdb.OptionError, match="bits"):
        simdb.find_all([], bits=7)


def test_no_hashes_have_no_pairs_and_another_array_is_refused():
    empty = np.empty((0, 32), np.uint8)

    assert len(simdb.find_all(empty).left) == 0
    assert len(simdb.find_clusters(empty)) == 0
    for verb in (simdb.find_all, simdb.find_clusters):
        with pytest.raises(simdb.InputError, match="one dimension"):
            verb(np.zeros((3, 5), np.uint8))


def test_the_distance_of_two_hashes_counts_the_bits_that_differ():
    for bits in (32, 64, 128, 256, 512):
        left, right = drawn(bits, 2, seed=2)
        number = int.from_bytes(bytes(right), "big")
        flags = [np.unpackbits(each).astype(bool).reshape(4, -1) for each in (left, right)]
        whole = simdb.Fingerprint(int.from_bytes(bytes(left), "big"), size=bits)

        forms = [right, flags[1], simdb.Fingerprint(number, size=bits), number]
        for one in (left, flags[0], whole):
            for other in forms:
                assert simdb.distance(one, other) == apart(left, right), (bits, type(other))
                assert simdb.distance(other, one) == apart(left, right)
    with pytest.raises(simdb.InputError, match="256"):
        simdb.distance(drawn(256, 2)[0], drawn(128, 2)[0])


@over("bits", [32, 64, 256])
def test_the_distance_of_two_hashes_is_that_of_each_form(bits):
    left, right = drawn(bits, 2, seed=4)

    for one in SIZED.values():
        for other in SIZED.values():
            (first,), (second,) = one(left[None]), other(right[None])
            assert simdb.distance(first, second, bits=bits) == apart(left, right)
    for form in (bytes(right), bytes(right).hex(), Hashed(right)):
        for known in (Hashed(left), left):
            assert simdb.distance(known, form) == simdb.distance(form, known) == apart(left, right)
    with pytest.raises(simdb.InputError, match="document 1 is hexadecimal text of 2 digits"):
        simdb.distance(Hashed(left), "ab")


def test_texts_of_hexadecimal_digits_stay_documents_unless_bits_are_given():
    left, right = "00" * 32, "ff" * 32

    assert simdb.distance(left, right, bits=256) == 256
    assert simdb.distance(left, right) == simdb.distance(left.encode(), right.encode()) <= 64
    with pytest.raises(simdb.InputError):
        simdb.distance(left, 5)
    assert simdb.distance(simdb.fingerprint(""), 0) == simdb.fingerprint("").bits.bit_count()


def test_what_compares_texts_is_refused_by_name(database_of_hashes):
    texts = {0: "a text", 1: "another text"}
    for verb in (
        database_of_hashes.find_all, database_of_hashes.find_clusters,
        lambda **given: database_of_hashes.compare([0], [1], **given),
        lambda **given: database_of_hashes.add_many_if_new([9], drawn(256, 2)[:1], **given),
    ):  # fmt: skip
        with pytest.raises(simdb.OptionError, match=r"verify='exact' compares texts, .*hashes"):
            verb(verify="exact")
    for verb in (
        database_of_hashes.find_all, database_of_hashes.find_clusters,
        lambda **given: database_of_hashes.compare([0], [1], **given),
    ):  # fmt: skip
        with pytest.raises(simdb.OptionError, match=r"texts= compares texts, .*hashes"):
            verb(texts=texts)


NEEDING_TEXTS = {
    "fit_idf": simdb.fit_idf,
    "tune": simdb.tune,
    "decontaminate": lambda documents: simdb.decontaminate(["a text"] * 3, against=documents),
    "decontaminate the data": lambda documents: simdb.decontaminate(documents, against=["a text"]),
    "similarity": lambda documents: simdb.similarity(documents[0], documents[1]),
}
HASH_LISTS = {
    "bytes": lambda rows: [bytes(row) for row in rows],
    "an array": np.asarray,
    "flags": lambda rows: list(np.unpackbits(rows, axis=1).view(np.bool_)),
    "objects": lambda rows: [Hashed(row) for row in rows],
    "fingerprints": simdb.Fingerprints,
}


@over("verb", NEEDING_TEXTS)
@over("form", HASH_LISTS)
def test_what_needs_texts_names_hashes_and_where_they_match(verb, form):
    rows = drawn(256, 20, seed=5)[10:]  # of 2 rows of 32 bytes, 1 in 3000 could be a text

    with pytest.raises(simdb.InputError, match=r"^\w+ needs texts, and hashes of 256 bits have no"):
        NEEDING_TEXTS[verb](HASH_LISTS[form](rows))
    for call in (
        lambda sketch: simdb.fit_idf(["a b"], sketch),
        lambda sketch: simdb.decontaminate(["a b"], against=["c"], sketch=sketch),
        lambda sketch: simdb.similarity("a b", "c", sketch),
    ):
        with pytest.raises(simdb.InputError, match=r"hashes of 256 bits .*simdb.Bits\(256\)"):
            call(simdb.Bits(256))


def test_texts_in_any_encoding_are_not_taken_for_hashes():
    latin = ["\u00e9t\u00e9 de la vie 16".encode("latin-1")] * 3  # of 16 bytes
    assert len(latin[0]) == 17 - 1

    for texts in (["ab" * 32] * 10, [b"ab" * 16] * 10, latin):
        assert simdb.similarity(texts[0], texts[1]) == 1
        assert simdb.tune(texts).options
        assert simdb.fit_idf(texts, errors="replace").document_count == len(texts)


@pytest.fixture
def database_of_hashes(tmp_path):
    """Return a database of two hashes."""
    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=simdb.Bits(256))) as database:
        database.insert_many([0, 1], drawn(256, 2))
        yield database
