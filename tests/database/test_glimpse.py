"""A search by psm for a distance learns how many headers it needs from the collection at hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from binomial import chance_of
from weighted import fingerprints

import simdb
from simdb.database.state.glimpse import MATCHES_MOST, glimpse
from simdb.plan.probing import wants_glimpse
from simdb.plan.problem import Criterion

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
    assert "changed documents of this collection" in plan.reason
    assert "an estimate" in plan.reason
    # More probes would be for pairs that this collection does not have.
    assert plan.probes <= {"edits": 15, "accidents": 60}[name]


def test_the_pairs_are_all_within_the_distance_of_the_documents_that_ask():
    generator = np.random.default_rng(9)
    originals = generator.laplace(size=(200, 128))
    stored = np.concatenate([originals, originals + 0.2 * generator.laplace(size=(200, 128))])
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(400), fingerprints(stored))
        bits = database.bits_many(range(400))[1]
        with database._store.state() as state:
            seen = glimpse(state, 6, is_stored=True)

    assert seen is not None
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


def test_of_a_crowd_only_a_few_matches_of_each_document_are_taken():
    generator = np.random.default_rng(2)
    crowd = generator.laplace(size=(1, 128)) + 0.1 * generator.laplace(size=(300, 128))
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(20), fingerprints(np.eye(20, 128) - 0.01))
        with database._store.state() as state:
            assert glimpse(state, 3, is_stored=False) is None  # of too few documents
        database.insert_many(range(20, 320), fingerprints(crowd))
        with database._store.state() as state:
            seen = glimpse(state, 6, is_stored=True)

    assert seen is not None
    assert all(
        np.unique(seen.pairs.levels[kind], axis=0, return_counts=True)[1].max() == MATCHES_MOST
        for kind in seen.groups
    )


def test_only_a_search_by_name_for_a_distance_draws_a_sample():
    usual = Criterion(None, 3, 0.9, "psm", is_weighted=True)
    assert wants_glimpse(usual, None)
    assert wants_glimpse(replace(usual, method="multiprobe"), None)
    for changed in (
        {"method": "auto"}, {"method": "bphs"}, {"recall": 1.0}, {"distance": 0},
        {"similarity": 0.9}, {"is_weighted": False},
    ):  # fmt: skip
        assert not wants_glimpse(replace(usual, **changed), None)
