"""Large merges take several commits; at every step the database answers, and is sound."""

from dataclasses import replace

import numpy as np
import pytest
from merging import manifest_of, merging_slowly, unfinished
from oracle import Oracle, Stored
from soundness import TINY, assert_sound, everything, stray_values

import simdb
from simdb.database.write import commit
from simdb.storage import codec, layout, merge
from simdb.storage.files import MapFull

FAR = np.uint64(0x9E3779B97F4A7C15)  # its multiples are far from each other
BITS = np.arange(400, dtype=np.uint64) // 2 * FAR
BATCH = 5
TEXTS = simdb.Options(delta_documents=4, growth=2, sketch=simdb.Simhash(shingle=1))
# After these numbers of documents, merges of 20 to 60 documents are at steps of every kind.
COUNTS = [20, 25, 30, 35, 40, 55, 80, 105]
WORDS = ["red", "green", "blue", "grey", "pink", "white", "black", "brown"]


@pytest.fixture(autouse=True)
def slow_merges():
    with merging_slowly():
        yield


def insert(database, start, stop):
    """Insert documents start .. stop, five in each commit; each is equal to one other."""
    for first in range(start, stop, BATCH):
        database.insert_many(range(first, first + BATCH), BITS[first : first + BATCH])


def oracle_of(ids):
    oracle = Oracle()
    for id in ids:
        oracle.insert(id, Stored(int(BITS[id])))
    return oracle


def answers(database, known):
    return [
        [(match.id, match.distance) for match in database.query(int(BITS[id]), distance=3)]
        for id in known
    ]


def assert_right(database, known):
    """Assert that the database holds the documents `known` and finds what the oracle finds."""
    oracle, asked = oracle_of(known), known[::3]

    assert list(database) == list(known)
    assert answers(database, asked) == [oracle.query(int(BITS[id]), 3) for id in asked]


def steps_done(database, start, stop):
    """Insert documents, and return the run and the steps of the merge after each commit."""
    done = []
    for first in range(start, stop, BATCH):
        insert(database, first, first + BATCH)
        merge = unfinished(database)
        done.append(None if merge is None else (merge.run.number, merge.done))
    return done


def test_a_large_merge_takes_several_commits(open_database):
    database = open_database(options=replace(TINY, polytopes=0))

    done = steps_done(database, 0, 60)

    # A run of 20 documents is written by 17 steps, which are due after 20 more documents: a quarter
    # of what they cost after each five.
    assert done[:8] == [None, None, None, (4, 0), (4, 5), (4, 11), (4, 15), (9, 0)]
    assert_right(database, range(60))


@pytest.mark.few(2)
@pytest.mark.parametrize("count", COUNTS)
def test_every_step_of_a_merge_leaves_a_sound_database(open_database, count):
    database = open_database(options=TINY)

    insert(database, 0, count)

    assert_right(database, range(count))


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("window", [1, 7])
@pytest.mark.parametrize("pace", [1, 3])
def test_tables_are_merged_window_by_window(open_database, monkeypatch, window, pace):
    monkeypatch.setattr(merge, "WINDOW_ENTRIES", window)
    database = open_database(options=TINY)

    with merging_slowly(pace=pace):
        insert(database, 0, 200)

    assert_right(database, range(200))


@pytest.mark.more
def test_steps_are_prepared_by_commits_of_single_documents(open_database, monkeypatch):
    monkeypatch.setattr(merge, "WINDOW_ENTRIES", 30)
    database = open_database(options=TEXTS)
    texts = [" ".join(WORDS[at % 3 : 3 + at % 6]) for at in range(200)]

    for at in range(200):
        database.insert(at, texts[at])
        database.delete_many([at - 5 * (at % 3)] if at % 3 else [])

    gone = {at - 5 * (at % 3) for at in range(200) if at % 3}
    known = [at for at in range(200) if at not in gone]
    assert list(database) == known
    assert [match.id for match in database.query(texts[150], similarity=0.99, recall=1.0)] == [
        at for at in known if texts[at] == texts[150]
    ]


def tables_begun(database, monkeypatch, between):
    """Insert single documents while a merge is unfinished; return how often a table was begun."""
    begun = []
    made = merge.TableMerge

    def note(*given):
        begun.append(given)
        return made(*given)

    monkeypatch.setattr(merge, "TableMerge", note)
    for at in range(50, 80):
        database.insert(at, int(BITS[at]))
        between(database)
    return len(begun)


