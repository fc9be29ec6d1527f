"""Clusters without all their pairs: what is connected already is not compared again."""

import numpy as np
import pytest
from oracle import components
from weighted import fingerprints

import simdb
from simdb.database.search import buckets


def grouped_weights(sizes, *, seed=1, noise=0.25):
    """Return float32[n, 128] in random order: groups of near-copies of these sizes."""
    generator = np.random.default_rng(seed)
    centres = np.repeat(generator.standard_normal((len(sizes), 128)), sizes, axis=0)
    own = noise * generator.uniform(0.2, 2, (len(centres), 1))
    weights = centres + own * generator.standard_normal(centres.shape)
    return generator.permutation(weights).astype(np.float32)


@pytest.fixture
def made(open_database):
    """Return a function that makes a database of documents in runs and a delta, some deleted."""

    def make(weights, *, delta, **options):
        options = {"polytopes": 3, "delta_documents": 64, "growth": 2, **options}
        database = open_database(options=simdb.Options(**options))
        stop = len(weights) - delta
        for start in range(0, stop, 100):
            part = weights[start : min(start + 100, stop)]
            database.insert_many(range(start, start + len(part)), fingerprints(part))
        if delta:
            database.insert_many(range(stop, len(weights)), fingerprints(weights[stop:]))
        database.delete_many(range(0, len(weights), 7))
        return database

    return make


def edges(pairs):
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


HEAVY = [150, 60, *[5] * 20, *[1] * 50]


@pytest.mark.parametrize("delta", [0, 1, 60])
@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("polytope", {}), ("exhaustive", {"similarity": 0.8, "distance": 9}),
        ("polytope", {"recall": 0.5}), ("psm", {}),
    ],
)  # fmt: skip
def test_clusters_are_the_components_of_the_pairs(made, monkeypatch, delta, method, asked):
    weights = grouped_weights(HEAVY, seed=7)
    database = made(weights, delta=delta)
    pairs = database.find_all(search=method, **asked)
    expected = {frozenset(each) for each in components(range(len(weights)), edges(pairs))}

    clusters = database.find_clusters(search=method, **asked)

    assert {frozenset(each) for each in clusters} == expected
    assert len(pairs.left) > 200
    # Large groups may be put off.
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)
    monkeypatch.setattr(buckets, "COUNTED_PAIRS", 1)
    for least in (2, 20, 200):
        monkeypatch.setattr(buckets, "CROWD_MIN", least)
        found = database.find_clusters(search=method, **asked)
        assert {frozenset(each) for each in found} == expected


@pytest.mark.parametrize("asked", [{"distance": 6}, {"distance": 14, "similarity": 0.9}])
def test_groups_that_nearly_touch_are_connected_as_their_pairs_are(made, monkeypatch, asked):
    centres = grouped_weights([1] * 4, seed=8)
    chain = [centres[at] * (1 - step) + centres[at + 1] * step
             for at in range(3) for step in np.linspace(0, 1, 60)]  # fmt: skip
    noise = np.random.default_rng(9).standard_normal((180, 128)) * 0.15
    weights = (np.array(chain) + noise).astype(np.float32)
    database = made(weights, delta=20)
    pairs = database.find_all(search="exhaustive", **asked)
    monkeypatch.setattr(buckets, "CROWD_MIN", 8)
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)

    clusters = database.find_clusters(search="exhaustive", **asked)

    expected = components(range(len(weights)), edges(pairs))
    assert {frozenset(each) for each in clusters} == {frozenset(each) for each in expected}
