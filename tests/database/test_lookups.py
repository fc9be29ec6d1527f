"""Lookups of one run among stored documents, in tables as they are stored and in gathered ones."""

from itertools import pairwise

import numpy as np
import pytest
from weighted import fingerprints

import simdb
from simdb.database.search.question import Question
from simdb.database.stored import Lookups
from simdb.database.write import claim
from simdb.plan.polytopes import plans

COUNT, PART = 900, 300
ASKED = Question(similarity=0.8, search="polytope")
LEAST = (COUNT + 20) / claim.GATHERED_STORED  # documents for which tables are gathered


@pytest.fixture
def weights():
    return np.random.default_rng(1).standard_normal((COUNT + PART, 128)).astype(np.float32)


@pytest.fixture
def database(open_database, weights):
    """Return a database of three runs and a delta; every tenth document is deleted."""
    held = open_database(
        options=simdb.Options(sketch=simdb.Simhash(weighting="tf"), delta_documents=64, growth=2)
    )
    for start, stop in pairwise([0, 600, 800, COUNT, COUNT + 20]):
        held.insert_many(range(start, stop), fingerprints(weights[start:stop]))
    held.delete_many(range(0, COUNT, 10))
    assert len(held.stats().runs) == 3
    return held


def sketches_of(database, weights):
    """Return copies of all documents with a similarity of .95 and more, and of some new ones."""
    noise = np.random.default_rng(2).standard_normal(weights.shape).astype(np.float32)
    return database.sketcher.sketch(fingerprints(weights + 0.2 * noise))


def found_by(lookups, sketches, size):
    """Return the id that each document matches, None for none."""
    found = []
    for start in range(0, len(sketches), size):
        some = sketches.taken(slice(start, start + size))
        matches = lookups.find(fingerprints(np.zeros((len(some), 128), np.float32)), some)
        for row in np.split(matches.ids, matches.offsets[1:-1]):
            found.append(row[0] if len(row) else None)
    return found


@pytest.mark.parametrize(
    ("expected", "tables", "threads"),
    [(0, 0, 1), (LEAST, 0, 3), (10**6, 4, 2), (10**6, 8, 2), (10**6, 16, 1)],
)
def test_copies_find_what_they_are_copies_of_in_all_tables(
    database, weights, monkeypatch, expected, tables, threads
):
    def of_tables(problem):
        every = plans(problem)
        return [plan for plan in every if plan.tables == tables] or every

    monkeypatch.setattr(claim.polytopes, "plans", of_tables)
    sketches = sketches_of(database, weights)
    with database.read() as snapshot:
        lookups = Lookups(snapshot, ASKED, None, is_exact=False, expected=expected, threads=threads)
        found = found_by(lookups, sketches, 170)

    stored_ids = [at if at % 10 or at >= COUNT else None for at in range(COUNT + 20)]
    # Of 180,000 such copies one was missed, so these, of one seed, are all found.
    assert found == [*stored_ids, *[None] * (PART - 20)]
    assert (lookups._gathered is not None) == (expected > 0)
    if tables:
        gathered = lookups._gathered.gathered
        assert (len(gathered.tables), gathered.total) == (tables, tables)
        assert all(len(table.keys) == COUNT for table in gathered.tables)


@pytest.mark.parametrize("gathered", [0, 10**6])
def test_claims_decide_the_same_in_gathered_tables(database, weights, monkeypatch, gathered):
    """Documents of the call are sealed into runs between its groups, and then found there."""
    calls = []
    whole = claim.gathered_whole
    monkeypatch.setattr(claim, "GATHERED_STORED", gathered)
    monkeypatch.setattr(claim, "GROUP_FIRST", 100)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", 100)
    monkeypatch.setattr(claim, "gathered_whole", lambda *given: calls.append(1) or whole(*given))
    sketches = sketches_of(database, weights)
    given = sketches.taken(np.r_[0 : COUNT + PART, COUNT : COUNT + PART])
    with database.write() as transaction:
        found = transaction.add_many_if_new(
            [f"new {at}" for at in range(len(given))], given, similarity=0.8, search="polytope"
        )
        assert len(transaction) == 9 * COUNT // 10 + PART + COUNT // 10

    assert len(calls) == (gathered > 0)
    stored_before = [at if at % 10 or at >= COUNT else None for at in range(COUNT + 20)]
    again = [*range(COUNT, COUNT + 20), *(f"new {at}" for at in range(COUNT + 20, COUNT + PART))]
    rows = np.split(found.ids, found.offsets[1:-1])
    best = [row[0] if len(row) else None for row in rows]
    assert best == [*stored_before, *[None] * (PART - 20), *again]


@pytest.mark.parametrize("sketch", [simdb.Simhash(), simdb.Minhash()])
def test_without_a_known_text_estimates_decide_as_if_each_text_were_unknown(open_database, sketch):
    words = [f"w{at}" for at in range(600)]
    texts = [" ".join(words[at : at + 60]) for at in range(0, 540, 60)]
    # A copy lacks up to 24 of 60 words.
    copies = [f"{text[: len(text) - 15 * at]} end" for at, text in enumerate(texts)]
    database = open_database(options=simdb.Options(sketch=sketch))
    database.insert_many(range(len(texts)), texts)
    sketches = database.sketcher.sketch(copies)
    found = []
    for known in (None, lambda ids: [None] * len(ids)):
        with database.read() as snapshot:
            asked = Question(similarity=0.8, verify="exact")
            lookups = Lookups(snapshot, asked, known, is_exact=True, expected=9, threads=1)
            matches = lookups.find(copies, sketches)
            found.append((matches.offsets.tolist(), matches.ids.tolist(), matches.similarities))

    assert found[0][:2] == found[1][:2]
    assert 0 < len(found[0][1]) < len(copies)
    assert found[0][2].tolist() == pytest.approx(found[1][2].tolist())
