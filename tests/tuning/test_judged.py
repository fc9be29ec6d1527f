"""Thresholds by judged pairs are smooth, and shares have honest intervals."""

import random

import numpy as np
import pytest
from over import over
from scales import seen

import simdb
from simdb.sketch.tuning.judged import (
    FOLDS,
    Contest,
    Rating,
    best_ordered,
    chance_level,
    directions,
    f1_of,
    folds_of,
    left_out,
    nearness,
    order_of,
    precision_of,
    rate,
    recall_of,
    similarities,
    simplest,
    unrelated,
    wilson,
)


def rated(similarities, labels, prior=0.6, least=0.2):
    found = np.asarray(similarities, np.float32)
    flags = np.asarray(labels, np.bool_)
    folds = folds_of(flags, np.random.default_rng(1))
    return rate(found, flags, prior=prior, least=least, folds=folds)


def test_one_stray_pair_does_not_decide_the_threshold():
    similarities = [*np.linspace(0.1, 0.4, 25), *np.linspace(0.7, 1, 25)]
    labels = [False] * 25 + [True] * 25
    without = rated(similarities, labels).threshold

    low = rated([*similarities, 0.15], [*labels, True]).threshold
    high = rated([*similarities, 0.99], [*labels, False]).threshold

    assert abs(low - without) < 0.06
    assert abs(high - without) < 0.06


def test_the_fewest_pairs_leave_folds_of_none_to_the_prior():
    labels = np.array([True, True, False, False])
    folds = np.array([[0, 0, 0, 0], [0, 1, 0, 1]])

    rating = rate(np.float32([0.9, 0.8, 0.3, 0.2]), labels, prior=0.6, least=0.2, folds=folds)

    assert rating.taken.tolist() == [labels.tolist(), labels.tolist()]
    assert left_out(
        [np.float32([0.9, 0.8, 0.3, 0.2])], labels, Contest([0.6], [0.2], usual=0, seed=1)
    ).tolist() == [labels.tolist()]


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


def test_of_sketches_that_do_equally_well_the_one_that_separates_the_texts_is_taken():
    labels = np.arange(60) % 2 == 0
    right, poor = labels[None], labels[None].copy()
    poor[0, :20] = False
    ratings = [rating_of(each, labels) for each in (poor, right, right)]
    measured = [labels.astype(np.float32)] * 3

    assert best_ordered(ratings, measured, labels, [1, 1, 2]) == 2
    assert best_ordered(ratings, measured, labels, [1, 2, 1]) == 1
    # An F1 of 1 and of 0.8 differ by more than a tenth of the separation is worth.
    assert best_ordered(ratings, measured, labels, [2, 1.8, 0]) == 1


def test_nearness_is_the_share_of_random_pairs_that_are_less_similar():
    far = np.linspace(0, 1, 1001, dtype=np.float32)

    assert nearness(np.full(20, 0.9, np.float32), far, 1000) == pytest.approx(0.9, abs=0.001)
    assert nearness(np.full(20, 0.5, np.float32), far, 1000) is None
    assert nearness(np.full(20, 0.1, np.float32), far, 1000) is None
    assert nearness(np.full(2, 0.9, np.float32), far, 1000) is None
    assert nearness(np.full(20, 0.9, np.float32), far[:0], 1) is None


@over(("count", "total"), [(0, 10), (10, 10), (9, 12), (0.5, 1)])
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


def test_a_choice_without_a_pair_does_not_know_its_label():
    # The labels mean nothing, so a choice that saw them would look better than chance.  F1 of all
    # pairs taken is 0.67; that of 100 pairs has a standard deviation of about 0.05.
    generator = np.random.default_rng(9)
    measured = [generator.random(100).astype(np.float32) for _ in range(12)]
    labels = generator.random(100) < 0.5

    taken = left_out(measured, labels, Contest([0.5] * 12, [0.0] * 12, usual=0, seed=0))

    assert f1_of(taken, labels)[0] < 0.67 + 4 * 0.05
    assert taken.shape == (1, 100)


def test_shares_are_counted_among_all_pairs():
    labels = np.arange(1000) % 2 == 0
    taken = np.arange(1000) < 800

    precision = precision_of(taken[None], taken, labels)
    recall = recall_of(taken[None], taken, labels)

    assert (precision.value, recall.value) == (0.5, 0.8)
    assert 0.46 < precision.low < 0.5 < precision.high < 0.54
    assert 0.76 < recall.low < 0.8 < recall.high < 0.84


def words(generator, count):
    return " ".join(generator.choice("abcdefgh") * generator.randint(1, 9) for _ in range(count))


def test_similarities_are_those_that_a_database_reports(tmp_path):
    generator = random.Random(4)
    texts = [words(generator, 12) for _ in range(20)]
    sketch = simdb.Simhash(unit="characters", shingle=3)
    with simdb.open(tmp_path / "db", "c", options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(10), texts[:10])
        database.insert_many(range(10, 20), texts[10:])
        compared = [pair.similarity for pair in database.compare(range(10), range(10, 20))]

    rows = directions(texts, sketch)

    estimates = similarities(rows[:10], rows[10:])  # cosines
    assert seen(estimates).tolist() == pytest.approx(compared, abs=1e-5)


def test_chance_is_that_of_a_normal_distribution_if_similarities_have_one():
    # The error of the quantile 0.99 of a million draws is 0.004 standard deviations; the limit
    # below is more than 10 times the error that follows.
    pairs = np.random.default_rng(2).normal(0.1, 0.1, 1_000_000).astype(np.float32)

    level = chance_level(pairs, 10_000)

    # 0.1 of 10,000 documents reach it, so a share of 1e-5: 4.265 standard deviations.
    assert level == pytest.approx(0.1 + 4.265 * 0.1, abs=0.01)


def test_a_larger_collection_needs_a_larger_level():
    pairs = unrelated(np.random.default_rng(3).normal(size=(100, 128)).astype(np.float32) / 12)

    assert chance_level(pairs, 100) < chance_level(pairs, 100_000)
    assert chance_level(pairs[:0], 100) == 0
