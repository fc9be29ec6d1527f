"""The map grows when needed: in commits, in compaction, and while other processes use it."""

import lmdb
import numpy as np
import pytest
from forked import run
from soundness import TINY

import simdb
from simdb.storage import environment as environment_module, file_map

MIB = 1 << 20
LARGER = """
import simdb, sys
with simdb.open(sys.argv[1], "w") as database:
    database.insert_many(range(10, 100_000), range(10, 100_000))
"""


def many(start, count=30_000):
    return range(start, start + count), np.arange(start, start + count, dtype=np.uint64)


def test_a_small_map_grows_with_every_large_commit(open_database):
    database = open_database(options=TINY, map_size=MIB)
    database.insert("first", 5)

    for start in range(0, 120_000, 30_000):
        database.insert_many(*many(start))

    assert len(database) == 120_001
    assert {match.id for match in database.query(5, distance=0)} == {"first", 5}
    assert database.stats().map_bytes > 4 * MIB


def test_a_snapshot_in_the_way_of_growth_is_told_and_nothing_is_lost(open_database, short_waits):
    database = open_database(options=TINY, map_size=MIB)
    database.insert_many(range(-50, 0), range(50))
    with database.read() as snapshot:
        with pytest.raises(simdb.BusyError, match="close them first"):
            database.insert_many(*many(0, 90_000))

        assert list(snapshot) == list(range(-50, 0))
        assert snapshot.query(7, distance=0) == [simdb.Match(-43, 0)]
        assert list(database) == list(range(-50, 0))
        database.insert("small", 7)
    database.insert_many(*many(0, 90_000))

    assert len(database) == 90_051


def test_compaction_makes_the_map_grow_too(open_database):
    database = open_database(options=simdb.Options(growth=2), map_size=MIB)
    for start in range(0, 20_000, 1000):
        database.insert_many(*many(start, 1000))
    database.delete(5)

    assert database.compact().note == ""
    assert len(database) == 19_999


def test_a_database_that_another_process_made_larger_is_read_and_written(open_database, tmp_path):
    database = open_database(options=TINY, map_size=MIB)
    database.insert(1, 1)
    assert run(LARGER, tmp_path / "db") == (0, "", "")

    assert database.query(77_777, distance=0) == [simdb.Match(77_777, 0)]
    database.insert("later", 3)
    assert len(database) == 99_992


def test_a_snapshot_in_the_way_of_a_larger_map_is_told(open_database, tmp_path, short_waits):
    database = open_database(options=TINY, map_size=MIB)
    database.insert(1, 1)
    with database.read() as snapshot:
        assert run(LARGER, tmp_path / "db") == (0, "", "")

        with pytest.raises(simdb.BusyError, match="another process has made the database larger"):
            database.query(1)
        assert list(snapshot) == [1]

    assert len(database) == 99_991


def test_more_readers_than_slots_are_busy_and_work_again_afterwards(open_database, monkeypatch):
    for module in (environment_module, file_map):
        monkeypatch.setattr(module, "READERS_MAX", 5)
    database = open_database()
    snapshots = [database.read() for _ in range(5)]

    with pytest.raises(simdb.BusyError, match="readers"):
        database.read()

    for snapshot in snapshots:
        snapshot.close()
    assert len(database) == 0


@pytest.mark.parametrize("is_opened", [False, True])
def test_a_map_that_others_make_larger_again_and_again_is_taken_over(
    open_database, monkeypatch, is_opened
):
    # The torture found it: between taking over one size and beginning came the next.  Handles are
    # opened in a transaction of their own, and it came out as an Error.
    database = open_database(options=TINY)
    database.insert(1, 1)
    environment = database._store.environment
    real, left = environment._lmdb, [3]

    class Growing:
        def begin(self, **settings):
            if left[0]:
                left[0] -= 1
                raise lmdb.MapResizedError("MDB_MAP_RESIZED")
            return real.begin(**settings)

        def __getattr__(self, name):
            return getattr(real, name)

    monkeypatch.setattr(environment, "_lmdb", Growing())
    if is_opened:
        names = list(environment.handles._named)
        environment.handles.forget()
        environment.attach(names)

    assert list(database) == [1]
    assert left == [0]


def test_a_map_that_others_make_larger_while_a_thread_closes_the_database_is_closed(
    open_database, monkeypatch
):
    # Fuzzing found it: between the error and the new size another thread closed the environment.
    database = open_database(options=TINY)
    environment = database._store.environment

    class Growing:
        def begin(self, **settings):
            monkeypatch.undo()
            monkeypatch.setattr(environment.watch, "check_metas", database.close)
            raise lmdb.MapResizedError("MDB_MAP_RESIZED")

    monkeypatch.setattr(environment, "_lmdb", Growing())

    with pytest.raises(simdb.ClosedError):
        list(database)
