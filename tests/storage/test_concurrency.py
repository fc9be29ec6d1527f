"""Readers beside a writer, in threads and in processes: each sees one committed state."""

import threading

from forked import Child

# Every commit stores one more group of ten equal fingerprints, so a reader sees whole groups.
GROUP = 10

READER = """
import simdb, sys
with simdb.open(sys.argv[1], "r") as database:
    print("open", flush=True)
    last = 0
    while last < int(sys.argv[2]):
        with database.read() as snapshot:
            count = len(snapshot)
            assert count % 10 == 0 and count >= last, (count, last)
            assert len(list(snapshot)) == count
            if count:
                newest = (count // 10 - 1) << 20
                found = [match.id for match in snapshot.query(newest, distance=0)]
                assert len(found) == 10, (count, found)
            last = count
print("done")
"""

WRITER = """
import simdb, sys
with simdb.open(sys.argv[1], "w") as database:
    for number in range(25):
        database.insert(f"{sys.argv[2]}-{number}", number << 20)
"""


def run_threads(actions):
    errors = []

    def run(action):
        try:
            action()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_threads_that_write_take_turns(database):
    def write(name):
        return lambda: [database.insert(f"{name}{number}", number) for number in range(30)]

    assert run_threads([write("a"), write("b"), write("c")]) == []

    assert len(database) == 90
    for name in "abc":
        own = [id for id in database if id.startswith(name)]
        assert own == [f"{name}{number}" for number in range(30)]


def test_only_one_of_many_threads_claims_a_document(database):
    claimed = []

    def claim(name):
        def run():
            for number in range(20):
                if database.add_if_new(f"{name}{number}", number << 20, distance=0) is None:
                    claimed.append(number)

        return run

    assert run_threads([claim(name) for name in "abcd"]) == []

    assert sorted(claimed) == list(range(20))
    assert len(database) == 20


def test_processes_read_committed_states_while_another_writes(database):
    readers = [Child(READER, database.path, 12 * GROUP) for _ in range(2)]
    for reader in readers:
        assert reader.stdout.readline() == "open\n"

    for number in range(12):
        ids = range(number * GROUP, (number + 1) * GROUP)
        database.insert_many(ids, [number << 20] * GROUP)

    for reader in readers:
        output, errors = reader.rest()
        assert (output, errors) == ("done\n", "")


def test_compaction_while_another_process_reads_says_so(database):
    database.insert_many(range(GROUP), [0] * GROUP)
    reader = Child(READER, database.path, 2 * GROUP)
    assert reader.stdout.readline() == "open\n"

    report = database.compact()

    assert report.note == "the file was not shrunk: other processes have the database open"
    database.insert_many(range(GROUP, 2 * GROUP), [1 << 20] * GROUP)
    assert reader.rest() == ("done\n", "")
    assert database.compact().note == ""


def test_processes_that_write_take_turns(database):
    writers = [Child(WRITER, database.path, name) for name in "ab"]

    for writer in writers:
        assert writer.rest()[1] == ""

    assert len(database) == 50
    assert database.query(3 << 20, distance=0)[0].distance == 0
