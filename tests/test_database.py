import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading

import lmdb
import numpy as np
import pytest
from soundness import TINY

import simdb
from simdb.storage import contents, registry
from simdb.storage.environment import Environment


@pytest.mark.parametrize("mode", ["r", "w"])
def test_a_missing_database_is_not_made_by_modes_that_must_find_it(tmp_path, mode):
    with pytest.raises(simdb.NotFoundError, match="mode 'c' creates"):
        simdb.open(tmp_path / "none", mode)

    assert not (tmp_path / "none").exists()


def test_x_refuses_an_existing_database(open_database, tmp_path):
    open_database().insert(1, 1)

    with pytest.raises(simdb.ExistsError, match="mode 'w' opens it"):
        simdb.open(tmp_path / "db", "x")


def test_another_mode_is_refused_by_name(tmp_path):
    with pytest.raises(simdb.OptionError, match="'a'"):
        simdb.open(tmp_path / "db", "a")


@pytest.mark.parametrize("size", [0, -1, 2**19, 2.5e9, "1 GB", True, 2**70])
def test_a_map_size_that_cannot_be_is_refused(tmp_path, size):
    with pytest.raises(simdb.OptionError, match="map_size"):
        simdb.open(tmp_path / "db", map_size=size)


@pytest.mark.parametrize("timeout", [-1, float("nan"), "1", True])
def test_a_timeout_that_cannot_be_is_refused(tmp_path, timeout):
    with pytest.raises(simdb.OptionError, match="timeout"):
        simdb.open(tmp_path / "db", timeout=timeout)


def test_a_durability_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(simdb.OptionError, match=r"'full', 'process', 'none', not 'some'"):
        simdb.open(tmp_path / "db", durability="some")


def test_options_that_are_no_options_are_refused(tmp_path):
    with pytest.raises(simdb.OptionError, match="dict"):
        simdb.open(tmp_path / "db", options={"blocks": 4})


def test_other_options_than_stored_are_refused_each_by_name(open_database, tmp_path):
    open_database(options=simdb.Options(blocks=5, sketch=simdb.Simhash(shingle=2)))

    with pytest.raises(simdb.OptionError) as caught:
        simdb.open(tmp_path / "db", options=simdb.Options(distance=4))

    for part in ("blocks is 5, not 4", "sketch.shingle is 2, not 3", "distance is 3, not 4"):
        assert part in str(caught.value)
    assert "similarity" not in str(caught.value)


def test_options_are_stored(open_database):
    chosen = simdb.Options(blocks=6, leading=3, distance=5, sketch=simdb.Simhash(unit="characters"))
    open_database(options=chosen).close()

    assert open_database().options == chosen


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
        with pytest.raises(simdb.ClosedError, match="is closed"):
            verb()


def test_the_repr_tells_path_and_state(database):
    assert database.path in repr(database)
    assert "mode 'c'" in repr(database)
    database.close()
    assert "closed" in repr(database)


def test_a_with_block_closes_also_after_an_exception(tmp_path):
    with pytest.raises(KeyError), simdb.open(tmp_path / "db") as database:
        raise KeyError

    assert database.is_closed


def test_a_database_that_nobody_holds_is_closed(tmp_path):
    simdb.open(tmp_path / "db").insert(1, 1)
    gc.collect()

    assert not registry._open


def test_a_snapshot_keeps_a_database_that_nobody_holds_open(tmp_path):
    snapshot = simdb.open(tmp_path / "db").read()
    gc.collect()

    assert list(snapshot) == []
    del snapshot
    gc.collect()
    assert not registry._open


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


def test_one_process_can_open_for_reading_and_then_for_writing(open_database):
    open_database(options=TINY).close()
    reader = open_database(mode="r")
    assert list(reader) == []

    writer = open_database(mode="w")
    writer.insert(1, 1)

    assert list(reader) == [1]
    with pytest.raises(simdb.ReadOnlyError):
        reader.insert(2, 2)


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
    open_database(options=TINY).insert(1, 1)
    for opened in list(registry._open.values()):
        registry.release(opened)
    reader = open_database(mode="r")
    try_open = Environment._try_open

    def refuse_writers(environment, size):
        if not environment.is_read_only:
            raise lmdb.ReadonlyError("refused")
        return try_open(environment, size)

    monkeypatch.setattr("simdb.storage.environment.OPEN_TRIES", 2)
    monkeypatch.setattr(Environment, "_try_open", refuse_writers)
    with pytest.raises(simdb.ReadOnlyError, match="may not be written"):
        open_database(mode="w")
    monkeypatch.undo()

    assert list(reader) == [1]
    open_database(mode="w").insert(2, 2)
    assert list(reader) == [1, 2]


