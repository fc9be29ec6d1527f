"""A search by psm for a distance learns how many headers it needs from the collection at hand."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from binomial import chance_of
from weighted import fingerprints

import simdb
from simdb.database.state import kinds, state as states
from simdb.database.state.glimpse import PAIRED_LEAST, PAIRS, glimpse
from simdb.database.state.kinds import kind_of
from simdb.database.state.store import settled
from simdb.plan import choose
from simdb.plan.calibration import USUAL_DELAYS
from simdb.plan.probing import wants_glimpse
from simdb.plan.problem import Criterion, Problem

STORED, ASKED, DISTANCE = 3000, 600, 4
# One table, and so many header bits that many headers differ.
OPTIONS = simdb.Options(blocks=1, leading=1, header_offset=0)
CHANCE = 1e-9  # that a test fails although the recall is just as asked, for each search


def edits(generator):
    """Stored documents that differ, and small changes of some of them."""
    stored = generator.laplace(size=(STORED, 128))
    return stored, stored[:ASKED] + 0.12 * generator.laplace(size=(ASKED, 128))


def accidents(generator):
    """Documents around a few centres, some of which are near one another by accident."""
    centres = generator.laplace(size=(20, 128))

    def around(count):
        chosen = centres[generator.integers(0, len(centres), count)]
        return chosen + 0.4 * generator.laplace(size=(count, 128))

    return around(STORED), around(ASKED)


KINDS = {"edits": edits, "accidents": accidents}


@pytest.fixture(params=KINDS, scope="module")
def world(request):
    stored, asked = KINDS[request.param](np.random.default_rng(5))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(STORED), fingerprints(stored))
        database.compact()
        yield request.param, database, asked


@pytest.mark.parametrize("recall", [0.8, 0.95])
def test_a_search_by_name_finds_its_share_of_edits_and_of_accidents(world, recall):
    name, database, weights = world
    by_psm = {"distance": DISTANCE, "recall": recall, "search": "psm"}
    all_of = {"distance": DISTANCE, "recall": 1.0, "search": "exhaustive"}
    plan = database.plan(**by_psm)
    for question in ({"documents": fingerprints(weights)}, {"ids": range(STORED)}):
        every = database.query_many(**question, **all_of)
        asked = int(np.count_nonzero(np.diff(every.offsets)))
        if asked < 60:  # the stored documents of `edits` have no matches
            continue

        found = database.query_many(**question, **by_psm)

        reached = math.floor(len(found.ordinals) / len(every.ordinals) * asked)
        assert chance_of(reached, asked, recall) >= CHANCE

    assert plan.method == "psm"
    assert "changed copies of 512 documents of this collection" in plan.reason
    assert ("stored pairs" in plan.reason) == (name == "accidents")
    assert "an estimate" in plan.reason
    # More probes would be for pairs that this collection does not have.
    assert plan.probes <= {"edits": 15, "accidents": 60}[name]


def crowd(generator):
    """Documents around one centre: any bits differ, whatever their weights."""
    centre = generator.laplace(size=128)
    weights = centre + 0.4 * generator.laplace(size=(STORED + ASKED, 128))
    return weights[:STORED], weights[STORED:]


@pytest.mark.parametrize("store_volatility", [False, True])
@pytest.mark.parametrize("kind", [edits, crowd])
def test_without_stored_weights_a_batch_of_queries_says_what_is_found(kind, store_volatility):
    """Of a crowd .79 were found where .95 were asked, since nothing told it from edits."""
    stored, asked = kind(np.random.default_rng(5))
    sketch = simdb.Simhash(store_volatility=store_volatility)
    options = simdb.Options(sketch=sketch, blocks=1, leading=1, header_offset=0)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(STORED), fingerprints(stored).bits)
        database.compact()
        every = database.query_many(fingerprints(asked), distance=6, recall=1.0)
        database.query_many(fingerprints(asked[:99]), distance=6, search="psm")
        before = database.plan(distance=6, search="psm")

        found = database.query_many(fingerprints(asked), distance=6, search="psm")
        after = database.plan(distance=6, search="psm")

    matched = int(np.count_nonzero(np.diff(every.offsets)))
    reached = math.floor(len(found.ordinals) / len(every.ordinals) * matched)
    assert matched > 500
    assert chance_of(reached, matched, 0.95) >= CHANCE
    assert ("stored pairs without weights" in before.reason) == (kind is crowd)
    assert ("the prior alone" in before.reason) == (kind is edits)
    assert "pairs of queries" in after.reason
    assert kind is edits or after.cost_seconds < before.cost_seconds


def test_queries_that_match_nothing_teach_nothing_and_twice_as_many_are_tried(monkeypatch):
    generator = np.random.default_rng(7)
    stored, asked = crowd(generator)
    others = generator.laplace(size=(400, 128))
    drawn = []

    def counted(state, problem, queries):
        drawn.append(None if queries is None else len(queries))
        return glimpse(state, problem, queries)

    monkeypatch.setattr(states, "glimpse", counted)
    options = simdb.Options(blocks=1, leading=1, header_offset=0)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(STORED), fingerprints(stored).bits)
        for count in (99, 100, 100, 200, 201, 400):
            database.query_many(fingerprints(others[:count]), distance=6, search="psm")
        before = database.plan(distance=6, search="psm").reason
        for _ in range(2):
            database.query_many(fingerprints(asked), distance=6, search="psm")
        after = database.plan(distance=6, search="psm").reason

    assert "stored pairs without weights" in before
    assert "pairs of queries" in after
    assert drawn == [99, 200, 600]


def glimpse_of(database, distance, *, noise=None):
    criterion = Criterion(None, distance, 0.95, "psm", is_weighted=True)
    if noise is not None:
        database.calibrate(noise=noise)
    with database._store.state() as state:
        problem = Problem(criterion, state.population(criterion), state.calibration)
        return glimpse(state, problem)


def test_the_pairs_are_all_within_the_distance_of_the_documents_that_ask():
    generator = np.random.default_rng(9)
    originals = generator.laplace(size=(200, 128))
    stored = np.concatenate([originals, originals + 0.2 * generator.laplace(size=(200, 128))])
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(400), fingerprints(stored))
        bits = database.bits_many(range(400))[1]

        seen = glimpse_of(database, 6)

    changed, as_stored = (seen.pairs.taken(kind) for kind in seen.groups)
    differing = np.bitwise_count(bits[:, None] ^ bits[None, :])
    near = (differing > 0) & (differing <= 6)
    expected = {(int(bits[i]), int(bits[j])) for i, j in zip(*np.nonzero(near), strict=True)}
    pairs = list(zip(as_stored.queries.tolist(), as_stored.stored.tolist(), strict=True))
    assert len(pairs) == len(expected) > 100
    assert set(pairs) == expected
    assert set(changed.stored.tolist()) <= set(bits.tolist())
    assert np.isin(np.bitwise_count(changed.queries ^ changed.stored), range(1, 7)).all()
    assert np.array_equal(seen.distances, np.bitwise_count(seen.pairs.queries ^ seen.pairs.stored))


def test_of_a_crowd_not_all_pairs_are_taken_and_none_of_a_document_that_was_deleted():
    generator = np.random.default_rng(2)
    crowd = generator.laplace(size=(1, 128)) + 0.1 * generator.laplace(size=(300, 128))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(1), fingerprints(crowd[:1]))
        assert glimpse_of(database, 3) is None  # of too few documents
        database.insert_many(range(1, 300), fingerprints(crowd[1:]))
        database.delete_many(range(200))
        left = set(database.bits_many(range(200, 300))[1].tolist())

        seen = glimpse_of(database, 6)

    stored = seen.pairs.taken(seen.groups[1])
    assert len(stored) == PAIRS
    assert set(seen.pairs.stored.tolist()) <= left
    assert set(stored.queries.tolist()) <= left


def test_few_stored_pairs_say_nothing_and_a_noise_that_is_given_replaces_them():
    generator = np.random.default_rng(4)
    weights = generator.standard_normal((300, 128))
    near = weights[:PAIRED_LEAST] + 0.05 * generator.standard_normal((PAIRED_LEAST, 128))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(304), fingerprints(np.concatenate([weights, near[:4]])))
        few = glimpse_of(database, 6)
        database.insert_many(range(304, 310), fingerprints(near[4:]))

        enough, given = glimpse_of(database, 6), glimpse_of(database, 6, noise=0.12)

    assert (len(few.groups), len(enough.groups), len(given.groups)) == (0, 2, 0)
    assert given.origin == "noise 0.12 as given"
    # Noise of .12 changes 2.4 bits, and edits of all cosines from .9 on more.
    assert given.distances.mean() < few.distances.mean()


def test_the_documents_that_are_looked_up_in_tables_have_the_pairs_of_those_that_are_compared():
    """Of 20,000 documents, a look-up with four flips in each of two tables is cheaper."""
    generator = np.random.default_rng(8)
    weights = generator.standard_normal((10_000, 128))
    near = weights + 0.1 * generator.standard_normal((10_000, 128))
    options = simdb.Options(blocks=4, leading=1)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(20_000), fingerprints(np.concatenate([weights, near])))
        database.rebuild(polytopes=0)
        exact = database.plan(distance=3, recall=1.0)

        seen = glimpse_of(database, 3)

    stored = seen.pairs.taken(seen.groups[1])
    assert exact.method == "bphs"
    assert stored.query_count > 1000
    assert seen.distances.max() == 3


def test_a_sample_is_drawn_anew_only_when_the_collection_has_doubled(monkeypatch):
    generator = np.random.default_rng(6)
    weights = generator.standard_normal((1600, 128))
    drawn = []

    def counted(state, problem, queries):
        drawn.append(state.next_ordinal)
        return glimpse(state, problem)

    monkeypatch.setattr(states, "glimpse", counted)
    asked = {"distance": 3, "recall": 0.9, "search": "psm"}
    with simdb.open(None, options=OPTIONS) as database:
        for start in range(0, 1600, 50):
            part = fingerprints(weights[start : start + 50])
            database.insert_many(range(start, start + 50), part)
            database.query_many(part, **asked)
        before = len(drawn)
        database.calibrate(noise=0.1)
        database.query_many(part, **asked)

    # Plans are kept, too, until the collection has grown some more.
    assert 3 <= before <= 5
    assert all(later > 2 * earlier for earlier, later in pairwise(drawn[:before]))
    assert len(drawn) == before + 1


def test_only_a_search_for_a_distance_by_weights_draws_a_sample():
    usual = Criterion(None, 3, 0.9, "psm", is_weighted=True)
    population = kind_of(settled(OPTIONS)).empty_population(has_weights=True)

    def wants(**changed):
        problem = Problem(replace(usual, **changed), population, None, USUAL_DELAYS)
        return wants_glimpse(problem)

    for method in ("psm", "multiprobe", "auto"):
        assert wants(method=method)
    for changed in (
        {"method": "bphs"}, {"recall": 1.0}, {"distance": 0}, {"similarity": 0.9},
        {"is_weighted": False},
    ):  # fmt: skip
        assert not wants(**changed)


def test_batches_are_planned_once_when_tables_in_memory_need_no_sample(monkeypatch):
    """Each batch was planned anew, since queries might have told more of a sample without use."""
    monkeypatch.setattr(kinds, "MADE_SECONDS", 0.0)
    stored, asked = crowd(np.random.default_rng(7))
    given, chosen = fingerprints(asked), []

    def counted(problem):
        chosen.append(problem.criterion.recall)
        return choose(problem)

    options = simdb.Options(blocks=1, leading=1, header_offset=0)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(STORED), fingerprints(stored).bits)
        database.compact()
        database.query_many(given.taken(slice(0, 99)), distance=3)
        database.query_many(given.bits, distance=3)
        database.query_many(given, distance=3)
        method = database.plan(distance=3).method
        every = database.query_many(given.bits, distance=3, recall=1.0)
        monkeypatch.setattr(states, "choose", counted)
        found = database.query_many(given, distance=3)

    assert chosen == []
    assert method == "bphs"
    assert np.array_equal(found.offsets, every.offsets)
