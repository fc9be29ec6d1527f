"""Pairs, clusters and distances of hashes of any size, without a database, by double loops."""

import numpy as np
import pytest
from oracle import components
from over import over

import simdb
from simdb.spark.distributed import plan_pairs


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
    with pytest.raises(simdb.OptionError, match="no hashes of other than 64 bits"):
        plan_pairs(1000, simdb.Options(sketch=simdb.Bits(256)))


@pytest.fixture
def database_of_hashes(tmp_path):
    """Return a database of two hashes."""
    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=simdb.Bits(256))) as database:
        database.insert_many([0, 1], drawn(256, 2))
        yield database
