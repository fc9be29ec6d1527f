"""The manifest knows the sums of all entries, so that damage is neither missed nor merged."""

from dataclasses import replace

import pytest
from soundness import everything
from stored_values import change_column, change_manifest, change_value, zeros

import simdb
from simdb.core.errors import CorruptError
from simdb.database.maintenance import compaction
from simdb.database.write import commit
from simdb.storage import layout

OPTIONS = simdb.Options(
    delta_documents=8, growth=2, blocks=4, polytopes=2, sketch=simdb.Simhash(shingle=1)
)
WORDS = ["red", "green", "blue", "grey", "pink", "white", "black", "brown"]
TEXTS = [" ".join(WORDS[at % 3 : 3 + at % 6]) + f" {at}" for at in range(100)]


@pytest.fixture
def database(open_database):
    """A database with several runs, tombstones, documents without features and without weights."""
    database = open_database(options=OPTIONS)
    for at in range(0, 90, 9):
        database.insert_many(range(at, at + 9), TEXTS[at : at + 9])
    database.insert_many(["a", "b", "c"], ["", 5, 7])
    database.delete_many([3, 40, "b"])
    database.insert_many(range(90, 100), TEXTS[90:])
    assert len(database.stats().runs) > 1
    return database


@pytest.mark.parametrize(
    ("name", "column"), [(layout.polytope_name(1), layout.KEYS), (layout.IDS, layout.ORDINALS)]
)
def test_entries_that_are_not_those_written_are_neither_missed_nor_merged(database, name, column):
    before = everything(database)
    change_column(database, name, column, zeros, -1)
    place = name.decode()

    assert [each.place for each in database.check()] == [place]
    with pytest.raises(CorruptError, match=rf"{place} in the runs .* not what was written"):
        database.compact()
    database.rebuild()

    assert everything(database) == before
    assert list(database.check(deep=True)) == []


def insert_much(database):
    for at in range(1000, 1180, 9):
        database.insert_many(range(at, at + 9), TEXTS[:9])


def test_damage_is_not_merged_by_an_insertion(database):
    change_column(database, layout.table_name(2), layout.KEYS, zeros, -1)
    count = len(database)

    with pytest.raises(CorruptError, match=r"table/02 in the runs .* not what was written"):
        insert_much(database)

    assert len(database) % 9 == count % 9
    database.rebuild()


@pytest.mark.parametrize("verb", ["rebuild", "compact"])
def test_what_changes_between_writing_and_the_commit_is_not_committed(database, verb, monkeypatch):
    """LMDB's pages are plain memory of the process until the commit."""
    before = everything(database)
    # What either calls next, once it has written the new run.
    module, name = {
        "rebuild": (compaction, "renumber_metadata"), "compact": (commit, "drop_unfinished"),
    }[verb]  # fmt: skip
    following = getattr(module, name)

    def spoil(writer, *rest):
        following(writer, *rest)
        handle = writer.store.environment.subdatabase(layout.table_name(1))
        newest = max(layout.key_number(key) for key, _ in writer.transaction.cursor(handle))
        key = layout.table_key(newest, layout.ORDINALS)
        value = bytearray(writer.transaction.get(key, db=handle))
        value[-4:] = b"\0\0\0\0"
        writer.transaction.put(key, bytes(value), db=handle)

    monkeypatch.setattr(module, name, spoil)
    with pytest.raises(CorruptError, match="table/01 was not stored as it was written"):
        getattr(database, verb)()

    assert everything(database) == before
    assert list(database.check(deep=True)) == []


def without_sums(manifest):
    """Return a manifest as older versions wrote it."""
    runs = tuple(replace(run, sums=b"") for run in manifest.runs)
    return replace(manifest, runs=runs, unfinished=None)


def test_runs_without_sums_are_not_merged_if_a_checksum_is_wrong(database):
    name, key = layout.table_name(1), layout.table_key(database.stats().runs[-1].run, layout.KEYS)
    change_manifest(database, without_sums)
    change_value(database, name, key, lambda value: value[:-8] + bytes(8))

    assert [each.place for each in database.check()] == [name.decode()]
    with pytest.raises(CorruptError, match="its checksum differs"):
        database.compact()
    database.rebuild()
