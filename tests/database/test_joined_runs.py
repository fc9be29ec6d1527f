"""Exact queries by distance answer like a double loop, with runs joined in memory and without."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from pricing import tables_first

import simdb
from simdb.database.state import kinds, view
from simdb.storage import ENTRY_BYTES, layout

COUNT, STEP, FARTHEST = 150, 20, 4
GENERATOR = np.random.default_rng(12)
# One stored table, of which four are made; four stored tables; tables of parts of 128 bits.
SKETCHES = {"made": {}, "stored": {"blocks": 4}, "parts": {"sketch": simdb.Bits(128)}}


def drawn(bits):
    """Draw hashes of which most are near others, with 0 to 4 bits flipped, and all distances."""
    hashes = GENERATOR.integers(0, 256, (COUNT, bits // 8), np.uint8)
    hashes[STEP:] = hashes[np.arange(COUNT - STEP) % (2 * STEP)]
    for number, each in enumerate(hashes):
        for bit in GENERATOR.integers(0, bits, number % (FARTHEST + 1)):
            each[bit // 8] ^= np.uint8(1 << bit % 8)
    distances = np.bitwise_count(hashes[:, None] ^ hashes[None, :]).sum(axis=2, dtype=np.int64)
    return (hashes if bits > 64 else hashes.view(np.uint64)[:, 0]), distances


DRAWN = {bits: drawn(bits) for bits in (64, 128)}


@pytest.fixture(autouse=True)
def tables_are_cheap(monkeypatch):
    """Cut runs into several segments, and never let the planner compare all documents."""
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 32)
    monkeypatch.setattr(kinds, "MADE_SECONDS", 0.0)
    monkeypatch.setattr(view, "JOINED_SECONDS", 0.0)
    with tables_first():
        yield


@pytest.fixture(params=SKETCHES)
def database(request, open_database):
    """Return a database of 130 documents in three runs and a delta."""
    options = simdb.Options(
        **SKETCHES[request.param], delta_documents=16, growth=2, fields=("even",)
    )
    made = open_database(options=options)
    insert(made, 0, 70, 105, 122, 130)
    return made


def hashes_of(database):
    return DRAWN[128 if isinstance(database.options.sketch, simdb.Bits) else 64]


def insert(database, *ends):
    hashes, _ = hashes_of(database)
    for ids in map(range, ends, ends[1:]):
        even = [{"even": id % 2 == 0} for id in ids]
        database.insert_many(ids, hashes[ids.start : ids.stop], metadata=even)


def joined_of(database):
    """Return the number of runs, and whether they are joined."""
    with database._store.state() as state:
        return len(state.runs), state.view.sealed.joined > 0


def rows_of(matches):
    return [[(match.id, match.distance) for match in row] for row in matches]


def check(reader, live, where=None, threads=1):
    """Compare batches and single queries, of all documents and of some, with the double loop."""
    hashes, distances = hashes_of(reader)
    for distance in (0, 1, 3, FARTHEST):
        near = [
            sorted((int(row[id]), id) for id in live if row[id] <= distance) for row in distances
        ]
        near = [[(id, apart) for apart, id in row] for row in near]
        asked = {"distance": distance, "where": where, "recall": 1.0}
        assert rows_of(reader.query_many(hashes, threads=threads, **asked)) == near
        first = reader.query_many(hashes, match="first", **asked)
        assert [len(row) for row in first] == [min(len(row), 1) for row in near]
        assert all(row[0] in known for row, known in zip(rows_of(first), near, strict=True) if row)
        limited = reader.query_many(hashes, limit=2, **asked)
        assert rows_of(limited) == [row[:2] for row in near]
        some = [int(id) for id in live[::13]]
        assert rows_of(reader.query(hashes[at], **asked) for at in some) == [
            near[at] for at in some
        ]


@pytest.mark.parametrize("threads", [1, 3])
def test_exact_answers_are_those_of_a_double_loop(database, threads):
    live = list(range(130))
    assert joined_of(database) == (3, False)

    check(database, live, threads=threads)
    assert joined_of(database) == (3, True)
    check(database, live[::2], where={"even": True})
    with database.read() as snapshot:
        database.delete_many([3, 50, 119])
        live = [at for at in live if at not in {3, 50, 119}]
        check(database, live)
        insert(database, 130, 137)
        check(snapshot, list(range(130)))
    live += range(130, 137)
    check(database, live)
    with database.write() as transaction:
        transaction.delete(live.pop())
        check(transaction, live)
    check(database, live)
    with simdb.open(database.path, "r") as reader:
        check(reader, live)
        assert joined_of(reader) == (3, True)
    insert(database, 137, COUNT)
    check(database, [*live, *range(137, COUNT)])
    assert joined_of(database) == (1, False)


def test_runs_are_joined_once_batches_would_have_saved_the_time(database, monkeypatch):
    hashes, _ = hashes_of(database)
    database.query_many(hashes[:2], distance=3)
    assert joined_of(database) == (3, True)  # so cheap that two queries are enough
    plan = database.plan(distance=3)
    entries = len(plan.table_flips) * 122  # of the documents in runs
    seconds = 10.5 * plan.probes * 2 * view.PROBED_SECONDS / entries
    with simdb.open(database.path, "r") as reader:
        monkeypatch.setattr(view, "JOINED_SECONDS", seconds)
        for count in (5, 5):
            reader.query_many(hashes[:count], distance=3)
        for each in hashes:
            reader.query(each, distance=3)
        assert joined_of(reader) == (3, False)
        reader.query_many(hashes[:2], distance=3)
        assert joined_of(reader) == (3, True)


def test_runs_are_joined_only_if_they_fit(database, monkeypatch):
    live = list(range(130))
    check(database, live)
    size = ENTRY_BYTES * 122 * len(database.plan(distance=3, recall=1.0).table_flips)

    for name, value in (("JOINED_BYTES", size - 1), ("JOINED_PART", 1 << 50)):
        with monkeypatch.context() as patch, simdb.open(database.path, "r") as reader:
            patch.setattr(view, name, value)
            check(reader, live)
            assert joined_of(reader) == (3, False)
    monkeypatch.setattr(view, "JOINED_BYTES", size)
    with simdb.open(database.path, "r") as reader:
        check(reader, live)
        assert joined_of(reader) == (3, True)


def test_a_search_that_was_promised_little_memory_joins_nothing(database):
    hashes, distances = hashes_of(database)
    expected = [{id for id in range(130) if row[id] <= 3} for row in distances]

    for _ in range(2):
        rows = database.query_many(hashes, distance=3, search=simdb.Search(memory_limit=1))
        assert [{match.id for match in row} for row in rows] == expected
    assert joined_of(database) == (3, False)


def test_threads_that_ask_while_runs_are_joined_get_the_same(database, monkeypatch):
    monkeypatch.setattr(view, "JOINED_SECONDS", 1e-9)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(check, database, range(130)) for _ in range(16)]:
            done.result()

    assert joined_of(database) == (3, True)
