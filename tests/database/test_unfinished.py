"""Large merges take several commits; at every step the database answers, and is sound."""

from dataclasses import replace

import numpy as np
import pytest
from merging import manifest_of, merging_slowly, unfinished
from oracle import Oracle, Stored
from soundness import TINY, assert_sound, stray_values
from stored_values import change_value

import simdb
from simdb.database.write import commit
from simdb.storage import codec, layout
from simdb.storage.files import MapFull

FAR = np.uint64(0x9E3779B97F4A7C15)  # its multiples are far from each other
BITS = np.arange(400, dtype=np.uint64) // 2 * FAR
BATCH = 5


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
        for at in range(45, 150):
            before = manifest_of(database)
            database.insert(at, int(BITS[at]))
            after = manifest_of(database)
            if after.unfinished and before.unfinished:
                is_sealed = after.delta_version > before.delta_version
                steps[is_sealed].add(after.unfinished.done - before.unfinished.done)

    assert steps == {True: {0}, False: {0, 1}}
    assert_right(database, range(150))


def test_a_lost_value_of_an_unfinished_merge_is_found(tmp_path):
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert("no int", 7)
        insert(database, 0, 30)
        merge = unfinished(database)
        key = layout.table_key(merge.run.number, layout.ORDINALS)
        change_value(database, layout.IDS, key, lambda value: None)

        found = [(finding.place, finding.message) for finding in database.check()]

        assert found == [("ids", f"the unfinished merge has lost its value under key {key.hex()}")]
        assert database.rebuild().document_count == 31
    assert_sound(tmp_path / "db")


@pytest.mark.parametrize("first", [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4]])
def test_damaged_ordinals_of_an_unfinished_merge_are_refused(tmp_path, first):
    with simdb.open(tmp_path / "db", options=replace(TINY, blocks=4)) as database:
        database.insert_many(first, BITS[:BATCH])
        insert(database, BATCH, 20)
        database.delete(3)
        insert(database, 20, 25)
        merge = unfinished(database)
        assert merge.run.id_count < len(merge.run)
        key = layout.table_key(merge.run.number, layout.ORDINALS)
        wrong = np.full(merge.run.id_count, 10_000, np.uint32)
        damaged = codec.encode_array(layout.TABLE_KINDS[layout.ORDINALS], key, wrong)
        if merge.run.ids:
            damaged = codec.encode_array(layout.DELETED_KIND, key, np.full(3, 255, np.uint8))
        change_value(database, layout.IDS, key, lambda value: damaged)

        with pytest.raises(simdb.CorruptError, match="do not fit its 19 "):
            insert(database, 25, 60)

        assert list(database) == [id for id in (*first, *range(BATCH, 25)) if id != 3]


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
