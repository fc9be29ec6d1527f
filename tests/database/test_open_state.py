"""Running verbs, in other threads and in functions they call, and attempts to end their state."""

import gc
import os
import threading
import time

import lmdb
import numpy as np
import pytest
from forked import run
from over import over
from soundness import TINY, assert_sound

import simdb
from simdb.database.search import couples, lookup, many
from simdb.database.write.staging import Staging
from simdb.storage import delta
from simdb.storage.gate import Gate

BITS = np.arange(1, 3001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


class Halted:
    """A function of a module that waits in the middle of a verb, in the thread of the verb."""

    def __init__(self, monkeypatch, module, name):
        self._real = getattr(module, name)
        self.is_inside, self.may_go_on = threading.Event(), threading.Event()
        monkeypatch.setattr(module, name, self)

    def __call__(self, *arguments, **settings):
        self.is_inside.set()
        assert self.may_go_on.wait(20)
        return self._real(*arguments, **settings)


class Running:
    """A verb that runs in a thread of its own."""

    def __init__(self, verb):
        self.result = self.error = None
        self._thread = threading.Thread(target=self._run, args=[verb])
        self._thread.start()

    def _run(self, verb):
        try:
            self.result = verb()
        except BaseException as error:
            self.error = error

    def join(self):
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self


@pytest.fixture
def filled(open_database):
    database = open_database(options=TINY)
    database.insert_many(range(300), BITS[:300])
    return database


def chunks_read(pairs):
    return sum(len(chunk) for chunk in pairs.chunks())


def test_a_snapshot_does_not_end_under_a_verb_of_another_thread(filled, monkeypatch, short_waits):
    # Once, the process ended by SIGSEGV.
    halted = Halted(monkeypatch, lookup, "as_matches")
    snapshot = filled.read()
    running = Running(lambda: snapshot.query_many(BITS[:20]))
    assert halted.is_inside.wait(20)

    with pytest.raises(simdb.BusyError, match="1 of the verbs of this snapshot are still open"):
        snapshot.close()
    with pytest.raises(simdb.BusyError, match="snapshots and transactions of this process"):
        filled.close()

    halted.may_go_on.set()
    assert running.join().result.ids.tolist() == list(range(20))
    snapshot.close()


def test_a_transaction_does_not_end_under_a_verb_of_another_thread(
    filled, monkeypatch, short_waits
):
    halted = Halted(monkeypatch, lookup, "as_matches")
    transaction = filled.write()
    transaction.insert("new", 5)
    running = Running(lambda: transaction.query_many(BITS[:20]))
    assert halted.is_inside.wait(20)

    with pytest.raises(simdb.BusyError, match="the transaction must be idle to abort"):
        transaction.abort()

    halted.may_go_on.set()
    running.join()
    transaction.commit()
    assert "new" in filled


def test_pairs_that_are_read_do_not_end_under_their_reader(filled, monkeypatch, short_waits):
    # Once, the process ended by SIGSEGV.
    halted = Halted(monkeypatch, couples, "as_pairs")
    monkeypatch.setattr("simdb.database.search.pairs.as_pairs", halted)
    pairs = filled.find_all(distance=30)
    running = Running(lambda: chunks_read(pairs))
    assert halted.is_inside.wait(20)

    with pytest.raises(simdb.BusyError):
        filled.close()

    halted.may_go_on.set()
    assert running.join().result > 0
    filled.close()


def test_pairs_are_read_by_one_thread_at_a_time(filled):
    # Once, a generator running in another thread raised ValueError and lost its state.
    expected = len(filled.find_all(distance=30))
    stream = filled.find_all(distance=30).chunks()
    readers = [Running(lambda: sum(len(chunk) for chunk in stream)) for _ in range(4)]

    found = [each.join() for each in readers]

    assert [each.error for each in found] == [None] * 4
    assert sum(each.result for each in found) == expected


def test_what_was_not_read_ends_with_the_database(filled, monkeypatch):
    monkeypatch.setattr("simdb.database.reading.ITERATED_IDS", 10)
    pairs, ids = filled.find_all(distance=30).chunks(), iter(filled)
    next(ids)

    filled.close()

    with pytest.raises(simdb.ClosedError):
        next(pairs)
    with pytest.raises(simdb.ClosedError):
        list(ids)


def test_closing_while_threads_insert_loses_nothing_and_nobody_waits_for_ever(tmp_path):
    # Once, a writer found its lock closed, and the other writers waited for it for ever.
    for number in range(4):
        database = simdb.open(tmp_path / f"db{number}", options=TINY, durability="none")
        stored = [[] for _ in range(4)]

        def insert(which, database=database, stored=stored):
            while True:
                try:
                    database.insert(f"{which}-{len(stored[which])}", len(stored[which]))
                except simdb.ClosedError:
                    return
                stored[which].append(f"{which}-{len(stored[which])}")

        writers = [Running(lambda which=which: insert(which)) for which in range(4)]
        while sum(map(len, stored)) < 20:
            time.sleep(0.001)
        database.close()

        assert [each.join().error for each in writers] == [None] * 4
        with simdb.open(tmp_path / f"db{number}") as again:
            assert sorted(again) == sorted(id for ids in stored for id in ids)
        assert_sound(tmp_path / f"db{number}")


CHANGES = [
    ("insert", "x", 7), ("insert_many", ["x"], [7]), ("insert_batch", ["x"], [7]),
    ("add_if_new", "x", 7), ("add_many_if_new", ["x"], [7]), ("delete", 3), ("delete_many", [3]),
    ("commit",), ("abort",),
]  # fmt: skip
TWO = ["x", "y"]
# Verbs that call back, by a generator of documents or ids, or by what they report to.
CONSUMERS = {
    "insert_many": lambda held, some, _: held.insert_many(TWO, some()),
    "insert_many, progress": lambda held, _, tell: held.insert_many(TWO, [1, 2], progress=tell),
    "insert_batch": lambda held, some, _: held.insert_batch(TWO, some()),
    "insert_batch, progress": lambda held, _, tell: held.insert_batch(TWO, [1, 2], progress=tell),
    "add_many_if_new": lambda held, some, _: held.add_many_if_new(TWO, some()),
    "claim, progress": lambda held, _, tell: held.add_many_if_new(TWO, [1, 2], progress=tell),
    "query_many": lambda held, some, _: held.query_many(some()),
    "insert_many by ids": lambda held, some, _: held.insert_many(some(), [1, 2]),
    "delete_many": lambda held, some, _: held.delete_many(some()),
}


def calling(call_back):
    """Return a function that makes two documents, and calls back between them."""

    def documents():
        yield 1
        call_back()
        yield 2

    return documents


@over("consumer", CONSUMERS)
def test_a_transaction_is_not_changed_by_what_its_verb_calls_back(consumer):
    # Once, an id was stored twice, counters were wrong, or a success stored nothing.
    with simdb.open(None, options=TINY) as filled:
        filled.insert_many(range(30), BITS[:30])
        transaction = filled.write()
        transaction.insert("before", 5)
        for verb, *arguments in CHANGES:

            def call_back(*_, verb=verb, arguments=arguments):
                getattr(transaction, verb)(*arguments)

            with pytest.raises(simdb.BusyError, match="this thread is in the middle of one of"):
                CONSUMERS[consumer](transaction, calling(call_back), call_back)

        assert list(transaction) == [*range(30), "before"]
        transaction.commit()
        assert list(filled) == [*range(30), "before"]


def test_a_transaction_may_be_read_by_what_its_verb_calls_back(filled):
    counts = []

    def call_back(*_):
        counts.append((len(transaction), len(transaction.query(int(BITS[5]), distance=0))))

    for consumer in list(CONSUMERS)[:7]:
        with filled.write() as transaction:
            CONSUMERS[consumer](transaction, calling(call_back), call_back)
            transaction.abort()

    assert {found for _, found in counts} == {1}
    # A claim is staged before its progress is reported.
    assert {count for count, _ in counts} <= {300, 301, 302}
    assert len(counts) >= 7


def test_the_database_is_not_closed_by_what_a_verb_calls_back(filled, short_waits):
    with pytest.raises(simdb.BusyError, match=r"close\(\) was called"):
        filled.insert_many(["x", "y"], calling(filled.close)())
    with pytest.raises(simdb.BusyError):
        filled.query_many(calling(filled.close)())

    assert list(filled) == list(range(300))


def test_a_verb_of_another_thread_waits_for_the_one_that_changes_something(filled, monkeypatch):
    halted = Halted(monkeypatch, many, "match_batch")
    with filled.write() as transaction:
        inserting = Running(lambda: transaction.insert_batch(["x"], [7]))
        assert halted.is_inside.wait(20)
        asking = Running(lambda: (len(transaction), transaction.query(7, distance=0)))
        halted.may_go_on.set()

        inserting.join()
        assert asking.join().error is None

    assert asking.result[0] == 301


@pytest.mark.parametrize("consumer", ["insert_many", "insert_batch", "claim, progress"])
def test_a_verb_that_fails_leaves_what_was_staged_before_it(filled, consumer):
    def fail(*_):
        raise ZeroDivisionError

    with filled.write() as transaction:
        transaction.insert("before", 5)
        transaction.delete(7)
        with pytest.raises(ZeroDivisionError):
            CONSUMERS[consumer](transaction, calling(fail), fail)
        assert len(transaction) == 300

    assert list(filled) == [*range(7), *range(8, 300), "before"]


def test_a_replacement_that_fails_does_not_delete(filled, monkeypatch):
    # Once, the older document was deleted and the newer one not inserted.
    def fail(*_):
        raise MemoryError

    with filled.write() as transaction:
        monkeypatch.setattr("simdb.database.state.incoming.make_batch", fail)
        with pytest.raises(MemoryError):
            transaction.insert(7, 7, on_conflict="replace")
        monkeypatch.undo()

    assert list(filled) == list(range(300))


def test_a_failing_read_of_the_delta_leaves_the_next_one_right(filled, monkeypatch):
    # Once, one column was longer than the other columns while the database was open.
    other = simdb.open(filled.path)
    filled.insert("late", 9)
    put, calls = delta._Column.put, []

    def fail_once(self, end, values):
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError
        put(self, end, values)

    monkeypatch.setattr(delta._Column, "put", fail_once)
    with pytest.raises(MemoryError):
        other.get("late")
    monkeypatch.undo()

    assert other.get("late").fingerprint.bits == 9
    assert list(other)[-1] == "late"
    other.close()


LIMITED = """
import resource, sys
import numpy as np
import simdb

options = simdb.Options(blocks=4)
database = simdb.open(sys.argv[1], options=options, durability="process", map_size=16 << 20)
database.insert_many(range(100), range(100))
bits = np.random.default_rng(1).integers(0, 2**64, 250_000, dtype=np.uint64)
ids = list(range(1000, 1000 + len(bits)))
environment = database._store.environment
grow = environment.grow
none = resource.RLIM_INFINITY

def limited(*arguments):
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + (8 << 20), none))
    return grow(*arguments)

environment.grow = limited
try:
    database.insert_many(ids, bits)
except simdb.FullError as error:
    print("full:", "cannot map" in str(error))
resource.setrlimit(resource.RLIMIT_AS, (none, none))
environment.grow = grow
print(len(database), len(database.query(5, distance=0)))
database.insert("later", 1)
database.close()
"""


def test_growth_that_the_system_refuses_leaves_the_database_as_it_is(tmp_path):
    # Once, every later verb failed, and closing blamed the disk.
    assert run(LIMITED, tmp_path / "db") == (0, "full: True\n100 1\n", "")

    with simdb.open(tmp_path / "db") as database:
        assert len(database) == 101
    assert_sound(tmp_path / "db")


def test_a_database_that_cannot_be_opened_anew_says_so_and_goes_on(filled, monkeypatch):
    def refuse(*_, **__):
        raise lmdb.DiskError("no space")

    monkeypatch.setattr("simdb.storage.file_map.try_open", refuse)
    monkeypatch.setattr("simdb.storage.file_map.OPEN_TRIES", 1)
    with pytest.raises(simdb.FullError):
        filled.compact()
    monkeypatch.undo()

    assert not filled.is_closed
    assert len(filled) == 300


def test_an_empty_database_is_true(database):
    assert database
    with database.read() as snapshot, database.write() as transaction:
        assert snapshot
        assert transaction


def test_a_lease_that_nobody_has_lets_others_open_with_another_durability(tmp_path):
    left = simdb.open(tmp_path / "db", durability="none")
    left.insert(1, 1)
    del left
    gc.collect()

    with simdb.open(tmp_path / "db", durability="full") as database:
        assert list(database) == [1]


def test_descriptors_are_given_back_when_opening_fails(tmp_path):
    simdb.open(tmp_path / "db").close()
    with open(tmp_path / "db" / "data.mdb", "r+b") as file:
        file.write(b"\0" * 8192)
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        with pytest.raises(simdb.Error):
            simdb.open(tmp_path / "db")
    gc.collect()

    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("times", [1, 2])
def test_an_interruption_that_keeps_a_verb_from_leaving_ends_the_with_block(
    tmp_path, monkeypatch, short_waits, times
):
    """A second one, while the first was handled, ended with BusyError: it has frames of its own."""

    leave = Gate.leave

    def interrupt(gate, holder):
        monkeypatch.setattr(Gate, "leave", leave)
        raise KeyboardInterrupt

    def use():
        with simdb.open(tmp_path / "db") as database:
            database.insert(1, "some text")
            monkeypatch.setattr(Gate, "leave", interrupt)
            try:
                database.query("some text")
            finally:
                if times == 2:
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use()

    with simdb.open(tmp_path / "db") as again:
        assert again.query("some text")[0].id == 1


def test_a_with_block_does_not_close_under_an_open_snapshot(tmp_path, short_waits):
    with (
        pytest.raises(simdb.BusyError, match="still open"),
        simdb.open(tmp_path / "db") as database,
    ):
        snapshot = database.read()

    snapshot.close()
    database.close()


def test_an_interrupt_while_a_transaction_begins_leaves_nothing_open(
    filled, monkeypatch, short_waits
):
    made, held = Staging._make_maintainer, []

    def interrupted(staging):
        held.append((staging, made(staging)))  # as a circle of objects would
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "_make_maintainer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            filled.insert("x", 1)

    filled.insert("y", 2)
    filled.close()
    assert held
