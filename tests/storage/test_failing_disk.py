"""Bugs that the sweep of tests/faults found: a disk that fails at a bad moment."""

import errno
import os

import lmdb
import pytest
from soundness import TINY, assert_sound

import simdb
from simdb.database.maintenance import compaction
from simdb.storage import environment, files, open_files


class Refusing:
    """An LMDB environment of which one method fails once."""

    def __init__(self, real, method, error):
        self._real = real
        self._failing = {method: error}

    def __getattr__(self, name):
        if name in self._failing:
            raise self._failing.pop(name)
        return getattr(self._real, name)


def refuse(database, method, error):
    environment = database._store.environment
    environment._lmdb = Refusing(environment._lmdb, method, error)


def fail(*_):
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("module", ["os.replace", "os.unlink", "sync_directory"])
def test_a_compaction_whose_copy_cannot_take_its_place_is_told(database, monkeypatch, module):
    # They came out as OSError.
    database.insert_many(range(20), range(20))
    database.delete(3)
    is_own = module == "sync_directory"
    where = "simdb.storage.files.sync_directory" if is_own else module
    monkeypatch.setattr(where, fail)

    with pytest.raises(simdb.FullError, match="is full or has failed"):
        database.compact()

    monkeypatch.undo()
    database.insert(3, 3)
    assert database.compact().note == ""
    assert sorted(database) == list(range(20))
    assert not os.path.exists(os.path.join(database.path, compaction.COPY_FILE))


def test_a_sync_that_fails_at_the_end_is_told_and_the_database_is_closed(tmp_path):
    # It came out as lmdb.Error, and nobody in the process could open the database any more.
    open_before = set(environment._open)
    database = simdb.open(tmp_path / "db", options=TINY, durability="process")
    database.insert(1, 1)
    refuse(database, "sync", lmdb.Error("mdb_env_sync: Input/output error"))

    with pytest.raises(simdb.FullError, match="its disk did not take everything"):
        database.close()

    assert database.is_closed
    assert set(environment._open) <= open_before
    database.close()
    with simdb.open(tmp_path / "db", durability="full") as again:
        assert list(again) == [1]
    assert_sound(tmp_path / "db")


def test_a_database_goes_on_after_the_last_page_of_a_commit_failed(database):
    # LMDB refuses everything after that, and it was said that the file is damaged.
    database.insert(1, 1)
    refuse(database, "begin", lmdb.PanicError("MDB_PANIC"))

    assert database.query(1, distance=0) == [simdb.Match(1, 0)]

    database.insert(2, 2)
    assert list(database) == [1, 2]


def test_a_data_file_that_cannot_be_made_leaves_none(tmp_path, monkeypatch):
    monkeypatch.setattr(open_files, "_make", fail)
    with pytest.raises(simdb.FullError):
        simdb.open(tmp_path / "db")
    monkeypatch.undo()

    assert not (tmp_path / "db" / files.DATA_FILE).exists()
    simdb.open(tmp_path / "db").close()
    assert_sound(tmp_path / "db")


def test_a_commit_for_which_python_gets_no_memory_changes_nothing(database, monkeypatch):
    database.insert(1, 1)

    def exhausted(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("simdb.storage.environment.check_next", exhausted)
        with pytest.raises(MemoryError):
            database.insert(2, 2)

    assert list(database) == [1]
    database.insert(3, 3)
    assert list(database) == [1, 3]
