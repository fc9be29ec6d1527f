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


def stop_at(patch, number):
    """Let the commit with this number of those ahead fail, and all later ones."""
    commit, count = Ahead.commit, []

    def commit_or_fail(self, change):
        count.append(change)
        if len(count) >= number:
            raise StopError
        commit(self, change)

    patch.setattr(Ahead, "commit", commit_or_fail)


def leave(database, number, verb):
    """Run a verb that ends at a commit ahead as if the process were killed there."""
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, number)
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


def test_a_large_transaction_is_stored_as_several_runs(database):
    database.insert_many(range(100), BITS[:100])

    assert lengths(database) == [16, 16, 16, 16, 16, 16, 4]
    assert_right(database, range(100))


def test_a_large_transaction_merges_small_runs_and_the_delta(database):
    database.insert_many(range(5), BITS[:5])
    database.insert_many(range(5, 7), BITS[5:7])

    database.insert_many(range(7, 100), BITS[7:100])

    assert sum(lengths(database)) == 100
    assert_right(database, range(100))


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


def test_a_single_batch_larger_than_a_run_in_memory_is_found_within_the_transaction(database):
    with database.write() as transaction:
        transaction.insert_many(range(50), BITS[:50])

        assert_right(transaction, range(50))
        with pytest.raises(simdb.ExistsError):
            transaction.insert(49, 7)


def test_compaction_makes_pieces_without_gaps(stored):
    stored.compact()

    assert lengths(stored) == [24, 24, 18]
    assert stored.stats().deleted_count == 0
    assert_right(stored, KEPT)


def test_compacting_twice_writes_nothing(stored):
    stored.compact()
    before = stored.stats().runs

    stored.compact()

    assert stored.stats().runs == before


def test_compaction_joins_runs_of_earlier_compactions_with_later_ones(stored):
    stored.compact()
    stored.insert_many(range(100, 108), BITS[100:108])

    stored.compact()

    assert lengths(stored) == [24, 24, 24, 2]
    assert_right(stored, [*KEPT, *range(100, 108)])


def test_compaction_of_many_deleted_documents_leaves_nothing(database):
    database.insert_many(range(100), BITS[:100])
    database.delete_many(range(100))

    database.compact()

    assert lengths(database) == []
    insert_more(database)
    assert_right(database, range(100, 140))


def test_compaction_ends_an_unfinished_merge_of_many_documents(open_database):
    database = open_database(options=TINY, durability="none")
    with merging_slowly(longest=100), writing_ahead(least=1000, longest=100):
        for first in range(0, 35, 5):
            database.insert_many(range(first, first + 5), BITS[first : first + 5])
    assert unfinished(database) is not None

    database.compact()

    assert stray_values(database) == []
    assert_right(database, range(35))


@pytest.mark.few(1)
@pytest.mark.parametrize("verb", [insert_more, compact], ids=["insert", "compact"])
@pytest.mark.parametrize("number", [1, 2, 9, 30])
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


@pytest.mark.few(1)
@pytest.mark.parametrize("verb", [insert_more, compact], ids=["insert", "compact"])
@pytest.mark.parametrize("number", [2, 9, 30])
def test_a_rebuild_without_a_manifest_leaves_out_what_was_written_ahead(stored, verb, number):
    leave(stored, number, verb)
    environment = stored._store.environment
    handle = environment.subdatabase(layout.MANIFEST)
    environment.write(lambda transaction: transaction.put(layout.MANIFEST_KEY, b"?", db=handle))

    report = stored.rebuild()

    assert report.document_count == len(KEPT)
    assert stray_values(stored) == []
    assert_right(stored, KEPT)


@pytest.mark.few(1)
@pytest.mark.parametrize("verb", [insert_more, compact], ids=["insert", "compact"])
def test_other_databases_see_nothing_of_what_is_written_ahead(stored, open_database, verb):
    other = open_database(durability="none")
    with stored.read() as snapshot:
        leave(stored, 20, verb)

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
    open_database, monkeypatch, memory_bytes, expected
):
    monkeypatch.setattr(compaction, "memory_bytes", lambda: memory_bytes)
    database = open_database(options=TINY)
    database.insert_many(range(100), BITS[:100])

    for _ in range(2):
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


def test_due_steps_of_a_merge_have_commits_of_their_own(open_database):
    database = open_database(options=TINY, durability="none")
    with merging_slowly(), writing_ahead(least=1000, longest=100):
        for first in range(0, 20, 5):
            database.insert_many(range(first, first + 5), BITS[first : first + 5])
        merge = unfinished(database)
        before = database.stats().transaction
        database.insert_many(range(20, 36), BITS[20:36])
        after = unfinished(database)

        assert merge.done == 0
        assert after.done > 10
        assert database.stats().transaction - before == after.done
        assert_right(database, range(36))


@pytest.fixture
def given_back(monkeypatch):
    """The numbers of the runs whose pages were released."""
    numbers = []
    monkeypatch.setattr(Run, "give_back", lambda run: numbers.append(run.info.number))
    return numbers


def run_numbers(database):
    with database._store.state() as state:
        return {run.info.number for run in state.runs}


def test_the_pages_of_merged_runs_leave_the_memory_after_each_step_ahead(open_database, given_back):
    database = open_database(options=TINY, durability="none")
    with merging_slowly(), writing_ahead(least=1000, longest=100):
        for first in range(0, 20, 5):
            database.insert_many(range(first, first + 5), BITS[first : first + 5])
        merging = run_numbers(database)
        given_back.clear()
        database.insert_many(range(20, 36), BITS[20:36])

        assert set(given_back) == merging
        assert len(given_back) == (unfinished(database).done - 1) * len(merging)


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [1, 4, 12])
def test_steps_ahead_of_a_commit_that_fails_stay_done(open_database, number):
    database = open_database(options=TINY, durability="none")
    with merging_slowly(), writing_ahead(least=1000, longest=100):
        for first in range(0, 20, 5):
            database.insert_many(range(first, first + 5), BITS[first : first + 5])
        leave(database, number, lambda each: each.insert_many(range(20, 36), BITS[20:36]))

        done = unfinished(database).done
        database.delete_many(range(0, 20, 4))
        database.insert_many(range(36, 80), BITS[36:80])

        assert done == number - 1
        assert_right(database, [id for id in range(80) if id >= 36 or (id < 20 and id % 4)])
