"""The number of features is estimated from what a database stores of a document.

Seeds are fixed.  Each estimate is a mean over 500 documents; the number of levels of one has a
standard deviation of about 1, so that of the mean is 0.05, which is 0.2 features at 10 features and
1 at 28.  The limits below are 4 standard deviations away or more, a chance of failing below 1e-4.
"""

import numpy as np
import pytest

import simdb
from simdb.running import kernel
from simdb.tuning.stored import features_by_levels, features_by_minima, is_telling


def vectors_of(count, dimensions):
    texts = [" ".join(f"w{at}x{each}" for each in range(count + 2)) for at in range(500)]
    weights = simdb.fingerprints(texts, simdb.Simhash(dimensions=dimensions)).weights
    return kernel.quantise(weights)[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("dimensions", [64, 128])
@pytest.mark.parametrize(("count", "tolerance"), [(1, 0.1), (5, 1), (10, 2), (20, 3), (26, 5)])
def test_few_features_are_counted_by_levels(count, tolerance, dimensions):
    found = features_by_levels(vectors_of(count, dimensions))

    assert found == pytest.approx(count, abs=tolerance)


@pytest.mark.parametrize("count", [60, 300])
def test_many_features_cannot_be_counted_by_levels(count):
    found = features_by_levels(vectors_of(count, 128))

    assert found is None or found > 29


@pytest.mark.parametrize("count", [1, 10, 28, 300])
def test_features_are_counted_by_minima(count):
    texts = [" ".join(f"w{at}x{each}" for each in range(count + 2)) for at in range(500)]

    found = features_by_minima(simdb.signatures(texts).minima)

    # One estimate has an error of 1 / sqrt(128), their median of 0.5 %.
    assert found == pytest.approx(count, rel=0.05)


@pytest.mark.parametrize(
    ("sketch", "expected"),
    [
        (simdb.Simhash(), True),
        (simdb.Simhash(unit="whitespace", shingle=1), True),
        (simdb.Simhash(unit="characters"), False),
        (simdb.Simhash(weighting="tf"), False),
        (simdb.Simhash(store_volatility=False), False),
        (simdb.Simhash(tokeniser="a:b"), False),
        (simdb.Minhash(), True),
        (simdb.Minhash(stored_bits=8), False),
        (simdb.Minhash(family="one-permutation"), False),
        (simdb.Minhash(weighting="bag"), False),
    ],
)
def test_some_sketches_tell_the_number_of_words(sketch, expected):
    assert is_telling(sketch) is expected


def test_an_average_hides_no_outliers():
    # A quarter of very long documents changes nothing: the middle half is looked at.
    short, long = vectors_of(5, 128), vectors_of(300, 128)

    assert features_by_levels(np.concatenate([short, long[:100]])) < 8
