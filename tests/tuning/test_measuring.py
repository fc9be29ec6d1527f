"""Similarities are those of a database, and chance is extrapolated from unrelated texts."""

import random

import numpy as np
import pytest

import simdb
from simdb.tuning.measuring import chance_level, directions, similarities, unrelated


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

    assert similarities(rows[:10], rows[10:]).tolist() == pytest.approx(compared, abs=1e-5)


def test_a_text_without_features_is_similar_to_nothing():
    rows = directions(["", "some words here"], simdb.Simhash())

    assert similarities(rows[:1], rows[:1]).tolist() == [0]
    assert similarities(rows[:1], rows[1:]).tolist() == [0]


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
