"""Overlaps of features: the sums of pairs of documents against dicts."""

import random
from itertools import pairwise

import numpy as np
import pytest
from over import over

COUNTS = [0, 1, 2, 3, 4, 5, 63, 64, 65, 1000]


def documents_of(counts, seed):
    """Return documents as dicts of hashes to weights that are exact in float32."""
    chance = random.Random(seed)
    hashes = [0, 2**64 - 1, *(chance.getrandbits(64) for _ in range(1500))]
    return [
        {each: chance.randrange(1, 64) / 8 for each in chance.sample(hashes, count)}
        for count in counts
    ]


def arrays_of(documents):
    offsets = np.cumsum([0, *map(len, documents)])
    hashes = np.array([each for document in documents for each in document], np.uint64)
    weights = np.array([each for document in documents for each in document.values()], np.float32)
    return offsets, hashes, weights


def every_pair(count):
    left, right = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    return left.ravel().copy(), right.ravel().copy()


def test_without_weights_common_features_are_counted(sketch):
    documents = documents_of(COUNTS, 1)
    offsets, hashes, _ = arrays_of(documents)
    left, right = every_pair(len(documents))

    sums = sketch.overlaps(offsets, hashes, None, left, right)

    expected = [
        len(documents[a].keys() & documents[b].keys()) for a, b in zip(left, right, strict=True)
    ]
    assert sums.dtype == np.float64
    assert sums.tolist() == expected


@over("is_least", [False, True])
def test_with_weights_products_or_the_smaller_weights_are_added(sketch, is_least):
    documents = documents_of(COUNTS, 2)
    left, right = every_pair(len(documents))

    sums = sketch.overlaps(*arrays_of(documents), left, right, is_least=is_least)

    of_both = min if is_least else float.__mul__
    expected = [
        sum(
            of_both(documents[a][key], documents[b][key])
            for key in documents[a].keys() & documents[b]
        )
        for a, b in zip(left, right, strict=True)
    ]
    assert sums.tolist() == expected


def test_hashes_that_differ_only_in_low_or_high_bits_are_told_apart(sketch):
    low = dict.fromkeys(range(200), 1.0)
    high = {each << 56: 1.0 for each in range(200)}
    offsets, hashes, _ = arrays_of([low, high])

    sums = sketch.overlaps(offsets, hashes, None, np.array([0, 0, 1]), np.array([0, 1, 1]))

    assert sums.tolist() == [200, 1, 200]


def test_weighted_sums_are_added_in_the_order_of_the_right_document(sketch):
    documents = documents_of([300] * 8, 3)
    offsets, hashes, weights = arrays_of(documents)
    # Sums of these depend on the order, in the last bits.
    weights = np.sqrt(weights)
    rows = [
        dict(zip(hashes[start:stop].tolist(), weights[start:stop].tolist(), strict=True))
        for start, stop in pairwise(offsets)
    ]
    left, right = every_pair(len(documents))

    for is_least, of_both in ((False, float.__mul__), (True, min)):
        sums = sketch.overlaps(offsets, hashes, weights, left, right, is_least=is_least)

        expected = [added(rows[a], rows[b], of_both) for a, b in zip(left, right, strict=True)]
        assert sums.tolist() == expected


def added(left, right, of_both):
    total = 0.0
    for key, weight in right.items():
        if key in left:
            total += of_both(left[key], weight)
    return total


def test_no_pairs_and_no_features_give_nothing(sketch):
    nothing = np.empty(0, np.int64)
    offsets, hashes = np.zeros(3, np.int64), np.empty(0, np.uint64)

    assert sketch.overlaps(offsets, hashes, None, nothing, nothing).tolist() == []
    assert sketch.overlaps(offsets, hashes, None, np.array([0, 1]), np.array([1, 1])).tolist() == [
        0,
        0,
    ]


@over(
    ("offsets", "weights", "left", "right"),
    [
        ([0, 3], None, [0], [0]),
        ([0, 2], None, [1], [0]),
        ([0, 2], None, [0], [-1]),
        ([0, 2], None, [0, 0], [0]),
        ([0, 2], [1.0], [0], [0]),
        ([0, 2], [1.0, float("nan")], [0], [0]),
        ([2, 0], None, [0], [0]),
        ([-1, 2], None, [0], [0]),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(sketch, offsets, weights, left, right):
    given = None if weights is None else np.array(weights, np.float32)

    with pytest.raises(ValueError, match=r"weight|offsets|positions|documents"):
        sketch.overlaps(
            np.array(offsets), np.array([5, 6], np.uint64), given, np.array(left), np.array(right)
        )
