import os

import numpy as np

import simdb

TEXT = "some text of several words"


def test_statistics_count_what_is_there(open_database):
    database = open_database(options=simdb.Options(delta_documents=10, growth=4))
    database.insert_many(range(100), np.zeros(100, np.uint64))
    database.insert_many(["a", "b", "c"], [TEXT, "", 5])
    database.delete_many([1, 2, "c"])

    stats = database.stats()

    assert stats.path == database.path
    assert stats.document_count == len(database) == 100
    assert (stats.empty_count, stats.bare_count) == (1, 98)
    assert (stats.deleted_count, stats.delta_count) == (3, 3)
    assert stats.largest_group == 98
    assert [run.document_count for run in stats.runs] == [100]
    assert stats.runs[0].size_bytes > 100 * 12 * 4
    assert stats.options["delta_documents"] == 10
    assert stats.file_bytes >= os.path.getsize(f"{database.path}/data.mdb") // 2
    assert 0 < stats.live_bytes <= stats.file_bytes
    assert stats.map_bytes >= stats.file_bytes
    assert stats.format_version == 1
    assert set(stats.section_bytes) >= {"table/00", "ids", "documents", "delta", "manifest"}


def test_readers_are_listed_with_their_lag(database):
    database.insert(1, 1)
    with database.read():
        for number in range(5):
            database.insert(f"later{number}", number)

        lags = [reader.lag for reader in database.stats().readers]

    assert max(lags) == 5
    assert all(reader.process == os.getpid() for reader in database.stats().readers)


def test_an_empty_database_has_statistics_and_is_sound(database):
    stats = database.stats()

    assert (stats.document_count, stats.largest_group, stats.runs) == (0, 0, ())
    assert list(database.check()) == []
    assert list(database.check(deep=True)) == []


def test_the_check_is_a_snapshot_and_may_be_left_half_way(database):
    database.insert_many(range(20), range(20))

    check = database.check(deep=True)
    database.insert(50, 50)
    assert list(check) == []

    half = database.check(deep=True)
    next(half, None)
    del half


def test_the_plan_tells_method_and_reason(database):
    database.insert_many(range(20), range(20))

    plan = database.plan(distance=3)

    assert (plan.method, plan.distance, plan.recall) == ("exhaustive", 3, 1.0)
    assert "20 fingerprints" in plan.reason
    assert database.plan(distance=3, method="bphs").tables == 4
    with database.read() as snapshot:
        assert snapshot.plan(distance=3) == plan
