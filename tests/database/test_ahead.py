"""Runs written ahead of a commit: nobody sees them before it, and nothing of them stays without."""

from dataclasses import replace

import numpy as np
import pytest
from growing import writing_ahead
from merging import merging_slowly, unfinished
from oracle import Oracle, Stored
from soundness import TINY, assert_sound, stray_values

import simdb
from simdb.database.maintenance import compaction
from simdb.database.write.commit import Ahead
from simdb.storage import layout
from simdb.storage.run import Run

FAR = np.uint64(0x9E3779B97F4A7C15)  # its multiples are far from each other
BITS = np.arange(400, dtype=np.uint64) // 2 * FAR
TEXTS = [f"the text number {at // 2} of some" for at in range(100)]
KEPT = [id for id in range(100) if id % 3]


@pytest.fixture(autouse=True)
def ahead():
    with writing_ahead():
        yield


def assert_right(database, known):
    """Assert that the database holds the documents `known` and finds what the oracle finds."""
    oracle = Oracle()
    for id in known:
        oracle.insert(id, Stored(int(BITS[id])))
    found = [
        [(match.id, match.distance) for match in database.query(int(BITS[id]), distance=3)]
        for id in known
    ]

    assert list(database) == list(known)
    assert found == [oracle.query(int(BITS[id]), 3) for id in known]


def lengths(database):
    return [run.document_count for run in database.stats().runs]


class StopError(Exception):
    """The exception that a commit fails with."""


def leave(database, number, verb):
    """Run a verb that ends at a commit ahead as if the process were killed there."""
    commit, count = Ahead.commit, []

    def commit_or_fail(self, change):
        count.append(change)
        if len(count) >= number:
            raise StopError
        commit(self, change)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ahead, "commit", commit_or_fail)
        patch.setattr(Ahead, "abandon", lambda self: None)
        with pytest.raises(StopError):
            verb(database)


def insert_more(database):
    database.insert_many(range(100, 140), BITS[100:140])


def compact(database):
    database.compact()


@pytest.fixture
def database(open_database):
    """An empty database, without the waits for the disk of so many commits."""
    return open_database(options=TINY, durability="none")


@pytest.fixture
def stored(open_database):
    """A database of some runs, some deleted documents and a delta."""
    database = open_database(options=replace(TINY, polytopes=2), durability="none")
    with writing_ahead(least=1000):
        for first in range(0, 100, 10):
            database.insert_many(range(first, first + 10), BITS[first : first + 10])
    database.delete_many(range(0, 100, 3))
    return database


def test_a_transaction_finds_and_deletes_what_it_has_in_several_runs(database):
    with database.write() as transaction:
        for first in range(0, 100, 25):
            transaction.insert_many(range(first, first + 25), BITS[first : first + 25])
            transaction.delete_many(range(first, first + 25, 5))
        found = [
            [each.id for each in transaction.query(int(bits), distance=0)] for bits in BITS[:9]
        ]
        transaction.insert_many([0, 5], BITS[[0, 5]], on_conflict="replace")

    assert found == [[1], [1], [2, 3], [2, 3], [4], [4], [6, 7], [6, 7], [8, 9][:2]]
    assert sorted(database) == sorted([0, 5, *(id for id in range(100) if id % 5)])


def test_compaction_makes_pieces_without_gaps_and_joins_later_runs_with_them(stored):
    stored.compact()
    first = stored.stats()
    assert lengths(stored) == [24, 24, 18]
    assert first.deleted_count == 0
    assert_right(stored, KEPT)

    stored.compact()
    assert stored.stats().runs == first.runs
    stored.insert_many(range(100, 108), BITS[100:108])
    stored.compact()

    assert lengths(stored) == [24, 24, 24, 2]
    assert_right(stored, [*KEPT, *range(100, 108)])


@pytest.mark.parametrize(("number", "verb"), [(9, insert_more), (2, compact)])
def test_what_a_killed_process_has_written_ahead_does_not_count(stored, verb, number):
    leave(stored, number, verb)

    assert list(stored.check(deep=True)) == []
    assert_right(stored, KEPT)
    stored.insert(300, int(BITS[300]))
    assert stray_values(stored) == []
    assert_right(stored, [*KEPT, 300])


