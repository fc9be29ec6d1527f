"""Pairs and clusters of an array, checked against comparing every two fingerprints."""

import numpy as np
import pytest
from oracle import components
from over import over

import simdb


def by_comparing(fingerprints, distance):
    values = [int(each) for each in fingerprints]
    return {
        (left, right, (values[left] ^ values[right]).bit_count())
        for left in range(len(values))
        for right in range(left + 1, len(values))
        if (values[left] ^ values[right]).bit_count() <= distance
    }


def mixed(count, seed):
    """Make random fingerprints, near copies of them, equal ones and a crowded header."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, count, np.uint64)
    near = values[: count // 2].copy()
    for _ in range(4):
        near ^= np.uint64(1) << rng.integers(0, 64, len(near), np.uint64)
    crowded = values[: count // 4] & np.uint64(2**12 - 1)
    return rng.permutation(np.concatenate([values, near, values[:9], crowded]))


def as_set(pairs):
    return {(pair.left, pair.right, pair.distance) for pair in pairs}


def assert_exact(fingerprints, blocks, distance):
    """Assert that pairs and clusters are those of comparing every two."""
    expected = by_comparing(fingerprints, distance)
    linked = components(range(len(fingerprints)), {pair[:2] for pair in expected})

    pairs = simdb.find_all(fingerprints, blocks, distance)
    clusters = simdb.find_clusters(fingerprints, blocks, distance)

    assert len(pairs) == len(expected)
    assert as_set(pairs) == expected
    assert [each.tolist() for each in clusters] == linked


@pytest.mark.parametrize(
    ("blocks", "distance"), [(1, 0), (4, 0), (4, 3), (6, 3), (7, 2), (10, 9), (64, 20)]
)
@pytest.mark.parametrize("count", [100, 700])
def test_pairs_and_clusters_are_those_of_comparing_every_two(blocks, distance, count):
    assert_exact(mixed(count, blocks), blocks, distance)


def test_a_chain_of_a_thousand_is_one_cluster():
    rng = np.random.default_rng(1)
    chain = np.zeros(1000, np.uint64)
    for at in range(1, 1000):
        flips = rng.choice(64, 3, replace=False)
        chain[at] = chain[at - 1] ^ np.uint64(sum(1 << int(bit) for bit in flips))

    whole = simdb.find_clusters(chain, 4, 3)
    assert (whole.sizes.tolist(), whole.representatives.tolist()) == ([1000], [0])
    assert simdb.find_clusters(np.delete(chain, 500), 4, 3).sizes.tolist() == [500, 499]


def test_arrays_are_of_the_types_that_are_promised():
    pairs = simdb.find_all([1, 3, 1 << 40, 1], 2, 1)
    clusters = simdb.find_clusters([1, 3, 1 << 40, 1], 2, 1)

    assert (pairs.left.dtype, pairs.right.dtype, pairs.distance.dtype) == (int, int, np.uint8)
    assert clusters.offsets.tolist() == [0, 3]
    assert clusters[-1].tolist() == [0, 1, 3]
    assert [each.tolist() for each in clusters[:1]] == [[0, 1, 3]]
    with pytest.raises(IndexError):
        clusters[1]


def test_pairs_are_streamed_once_and_gathered_for_ever():
    streamed, gathered = simdb.find_all([1, 1], 4, 3), simdb.find_all([1, 1], 4, 3)

    assert as_set(streamed) == {(0, 1, 0)}
    with pytest.raises(simdb.ClosedError, match="again"):
        len(streamed)
    assert len(gathered) == 1
    assert as_set(gathered) == as_set(gathered) == {(0, 1, 0)}


def test_any_whole_numbers_of_64_bits_are_taken():
    kinds = [
        [5, 7],
        (simdb.Fingerprint(5), np.uint64(7)),
        iter([5, 7]),
        np.array([5, 7], np.int32),
        simdb.Fingerprints(np.array([5, 7], np.uint64)),
        np.array([5, 0, 7, 0], np.uint64)[::2],
    ]

    assert all(as_set(simdb.find_all(each, 4, 3)) == {(0, 1, 1)} for each in kinds)
    for nothing in ([], np.empty(0, np.uint64), np.array([]), [5]):
        assert len(simdb.find_all(nothing, 4, 3)) == len(simdb.find_clusters(nothing, 4, 3)) == 0
    made = simdb.fingerprints(["", "a text that is long enough", "", "a text that is long enough"])
    assert as_set(simdb.find_all(made, 4, 3)) == {(1, 3, 0)}
    assert [each.tolist() for each in simdb.find_clusters(made, 4, 3)] == [[1, 3]]


@over(
    ("given", "message"),
    [
        ([1, -1], "fingerprint 1"),
        ([1, 2**64], "fingerprint 1"),
        ([1, True], "fingerprint 1"),
        ([1, "2"], "fingerprint 1"),
        (np.array([3, -1]), "view"),
        (np.array([0.5]), "float64"),
        (np.zeros((2, 2), np.int64), "one dimension"),
        ("12", "got str"),
        (5, "got int"),
    ],
)
def test_what_is_no_fingerprint_is_refused(given, message):
    with pytest.raises(simdb.InputError, match=message):
        simdb.find_all(given, 4, 3)
    with pytest.raises(simdb.InputError, match=message):
        simdb.find_clusters(given, 4, 3)