def claim_a_duplicate(database):
    assert database.add_if_new("again", int(BITS[3]), distance=0).id in (2, 3)


def stage_and_abort(database):
    transaction = database.write()
    transaction.insert("x", 5)
    transaction.abort()


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("between", [claim_a_duplicate, stage_and_abort])
def test_a_transaction_that_writes_nothing_leaves_a_merge_in_memory(
    open_database, tmp_path, monkeypatch, between
):
    databases = [open_database(tmp_path / name, options=TINY) for name in ("alone", "between")]
    for database in databases:
        insert(database, 0, 50)

    alone = tables_begun(databases[0], monkeypatch, lambda database: None)
    begun = tables_begun(databases[1], monkeypatch, between)

    assert 0 < alone == begun
    assert_right(databases[1], range(80))


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("count", COUNTS)
def test_documents_deleted_during_a_merge_stay_deleted(open_database, count):
    database = open_database(options=TINY)
    insert(database, 0, count)

    database.delete_many(range(0, count, 3))
    insert(database, count, count + 10)
    database.delete_many(range(1, count, 3))
    insert(database, count + 10, 200)

    gone = {*range(0, count, 3), *range(1, count, 3)}
    assert_right(database, [id for id in range(200) if id not in gone])


def test_documents_deleted_before_a_merge_leave_the_tables(open_database):
    database = open_database(options=TINY)
    insert(database, 0, 20)
    database.delete_many(range(1, 20, 2))

    insert(database, 20, 60)

    first = database.stats().runs[0]
    assert first.document_count - first.entry_count == 10


def test_a_merge_goes_on_in_another_process(tmp_path):
    path = tmp_path / "db"
    simdb.open(path, "x", options=TINY).close()

    for first in range(0, 150, BATCH):
        with simdb.open(path, "w") as database:
            insert(database, first, first + BATCH)
            database.delete(first)

    with simdb.open(path, "r") as database:
        assert unfinished(database) is not None
        assert_right(database, [id for id in range(150) if id % BATCH])
    assert_sound(path)


@pytest.mark.more
def test_two_writers_take_turns_in_a_merge(open_database, monkeypatch):
    # Each has merged a part of a table in memory when the other one deletes and writes it.
    monkeypatch.setattr(merge, "WINDOW_ENTRIES", 3)
    left = open_database(options=TINY)
    right = open_database()
    for first in range(0, 200, 4 * BATCH):
        insert(left, first, first + 2 * BATCH)
        left.delete(first)
        insert(right, first + 2 * BATCH, first + 4 * BATCH)
        right.delete(first + 1)

    assert_right(left, [id for id in range(200) if id % (4 * BATCH) > 1])


@pytest.mark.more
@pytest.mark.few(2)
@pytest.mark.parametrize("count", COUNTS)
def test_compaction_ends_an_unfinished_merge(open_database, count):
    database = open_database(options=TINY)
    insert(database, 0, count)

    database.compact()

    assert unfinished(database) is None
    assert stray_values(database) == []
    assert_right(database, range(count))


@pytest.mark.more
@pytest.mark.few(2)
@pytest.mark.parametrize("count", COUNTS)
def test_a_rebuild_ends_an_unfinished_merge(open_database, count):
    database = open_database(options=TINY)
    insert(database, 0, count)

    report = database.rebuild()

    assert (report.document_count, report.notes) == (count, ())
    assert stray_values(database) == []
    assert_right(database, range(count))


def lose_manifest(database):
    environment = database._store.environment
    handle = environment.subdatabase(layout.MANIFEST)
    environment.write(lambda transaction: transaction.put(layout.MANIFEST_KEY, b"?", db=handle))


@pytest.mark.more
@pytest.mark.few(2)
@pytest.mark.parametrize("count", COUNTS)
def test_a_rebuild_without_a_manifest_does_not_take_an_unfinished_run_for_a_run(
    open_database, count
):
    database = open_database(options=TINY)
    insert(database, 0, count)
    lose_manifest(database)

    report = database.rebuild()

    assert report.document_count == count
    assert "found by their columns" in report.notes[0]
    assert_right(database, range(count))


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("count", COUNTS)
def test_copies_and_dumps_have_everything(open_database, tmp_path, count):
    database = open_database(options=TINY)
    insert(database, 0, count)

    database.copy(tmp_path / "copy")
    database.dump(tmp_path / "dump")
    simdb.load(tmp_path / "dump", tmp_path / "loaded")

    for path in (tmp_path / "copy", tmp_path / "loaded"):
        with simdb.open(path, "w") as other:
            insert(other, count, count + 20)
            assert_right(other, range(count + 20))
        assert_sound(path)


