"""The manifest knows the sums of all entries, so that damage is neither missed nor merged."""

from dataclasses import replace

import numpy as np
import pytest
from soundness import everything

import simdb
from simdb.core.errors import CorruptError
from simdb.database.maintenance import rebuild
from simdb.database.write import commit
from simdb.storage import codec, layout
from simdb.storage.manifest import decode_manifest, encode_manifest

OPTIONS = simdb.Options(delta_documents=8, growth=2, polytopes=2, sketch=simdb.Simhash(shingle=1))
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


def zero(database, name, column):
    """Put zeros in the place of the entries of the newest run of a table, with a right checksum."""
    environment = database._store.environment
    key = layout.table_key(database.stats().runs[-1].run, column)
    kind = layout.TABLE_KINDS[column]

    def write(transaction):
        handle = environment.subdatabase(name)
        dtype = "<u8" if column == layout.KEYS else "<u4"
        found = codec.decode_array(kind, key, transaction.get(key, db=handle), dtype)
        transaction.put(key, codec.encode_array(kind, key, np.zeros_like(found)), db=handle)

    environment.write(write)


@pytest.mark.few(1)
@pytest.mark.parametrize("column", [layout.KEYS, layout.ORDINALS])
@pytest.mark.parametrize(
    "name", [layout.table_name(0), layout.table_name(3), layout.polytope_name(1), layout.IDS]
)
def test_entries_that_are_not_those_written_are_neither_missed_nor_merged(database, name, column):
    before = everything(database)
    zero(database, name, column)
    place = name.decode()

    assert [each.place for each in database.check()] == [place]
    with pytest.raises(CorruptError, match=rf"{place} in the runs .* not those that were written"):
        database.compact()
    database.rebuild()

    assert everything(database) == before
    assert list(database.check(deep=True)) == []


def insert_much(database):
    for at in range(1000, 1180, 9):
        database.insert_many(range(at, at + 9), TEXTS[:9])


def test_damage_is_not_merged_by_an_insertion(database):
    zero(database, layout.table_name(2), layout.KEYS)
    count = len(database)

    with pytest.raises(CorruptError, match=r"table/02 in the runs .* not those that were written"):
        insert_much(database)

    assert len(database) % 9 == count % 9
    database.rebuild()


@pytest.mark.few(1)
@pytest.mark.parametrize("verb", ["rebuild", "compact"])
def test_what_changes_between_writing_and_the_commit_is_not_committed(database, verb, monkeypatch):
    """LMDB's pages are plain memory of the process until the commit."""
    before = everything(database)
    # What either calls next, once it has written the new run.
    module, name = {
        "rebuild": (rebuild, "renumber_metadata"), "compact": (commit, "drop_unfinished"),
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


def forget_sums(database):
    """Take the sums out of the manifest, which older versions wrote without them."""
    environment = database._store.environment

    def write(transaction):
        handle = environment.subdatabase(layout.MANIFEST)
        manifest = decode_manifest(transaction.get(layout.MANIFEST_KEY, db=handle))
        runs = tuple(replace(run, sums=b"") for run in manifest.runs)
        value = encode_manifest(replace(manifest, runs=runs, unfinished=None))
        transaction.put(layout.MANIFEST_KEY, value, db=handle)

    environment.write(write)


def test_runs_without_sums_are_not_merged_if_a_checksum_is_wrong(database):
    forget_sums(database)
    environment = database._store.environment
    name, key = layout.table_name(1), layout.table_key(database.stats().runs[-1].run, layout.KEYS)

    def write(transaction):
        value = bytearray(transaction.get(key, db=environment.subdatabase(name)))
        value[-8:] = bytes(8)
        transaction.put(key, bytes(value), db=environment.subdatabase(name))

    environment.write(write)

    assert [each.place for each in database.check()] == [name.decode()]
    with pytest.raises(CorruptError, match="its checksum differs"):
        database.compact()
    database.rebuild()
