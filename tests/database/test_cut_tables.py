"""Exact queries by distance answer like a double loop, with tables made in memory and without."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from pricing import tables_first
from weighted import bits_of

import simdb
from simdb.database.state import kinds
from simdb.plan import Criterion
from simdb.storage import layout

COUNT, FURTHER = 120, 40
GENERATOR = np.random.default_rng(9)
WEIGHTS = GENERATOR.normal(size=(COUNT + FURTHER, 128)).astype(np.float32)
for first in range(COUNT // 2, COUNT + FURTHER, 20):
    WEIGHTS[first : first + 20] = WEIGHTS[:20]
FLIPPED = GENERATOR.integers(0, 64, size=(len(WEIGHTS), 3))
for number, flipped in enumerate(FLIPPED[20:], 20):
    WEIGHTS[number, flipped[: number % 4]] *= -1
BITS = bits_of(WEIGHTS)
DISTANCES = np.bitwise_count(BITS[:, None] ^ BITS[None, :])
OPTIONS = {"delta_documents": 16, "growth": 2, "polytopes": 2, "header_offset": -1}
NEVER = 1e9


@pytest.fixture(autouse=True)
def tables_are_cheap(monkeypatch):
    """Cut runs into several segments, and never let the planner compare all documents."""
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 32)
    with tables_first():
        yield


def insert(database, start, stop):
    for at in range(start, stop, 20):
        part = slice(at, min(at + 20, stop))
        ids = range(part.start, part.stop)
        database.insert_many(ids, simdb.Fingerprints(BITS[part], WEIGHTS[part]))


def filled(open_database, **options):
    database = open_database(options=simdb.Options(**OPTIONS, **options))
    insert(database, 0, COUNT)
    return database


def made_of(database):
    """Return for each run whether the tables of the usual cut are in memory."""
    with database._store.state() as state:
        return [run in state.kind.cut._of_runs for run in state.runs]


def ids_of(rows):
    return [{match.id for match in row} for row in rows]


def check(reader, distance, live):
    """Compare all forms of an exact query with the double loop."""
    near = [{int(id) for id in live if DISTANCES[at, id] <= distance} for at in range(len(BITS))]
    exact = {"distance": distance, "recall": 1.0}
    some = [int(at) for at in live[::9]]
    weighted = [simdb.Fingerprint(int(BITS[at]), WEIGHTS[at]) for at in some]

    assert ids_of(reader.query_many(BITS, distance=distance)) == near
    assert ids_of(reader.query(int(BITS[at]), distance=distance) for at in some) == [
        near[at] for at in some
    ]
    assert ids_of(reader.query_many(weighted, **exact)) == [near[at] for at in some]
    assert ids_of(reader.query(each, **exact) for each in weighted) == [near[at] for at in some]
    others = [near[at] - {at} for at in some]
    assert ids_of(reader.query_many(ids=some, **exact)) == others
    assert ids_of(reader.query(id=at, **exact) for at in some) == others


@pytest.mark.parametrize("seconds", [0.0, NEVER])
def test_exact_answers_are_those_of_a_double_loop(open_database, monkeypatch, seconds):
    monkeypatch.setattr(kinds, "MADE_SECONDS", seconds)
    is_made = seconds != NEVER
    database = filled(open_database)

    for distance in (0, 1, 3, 4):
        check(database, distance, range(COUNT))
    assert len(made_of(database)) > 1
    assert set(made_of(database)) == {is_made}
    with database.read() as snapshot:
        database.delete_many([3, 50, 119])
        left = [at for at in range(COUNT) if at not in {3, 50, 119}]
        check(database, 3, left)
        check(snapshot, 3, range(COUNT))
        insert(database, COUNT, len(BITS))
        left += range(COUNT, len(BITS))
        check(snapshot, 3, range(COUNT))
    check(database, 3, left)
    with database.write() as transaction:
        transaction.delete(left.pop())
        check(transaction, 3, left)
    check(database, 3, left)
    database.compact()
    check(database, 3, left)
    assert made_of(database) == [is_made]
    with simdb.open(database.path, "r") as reader:
        check(reader, 3, left)
        assert made_of(reader) == [is_made]


def test_further_distances_are_found_with_flips_in_the_made_tables(open_database, monkeypatch):
    monkeypatch.setattr(kinds, "MADE_SECONDS", 0.0)
    database = filled(open_database)
    check(database, 3, range(COUNT))

    for distance in (5, 9):
        plan = database.plan(distance=distance, recall=1.0)
        assert (plan.method, len(plan.table_flips), plan.flips > 0) == ("bphs", 4, True)
        check(database, distance, range(COUNT))


@pytest.mark.parametrize("is_batch", [True, False])
def test_tables_are_made_once_queries_would_have_saved_their_time(
    open_database, monkeypatch, is_batch
):
    database = filled(open_database)
    monkeypatch.setattr(kinds, "MADE_SECONDS", NEVER)
    with database._store.state() as state:
        saving = state.saving(Criterion(None, 3, 1.0, "auto"))
        entries = 4 * state.view.sealed.entry_count
    assert saving > 0
    monkeypatch.setattr(kinds, "MADE_SECONDS", 10.5 * saving / entries)

    def ask(count):
        if is_batch:
            database.query_many(BITS[:count], distance=3)
        for at in range(0 if is_batch else count):
            database.query(int(BITS[at]), distance=3)

    ask(10)
    assert not any(made_of(database))
    ask(2)  # the first of single queries only makes the plan
    assert all(made_of(database))
    check(database, 3, range(COUNT))


def test_tables_are_made_only_if_they_fit(open_database, monkeypatch):
    monkeypatch.setattr(kinds, "MADE_SECONDS", 0.0)
    database = filled(open_database)
    database.compact()

    for name, value in (("MADE_BYTES", 4 * 12 * COUNT - 1), ("MADE_PART", 1 << 50)):
        with monkeypatch.context() as patch:
            patch.setattr(kinds, name, value)
            check(database, 3, range(COUNT))
            assert made_of(database) == [False]
    monkeypatch.setattr(kinds, "MADE_BYTES", 4 * 12 * COUNT)
    check(database, 3, range(COUNT))
    assert made_of(database) == [True]


def test_a_search_that_was_promised_little_memory_makes_no_tables(open_database, monkeypatch):
    monkeypatch.setattr(kinds, "MADE_SECONDS", 0.0)
    database = filled(open_database)
    expected = [{id for id in range(COUNT) if row[id] <= 3} for row in DISTANCES]

    def ask():
        return ids_of(database.query_many(BITS, distance=3, search=simdb.Search(memory_limit=1)))

    assert ask() == expected
    assert not any(made_of(database))
    check(database, 3, range(COUNT))
    assert all(made_of(database))
    assert ask() == expected


def test_the_plan_and_the_explanation_know_the_made_tables(open_database, monkeypatch):
    monkeypatch.setattr(kinds, "MADE_SECONDS", 0.0)
    database = filled(open_database)
    assert len(database.plan(distance=3, recall=1.0).table_flips) == 1
    check(database, 3, range(COUNT))

    assert database.plan(distance=3, recall=1.0).table_flips == (0, 0, 0, 0)
    assert len(database.plan(10**6, distance=3, recall=1.0).table_flips) <= 1
    for other in range(1, COUNT):
        found = database.explain(0, other, distance=3, recall=1.0)
        assert (found.probe is not None) >= (DISTANCES[0, other] <= 3)
    for method in ("bphs", "auto"):
        rows = database.query_many(BITS, distance=3, search=method)
        assert ids_of(rows) == [{id for id in range(COUNT) if row[id] <= 3} for row in DISTANCES]
    with pytest.raises(simdb.OptionError, match="more than blocks=1"):
        database.plan(distance=9, search="bphs")


def test_threads_that_ask_while_tables_are_made_get_the_same(open_database, monkeypatch):
    monkeypatch.setattr(kinds, "MADE_SECONDS", 1e-9)
    database = filled(open_database)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(check, database, 3, range(COUNT)) for _ in range(16)]:
            done.result()

    assert all(made_of(database))
