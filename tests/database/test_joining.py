"""Clusters without all their pairs: what is connected already is not compared again."""

from itertools import combinations

import numpy as np
import pytest
from near_copies import near_copies
from oracle import components
from weighted import fingerprints

import simdb
from simdb.database.search import buckets
from simdb.database.search.methods import exhaustive, polytopes


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


@pytest.mark.parametrize("beside", [0, 1 << 14])
@pytest.mark.parametrize("delta", [0, 60])
def test_groups_of_near_documents_are_compared_and_lose_nothing(made, monkeypatch, delta, beside):
    weights = grouped_weights(HEAVY, seed=7)
    database = made(weights, delta=delta)
    found = edges(database.find_all(search="polytope"))
    every = edges(database.find_all(search="exhaustive", recall=1.0))
    calls, joining = [], exhaustive.joining

    def counted(*arguments):
        calls.append(arguments)
        return joining(*arguments)

    # The planner compares so few documents by itself.
    monkeypatch.setattr(polytopes, "AUTO", "polytope")
    monkeypatch.setattr(polytopes, "BESIDE_BUNCH", beside)
    monkeypatch.setattr(exhaustive, "joining", counted)
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)
    for least in (20, 100):
        monkeypatch.setattr(buckets, "CROWD_MIN", least)

        clusters = [frozenset(each) for each in database.find_clusters(search="polytope")]

        cluster_of = {member: each for each in clusters for member in each}
        assert all(cluster_of[left] is cluster_of[right] for left, right in found)
        whole = [frozenset(each) for each in components(range(len(weights)), every)]
        assert all(any(each <= one for one in whole) for each in clusters)
    assert len(calls) >= 2


@pytest.mark.parametrize("delta_documents", [64, 4096])
def test_texts_decide_about_each_pair_of_near_documents_once(
    open_database, monkeypatch, delta_documents
):
    """A crowd of texts about the threshold: nearly all pairs are candidates, and few match."""
    monkeypatch.setattr(buckets, "CROWD_ROOTS", 0)
    monkeypatch.setattr(buckets, "CROWD_MIN", 64)
    monkeypatch.setattr(polytopes, "AUTO", "polytope")
    monkeypatch.setattr(exhaustive, "PIVOTS", 2)
    monkeypatch.setattr(exhaustive, "PIVOTS_MOST", 2)
    texts = near_copies(300)
    grams = [set(zip(words, words[1:], words[2:], strict=False)) for words in map(str.split, texts)]
    matching = [
        (left, right)
        for left, right in combinations(range(300), 2)
        if len(grams[left] & grams[right]) >= 0.85 * len(grams[left] | grams[right])
    ]
    options = simdb.Options(texts=True, delta_documents=delta_documents)
    database = open_database(options=options)
    database.insert_many(range(300), texts)

    pairs = database.find_all(similarity=0.85, search="polytope", verify="exact")

    clusters = database.find_clusters(similarity=0.85, search="polytope", verify="exact")

    assert [each.ids for each in clusters] == components(range(300), matching)
    assert len(pairs.left) == len(matching)
    assert 4_000 < clusters.verification.judged <= 1.1 * pairs.verification.judged