@pytest.mark.parametrize("verb", [insert_more, compact], ids=["insert", "compact"])
def test_a_verb_that_fails_ahead_removes_what_it_has_written(stored, monkeypatch, verb):
    put, count = Ahead.put, []

    def put_or_fail(self, name, key, value):
        count.append(key)
        if len(count) == 9:
            raise StopError
        put(self, name, key, value)

    monkeypatch.setattr(Ahead, "put", put_or_fail)
    with pytest.raises(StopError):
        verb(stored)

    assert stray_values(stored) == []
    assert_right(stored, KEPT)


def test_a_rebuild_without_a_manifest_leaves_out_what_was_written_ahead(stored):
    leave(stored, 24, insert_more)
    environment = stored._store.environment
    handle = environment.subdatabase(layout.MANIFEST)
    environment.write(lambda transaction: transaction.put(layout.MANIFEST_KEY, b"?", db=handle))

    report = stored.rebuild()

    assert report.document_count == len(KEPT)
    assert stray_values(stored) == []
    assert_right(stored, KEPT)


def test_other_databases_see_nothing_of_what_is_written_ahead(stored, open_database):
    other = open_database(durability="none")
    with stored.read() as snapshot:
        leave(stored, 20, insert_more)

        assert_right(snapshot, KEPT)
    assert_right(other, KEPT)
    insert_more(other)
    assert stray_values(stored) == []
    assert_right(stored, [*KEPT, *range(100, 140)])


def test_copies_and_dumps_leave_out_what_was_written_ahead(stored, tmp_path):
    leave(stored, 20, compact)

    stored.copy(tmp_path / "copy")
    stored.dump(tmp_path / "dump")
    simdb.load(tmp_path / "dump", tmp_path / "loaded")

    for path in (tmp_path / "copy", tmp_path / "loaded"):
        with simdb.open(path, "w") as other:
            assert_right(other, KEPT)
            other.insert(300, int(BITS[300]))
        assert_sound(path)
    stored.insert(300, int(BITS[300]))


@pytest.mark.parametrize(
    ("memory_bytes", "expected"),
    [(1, [16] * 6 + [4]), (20 * 108, [20] * 5), (1 << 40, [24] * 4 + [4])],
)
def test_memory_decides_how_long_the_runs_of_a_compaction_are(
    database, monkeypatch, memory_bytes, expected
):
    monkeypatch.setattr(compaction, "memory_bytes", lambda: memory_bytes)
    database.insert_many(range(100), BITS[:100])

    database.compact()

    assert lengths(database) == expected
    assert_right(database, range(100))


def test_a_first_transaction_that_fails_ahead_leaves_an_empty_database(open_database):
    options = replace(TINY, sketch=simdb.Simhash(shingle=1, weighting="tf-idf"))
    database = open_database(options=options, durability="none")
    leave(database, 9, insert_more)

    database.fit_idf(TEXTS)
    database.insert_many(range(100), TEXTS)

    assert list(database) == list(range(100))


@pytest.fixture
def merging(database):
    """A database with a merge that no step has been done of."""
    with merging_slowly(), writing_ahead(least=1000, longest=100):
        for first in range(0, 20, 5):
            database.insert_many(range(first, first + 5), BITS[first : first + 5])
        assert unfinished(database).done == 0
        yield database


def test_due_steps_of_a_merge_have_commits_of_their_own_and_release_the_pages(merging, monkeypatch):
    with merging._store.state() as state:
        runs = {run.info.number for run in state.runs}
    released = []
    monkeypatch.setattr(Run, "give_back", lambda run: released.append(run.info.number))
    before = merging.stats().transaction
    released.clear()

    merging.insert_many(range(20, 36), BITS[20:36])

    done = unfinished(merging).done
    assert merging.stats().transaction - before == done > 10
    assert set(released) == runs
    assert len(released) == (done - 1) * len(runs)
    assert_right(merging, range(36))


def test_steps_ahead_of_a_commit_that_fails_stay_done(merging):
    leave(merging, 12, lambda each: each.insert_many(range(20, 36), BITS[20:36]))

    done = unfinished(merging).done
    merging.delete_many(range(0, 20, 4))
    merging.insert_many(range(36, 80), BITS[36:80])

    assert done == 11
    assert_right(merging, [id for id in range(80) if id >= 36 or (id < 20 and id % 4)])
