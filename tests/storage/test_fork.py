"""After a fork the database belongs to the parent; the child gets errors, and may open its own."""

import gc
import os
import pickle
import subprocess
import sys
import threading

import pytest

import simdb
from simdb.errors import ForkedError


def in_child(action):
    """What `action` returns in a forked child; the child ends without cleaning up."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = action()
        except BaseException as error:
            result = error
        os.write(writing, pickle.dumps(result))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(content)


def test_every_verb_of_the_parents_database_is_refused_in_a_child(database):
    database.insert(1, 1)
    for verb in (
        lambda: database.query(1),
        lambda: database.query_many([1]),
        lambda: database.insert(2, 2),
        lambda: database.delete(1),
        lambda: database.get(1),
        lambda: len(database),
        lambda: list(database),
        lambda: list(database.check()),
        database.stats,
        database.read,
        database.write,
        database.compact,
        database.find_all,
        lambda: database.copy(database.path + ".copy"),
    ):
        error = in_child(verb)

        assert isinstance(error, ForkedError), error
        assert "open it again in this process" in str(error)
    assert list(database) == [1]


def test_a_child_can_open_the_database_again_and_both_write(database):
    database.insert("parent", 1)

    def insert():
        with simdb.open(database.path, "w") as own:
            own.insert("child", 2)
            return list(own)

    assert in_child(insert) == ["parent", "child"]
    database.insert("parent again", 3)
    assert list(database) == ["parent", "child", "parent again"]


def test_a_child_that_unpickles_a_database_has_its_own(database):
    database.insert(1, 1)
    pickled = pickle.dumps(database)

    def insert():
        with pickle.loads(pickled) as own:
            own.insert(2, 2)
            return list(own)

    assert in_child(insert) == [1, 2]
    assert list(database) == [1, 2]


def test_a_child_that_closes_leaves_the_parent_open(database):
    database.insert(1, 1)

    assert in_child(database.close) is None

    assert list(database) == [1]
    database.insert(2, 2)


def test_a_childs_end_of_a_snapshot_does_not_end_the_parents(database):
    # Ending it in the child would free the parent's slot, and with it the pages it reads.
    database.insert_many(range(50), range(50))
    with database.read() as snapshot:
        slots = len(database.stats().readers)

        assert isinstance(in_child(lambda: snapshot.query(1)), ForkedError)
        assert in_child(snapshot.close) is None
        assert in_child(gc.collect) is not None

        assert len(database.stats().readers) == slots
        database.insert_many(range(50, 100), range(50))
        assert list(snapshot) == list(range(50))


def test_a_transaction_open_at_the_fork_is_the_parents(database):
    with database.write() as transaction:
        transaction.insert(1, 1)

        assert isinstance(in_child(lambda: transaction.insert(2, 2)), ForkedError)
        assert isinstance(in_child(transaction.commit), ForkedError)
        assert in_child(transaction.abort) is None

        transaction.insert(3, 3)
    assert list(database) == [1, 3]


def test_a_child_waits_for_the_parents_transaction(database):
    def insert():
        with simdb.open(database.path, "w", timeout=0.05) as own:
            own.insert("child", 1)

    with database.write() as transaction:
        transaction.insert("parent", 1)
        assert isinstance(in_child(insert), simdb.BusyError)

    assert in_child(insert) is None
    assert list(database) == ["parent", "child"]


def test_pairs_begun_by_the_parent_are_refused_in_a_child(database):
    database.insert_many(range(9), [0] * 9)
    pairs = database.find_all()

    assert isinstance(in_child(lambda: list(pairs)), ForkedError)
    assert len(pairs) == 36


@pytest.mark.parametrize("ending", ["sys.exit()", "raise SystemExit(3)", "os._exit(0)", "1"])
def test_a_process_may_end_without_closing_anything(tmp_path, ending):
    script = (
        "import os, sys, simdb\n"
        "database = simdb.open(sys.argv[1])\n"
        "database.insert(1, 1)\n"
        "snapshot = database.read()\n"
        "transaction = database.write()\n"
        "pairs = database.find_all()\n"
        f"{ending}\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "db")]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended.returncode in (0, 3)
    assert ended.stderr == ""
    with simdb.open(tmp_path / "db") as database:
        assert list(database) == [1]
        assert len(database.stats().readers) == 1


def test_a_child_forked_in_the_middle_of_another_threads_work_is_told_so(database):
    # It came out as an Error that said nothing of forks, after two seconds.
    inside, done = threading.Event(), threading.Event()

    def hold():
        with database._store.environment.reading() as transaction:
            assert transaction.id()
            inside.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    error = in_child(lambda: simdb.open(database.path))
    done.set()
    thread.join()

    assert isinstance(error, ForkedError)
    assert "spawn" in str(error)
