"""Weighted features and quantisation: every variant against a definition."""

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from feature_oracle import GOLDEN, MASK, fmix64
from over import over

from simdb_ext import _sketch


def projection(hashes: list[int], weights: list[float], dimensions: int) -> list[float]:
    sums = [0.0] * dimensions
    for hash_, weight in zip(hashes, weights, strict=True):
        others = [fmix64(hash_ ^ k * GOLDEN & MASK) for k in (1, 2, 3)]
        words = [hash_, *others]
        for j in range(dimensions):
            sums[j] += weight if words[j // 64] >> j % 64 & 1 else -weight
    return [float(np.float32(total)) for total in sums]


def quantisation(row: list[float]) -> tuple[int, bytes]:
    width = len(row) // 2
    squares = 0.0
    for weight in row:
        squares += weight * weight
    scale = 1 / (0.335 * math.sqrt(squares / len(row))) if squares else 0.0
    halves = [min(15, max(0, math.floor(weight * scale) + 8)) for weight in row]
    bits = sum(1 << j for j, weight in enumerate(row[:64]) if weight >= 0)
    return bits, bytes(low | high << 4 for low, high in zip(halves, halves[width:], strict=False))


def unaligned(array: Any) -> Any:
    """Return a read-only copy at an address that is a multiple of the item size only."""
    start = array.itemsize
    wide = np.zeros(array.nbytes + 64 + start, np.uint8)
    start += -wide.ctypes.data % 64
    copy = wide[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    copy.flags.writeable = False
    return copy


def assert_quantises(sketch: Any, weights: Any) -> None:
    fingerprints, vectors = sketch.quantise(weights)

    assert fingerprints.dtype == np.uint64
    assert vectors.dtype == np.uint8
    assert vectors.shape == (len(weights), weights.shape[1] // 2)
    found = [(int(bits), bytes(row)) for bits, row in zip(fingerprints, vectors, strict=True)]
    assert found == [quantisation(row) for row in weights.tolist()]


@over("dimensions", [128, 256])
@over("weighted", [False, True])
def test_features_are_summed_in_order(sketch: Any, weighted: bool, dimensions: int) -> None:
    chance = random.Random(11)
    counts = [0, 1, 2, 7, 8, 9, 63, 64, 65, 300]
    offsets = np.cumsum([3, *counts])
    hashes = [chance.choice([0, MASK, chance.getrandbits(64)]) for _ in range(offsets[-1] + 5)]
    weights = [chance.choice([-1e30, 1e30, chance.gauss(0, 1), 1e-30, -0.0]) for _ in hashes]
    given = np.array(weights, np.float32)

    projected = sketch.project_features(
        unaligned(offsets), unaligned(np.array(hashes, np.uint64)),
        unaligned(given) if weighted else None, dimensions=dimensions,
    )  # fmt: skip

    used = given.tolist() if weighted else [1.0] * len(hashes)
    bounds = pairwise(offsets)
    wanted = [
        projection(hashes[start:stop], used[start:stop], dimensions) for start, stop in bounds
    ]
    assert projected.dtype == np.float32
    assert projected.tolist() == wanted


def test_many_features_are_summed_alike(sketch: Any) -> None:
    chance = np.random.default_rng(5)
    hashes = chance.integers(0, 2**64, 40000, dtype=np.uint64)
    weights = chance.normal(size=40000).astype(np.float32)
    offsets = np.array([0, 39999], np.int64)

    projected = sketch.project_features(offsets, hashes, weights)

    before = _sketch.select("scalar")
    wanted = _sketch.project_features(offsets, hashes, weights)
    _sketch.select(before)
    np.testing.assert_array_equal(projected, wanted)


@over(
    ("offsets", "weights"),
    [([], None), ([-1, 2], None), ([0, 4], None), ([0, 2, 1], None), ([0, 5, 1], None),
     ([0, 3], [1.0, 1.0]), ([0, 3], [1.0, math.nan, 1.0]), ([0, 3], [1.0, math.inf, 1.0])],
)  # fmt: skip
def test_features_that_do_not_fit_are_refused(sketch: Any, offsets: Any, weights: Any) -> None:
    given = None if weights is None else np.array(weights, np.float32)

    with pytest.raises(ValueError, match=r"offsets|weight"):
        sketch.project_features(np.array(offsets, np.int64), np.zeros(3, np.uint64), given)


def test_no_features_weigh_nothing(sketch: Any) -> None:
    offsets, hashes = np.zeros(3, np.int64), np.zeros(0, np.uint64)

    assert not sketch.project_features(offsets, hashes, None).any()
    assert sketch.project_features(offsets[:1], hashes, None).shape == (0, 128)
    assert sketch.project_features(offsets, hashes, None, dimensions=256).shape == (2, 256)


@over("dimensions", [64, 128, 256])
@over("count", [0, 1, 7, 8, 9, 63, 64, 65])
def test_weights_are_quantised_by_the_definition(sketch: Any, dimensions: int, count: int) -> None:
    chance = np.random.default_rng(count)
    weights = chance.normal(size=(count, dimensions)) * chance.choice([1, 20, 1e6], (count, 1))

    assert_quantises(sketch, unaligned(weights.astype(np.float32)))
    assert_quantises(sketch, unaligned(weights.astype(np.int32)))


@over("dimensions", [64, 128, 256])
def test_extreme_weights_are_quantised_by_the_definition(sketch: Any, dimensions: int) -> None:
    values = [0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.0, -1.0]
    rows = np.repeat(np.array(values, np.float32)[:, None], dimensions, axis=1)
    mixed = np.resize(np.array(values, np.float32), (5, dimensions))
    single = np.eye(dimensions, dtype=np.float32)
    integers = np.array([0, 2**31 - 1, -(2**31), 1, -1], np.int32)

    assert_quantises(sketch, np.concatenate([rows, mixed, single, -single]))
    assert_quantises(sketch, np.resize(integers, (dimensions + 3, dimensions)))
    assert_quantises(sketch, np.repeat(integers[:, None], dimensions, axis=1))


@over("dimensions", [64, 128, 256])
def test_weights_at_the_limits_of_words_are_quantised_alike(sketch: Any, dimensions: int) -> None:
    limits = [8191, 8192, 32767, 32768, 65535, 65536, 65537, 2**23, 2**30]
    values = np.array([*limits, *(-limit for limit in limits)], np.int32)
    alone = np.ones((len(values), dimensions), np.int32)
    alone[:, dimensions - 1] = values

    assert_quantises(sketch, alone)
    assert_quantises(sketch, alone[:, ::-1].copy())
    assert_quantises(sketch, np.repeat(values[:, None], dimensions, axis=1))


@over("value", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_finite_are_refused(sketch: Any, value: float) -> None:
    weights = np.ones((20, 64), np.float32)
    weights[13, 5] = value

    with pytest.raises(ValueError, match="row 13 "):
        sketch.quantise(weights)
