"""The recall given is the recall found: searches that may miss, measured against comparing.

Documents are Laplace weights W, queries W + noise * Z with Z of the same kind.  The measured recall
may fall below the given one by chance.  A test fails only if that would happen less than once in
1e9 searches of exactly this recall, so all searches together fail by chance less than once in 1e6.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from binomial import chance_of
from weighted import fingerprints, found_pairs

import simdb

STORED, COPIES, QUERIES = 1200, 500, 900
CHANCE = 1e-9
CLOSE = 0.03


class World:
    """Stored documents, copies of some of them, queries, and documents like the queries."""

    def __init__(self, noise, stored=STORED, copies=COPIES, queries=QUERIES):
        generator = np.random.default_rng(7)
        weights = generator.laplace(size=(stored, 128))

        def noisy(count):
            source = generator.integers(0, stored, count)
            return source, weights[source] + noise * generator.laplace(size=(count, 128))

        self.sources, asked = noisy(queries)
        self.queries = fingerprints(asked)
        self.sample = fingerprints(noisy(queries)[1])
        self.stored = fingerprints(np.concatenate([weights, noisy(copies)[1]]))

    def fill(self, database):
        database.insert_many(range(len(self.stored)), self.stored)


def laid_out(blocks, leading=1, **settings):
    return simdb.Options(blocks=blocks, leading=leading, delta_documents=600, **settings)


def assert_recall(found, wanted, recall):
    """Assert that the share `recall` of the `wanted` pairs is found; one query counts once."""
    assert found <= wanted
    asked = len({query for query, _ in wanted})
    assert asked > 80
    reached = math.floor(len(found) / len(wanted) * asked)
    assert chance_of(reached, asked, recall) >= CHANCE, f"{len(found)} of {len(wanted)}"


@pytest.fixture
def close():
    """A world of little noise in a few documents."""
    return World(CLOSE, stored=1200, copies=300, queries=400)


def test_stored_documents_ask_by_the_weights_that_are_kept(open_database, close):
    database = open_database(options=laid_out(4))
    close.fill(database)
    ids = range(1200)

    for calibrate in (lambda: None, database.calibrate):
        calibrate()
        wanted = found_pairs(database.query_many(ids=ids, distance=3, recall=1.0))
        for method in ("psm", "multiprobe"):
            found = database.query_many(ids=ids, distance=3, search=method, recall=0.9)

            assert_recall(found_pairs(found), wanted, 0.9)
            one = database.query(id=7, distance=3, search=method, recall=0.9)
            assert one == found[7]


def test_fingerprints_without_weights_cannot_be_probed_for(open_database, close):
    database = open_database(options=laid_out(4))
    close.fill(database)
    bare = close.queries.bits

    for method in ("psm", "multiprobe"):
        asked = {"distance": 3, "search": method, "recall": 0.9}
        for verb, documents in [
            (database.query, int(bare[0])), (database.first, int(bare[0])),
            (database.query_many, bare),
        ]:  # fmt: skip
            with pytest.raises(simdb.OptionError, match="weights"):
                verb(documents, **asked)
    by_default = database.query_many(bare, distance=3, recall=0.8)
    assert found_pairs(by_default) == found_pairs(
        database.query_many(bare, distance=3, search="exhaustive")
    )


def test_a_recall_of_one_is_answered_exactly_and_the_plan_says_so(open_database, close):
    database = open_database(options=laid_out(1))
    close.fill(database)

    for method in ("psm", "multiprobe"):
        plan = database.plan(distance=3, search=method, recall=1.0)
        found = database.query_many(close.queries, distance=3, search=method, recall=1.0)

        assert plan.method in ("bphs", "exhaustive")
        assert plan.recall == 1.0
        assert f"{method} cannot reach recall 1" in plan.reason
        assert found_pairs(found) == found_pairs(
            database.query_many(close.queries, distance=3, search="exhaustive")
        )


def test_a_criterion_too_wide_for_probing_is_answered_exactly(open_database):
    database = open_database(options=replace(laid_out(1), header_offset=-1))
    bits = np.random.default_rng(1).integers(0, 2**64, 70_000, np.uint64)
    database.insert_many(range(len(bits)), bits)
    database.insert("weighted", World(CLOSE, stored=1, copies=0, queries=1).stored[0])

    plan = database.plan(distance=30, search="psm", recall=0.99)

    assert plan.method == "exhaustive"
    assert plan.recall == 1.0
    assert "psm cannot reach recall 0.99" in plan.reason


def test_a_calibration_survives_reopening_copying_and_compaction(open_database, close, tmp_path):
    options = laid_out(1)
    database = open_database(options=options)
    close.fill(database)
    asked = {"distance": 3, "recall": 0.9, "search": "psm"}
    assert "changed copies" in database.plan(**asked).reason
    database.calibrate(close.sample)
    plan = database.plan(**asked)
    assert "sampled pairs" in plan.reason

    database.copy(tmp_path / "copied")
    database.compact()
    compacted = database.plan(**asked)
    database.close()
    reopened = open_database().plan(**asked)

    assert compacted.theta == reopened.theta == plan.theta
    assert open_database(tmp_path / "copied").plan(**asked).theta == plan.theta


@pytest.mark.parametrize(
    ("polytopes", "expected"), [(0, [None, 1000, 1000, 2500]), (4, [None, None, 1000, 2500])]
)
def test_compaction_calibrates_again_when_the_collection_has_doubled(
    open_database, polytopes, expected
):
    world = World(CLOSE, stored=2500, copies=0, queries=1)
    database = open_database(options=laid_out(1, polytopes=polytopes))
    known = []
    for size in (500, 1000, 1500, 2500):
        start = len(database)
        database.insert_many(range(start, size), slice_of(world.stored, start, size))
        database.compact()
        known.append(database.stats().calibrated_count)
        if polytopes and size == 1000:
            # With cross-polytope tables, only what was calibrated is calibrated again.
            database.calibrate()

    assert known == expected


def slice_of(every, start, stop):
    return simdb.Fingerprints(every.bits[start:stop], every.weights[start:stop])


def test_pairs_by_distance_are_searched_without_weights_if_some_documents_have_none(
    open_database, close
):
    """A search with weights would miss pairs of documents without weights, and not say so."""
    database = open_database()
    database.insert_many(range(100), close.stored.bits[:100])
    database.insert_many(range(100, 200), close.stored.bits[:100] ^ np.uint64(0b111))
    database.insert("weighted", "a text with some words")

    assert len(list(database.find_all(distance=3, recall=0.9))) >= 100
    with pytest.raises(simdb.OptionError, match="needs queries with weights"):
        list(database.find_all(distance=3, recall=0.9, search="psm"))