def test_a_process_with_little_address_space_has_a_smaller_map(tmp_path):
    script = (
        "import resource, simdb, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "with simdb.open(sys.argv[1]) as database:\n"
        "    database.insert(1, 1)\n"
        "    assert database.stats().map_bytes < 4 << 30\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "db")]

    subprocess.run(command, check=True)

    with simdb.open(tmp_path / "db") as database:
        assert list(database) == [1]


def test_two_databases_on_one_path_share_what_is_committed(open_database):
    first = open_database(options=TINY)
    second = open_database()

    first.insert(1, 1)
    second.insert(2, 2)
    first.close()
    second.compact()

    assert list(second) == [1, 2]


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


def test_a_pickled_reader_is_a_reader(open_database):
    open_database().insert(1, 1)
    reader = open_database(mode="r")

    with pickle.loads(pickle.dumps(reader)) as again, pytest.raises(simdb.ReadOnlyError):
        again.insert(2, 2)


def test_a_copy_is_a_database_of_its_own(open_database, tmp_path):
    database = open_database(options=TINY)
    database.insert_many(range(30), np.arange(30, dtype=np.uint64), list(range(30)))
    database.delete(3)

    database.copy(tmp_path / "copy")
    database.insert("later", 7)

    copied = open_database(tmp_path / "copy", "w")
    assert list(copied) == [id for id in range(30) if id != 3]
    assert copied.get(29).metadata == 29
    copied.insert("own", 5)
    assert "own" not in database


def test_a_copy_goes_to_a_new_directory_only(database, tmp_path):
    (tmp_path / "there").mkdir()

    with pytest.raises(simdb.ExistsError, match="new directory"):
        database.copy(tmp_path / "there")


def test_a_reader_can_copy(open_database, tmp_path):
    open_database().insert(1, 1)
    open_database(mode="r").copy(tmp_path / "copy")

    assert list(open_database(tmp_path / "copy")) == [1]


def test_two_that_create_at_once_make_one_database(open_database, tmp_path, monkeypatch):
    # Both see an empty directory; the second to write must not wipe out what the first stored.
    create = contents.create
    script = (
        "import simdb, sys\n"
        "with simdb.open(sys.argv[1], options=simdb.Options(blocks=5)) as database:\n"
        "    database.insert('theirs', 1)\n"
    )

    def create_late(environment, transaction, options):
        return create(environment, transaction, options)

    def after_another(environment, change):
        monkeypatch.undo()
        subprocess.run([sys.executable, "-W", "ignore", "-c", script, environment.path], check=True)
        return environment.write(change)

    monkeypatch.setattr(contents, "create", create_late)
    monkeypatch.setattr("simdb.storage.environment.Environment.write", after_another)
    database = open_database()

    assert list(database) == ["theirs"]
    assert database.options.blocks == 5


def test_many_threads_that_open_a_new_path_at_once_get_one_database(tmp_path):
    barrier = threading.Barrier(8)
    opened = []

    def open_and_insert(number):
        barrier.wait()
        database = simdb.open(tmp_path / "db", options=TINY)
        database.insert(number, number)
        opened.append(database)

    threads = [threading.Thread(target=open_and_insert, args=[at]) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(opened[0]) == list(range(8))
    for database in opened:
        database.close()


def test_a_database_made_in_the_place_of_a_removed_one_is_empty(tmp_path):
    # The new directory may have the number of the old one, which this process still has open.
    old = simdb.open(tmp_path / "db")
    old.insert(1, 1)
    os.rename(tmp_path / "db" / "data.mdb", tmp_path / "data.mdb.away")
    for left in os.listdir(tmp_path / "db"):
        os.unlink(tmp_path / "db" / left)

    new = simdb.open(tmp_path / "db")
    new.insert(2, 2)

    assert list(new) == [2]
    assert list(old) == [1]
    old.close()
    new.close()
    with simdb.open(tmp_path / "db") as again:
        assert list(again) == [2]


def test_a_creation_that_fails_can_be_repeated(tmp_path, monkeypatch):
    def fail(environment, transaction, options):
        environment.create_subdatabases([b"meta"], transaction)
        raise RuntimeError("power failure")

    monkeypatch.setattr(contents, "create", fail)
    with pytest.raises(RuntimeError, match="power failure"):
        simdb.open(tmp_path / "db")
    monkeypatch.undo()

    with pytest.raises(simdb.FormatError, match="empty"):
        simdb.open(tmp_path / "db", "w")
    with simdb.open(tmp_path / "db") as database:
        database.insert(1, 1)
        assert list(database) == [1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_can_be_read_and_not_written(open_database, tmp_path):
    open_database().insert(1, 1)
    for database in list(registry._open.values()):
        registry.release(database)
    os.chmod(tmp_path / "db", 0o500)
    os.chmod(tmp_path / "db" / "data.mdb", 0o400)

    with pytest.raises(simdb.ReadOnlyError):
        simdb.open(tmp_path / "db", "w")
    with simdb.open(tmp_path / "db", "r") as reader:
        assert list(reader) == [1]
    shutil.rmtree(tmp_path / "db", ignore_errors=True)
