"""A calibration describes the documents that it covers; other documents are found as surely.

Documents are Laplace weights.  A database is calibrated on documents and copies of them with little
noise, which need few flips.  Then documents of another kind are inserted, whose near-duplicates
differ in many bits.  The calibration alone would find half of their matches.  The promised share is
.9, and comparing finds .97: of 350 matches, fewer than .9 are found by chance once in 1e9 searches.
"""

import io
import random
from dataclasses import replace

import numpy as np
import pytest
from over import over
from weighted import fingerprints

import simdb
from simdb.database.maintenance.calibration import put_calibration
from simdb.plan.calibration import (
    SAMPLED_SIMILARITY,
    WEIGHED_DISTANCE,
    decode_calibration,
    encode_calibration,
    evidence,
)

ASKED = {"similarity": 0.8, "recall": 0.9}
SEEN, COPIES, NEW = 1000, 400, 400
OPTIONS = simdb.Options(delta_documents=150, sketch=simdb.Simhash(weighting="tf"))


def documents(count, seed):
    return np.random.default_rng(seed).laplace(size=(count, 128))


def noisy(weights, noise, seed):
    return weights + noise * np.random.default_rng(seed).laplace(size=weights.shape)


SEEN_WEIGHTS = documents(SEEN, 1)
SEEN_COPIES = noisy(SEEN_WEIGHTS[:COPIES], 0.03, 2)
NEW_WEIGHTS = documents(NEW, 3)
QUERIES = fingerprints(noisy(NEW_WEIGHTS, 0.6, 4))


def new_ids(start=0, stop=NEW):
    return [f"new{at}" for at in range(start, stop)]


def insert_new(database, start=0, stop=NEW):
    database.insert_many(new_ids(start, stop), fingerprints(NEW_WEIGHTS[start:stop]))


def pairs_of(matches):
    queries = np.repeat(np.arange(len(matches)), np.diff(matches.offsets))
    return list(zip(queries.tolist(), matches.ids.tolist(), strict=True))


def exact(database):
    return pairs_of(database.query_many(QUERIES, similarity=0.8, recall=1.0, search="exhaustive"))


def recall_of(found, wanted):
    return len(set(found) & set(wanted)) / len(set(wanted))


def calibrated_on_others(open_database, options=OPTIONS, path=None):
    """Calibrate on documents of one kind, in an otherwise empty database."""
    database = open_database(path, options=options)
    seen = np.concatenate([SEEN_WEIGHTS, SEEN_COPIES])
    database.insert_many(range(len(seen)), fingerprints(seen))
    database.calibrate()
    return database


@pytest.fixture
def grown(open_database):
    """The calibrated database, with documents of another kind inserted since."""
    database = calibrated_on_others(open_database)
    for start in range(0, NEW, 100):
        insert_new(database, start, start + 100)
    return database


@over("method", ["auto", "psm"])
def test_recall_asked_is_recall_given_for_documents_inserted_since(method):
    with calibrated_on_others(
        lambda path, options: simdb.open(path, options=options), replace(OPTIONS, blocks=1)
    ) as database:
        database.insert_many([f"empty{at}" for at in range(200)], [""] * 200)
        for start in range(0, NEW, 100):
            insert_new(database, start, start + 100)
        wanted = exact(database)
        limited = simdb.Search(method=method, memory_limit=20_000)

        found = database.query_many(QUERIES, search=method, **ASKED)
        first = database.query_many(QUERIES, search=method, match="first", **ASKED)

        assert len(wanted) > 350
        assert recall_of(pairs_of(found), wanted) >= 0.9
        assert recall_of(pairs_of(first), wanted) >= 0.9
        assert [*database.query_many(QUERIES, search=limited, **ASKED)] == [*found]
        assert len(pairs_of(found)) == len(set(pairs_of(found)))
        for at in range(0, 100, 5):
            assert database.query(QUERIES[at], search=method, **ASKED) == found[at]
            assert database.query(QUERIES[at], search=method, limit=1, **ASKED) == found[at][:1]
            assert (database.first(QUERIES[at], search=method, **ASKED) is None) == (not found[at])


