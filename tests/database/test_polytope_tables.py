"""Cross-polytope tables of a state: without some documents, or gathered from several runs."""

import random

import numpy as np
import pytest
from weighted import fingerprints

import simdb
from simdb.database.state import kinds
from simdb.database.state.kinds import polytopes_of, polytopes_without
from simdb.plan import polytopes

COUNT = 300
ASKED = {
    "thresholds": np.array([1.5], np.float32), "similarity": 0.2,
    "limits": ((42, 40, 1.0),) * 2, "first": False, "after": None,
}  # fmt: skip


@pytest.fixture
def state(open_database):
    """Return the state of a database with one run and a delta."""
    generator = np.random.default_rng(1)
    centres = np.repeat(generator.standard_normal((20, 128)), COUNT // 20, axis=0)
    weights = centres + 0.6 * generator.standard_normal(centres.shape)
    weights = generator.permutation(weights.astype(np.float32))
    options = simdb.Options(polytopes=3, delta_documents=64)
    database = open_database(options=options)
    for part in (slice(0, 270), slice(270, COUNT)):
        database.insert_many(range(part.start, part.stop), fingerprints(weights[part]))
    with database._state() as state:
        yield state


def rows(found):
    offsets, ordinals, *_ = found
    return [part.tolist() for part in np.split(ordinals, offsets[1:-1])]


def queries_of(state):
    every = np.arange(COUNT, dtype=np.uint32)
    return state.vectors(every).gather(every)


@pytest.mark.parametrize("share", [0, 0.1, 0.9, 1])
def test_only_documents_that_are_left_out_of_the_runs_are_missing(state, share):
    is_left_out = np.random.default_rng(2).random(COUNT) < share
    is_left_out[270:] = False
    whole = rows(polytopes_of(state).search(queries_of(state), **ASKED))

    rest = polytopes_without(state.view, state.source, is_left_out)

    expected = [[ordinal for ordinal in row if not is_left_out[ordinal]] for row in whole]
    assert rows(rest.search(queries_of(state), **ASKED)) == expected
    assert sum(map(len, whole)) > 2000
    assert sum(map(len, expected)) > 200


def test_damaged_tables_give_documents_that_match_or_none(state, monkeypatch):
    keys, ordinals, directory = state.runs[0].polytope_table(0, state.source)
    damaged = directory.copy()
    damaged[5:90] = 2**32 - 1
    beyond = ordinals.copy()
    beyond[beyond > 250] += np.uint32(2**31)
    is_left_out = np.arange(251) % 2 == 0
    whole = polytopes_of(state)
    one = [[(keys, ordinals, damaged)] * 3]
    monkeypatch.setattr(kinds, "_all_parts", lambda *given: one)
    rest = polytopes_without(state.view, state.source, is_left_out)
    other = [[(keys, beyond, directory)] * 3]
    monkeypatch.setattr(kinds, "_all_parts", lambda *given: other)
    unknown = polytopes_without(state.view, state.source, is_left_out)

    found = rest.search(queries_of(state), **ASKED)

    assert rows(whole.search(queries_of(state), **ASKED)) != rows(found)
    assert all(ordinal > 250 or ordinal % 2 for row in rows(found) for ordinal in row)
    with pytest.raises(simdb.CorruptError, match="has no vector"):
        unknown.search(queries_of(state), **ASKED)


@pytest.fixture
def database(open_database):
    """A database of copies of some texts in several runs, of which some are deleted."""
    database = open_database(options=simdb.Options(delta_documents=50))
    chance = random.Random(4)
    pages = [[f"word{chance.randrange(400)}" for _ in range(60)] for _ in range(60)]
    for some in (range(1200), range(1200, 1260)):
        database.insert_many(some, [changed(pages[at % 60], at % 60, f"other{at}") for at in some])
    database.delete_many(range(0, 1260, 31))
    return database


def changed(words, place, word):
    return " ".join([*words[:place], word, *words[place + 1 :]])


SWEPT = {"similarity": 0.8, "search": "polytope"}


def list_of_pairs(database):
    return [tuple(sorted((pair.left, pair.right))) for pair in database.find_all(**SWEPT)]


def clusters_of(database, asked):
    return [cluster.ids for cluster in database.find_clusters(**asked)]


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("made", [4, 8])
def test_tables_gathered_in_turns_give_the_pairs_of_all_together(
    database, monkeypatch, at_once, made
):
    monkeypatch.setattr(kinds, "GATHERED_TABLES", (made,) if made > 4 else ())
    monkeypatch.setattr(polytopes, "GATHERED_SECONDS", -1.0)
    chance = random.Random(4)
    pages = [" ".join(f"word{chance.randrange(400)}" for _ in range(60)) for _ in range(10)]
    recent = [*pages, *(f"a recent text {at} {at}" for at in range(10))]  # alike texts of the runs
    database.insert_many(range(1260, 1280), recent)
    whole, clusters = list_of_pairs(database), clusters_of(database, SWEPT)
    with database._state() as state:
        count = sum(run.info.polytope_count for run in state.runs)
    monkeypatch.setattr(kinds, "GATHERED_BYTES", count * 12)
    monkeypatch.setattr(kinds, "GATHERED_AT_ONCE", at_once)

    found = list_of_pairs(database)

    assert len(whole) > 1000
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(whole)
    assert clusters_of(database, SWEPT) == clusters
