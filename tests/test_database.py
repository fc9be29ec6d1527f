import errno
import gc
import os
import pickle
import threading
import time

import lmdb
import pytest
from soundness import TINY

import simdb
from simdb.storage import environment, file_map, files


def test_closing_twice_is_fine_and_every_verb_is_refused_afterwards(open_database):
    database = open_database()
    database.insert(1, 1)
    database.close()
    database.close()

    assert database.is_closed
    for verb in (
        database.read,
        database.write,
        database.compact,
        database.stats,
        lambda: list(database.check()),
        lambda: database.copy("nowhere"),
        lambda: database.insert(2, 2),
        lambda: database.delete(1),
        lambda: database.get(1),
        lambda: database[1],
        lambda: next(database.items()),
        lambda: database.query(1),
        lambda: database.query("text"),
        lambda: database.first(1),
        lambda: database.query_many([1]),
        lambda: database.find_all(),
        lambda: database.find_clusters(),
        lambda: database.plan(),
        lambda: len(database),
        lambda: 1 in database,
        lambda: list(database),
    ):
        with pytest.raises(simdb.ClosedError, match=r"is closed; .* open it again"):
            verb()


def test_a_with_block_closes_also_after_an_exception(tmp_path):
    with pytest.raises(KeyError), simdb.open(tmp_path / "db") as database:
        raise KeyError

    assert database.is_closed


def test_a_database_that_nobody_holds_is_closed(tmp_path):
    path = str(tmp_path / "db")
    simdb.open(path).insert(1, 1)
    gc.collect()

    assert not any(each.is_at(path) for each in environment._open.values())


def test_closing_under_an_open_snapshot_is_refused_and_can_be_tried_again(database, short_waits):
    database.insert(1, 1)
    snapshot = database.read()

    with pytest.raises(simdb.BusyError, match="close them first"):
        database.close()

    assert list(snapshot) == [1]
    database.insert(2, 2)
    snapshot.close()
    database.close()


def test_closing_under_an_open_transaction_is_refused(database, short_waits):
    with database.write() as transaction:
        transaction.insert(1, 1)
        with pytest.raises(simdb.BusyError):
            database.close()

    assert list(database) == [1]


def test_pairs_not_yet_read_end_when_the_database_is_closed(database, short_waits):
    database.insert_many(range(9), [0] * 9)
    pairs = database.find_all()

    database.close()

    with pytest.raises(simdb.ClosedError):
        list(pairs)


def test_reading_only_refuses_every_write(open_database):
    open_database().insert(1, 1)
    reader = open_database(mode="r")

    for verb in (
        reader.write,
        reader.compact,
        lambda: reader.insert(2, 2),
        lambda: reader.insert_many([2], [2]),
        lambda: reader.add_if_new(2, 2),
        lambda: reader.delete(1),
        lambda: reader.delete_many([1]),
    ):
        with pytest.raises(simdb.ReadOnlyError, match="opened for reading"):
            verb()
    assert list(reader) == [1]


def test_opening_for_writing_waits_for_readers_of_this_process(open_database, short_waits):
    open_database(options=TINY).close()
    reader = open_database(mode="r")
    snapshot = reader.read()

    with pytest.raises(simdb.BusyError):
        open_database(mode="w")

    assert list(snapshot) == []
    snapshot.close()
    open_database(mode="w").insert(1, 1)
    assert list(reader) == [1]


def test_a_reader_goes_on_when_opening_for_writing_fails(open_database, monkeypatch):
    with open_database(options=TINY) as database:
        database.insert(1, 1)
    reader = open_database(mode="r")
    try_open = file_map.try_open

    def refuse_writers(path, size, *, is_read_only, **settings):
        if not is_read_only:
            raise lmdb.ReadonlyError("refused")
        return try_open(path, size, is_read_only=is_read_only, **settings)

    monkeypatch.setattr(file_map, "OPEN_TRIES", 2)
    monkeypatch.setattr(file_map, "try_open", refuse_writers)
    with pytest.raises(simdb.ReadOnlyError, match="cannot be written"):
        open_database(mode="w")
    monkeypatch.undo()

    assert list(reader) == [1]
    open_database(mode="w").insert(2, 2)
    assert list(reader) == [1, 2]


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_where_nothing_may_be_written_mode_r_is_named(tmp_path, monkeypatch, code):
    # On a read-only file system the message was only that of the system.
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert(1, 1)

    lock = files.FileLock

    def refuse(path, *, is_made=True):
        if is_made:
            raise OSError(code, os.strerror(code), path)
        return lock(path, is_made=False)

    monkeypatch.setattr(files, "FileLock", refuse)
    for mode in ("c", "w"):
        with pytest.raises(simdb.ReadOnlyError, match=r"writer.lock cannot .*open it in mode 'r'"):
            simdb.open(tmp_path / "db", mode)

    with simdb.open(tmp_path / "db", "r") as database:
        assert list(database) == [1]


def test_a_relative_path_is_that_of_the_directory_it_was_opened_in(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with simdb.open("db") as database:
        monkeypatch.chdir(tmp_path / "elsewhere")
        database.insert(1, 1)
        database.compact()
        with pickle.loads(pickle.dumps(database)) as again:
            assert list(again) == [1]
    assert os.listdir(tmp_path / "elsewhere") == []


def test_threads_that_close_one_database_leave_another_open(open_database, monkeypatch):
    kept, closed = open_database(), open_database()
    forget_views = type(closed._store).forget_views

    def forget_slowly(store):
        time.sleep(0.05)
        forget_views(store)

    monkeypatch.setattr(type(closed._store), "forget_views", forget_slowly)
    threads = [threading.Thread(target=closed.close) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(kept) == 0


def test_another_durability_in_one_process_is_refused(open_database):
    open_database(durability="none")

    with pytest.raises(simdb.OptionError, match="durability='none'"):
        open_database(durability="full")


def test_pickling_opens_the_same_database_again(open_database):
    database = open_database(timeout=3.0)
    database.insert(1, 1)

    with pickle.loads(pickle.dumps(database)) as again:
        again.insert(2, 2)

        assert list(database) == [1, 2]
        assert again.options == database.options
    reader = pickle.loads(pickle.dumps(open_database(mode="r")))
    with reader, pytest.raises(simdb.ReadOnlyError):
        reader.insert(3, 3)


def test_a_copy_to_an_impossible_place_is_refused_by_name(database, tmp_path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(simdb.InputError, match="file"):
        database.copy(tmp_path / "file" / "copy")
    (tmp_path / "there").mkdir()
    with pytest.raises(simdb.ExistsError, match="give another path"):
        database.copy(tmp_path / "there")