def test_pairs_and_clusters_of_documents_inserted_since_are_found(grown):
    copies = [f"copy{at}" for at in range(NEW)]
    grown.insert_many(copies, QUERIES)
    wanted = {
        frozenset((pair.left, pair.right))
        for pair in grown.find_all(similarity=0.8, recall=1.0, search="exhaustive")
        if isinstance(pair.right, str)
    }

    pairs = {frozenset((pair.left, pair.right)) for pair in grown.find_all(search="psm", **ASKED)}
    clusters = grown.find_clusters(search="psm", **ASKED)

    joined = {frozenset(each.ids) for each in clusters}
    assert len(wanted) > 350
    assert len(wanted & pairs) >= 0.9 * len(wanted)
    assert len([pair for pair in wanted if any(pair <= each for each in joined)]) >= 0.9 * len(
        wanted
    )


def test_a_claim_finds_what_was_inserted_since(grown):
    claimed = [f"claim{at}" for at in range(NEW)]
    wanted = {query for query, _ in exact(grown)}

    found = grown.add_many_if_new(claimed, QUERIES, search="psm", **ASKED)

    refused = np.flatnonzero(np.diff(found.offsets))
    assert len(wanted & set(refused.tolist())) >= 0.9 * len(wanted)


def test_a_batch_that_is_inserted_is_matched_with_what_was_inserted_since(grown):
    wanted = exact(grown)

    found = grown.insert_batch(
        [f"batch{at}" for at in range(NEW)],
        QUERIES,
        search=simdb.Search(method="psm", memory_limit=20_000),
        **ASKED,
    )

    assert recall_of(pairs_of(found), wanted) >= 0.9


LIKE_COPIES = {"similarity": 0.97, "recall": 0.9, "search": "psm"}


def test_the_plan_tells_that_the_calibration_has_not_seen_all(open_database):
    database = calibrated_on_others(open_database)
    before = database.plan(**LIKE_COPIES)
    insert_new(database, 0, 10)
    few = database.plan(**LIKE_COPIES)
    insert_new(database, 10, 100)

    after = database.plan(**LIKE_COPIES)

    assert "since" not in before.reason + few.reason
    assert "sampled pairs, and for documents inserted since, the prior alone" in after.reason
    assert after.recall >= 0.9
    assert after.probes > before.probes
    assert database.stats().calibrated_count == 1400


def test_no_calibrated_plan_is_chosen_where_cross_polytope_tables_reach_the_recall(open_database):
    database = calibrated_on_others(open_database)
    asked = {"n": 10**6, "similarity": 0.9, "recall": 0.9}

    by_default = database.plan(**asked)
    by_name = database.plan(search="psm", **asked)
    database.rebuild(polytopes=0)
    without = database.plan(**asked)

    assert by_default.method == "polytope"
    assert by_default.considered[0].method in ("psm", "multiprobe")
    assert "this one does not depend on a sample of pairs" in by_default.choice
    assert by_name.method == "psm"
    assert without.method in ("psm", "multiprobe")


def test_compaction_keeps_to_what_the_calibration_has_seen(grown):
    grown.delete_many([*range(0, 300), *new_ids(0, 300)])

    grown.compact()

    assert grown.stats().calibrated_count == 1100
    assert "for documents inserted since" in grown.plan(**LIKE_COPIES).reason
    found = pairs_of(grown.query_many(QUERIES, search="psm", **ASKED))
    assert recall_of(found, exact(grown)) >= 0.9


def test_a_rebuild_keeps_to_what_the_calibration_has_seen(grown):
    grown.delete_many([*range(0, 300), *new_ids(0, 300)])

    grown.rebuild()

    assert grown.stats().calibrated_count == 1100
    assert "for documents inserted since" in grown.plan(**LIKE_COPIES).reason


