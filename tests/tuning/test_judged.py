"""Thresholds by judged pairs are smooth, and shares have honest intervals."""

import numpy as np
import pytest

from simdb.tuning.judged import (
    FOLDS,
    Rating,
    f1_of,
    folds_of,
    order_of,
    rate,
    simplest,
    wilson,
)


def rated(similarities, labels, prior=0.6, least=0.2):
    found = np.asarray(similarities, np.float32)
    flags = np.asarray(labels, np.bool_)
    folds = folds_of(flags, np.random.default_rng(1))
    return rate(found, flags, prior=prior, least=least, folds=folds)


def test_many_pairs_outweigh_the_prior():
    similarities = np.linspace(0, 1, 400)

    rating = rated(similarities, similarities >= 0.45, prior=0.8)

    assert rating.threshold == pytest.approx(0.45, abs=0.02)
    assert rating.f1 > 0.95


def test_few_pairs_move_the_prior_a_little():
    rating = rated([0.3, 0.35, 0.9, 0.95], [False, False, True, True], prior=0.6)

    assert 0.5 < rating.threshold < 0.7


def test_one_stray_pair_does_not_decide_the_threshold():
    similarities = [*np.linspace(0.1, 0.4, 25), *np.linspace(0.7, 1, 25)]
    labels = [False] * 25 + [True] * 25
    without = rated(similarities, labels).threshold

    low = rated([*similarities, 0.15], [*labels, True]).threshold
    high = rated([*similarities, 0.99], [*labels, False]).threshold

    assert abs(low - without) < 0.06
    assert abs(high - without) < 0.06


def test_the_threshold_is_no_lower_than_the_least():
    similarities = np.linspace(0, 1, 200)

    rating = rated(similarities, similarities >= 0.3, least=0.5)

    assert rating.threshold == 0.5
    assert not rating.taken[:, similarities < 0.5].any()


def test_each_fold_has_its_part_of_both_kinds():
    labels = np.arange(100) < 20

    folds = folds_of(labels, np.random.default_rng(0))

    for row in folds:
        assert np.bincount(row[labels], minlength=FOLDS).tolist() == [4] * FOLDS
        assert np.bincount(row[~labels], minlength=FOLDS).tolist() == [16] * FOLDS


def test_f1_is_that_of_the_counts():
    taken = np.array([[True, True, False, False]])
    labels = np.array([True, False, True, False])

    assert f1_of(taken, labels).tolist() == [0.5]
    assert f1_of(~taken & False, labels).tolist() == [0.0]


def rating_of(taken, labels):
    return Rating(0.5, taken, float(f1_of(taken, labels)[0]))


def test_a_better_sketch_must_be_better_by_more_than_the_error():
    labels = np.arange(60) % 2 == 0
    right = labels[None]
    nearly = right.copy()
    nearly[0, 0] = False
    poor = right.copy()
    poor[0, :20] = False
    ratings = [rating_of(each, labels) for each in (poor, nearly, right)]

    # One pair of 60 is within a standard error (its share of resamples without it is 1/e).
    assert simplest(ratings, labels, 1, seed=0) == 1
    assert simplest(ratings, labels, 0, seed=0) == 1


@pytest.mark.parametrize(("count", "total"), [(0, 10), (10, 10), (9, 12), (0.5, 1)])
def test_an_interval_contains_its_share_and_lies_between_0_and_1(count, total):
    share = wilson(count, total)

    assert 0 <= share.low <= share.value <= share.high <= 1
    assert share.value == count / total


def test_intervals_hold_for_about_nine_samples_of_ten():
    # 4000 samples of 30 draws: the share has a standard deviation of 0.005, and Wilson's interval
    # holds 0.87 to 0.93 of the time; outside of 0.85 to 0.95 is 4 standard deviations away.
    counts = np.random.default_rng(5).binomial(30, 0.8, 4000)

    held = np.mean([share.low <= 0.8 <= share.high for share in (wilson(c, 30) for c in counts)])

    assert 0.85 < held < 0.95


def test_without_any_pair_taken_nothing_is_known():
    share = wilson(0, 0)

    assert (share.value, share.low, share.high) == (0, 0, 1)


def test_order_counts_pairs_in_the_right_order():
    similarities = np.array([0.1, 0.5, 0.5, 0.9], np.float32)

    assert order_of(similarities, np.array([False, False, True, True])) == 3.5 / 4
