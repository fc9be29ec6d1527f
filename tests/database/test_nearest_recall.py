"""Searches for the nearest documents find the share asked, also where a step just reaches them.

Each query has `K` near documents, all of about the same similarity, which lies just above that of a
step: there a step finds the smallest share.  All other documents are far.  Each test fails for a
search of exactly the recall asked with a chance of 1e-6.
"""

import math

import numpy as np
from binomial import chance_of
from stepping import all_steps
from weighted import fingerprints

import simdb

DIMENSIONS = 128
QUERIES, K, RECALL = 150, 5, 0.5
WANTED = 0.653  # a step is for each hundredth of the similarity
CHANCE = 1e-6


def shared(found, exact):
    """Return how many of the exact nearest documents were found."""
    return sum(
        len({match.id for match in row} & {match.id for match in wanted})
        for row, wanted in zip(found, exact, strict=True)
    )


def test_documents_that_a_step_just_reaches_are_found_with_the_recall(open_database, monkeypatch):
    all_steps(monkeypatch)
    chance = np.random.default_rng(7)
    queries = chance.standard_normal((QUERIES, DIMENSIONS))
    noise = chance.standard_normal((QUERIES * K, DIMENSIONS))
    near = WANTED * np.repeat(queries, K, axis=0) + math.sqrt(1 - WANTED**2) * noise
    database = open_database(options=simdb.Options(delta_documents=100))
    database.insert_many(range(len(near)), fingerprints(near))

    exact = database.nearest_many(fingerprints(queries), K, recall=1.0)
    found = database.nearest_many(fingerprints(queries), K, recall=RECALL)

    assert chance_of(shared(found, exact), QUERIES * K, RECALL) > CHANCE