def test_a_dump_keeps_to_what_the_calibration_has_seen(grown, open_database, tmp_path):
    grown.delete_many([*range(0, 300), *new_ids(0, 100)])
    stream = io.BytesIO()
    grown.dump(stream)
    stream.seek(0)

    simdb.load(stream, tmp_path / "loaded")

    loaded = open_database(tmp_path / "loaded")
    assert loaded.stats().calibrated_count == 1100
    found = pairs_of(loaded.query_many(QUERIES, search="psm", **ASKED))
    assert recall_of(found, exact(loaded)) >= 0.9


def test_a_calibration_that_does_not_say_what_it_covers_covers_nothing(open_database):
    database = calibrated_on_others(open_database)
    with database._state() as state:
        stored = encode_calibration(state.calibration)
    del stored["covered"]
    assert decode_calibration(stored).covered == 0
    database.delete_many(range(300))
    put_calibration(database._store, stored)
    insert_new(database)

    known = database.stats().calibrated_count
    found = pairs_of(database.query_many(QUERIES, search="psm", **ASKED))
    database.compact()

    assert known == 0
    assert recall_of(found, exact(database)) >= 0.9
    assert database.stats().calibrated_count == 1500


def test_a_sample_says_nothing_of_pairs_further_apart_than_it_has():
    with simdb.open(None, options=replace(OPTIONS, blocks=1)) as database:
        database.insert_many(range(NEW), fingerprints(NEW_WEIGHTS))

        known = database.calibrate(sample=fingerprints(noisy(NEW_WEIGHTS, 0.1, 5)))

    for distance in (3, WEIGHED_DISTANCE, WEIGHED_DISTANCE + 1, 20):
        found = evidence(known, None, distance, is_stored=False)
        assert found.is_measured == (distance <= WEIGHED_DISTANCE)
    for similarity in (0.9, SAMPLED_SIMILARITY, SAMPLED_SIMILARITY - 0.001, 0.3):
        found = evidence(known, similarity, None, is_stored=False)
        assert found.is_measured == (similarity >= SAMPLED_SIMILARITY)
        assert evidence(known, similarity, WEIGHED_DISTANCE, is_stored=False).is_measured


def edited(words, count, rng):
    """Return words of which `count` are others."""
    changed = list(words)
    for _ in range(count):
        changed[rng.randrange(len(words))] = f"w{rng.randrange(3000)}"
    return changed


@pytest.mark.parametrize("polytopes", [0, 4])
@pytest.mark.parametrize("method", ["auto", "psm"])
def test_what_a_sample_does_not_reach_is_found_as_without_it(method, polytopes):
    """Of 600 matches, .03 less than a planned share of .95 is found by chance once in 1000."""
    rng = random.Random(6)
    drawn = [rng.choices([f"w{each}" for each in range(3000)], k=40) for _ in range(2000)]
    copies = [edited(each, rng.choice([1, 2, 3, 4, 6, 9, 12]), rng) for each in drawn]
    texts = [" ".join(each) for each in drawn + copies]
    near = [" ".join(edited(each, 2, rng)) for each in drawn[:600]]
    asked = [{"similarity": each} for each in (0.5, 0.4, 0.3, 0.2)]
    with simdb.open(None, options=simdb.Options(blocks=1, polytopes=polytopes)) as database:
        database.insert_many(range(len(texts)), texts)
        database.compact()
        before = [len(database.find_all(search=method, **each)) for each in asked]
        database.calibrate(sample=near)

        for each, found in zip(asked, before, strict=True):
            pairs = len(database.find_all(search=method, **each))
            every = len(database.find_all(search="exhaustive", recall=1.0, **each))
            queried = pairs_of(database.query_many(near, search=method, **each))
            wanted = pairs_of(database.query_many(near, search="exhaustive", recall=1.0, **each))
            for_pairs = database.plan(search=method, pairs=True, **each)
            for_queries = database.plan(search=method, **each)

            assert min(every, len(wanted)) >= 600
            if method == "psm":
                assert "no sample of queries covers them" in for_queries.reason
            assert pairs >= min(found, 0.95 * every)
            assert pairs >= (for_pairs.recall - 0.03) * every
            assert recall_of(queried, wanted) >= for_queries.recall - 0.03
