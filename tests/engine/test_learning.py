"""Every run that is written has a sample of its matches, and what finding them costs."""

import numpy as np
import pytest

import simdb
from simdb import kernel
from simdb.engine.write import learning
from simdb.vector_form import fingerprints_of

TABLES = 2


def weights_of(count, *, seed=1, groups=3, noise=0.25):
    """Return float32[count, 128]: documents in groups of similar ones."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((-(-count // groups), 128))
    weights = np.repeat(centres, groups, axis=0)[:count]
    return (weights + noise * generator.standard_normal(weights.shape)).astype(np.float32)


def learnt(database):
    """Return the sample of the only run."""
    with database._state() as state:
        (run,) = state.runs
        return run.sample(state.source)


@pytest.fixture
def made(open_database):
    def make(weights, **options):
        options = {"polytopes": TABLES, "delta_documents": 16, **options}
        database = open_database(options=simdb.Options(**options))
        fingerprints = simdb.Fingerprints(fingerprints_of(weights), weights)
        database.insert_many(range(len(weights)), fingerprints)
        return database

    return make


def test_a_sample_has_matches_and_their_costs_from_both_sides(made):
    weights = weights_of(300)
    database = made(weights)
    _, vectors = kernel.quantise(weights)
    stored = kernel.Vectors(64, [(0, vectors)])

    sample = learnt(database)

    asked = sample[:, 0].astype(np.uint32)
    assert len(np.unique(asked)) > 200  # all are asked, and nearly all have two matches
    for place, similarity, forward, backward in sample[::7]:
        one = np.full(300, place, np.uint32)
        similarities = stored.between(one, np.arange(300, dtype=np.uint32))
        matches = np.flatnonzero(np.isclose(similarities, similarity))
        own, other = vectors[one[: len(matches)]], vectors[matches]
        costs = kernel.polytope_costs(own, other, 7, TABLES)
        back = kernel.polytope_costs(other, own, 7, TABLES)
        assert similarity >= np.float32(database.options.compared(database.options.similarity))
        assert (forward, backward) in set(zip(costs, back, strict=True))


def test_a_document_with_many_matches_keeps_some_of_each_similarity(made):
    weights = weights_of(100, groups=100, noise=0.2)
    database = made(weights)

    sample = learnt(database)

    _, counts = np.unique(sample[:, 0], return_counts=True)
    assert counts.max() == learning.MATCHES_KEPT
    assert len(counts) > 90


def test_crowded_documents_do_not_take_for_ever(made, monkeypatch):
    monkeypatch.setattr(learning, "MATCHES_MOST", 550)
    database = made(weights_of(100, groups=100, noise=0.1))

    sample = learnt(database)

    # Each document matches the 100 of its group; after six of them there are enough matches.
    assert len(np.unique(sample[:, 0])) == 6


def test_deleted_documents_teach_nothing(made):
    weights = weights_of(120)
    database = made(weights)
    database.delete_many(range(0, 120, 3))
    fingerprints = simdb.Fingerprints(fingerprints_of(weights), weights)
    database.insert_many(range(200, 320), fingerprints)

    sample = learnt(database)

    places = sample[:, 0].astype(int)
    assert len(places) > 100
    assert not np.isin(places, range(0, 120, 3)).any()


def test_a_commit_asks_few_documents_and_a_compaction_many(made, monkeypatch):
    monkeypatch.setattr(learning, "PROBES_MOST", 1)
    monkeypatch.setattr(learning, "BATCH", 5)
    database = made(weights_of(300))

    few = len(np.unique(learnt(database)[:, 0]))
    database.delete(299)
    database.compact()
    many = len(np.unique(learnt(database)[:, 0]))

    assert few <= 5
    assert many > 200


def test_a_merged_run_takes_over_the_samples_of_its_parts(made, monkeypatch):
    weights = weights_of(300)
    database = made(weights[:200])
    before = learnt(database)
    monkeypatch.setattr(learning, "PROBES_MOST", 1)
    monkeypatch.setattr(learning, "BATCH", 5)
    fingerprints = simdb.Fingerprints(fingerprints_of(weights[200:]), weights[200:])
    database.insert_many(range(200, 300), fingerprints)

    after = learnt(database)

    kept = {tuple(row) for row in after.tolist()}
    assert {tuple(row) for row in before.tolist()} <= kept
    assert len(before) < len(after) <= len(before) + 5 * learning.MATCHES_KEPT


def test_without_matches_nothing_is_learnt(made):
    assert learnt(made(weights_of(50, groups=1))) is None


def test_without_tables_nothing_is_learnt(made):
    assert learnt(made(weights_of(50), polytopes=0)) is None
