"""Overlaps of features: the numpy kernel and the C function against dicts."""

import random

import numpy as np
import pytest
from reference_kernel import sketch as fallback

_sketch = pytest.importorskip("simdb_ext._sketch")

COUNTS = [0, 1, 2, 3, 4, 5, 63, 64, 65, 1000]


@pytest.fixture(params=[fallback, _sketch], ids=["numpy", "compiled"])
def overlaps(request):
    return request.param.overlaps


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


def test_without_weights_common_features_are_counted(overlaps):
    documents = documents_of(COUNTS, 1)
    offsets, hashes, _ = arrays_of(documents)
    left, right = every_pair(len(documents))

    sums = overlaps(offsets, hashes, None, left, right)

    expected = [
        len(documents[a].keys() & documents[b].keys()) for a, b in zip(left, right, strict=True)
    ]
    assert sums.dtype == np.float64
    assert sums.tolist() == expected


@pytest.mark.parametrize("is_least", [False, True])
def test_with_weights_products_or_the_smaller_weights_are_added(overlaps, is_least):
    documents = documents_of(COUNTS, 2)
    left, right = every_pair(len(documents))

    sums = overlaps(*arrays_of(documents), left, right, is_least=is_least)

    of_both = min if is_least else float.__mul__
    expected = [
        sum(
            of_both(documents[a][key], documents[b][key])
            for key in documents[a].keys() & documents[b]
        )
        for a, b in zip(left, right, strict=True)
    ]
    assert sums.tolist() == expected


def test_hashes_that_differ_only_in_low_or_high_bits_are_told_apart(overlaps):
    low = dict.fromkeys(range(200), 1.0)
    high = {each << 56: 1.0 for each in range(200)}
    offsets, hashes, _ = arrays_of([low, high])

    sums = overlaps(offsets, hashes, None, np.array([0, 0, 1]), np.array([0, 1, 1]))

    assert sums.tolist() == [200, 1, 200]


def test_weighted_sums_are_equal_to_the_bit_in_both_kernels():
    documents = documents_of([300] * 8, 3)
    offsets, hashes, weights = arrays_of(documents)
    weights = np.sqrt(weights)
    left, right = every_pair(len(documents))

    for is_least in (False, True):
        sums = [
            module.overlaps(offsets, hashes, weights, left, right, is_least=is_least)
            for module in (fallback, _sketch)
        ]
        assert sums[0].tobytes() == sums[1].tobytes()


def test_no_pairs_and_no_features_give_nothing(overlaps):
    nothing = np.empty(0, np.int64)
    offsets, hashes = np.zeros(3, np.int64), np.empty(0, np.uint64)

    assert overlaps(offsets, hashes, None, nothing, nothing).tolist() == []
    assert overlaps(offsets, hashes, None, np.array([0, 1]), np.array([1, 1])).tolist() == [0, 0]


@pytest.mark.parametrize(
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
def test_arrays_that_do_not_fit_together_are_refused(overlaps, offsets, weights, left, right):
    given = None if weights is None else np.array(weights, np.float32)

    with pytest.raises(ValueError, match=r"weight|offsets|positions|documents"):
        overlaps(
            np.array(offsets), np.array([5, 6], np.uint64), given, np.array(left), np.array(right)
        )
