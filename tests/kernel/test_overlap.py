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


@over("is_least", [False, True])
@over("has_weights", [False, True])
def test_counts_products_or_the_smaller_weights_are_added(sketch, is_least, has_weights):
    documents = documents_of(COUNTS, 2)
    # Hashes that differ in their low or high bits only.
    documents += [dict.fromkeys(range(200), 1.0), {each << 56: 1.0 for each in range(200)}]
    left, right = every_pair(len(documents))
    offsets, hashes, weights = arrays_of(documents)

    sums = sketch.overlaps(
        offsets, hashes, weights if has_weights else None, left, right, is_least=is_least
    )

    if not has_weights:
        documents = [dict.fromkeys(each, 1.0) for each in documents]
    of_both = min if is_least else float.__mul__
    expected = [
        sum(
            of_both(documents[a][key], documents[b][key])
            for key in documents[a].keys() & documents[b]
        )
        for a, b in zip(left, right, strict=True)
    ]
    assert sums.tolist() == expected


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


@over("missing", [0, 1, 7, 2000])
def test_counting_ends_where_too_many_features_are_missing(sketch, missing):
    documents = documents_of(COUNTS, 4)
    left, right = every_pair(len(documents))
    offsets, hashes, _ = arrays_of(documents)

    sums = sketch.overlaps(offsets, hashes, None, left, right, missing=missing)

    assert sums.tolist() == [
        counted(documents[a], documents[b], missing) for a, b in zip(left, right, strict=True)
    ]


def counted(left, right, missing):
    common = 0
    for at, key in enumerate(right):
        if at - common > missing:
            break
        common += key in left
    return common


@over(
    ("offsets", "weights", "left", "right"),
    [
        ([0, 3], None, [0], [0]),
        ([0, 2], None, [1], [0]),
        ([0, 2], None, [0], [-1]),
        ([0, 2], None, [0, 0], [0]),
        ([0, 2], [1.0, float("nan")], [0], [0]),
        ([2, 0], None, [0], [0]),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(sketch, offsets, weights, left, right):
    given = None if weights is None else np.array(weights, np.float32)

    with pytest.raises(ValueError, match=r"weight|offsets|positions|documents"):
        sketch.overlaps(
            np.array(offsets), np.array([5, 6], np.uint64), given, np.array(left), np.array(right)
        )
