"""Cross-polytope tables without some documents find all other documents, and nothing else."""

import numpy as np
import pytest

import simdb
from simdb.engine.state import polytope_tables
from simdb.engine.state.polytope_tables import polytopes_of, polytopes_without
from simdb.vector_form import fingerprints_of

COUNT = 300
ASKED = {
    "thresholds": np.array([1.5], np.float32), "similarity": 0.2, "distance": 42,
    "delta_distance": 40, "first": False, "after": None,
}  # fmt: skip


@pytest.fixture
def state(open_database):
    """Return the state of a database with one run and a delta."""
    generator = np.random.default_rng(1)
    centres = np.repeat(generator.standard_normal((20, 128)), COUNT // 20, axis=0)
    weights = (centres + 0.6 * generator.standard_normal(centres.shape)).astype(np.float32)
    weights = generator.permutation(weights)
    options = simdb.Options(polytopes=3, delta_documents=64)
    database = open_database(options=options)
    for part in (slice(0, 270), slice(270, COUNT)):
        documents = simdb.Fingerprints(fingerprints_of(weights[part]), weights[part])
        database.insert_many(range(part.start, part.stop), documents)
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
    whole = rows(polytopes_of(state.view, state.source).search(queries_of(state), **ASKED))

    rest = polytopes_without(state.view, state.source, is_left_out)

    expected = [[ordinal for ordinal in row if not is_left_out[ordinal]] for row in whole]
    assert rows(rest.search(queries_of(state), **ASKED)) == expected
    assert sum(map(len, whole)) > 2000
    assert sum(map(len, expected)) > 200


def test_damaged_tables_give_documents_that_match_or_none(state, monkeypatch):
    keys, ordinals, directory = polytope_tables._parts(state.runs[0], 0, state.source)
    damaged = directory.copy()
    damaged[5:90] = 2**32 - 1
    beyond = ordinals.copy()
    beyond[beyond > 250] += np.uint32(2**31)
    is_left_out = np.arange(251) % 2 == 0
    whole = polytopes_of(state.view, state.source)
    monkeypatch.setattr(polytope_tables, "_parts", lambda *given: (keys, ordinals, damaged))
    rest = polytopes_without(state.view, state.source, is_left_out)
    monkeypatch.setattr(polytope_tables, "_parts", lambda *given: (keys, beyond, directory))
    unknown = polytopes_without(state.view, state.source, is_left_out)

    found = rest.search(queries_of(state), **ASKED)

    assert rows(whole.search(queries_of(state), **ASKED)) != rows(found)
    assert all(ordinal > 250 or ordinal % 2 for row in rows(found) for ordinal in row)
    with pytest.raises(simdb.CorruptError, match="has no vector"):
        unknown.search(queries_of(state), **ASKED)
