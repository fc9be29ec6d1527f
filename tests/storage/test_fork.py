"""After a fork the child reads with the parent's database; to write, it opens its own."""

import gc
import multiprocessing
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from forked import run

import simdb
from simdb.core.errors import ForkedError
from simdb.database.state import store as opening
from simdb.database.state.store import open_store


def in_child(action, meanwhile=lambda: None):
    """What `action` returns in a forked child; the child ends without cleaning up.

    The parent runs `meanwhile`.
    """
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
    meanwhile()
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(content)


def other_process(database, code):
    """What another process prints that opens the database and runs `code`, or its error's name."""
    script = (
        "import sys, simdb\n"
        "try:\n"
        f"    with simdb.open(sys.argv[1], 'w', timeout=0.05) as database: {code}\n"
        "except simdb.Error as error: print(type(error).__name__)\n"
    )
    status, printed, complained = run(script, database.path)
    assert status == 0, complained
    return printed.strip()


READING = {
    "query": lambda database: database.query(1, distance=3),
    "query_many": lambda database: database.query_many([1])[0],
    "nearest": lambda database: database.nearest(2, 2),
    "get": lambda database: database.get(1).fingerprint,
    "in": lambda database: [1 in database, 7 in database],
    "list": list,
    "find_all": lambda database: [(pair.left, pair.right) for pair in database.find_all()],
    "find_clusters": lambda database: [each.ids for each in database.find_clusters()],
    "check": lambda database: list(database.check(deep=True)),
    "stats": lambda database: database.stats().document_count,
    "read": lambda database: list(database.read()),
}
WRITING = {
    "insert": lambda database: database.insert(9, 9),
    "delete": lambda database: database.delete(1),
    "compact": lambda database: database.compact(),
    "rebuild": lambda database: database.rebuild(),
}


@pytest.fixture
def filled(database):
    database.insert_many([1, 2, 3, 4], [1, 3, 2**40, 2**63])
    return database


def test_a_reading_verb_of_the_parents_database_answers_in_a_child(filled):
    def read():
        return {name: verb(filled) for name, verb in READING.items()}

    expected = read()

    assert in_child(read) == expected
    assert read() == expected


@pytest.mark.parametrize("verb", WRITING)
def test_a_writing_verb_of_the_parents_database_works_in_a_child(filled, verb):
    def write():
        WRITING[verb](filled)
        return list(filled)

    ids = in_child(write)

    assert ids == list(filled)
    assert (9 in ids) == (verb == "insert")
    assert (1 in ids) == (verb != "delete")
    assert list(filled.check(deep=True)) == []


@pytest.mark.parametrize("verb", ["insert", "compact"])
def test_a_child_of_a_process_that_was_writing_only_reads(filled, verb):
    # The parent may wait for the child, which would wait for the end of the transaction.
    def read_and_write():
        assert len(filled) == 4
        return WRITING[verb](filled)

    with filled.write() as transaction:
        transaction.insert(5, 5)
        for action in (lambda: WRITING[verb](filled), read_and_write):
            error = in_child(action)

            assert isinstance(error, ForkedError), error
            assert f"simdb.open({filled.path!r}, 'w')" in str(error)
            assert str(os.getpid()) in str(error)
    assert list(filled) == [1, 2, 3, 4, 5]


def test_children_and_their_parent_take_turns_to_write(filled):
    started = multiprocessing.get_context("fork").Event()

    def child():
        started.set()
        for at in range(20):
            filled.insert(f"child {at}", at)
        return True

    def parent():
        started.wait(10)
        for at in range(20):
            filled.insert(f"parent {at}", at)

    assert in_child(child, meanwhile=parent)
    assert len(filled) == 44
    assert list(filled.check(deep=True)) == []


def test_a_child_sees_what_the_parent_commits_later(filled):
    ask, told = multiprocessing.get_context("fork").Pipe()

    def child():
        before = list(filled)
        ask.send("read")
        ask.recv()
        return before, list(filled)

    def commit():
        told.recv()
        filled.insert(5, 5)
        told.send("go")

    assert in_child(child, meanwhile=commit) == ([1, 2, 3, 4], [1, 2, 3, 4, 5])


def test_a_childs_reading_leaves_locks_readers_and_transactions_to_the_parent(filled):
    # Closing the parent's LMDB environment in the child would free its reader slots; releasing its
    # locks would let a second writer in, and let another process replace the data file.
    with filled.read() as snapshot, filled.write() as transaction:
        transaction.insert(5, 5)
        slots = len(filled.stats().readers)

        def read_and_close():
            seen = list(filled), len(filled.stats().readers) >= slots
            filled.close()
            gc.collect()
            return seen

        assert in_child(read_and_close) == ([1, 2, 3, 4], True)

        assert len(filled.stats().readers) == slots
        assert other_process(filled, "database.insert(6, 6)") == "BusyError"
        transaction.insert(7, 7)
        assert list(snapshot) == [1, 2, 3, 4]
    note = other_process(filled, "print(database.compact().note)")
    assert "other processes have the database open" in note
    assert list(filled) == [1, 2, 3, 4, 5, 7]


def test_threads_of_a_child_open_the_database_once(filled, monkeypatch):
    opened = []

    def open_slowly(*arguments, **options):
        opened.append(arguments)
        time.sleep(0.05)
        return open_store(*arguments, **options)

    monkeypatch.setattr(opening, "open_store", open_slowly)

    def child():
        with ThreadPoolExecutor(8) as threads:
            return list(threads.map(lambda _: list(filled), range(32))), len(opened)

    assert in_child(child) == ([[1, 2, 3, 4]] * 32, 1)


DATABASE = None


def matches_of(bits):
    """What a worker of a pool does, with a database that its parent has opened."""
    return [match.id for match in DATABASE.query(bits, distance=1)]


def test_a_pool_of_forked_workers_queries_the_parents_database(filled):
    global DATABASE
    DATABASE = filled
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map(matches_of, [1, 3, 2**40, 5] * 25, chunksize=5)
    finally:
        DATABASE = None

    assert found == [[1, 2], [2, 1], [3], [1]] * 25
    filled.insert(5, 5)
    assert list(filled) == [1, 2, 3, 4, 5]


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
