import gc

import numpy as np
import pytest

import simdb


def test_a_snapshot_survives_many_commits_that_reuse_pages(database):
    database.insert_many(range(200), np.arange(200, dtype=np.uint64), ["m"] * 200)
    with database.read() as snapshot:
        for _ in range(20):
            database.insert_many(range(200), np.arange(200, dtype=np.uint64), on_conflict="replace")

        assert list(snapshot) == list(range(200))
        assert {snapshot.get(id).metadata for id in range(0, 200, 50)} == {"m"}
        assert len(snapshot.query_many(np.arange(200, dtype=np.uint64), distance=0).ids) == 200


def test_a_closed_snapshot_refuses_every_verb(database):
    snapshot = database.read()
    snapshot.close()
    snapshot.close()

    for verb, *given in [
        ("query", 1), ("first", "text"), ("query_many", [1]), ("get", 1), ("__len__",),
        ("__contains__", 1), ("find_all",), ("find_clusters",), ("plan",),
    ]:  # fmt: skip
        with pytest.raises(simdb.ClosedError, match=r"take another with Database.read\(\)"):
            getattr(snapshot, verb)(*given)
    with pytest.raises(simdb.ClosedError):
        list(snapshot)


def test_iterating_goes_on_in_the_state_it_began_in(database, monkeypatch):
    monkeypatch.setattr("simdb.database.reading.ITERATED_IDS", 10)
    database.insert_many(range(50), range(50))
    seen = []

    for id in database:
        seen.append(id)
        if id % 10 == 0:
            database.delete(id)
            database.insert(f"new{id}", 5)

    assert seen == list(range(50))
    assert len(database) == 50


def test_a_snapshot_that_nobody_holds_frees_its_slot(database):
    database.insert(1, 1)
    before = len(database.stats().readers)
    snapshot = database.read()
    assert len(database.stats().readers) == before + 1

    del snapshot
    gc.collect()

    assert len(database.stats().readers) == before