@pytest.mark.more
def test_a_snapshot_does_not_see_a_merge_end(open_database):
    database = open_database(options=TINY)
    insert(database, 0, 40)
    with database.read() as snapshot:
        insert(database, 40, 200)
        database.delete_many(range(20))

        assert_right(snapshot, range(40))
    assert_right(database, range(20, 200))


class StopError(Exception):
    """The exception that a commit fails with."""


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("count", COUNTS)
def test_an_aborted_transaction_does_not_disturb_a_merge(open_database, count):
    database = open_database(options=TINY)
    insert(database, 0, count)
    transaction = database.write()
    transaction.delete_many(range(10))
    transaction.insert_many(range(300, 310), BITS[300:310])
    transaction.abort()

    insert(database, count, count + 60)

    assert_right(database, range(count + 60))


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize("number", range(1, 40, 3))
def test_a_commit_that_fails_in_a_step_is_done_again(open_database, monkeypatch, number):
    database = open_database(options=TINY)
    insert(database, 0, 60)
    database.delete_many(range(1, 60, 7))
    put, count = commit.Writer.put, []

    def put_or_fail(self, name, key, value):
        count.append(name)
        if len(count) == number:
            raise StopError
        put(self, name, key, value)

    monkeypatch.setattr(commit.Writer, "put", put_or_fail)
    with pytest.raises(StopError):
        insert(database, 60, 100)
    stored = len(database)
    first = max(60, max(database) + 1)

    insert(database, first, 200)

    assert stored < 95
    assert_right(database, [id for id in range(200) if id >= 60 or id % 7 != 1])


@pytest.mark.more
def test_a_merge_goes_on_when_the_map_grows(open_database):
    database = open_database(options=replace(TINY, delta_documents=40), map_size=1 << 20)

    for first in range(0, 8_000, 200):
        bits = np.arange(first, first + 200, dtype=np.uint64) * FAR
        database.insert_many(range(first, first + 200), bits, ["m" * 40] * 200)

    assert len(database) == 8_000
    assert database.stats().map_bytes > 1 << 20
    assert [database.query(int(at * int(FAR) % 2**64), distance=0)[0].id for at in (0, 777)] == [
        0,
        777,
    ]


def test_a_step_of_a_commit_that_is_done_again_writes_the_same(open_database, monkeypatch):
    # Columns that the first try has written are not in memory any more.
    database = open_database(options=TINY, map_size=1 << 20)
    insert(database, 0, 20)
    database.delete_many(range(1, 20, 7))
    put_manifest, failed = commit.Writer.put_manifest, set()

    def fail_first(self, manifest):
        merge = manifest.unfinished
        if merge is not None and (merge.run.number, merge.done) not in failed:
            failed.add((merge.run.number, merge.done))
            raise MapFull
        put_manifest(self, manifest)

    with monkeypatch.context() as patch:
        patch.setattr(commit.Writer, "put_manifest", fail_first)
        insert(database, 20, 35)
    insert(database, 35, 80)

    assert len(failed) > 10
    assert_right(database, [id for id in range(80) if id >= 20 or id % 7 != 1])


def test_a_small_commit_that_seals_a_run_writes_no_value_of_a_step(open_database):
    database = open_database(options=replace(TINY, delta_documents=10))
    insert(database, 0, 45)
    steps = {True: set(), False: set()}

    with merging_slowly(pace=0.2):
        for at in range(45, 300):
            before = manifest_of(database)
            database.insert(at, int(BITS[at]))
            after = manifest_of(database)
            if after.unfinished and before.unfinished:
                is_sealed = after.delta_version > before.delta_version
                steps[is_sealed].add(after.unfinished.done - before.unfinished.done)

    assert steps == {True: {0}, False: {0, 1}}
    assert_right(database, range(300))


