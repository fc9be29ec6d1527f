"""Levels say how far each weight is from flipping; every variant gives the same levels."""

import math

import numpy as np
import search_oracle as oracle
from over import over


def level_row(weights):
    """Compute the definition in plain doubles."""
    sums = [0.0] * 8
    for at, weight in enumerate(weights):
        sums[at % 8] += float(weight) * float(weight)
    even = (sums[0] + sums[4]) + (sums[2] + sums[6])
    total = even + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
    scale = math.sqrt(total / len(weights))
    if scale == 0:
        return [255] * 64
    factor = 64 / scale
    return [min(255, math.floor(abs(float(weight)) * factor)) for weight in weights[:64]]


@over("dimensions", [64, 65, 71, 72, 100, 127, 128, 200])
@over("dtype", [np.float32, np.int32])
@over("count", [0, 1, 7])
def test_levels_are_weights_by_their_root_mean_square(search, dimensions, dtype, count):
    generator = np.random.default_rng(dimensions)
    weights = (generator.laplace(0, 900, (count, dimensions))).astype(dtype)
    weights[1:2] = 0
    weights[2:3, 5:] = 0
    weights = oracle.displaced(weights, 3)

    found = search.levels(weights)

    assert found.dtype == np.uint8
    assert found.shape == (count, 64)
    assert found.tolist() == [level_row(row) for row in weights]


@over("size", [1e-45, 1e-30, 1e-3, 1.0, 1e30, 3e38])
def test_the_size_of_all_weights_does_not_matter(search, size):
    weights = np.zeros((3, 128), np.float32)
    weights[0], weights[1, :9], weights[2, 100] = size, -size, size

    found = search.levels(weights)

    assert found.tolist() == [level_row(row) for row in weights]
    assert found[0].tolist() == [64] * 64
    assert found[2].tolist() == [0] * 64


def test_the_largest_whole_weights_have_levels(search):
    weights = np.full((2, 64), -(1 << 31), np.int32)
    weights[1, 1:] = (1 << 31) - 1

    assert search.levels(weights).tolist() == [level_row(row) for row in weights]


@over("width", [32, 33, 48, 63, 64, 65, 100, 200])
@over("count", [0, 1, 6])
def test_levels_of_packed_vectors_are_those_of_their_integers(search, width, count):
    generator = np.random.default_rng(width)
    vectors = generator.integers(0, 256, (count, width), np.uint8)
    vectors[1:2], vectors[2:3], vectors[3:4] = 0, 255, 0x77
    vectors[4:5, :] = 0x88
    vectors[4:5, 3] = 0xFF
    vectors = oracle.displaced(vectors, 5)

    found = search.levels_of_vectors(vectors)

    weights = [oracle.unpacked(row.tobytes()) for row in vectors]
    assert found.shape == (count, 64)
    assert found.tolist() == [level_row(row) for row in weights]
