"""Searches for the nearest documents find the share asked, also where a step just reaches them.

Each query has `K` near documents, all of about the same similarity, which lies just above that of a
step: there a step finds the smallest share.  All other documents are far.  Each test fails for a
search of exactly the recall asked with a chance of 1e-6, so one of the 4 searches fails less than
once in 200,000 seeds.
"""

import math

import numpy as np
import pytest
from binomial import chance_of
from stepping import all_steps
from weighted import fingerprints

import simdb

DIMENSIONS = 128
QUERIES, K = 150, 5
ABOVE = 0.003  # a step is for each hundredth of the similarity
CHANCE = 1e-6


def shared(found, exact):
    """Return how many of the exact nearest documents were found."""
    return sum(
        len({match.id for match in row} & {match.id for match in wanted})
        for row, wanted in zip(found, exact, strict=True)
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("recall", [0.5, 0.9])
@pytest.mark.parametrize("cosine", [0.95, 0.65])
def test_documents_that_a_step_just_reaches_are_found_with_the_recall(
    open_database, monkeypatch, cosine, recall
):
    all_steps(monkeypatch)
    chance = np.random.default_rng(7)
    queries = chance.standard_normal((QUERIES, DIMENSIONS))
    noise = chance.standard_normal((QUERIES * K, DIMENSIONS))
    wanted = cosine + ABOVE
    near = wanted * np.repeat(queries, K, axis=0) + math.sqrt(1 - wanted**2) * noise
    database = open_database(options=simdb.Options(delta_documents=100))
    database.insert_many(range(len(near)), fingerprints(near))

    exact = database.nearest_many(fingerprints(queries), K, recall=1.0)
    found = database.nearest_many(fingerprints(queries), K, recall=recall)

    assert chance_of(shared(found, exact), QUERIES * K, recall) > CHANCE
