"""Words are counted as the kernel cuts them, and near-duplicates may change some of them.

The number of features is estimated from what a database stores of a document.  Seeds are fixed.
Each estimate is a mean over 500 documents; the number of levels of one has a standard deviation of
about 1, so that of the mean is 0.05, which is 0.2 features at 10 features and 1 at 28.  The limits
below are 4 standard deviations away or more, a chance of failing below 1e-4.
"""

import numpy as np
import pytest
from over import over

import simdb
from simdb.running import kernel
from simdb.tuning.sample import (
    SHORT_WORDS,
    changed_words,
    count_words,
    features_by_levels,
    features_by_minima,
    is_telling,
)

PAGE = 0.889


@over(
    ("text", "words"),
    [
        ("", 0),
        ("...", 0),
        ("three short words", 3),
        ("\u8fd9\u662f\u4e2d\u6587", 4),  # Chinese
        ("\u0e02\u0e2d\u0e1a\u0e04\u0e38\u0e13", 6),  # Thai: five letters, and a vowel sign
        ("\u0e02\u0e2d thank you", 4),
    ],
)
def test_words_are_counted_and_letters_of_scripts_without_spaces(text, words):
    assert count_words([text, "x y"]).tolist() == [words, 2]


def test_one_changed_word_of_fewer_than_30_takes_3_shingles_below_the_default():
    def left(words):
        return 1 - 3 / (words - 2)

    assert left(SHORT_WORDS) >= PAGE > left(SHORT_WORDS - 1)


def test_a_page_may_change_as_many_words_as_leave_its_shingles_at_the_threshold():
    changed = changed_words(300, PAGE)

    assert (1 - changed / 300) ** 3 == pytest.approx(PAGE)


def test_a_longer_text_may_change_the_same_share():
    assert changed_words(3000, PAGE) == pytest.approx(10 * changed_words(300, PAGE))


def test_a_shorter_text_may_change_fewer_words_but_a_larger_share():
    numbers = [changed_words(words, PAGE) for words in (300, 100, 30, 10, 3)]

    assert numbers == sorted(numbers, reverse=True)
    assert numbers[3] / 10 > numbers[2] / 30 > numbers[0] / 300
    assert numbers[2] == pytest.approx((numbers[0] * numbers[0] / 10) ** 0.5)


def test_no_text_may_change_more_words_than_it_has():
    assert changed_words(1, 0.1) == 1
    assert changed_words(0, PAGE) == 0


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


@over("count", [1, 10, 28, 300])
def test_features_are_counted_by_minima(count):
    texts = [" ".join(f"w{at}x{each}" for each in range(count + 2)) for at in range(500)]

    found = features_by_minima(simdb.signatures(texts).minima)

    # One estimate has an error of 1 / sqrt(128), their median of 0.5 %.
    assert found == pytest.approx(count, rel=0.05)


@over(
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
