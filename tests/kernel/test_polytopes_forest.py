"""Searches of cross-polytope tables with a forest leave out what is connected with the query."""

import numpy as np
import polytope_oracle as oracle
import pytest
from over import over

from simdb.core.kernel import Forest

TABLES = 3
COUNT = 240
LIMITS = {"similarity": 0.3, "limits": oracle.limits(30, 30), "first": False, "after": None}


@pytest.fixture
def case(search):
    """Return tables of two runs and a delta, all vectors and the thresholds."""
    vectors = oracle.near_vectors(3, COUNT, 16)
    bounds = ((0, 150, 13), (150, 200, 7))
    columns = [
        oracle.columns(vectors[start:stop], range(start, stop), width, TABLES)
        for start, stop, width in bounds
    ]
    delta = oracle.delta(vectors[200:], range(200, COUNT))
    tables = search.Polytopes(16, [(0, vectors)], columns, delta, None)
    return tables, vectors, np.array([1.5, 1.1], np.float32)


def joined(count, pairs, seed=0):
    """Return a forest of `count` numbers in which random pairs are joined."""
    forest = Forest(count)
    generator = np.random.default_rng(seed)
    forest.join(*generator.integers(0, count, (2, pairs), np.uint32))
    return forest


@over("pairs", [0, 1, 60, 150, 2000])
@over("count", [COUNT, 170])
@over("times", [1, 40])
def test_what_is_in_the_component_of_the_query_is_no_match(case, pairs, count, times):
    tables, vectors, thresholds = case
    members = np.tile(np.arange(0, count, 3, dtype=np.uint32), times)
    forest = joined(count, pairs)
    labels = [*forest.labels().tolist(), *range(count, COUNT)]
    every = oracle.rows(tables.search(vectors[members], thresholds=thresholds, **LIMITS))

    found = tables.search(
        vectors[members], thresholds=thresholds, members=members, parents=forest.parents, **LIMITS
    )

    assert sum(map(len, every)) > 1000
    assert oracle.rows(found) == [
        [row for row in rows if labels[row[0]] != labels[member]]
        for member, rows in zip(members.tolist(), every, strict=True)
    ]


def test_a_search_leaves_the_components_as_they_are(case):
    tables, vectors, thresholds = case
    members = np.arange(COUNT, dtype=np.uint32)
    chain = Forest(COUNT)
    chain.parents[1:] = members[:-1]
    other = joined(COUNT, 100)
    before = other.labels()

    found = tables.search(
        vectors, thresholds=thresholds, members=members, parents=chain.parents, **LIMITS
    )
    tables.search(vectors, thresholds=thresholds, members=members, parents=other.parents, **LIMITS)

    assert oracle.rows(found) == [[]] * COUNT
    assert not chain.labels().any()
    assert other.labels().tolist() == before.tolist()


@over("seed", range(5))
def test_parents_that_are_no_forest_give_an_answer(case, seed):
    tables, vectors, thresholds = case
    members = np.arange(COUNT, dtype=np.uint32)
    generator = np.random.default_rng(seed)
    parents = generator.integers(0, generator.choice([COUNT, 2**32]), COUNT, np.uint32)
    every = oracle.rows(tables.search(vectors, thresholds=thresholds, **LIMITS))

    found = tables.search(
        vectors, thresholds=thresholds, members=members, parents=parents, **LIMITS
    )

    rows = zip(oracle.rows(found), every, strict=True)
    assert all(set(some) <= set(others) for some, others in rows)
