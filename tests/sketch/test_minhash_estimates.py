"""Minima agree as often as sets are similar: statistics of every family.

Every estimate is the mean over `SEEDS` seeds of signatures of 128 minima, and the test fails at
five standard errors from the truth.  One estimate does so by chance once in 1.7 million choices of
seeds; with fewer than 100 estimates here, some estimate does for one choice of seeds in 17,000.
With one permutation and sets smaller than the bins, errors are a little larger than those of
independent minima, so the standard error is taken from the sample.
"""

import numpy as np
import pytest

import simdb
from simdb.core import kernel
from simdb.sketch.minhash_sketcher import narrowed, permutations_of

PERMUTATIONS = 128
SEEDS = 100
FAMILIES = ("stratified", "multiply-shift", "mersenne", "one-permutation")


def two_sets(size, similarity, first, *, is_consecutive):
    """Return the hashes of two sets of `size` features, concatenated, and their true similarity."""
    shared = round(2 * size * similarity / (1 + similarity))
    both = np.arange(2 * size - shared, dtype=np.uint64) + np.uint64(first)
    if not is_consecutive:
        both = np.random.default_rng(first).integers(0, 2**64, len(both), np.uint64)
    return np.concatenate([both[:size], both[-size:]]), shared / (2 * size - shared)


def estimates(size, similarity, *, is_consecutive=False, bits=32, seeds=SEEDS, **options):
    found = []
    for seed in range(seeds):
        sketch = simdb.Minhash(seed=seed, **{"permutations": PERMUTATIONS, **options})
        hashes, truth = two_sets(size, similarity, seed << 20, is_consecutive=is_consecutive)
        minima = kernel.sign_features(
            np.array([0, size, 2 * size]), hashes, None,
            family=permutations_of(sketch), feature_bits=sketch.feature_bits,
        )  # fmt: skip
        if bits == 8:
            share = (
                kernel.agreements(*narrowed(minima, permutations_of(sketch))[:, None])[0]
                / PERMUTATIONS
            )
            found.append((share - 1 / 256) / (1 - 1 / 256))
        else:
            found.append(kernel.agreements(*minima[:, None])[0] / sketch.permutations)
    return np.array(found), truth


def assert_unbiased(found, truth):
    error = max(found.std(), np.sqrt(truth * (1 - truth) / PERMUTATIONS)) / np.sqrt(len(found))

    assert abs(found.mean() - truth) <= 5 * error + 1e-12


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("similarity", [0.1, 0.5, 0.8, 0.95])
@pytest.mark.parametrize(
    ("size", "options"),
    [
        (1, {}), (3, {"is_consecutive": True}), (100, {"bits": 8}),
        (300, {"feature_bits": 32, "is_consecutive": True}),
    ],
)  # fmt: skip
def test_estimates_are_unbiased(family, similarity, size, options):
    found, truth = estimates(size, similarity, family=family, **options)

    assert_unbiased(found, truth)


@pytest.mark.parametrize(("permutations", "size"), [(104, 45)])
def test_evenly_spaced_permutations_vary_less_than_independent_ones(size, permutations):
    """The variance over seeds is at most .8 of that of independent trials; it is some .55 of it.

    The ratio of the sample's variance to the true one is chi-squared with 400 degrees of freedom,
    divided by 400: above .8 / .55 in one of 10^8 choices of seeds.
    """
    found, truth = estimates(size, 0.8, permutations=permutations, seeds=400)

    assert ((found - truth) ** 2).mean() < 0.8 * truth * (1 - truth) / permutations


@pytest.mark.parametrize("size", [20])
def test_bands_agree_as_often_as_independent_rows(size):
    """Sets of similarity .8 share one of 16 bands of 8 rows with probability .947.

    The share of 1,000 seeds has a standard error of .007, and is less than .912 by chance once in
    3 million choices of seeds.
    """
    shared = 0
    for seed in range(1000):
        hashes, truth = two_sets(size, 0.8, seed << 20, is_consecutive=False)
        sketch = simdb.Minhash(permutations=PERMUTATIONS, seed=seed)
        minima = kernel.sign_features(
            np.array([0, size, 2 * size]), hashes, None,
            family=permutations_of(sketch), feature_bits=64,
        )  # fmt: skip
        shared += (minima[0] == minima[1]).reshape(16, 8).all(axis=1).any()

    expected = 1 - (1 - truth**8) ** 16
    assert shared / 1000 >= expected - 0.035


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_weighted_samples_agree_as_often_as_weights_are_similar(scale):
    """The similarity is the sum of smaller weights by the sum of larger; scaling both keeps it."""
    chance = np.random.default_rng(8)
    hashes = chance.integers(0, 2**64, 50, np.uint64)
    left, right = (chance.lognormal(0, 1.5, 50).astype(np.float32) * scale for _ in range(2))
    offsets, both = np.array([0, 50, 100]), np.concatenate([hashes, hashes])
    weights = np.concatenate([left, right]).astype(np.float32)
    found = []
    for seed in range(SEEDS):
        keys = permutations_of(simdb.Minhash(permutations=PERMUTATIONS, seed=seed))[1]
        minima = kernel.sign_weighted(offsets, both, weights, keys)
        found.append(kernel.agreements(*minima[:, None])[0] / PERMUTATIONS)

    assert_unbiased(np.array(found), np.minimum(left, right).sum() / np.maximum(left, right).sum())