@pytest.mark.more
def test_no_merge_makes_a_run_longer_than_the_longest(open_database):
    database = open_database(options=TINY)

    with merging_slowly(longest=24):
        insert(database, 0, 200)

    assert max(run.document_count for run in database.stats().runs) <= 24
    assert len(database.stats().runs) <= 14
    assert_right(database, range(200))


@pytest.mark.more
def test_transactions_that_insert_much_get_longer_runs_by_merges(open_database, tmp_path):
    few, many = (open_database(tmp_path / name, options=TINY) for name in ("few", "many"))

    with merging_slowly(longest=24, bulk=64):
        insert(few, 0, 200)
        for start in range(0, 200, 20):
            many.insert_many(range(start, start + 20), BITS[start : start + 20])

    assert max(run.document_count for run in few.stats().runs) <= 24
    assert 24 < max(run.document_count for run in many.stats().runs) <= 64
    assert_right(many, range(200))


@pytest.mark.more
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "sketch", [simdb.Simhash(shingle=1), simdb.Minhash(shingle=1)], ids=["weights", "signatures"]
)
def test_weights_and_signatures_are_merged_like_any_column(open_database, tmp_path, sketch):
    options = simdb.Options(delta_documents=4, growth=2, sketch=sketch)
    slow = open_database(options=options)
    once = open_database(tmp_path / "once", options=options)
    texts = [" ".join(WORDS[at % 3 : 3 + at % 6]) for at in range(120)]
    for first in range(0, 120, BATCH):
        part = range(first, first + BATCH)
        slow.insert_many(part, texts[first : first + BATCH], [{"n": at} for at in part])

    once.insert_many(range(120), texts, [{"n": at} for at in range(120)])

    assert unfinished(slow) is not None
    found = [[each.query(text, similarity=0.7, recall=1.0) for text in texts[:12]]
             for each in (slow, once)]  # fmt: skip
    assert found[0] == found[1]
    assert [slow.get(at).metadata for at in range(120)] == [{"n": at} for at in range(120)]


@pytest.mark.more
def test_everything_is_the_same_however_it_was_merged(open_database, tmp_path):
    slow, fast = open_database(options=TEXTS), open_database(tmp_path / "fast", options=TEXTS)
    insert(slow, 0, 100)
    with merging_slowly(pace=1e9):
        insert(fast, 0, 100)

    slow.delete_many(range(0, 100, 9))
    fast.delete_many(range(0, 100, 9))

    assert everything(slow) == everything(fast)


def test_a_lost_value_of_an_unfinished_merge_is_found(tmp_path):
    with simdb.open(tmp_path / "db", options=TINY) as database:
        insert(database, 0, 30)
        merge = unfinished(database)
        environment = database._store.environment
        handle = environment.subdatabase(layout.IDS)
        key = layout.table_key(merge.run.number, layout.ORDINALS)
        environment.write(lambda transaction: transaction.delete(key, db=handle))

        found = [(finding.place, finding.message) for finding in database.check()]

        assert found == [("ids", f"the unfinished merge has lost its value under key {key.hex()}")]
        assert database.rebuild().document_count == 30
    assert_sound(tmp_path / "db")


def test_damaged_ordinals_of_an_unfinished_merge_are_refused(tmp_path):
    with simdb.open(tmp_path / "db", options=TINY) as database:
        insert(database, 0, 20)
        database.delete(3)
        insert(database, 20, 25)
        merge = unfinished(database)
        environment = database._store.environment
        handle = environment.subdatabase(layout.IDS)
        key = layout.table_key(merge.run.number, layout.ORDINALS)
        wrong = np.full(merge.run.id_count, 10_000, np.uint32)
        value = codec.encode_array(layout.TABLE_KINDS[layout.ORDINALS], key, wrong)
        environment.write(lambda transaction: transaction.put(key, value, db=handle))

        with pytest.raises(simdb.CorruptError, match="do not fit its 19 documents"):
            insert(database, 25, 60)

        assert list(database) == [id for id in range(25) if id != 3]


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_merge_of_deleted_documents_has_empty_tables_and_leaves_nothing(
    open_database, is_compacted
):
    database = open_database(options=TINY)
    insert(database, 0, 20)
    assert unfinished(database) is not None

    database.delete_many(range(20))
    insert(database, 20, 25)

    assert unfinished(database).done > 0
    assert list(database.check(deep=True)) == []
    if is_compacted:
        database.compact()
    assert stray_values(database) == []
    assert_right(database, range(20, 25))
