"""Searches of cross-polytope tables give the recall asked, whatever is inserted, deleted or merged.

Documents are normal weights of two kinds.  The matches of a hard document are just as similar as
asked, or more similar by `ABOVE` at most; those of an easy document are very similar.  The recall
must hold for the hard ones alone.  The truth is an exhaustive search.

A test fails only if fewer matches are found than by chance once in 1e6 searches of exactly this
recall.  There are about 50 searches, so one of them fails by chance less than once in 20,000 seeds.
"""

import itertools
import math

import numpy as np
import pytest
from binomial import chance_of
from weighted import fingerprints, found_pairs, similarities_of

import simdb

ABOVE = 0.005
HARD, EASY, QUERIES = 500, 1100, 500
# Similarities, and the numbers of weights of documents and of the database.
WORLDS = ((0.8, 128), (0.95, 128), (0.9, 256))
RECALLS = (0.9, 0.95, 0.99)
METHODS = ("polytope", "auto")
CHANCE = 1e-6


def drawn(count, dimensions, seed):
    return np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)


def just_similar(weights, similarity, seed):
    """Return a vector for each row whose similarity is from `similarity` to `ABOVE` more."""
    generator = np.random.default_rng(seed)
    made = np.empty_like(weights)
    left = np.arange(len(weights))
    wanted = similarity + ABOVE / 2
    while len(left):
        noise = generator.standard_normal((len(left), weights.shape[1]))
        near = (wanted * weights[left] + math.sqrt(1 - wanted**2) * noise).astype(np.float32)
        reached = similarities_of(weights[left], near)
        is_made = (reached >= similarity) & (reached < similarity + ABOVE)
        made[left[is_made]] = near[is_made]
        left = left[~is_made]
    return made


class World:
    """Hard documents in pairs, easy ones in pairs, and queries with one hard match each."""

    def __init__(self, similarity, dimensions):
        self.similarity = similarity
        self.sketch = simdb.Simhash(weighting="tf", dimensions=dimensions)
        weights = drawn(HARD, dimensions, 1)
        self.hard = np.concatenate([weights, just_similar(weights, similarity, 2)])
        self.queries = fingerprints(just_similar(weights[:QUERIES], similarity, 3))
        easy = drawn(EASY, dimensions, 4)
        self.easy = np.concatenate([easy, easy + 0.05 * drawn(EASY, dimensions, 5)])

    def insert_hard(self, database):
        database.insert_many(range(len(self.hard)), fingerprints(self.hard))

    def insert_easy(self, database):
        names = [f"easy{at}" for at in range(len(self.easy))]
        database.insert_many(names, fingerprints(self.easy))


@pytest.fixture(scope="module", params=WORLDS, ids=str)
def world(request):
    return World(*request.param)


@pytest.fixture
def database(world, open_database):
    """A database whose default is the similarity of its world."""
    return open_database(
        options=simdb.Options(
            sketch=world.sketch, growth=2, delta_documents=100, similarity=world.similarity
        )
    )


def assert_recalls(database, world):
    """Assert that the hard matches of the queries are found, as many as asked."""
    ask = {"similarity": world.similarity}
    every = database.query_many(world.queries, search="exhaustive", recall=1.0, **ask)
    wanted = found_pairs(every)
    assert len(wanted) > QUERIES // 2
    for method in METHODS:
        for recall in RECALLS:
            matches = database.query_many(world.queries, search=method, recall=recall, **ask)
            found = found_pairs(matches)
            assert found <= wanted
            chance = chance_of(len(found), len(wanted), recall)
            assert chance >= CHANCE, f"{method}, {recall}: {len(found)} of {len(wanted)}"


def test_matches_just_as_similar_as_asked_are_found_whatever_was_done(database, world):
    world.insert_hard(database)
    assert_recalls(database, world)

    database.delete_many(range(0, len(world.hard), 3))
    assert_recalls(database, world)

    database.compact()
    assert_recalls(database, world)


def test_documents_of_a_harder_kind_that_are_inserted_later_are_found(database, world):
    world.insert_easy(database)
    database.calibrate()
    world.insert_hard(database)
    assert len(database.stats().runs) == 2
    assert_recalls(database, world)

    database.compact()

    assert_recalls(database, world)
    ask = {"similarity": world.similarity}
    wanted = len(list(database.find_all(search="exhaustive", recall=1.0, **ask)))
    for recall in RECALLS:
        found = len(list(database.find_all(search="polytope", recall=recall, **ask)))
        assert chance_of(found, wanted, recall) >= CHANCE


@pytest.mark.few(1)
def test_to_ask_for_less_never_finds_less(database, world):
    world.insert_hard(database)
    world.insert_easy(database)
    database.compact()

    def found(similarity, recall):
        pairs = database.find_all(search="polytope", similarity=similarity, recall=recall)
        matches = database.query_many(
            world.queries, search="polytope", similarity=similarity, recall=recall
        )
        as_similar = {(each.left, each.right) for each in pairs if each.similarity >= wanted}
        kept = matches.similarities >= wanted
        queries = np.repeat(np.arange(len(matches)), np.diff(matches.offsets))
        return as_similar | set(
            zip(queries[kept].tolist(), matches.ids[kept].tolist(), strict=True)
        )

    wanted = world.similarity
    ways = [(wanted, 0.9), (wanted - 0.001, 0.9), (wanted - 0.001, 0.95), (wanted - 0.02, 0.99)]
    every = [found(*way) for way in ways]

    assert all(fewer <= more for fewer, more in itertools.pairwise(every))
    assert every[0]
