"""Threads: results in order for any number of threads, errors in their turn, nothing left over.

Verbs go on with the threads that the system has, down to the one that calls them.
"""

import gc
import io
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from contextvars import copy_context
from itertools import count

import pytest
import rich.console
import rich.live
from forked import code_of_child
from over import over

import simdb
from cases import outcome_of
from injecting import CAN_INJECT, Injector
from simdb.cli.output.terminal import ProgressLine
from simdb.core import threads
from simdb.core.errors import OptionError
from simdb.core.progress import Bar
from simdb.core.threads import (
    begun,
    crew,
    in_rounds,
    mapped,
    parts_of,
    read_ahead,
    streamed,
    thread_count,
)

COUNTS = pytest.mark.parametrize("number", [1, 2, 5])


def slow_if_even(number):
    time.sleep(0.002 * (number % 2 == 0))
    return number * number


def square_but(wrong):
    def square(number):
        if number == wrong:
            raise ValueError(f"item {number}")
        return slow_if_even(number)

    return square


@COUNTS
@over("size", [0, 1, 2, 30])
def test_results_come_in_the_order_of_the_items(number, size):
    squares = [each * each for each in range(size)]

    assert list(mapped(slow_if_even, range(size), number)) == squares
    assert list(begun(slow_if_even, range(size), number)) == squares
    assert list(read_ahead(range(size), number)) == list(range(size))


def nine_items():
    yield from range(9)
    raise ValueError("no more items")


@COUNTS
@over(
    ("make", "message"),
    [
        (lambda number: mapped(square_but(9), count(), number), "item 9"),
        (lambda number: mapped(slow_if_even, nine_items(), number), "no more items"),
        (lambda number: map(slow_if_even, read_ahead(nine_items(), number)), "no more items"),
    ],
)
def test_an_error_is_raised_after_the_results_before_it(number, make, message):
    found = make(number)

    assert [next(found) for _ in range(9)] == [each * each for each in range(9)]
    with pytest.raises(ValueError, match=message):
        next(found)


@COUNTS
def test_items_are_taken_a_few_before_they_are_needed(number):
    taken = []

    def items():
        for each in range(100):
            taken.append(each)
            yield each

    found = mapped(slow_if_even, items(), number)
    next(found)

    assert len(taken) <= threads.AHEAD * number + 1


def test_items_are_taken_in_the_thread_of_the_caller():
    takers = set()

    def items():
        for each in range(20):
            takers.add(threading.get_ident())
            yield each

    workers = set(mapped(lambda _: threading.get_ident(), items(), 3))

    assert takers == {threading.get_ident()}
    assert threading.get_ident() not in workers


def test_as_many_calls_run_at_a_time_as_there_are_threads():
    together = threading.Barrier(3, timeout=10)

    ranks = list(mapped(lambda _: together.wait(), range(9), 3))

    assert sorted(ranks) == sorted([0, 1, 2] * 3)


def test_one_item_needs_no_thread():
    [worker] = mapped(lambda _: threading.get_ident(), [0], 4)

    assert worker == threading.get_ident()


@pytest.mark.parametrize("is_closed", [True, False])
def test_no_call_runs_and_no_thread_is_left_after_the_end(is_closed):
    before = threading.active_count()
    found = mapped(slow_if_even, range(50), 4)
    next(found)

    found.close() if is_closed else list(found)

    assert threading.active_count() == before


def idents(size, number):
    """Return the threads that make a batch in which all `number` threads take part."""
    together = threading.Barrier(number, timeout=10)
    return set(mapped(lambda _: (together.wait(), threading.get_ident())[1], range(size), number))


def test_the_batches_of_a_verb_share_threads_and_none_is_left():
    before = threading.active_count()

    with crew(), crew():
        first, second = idents(3, 3), idents(6, 3)
        during = threading.active_count()

    assert first == second
    assert (during, threading.active_count()) == (before + 3, before)


def test_a_smaller_batch_of_a_verb_has_threads_of_its_own():
    with crew():
        shared, own = idents(3, 3), idents(2, 2)

    assert len(own) == 2
    assert not shared & own


def test_a_batch_goes_on_after_its_crew_has_ended():
    with crew():
        found = mapped(slow_if_even, range(20), 2)
        assert next(found) == 0

    assert list(found) == [each * each for each in range(1, 20)]


def test_threads_begin_before_the_first_result_is_asked_for():
    before, is_begun = threading.active_count(), threading.Event()

    found = begun(lambda _: is_begun.set(), [0], 2)

    assert is_begun.wait(10)
    found.close()
    assert threading.active_count() == before


def ended_within(seconds, condition):
    """Return whether a condition comes true."""
    waited = (time.sleep(0.001) for _ in range(int(seconds * 1000)))
    return condition() or any(condition() for _ in waited)


def test_threads_end_even_if_their_crew_is_kept_from_ending(monkeypatch):
    """An interrupt in the middle of `end` left all but one thread waiting for ever."""

    def interrupted(crew):
        raise KeyboardInterrupt

    before = threading.active_count()
    monkeypatch.setattr(threads.Crew, "end", interrupted)

    with suppress(KeyboardInterrupt), crew():
        idents(3, 3)

    assert ended_within(5, lambda: threading.active_count() == before)


def test_a_child_that_is_forked_within_a_verb_has_threads_of_its_own():
    """A document iterator that forked processes let a verb of theirs wait for ever for threads."""
    with crew():
        idents(3, 3)
        outer = mapped(slow_if_even, range(9), 3)
        next(outer)

        def in_child():
            outer.close()
            sys.exit(list(mapped(slow_if_even, range(4), 3)) != [0, 1, 4, 9])

        assert code_of_child(in_child, meanwhile=lambda wait: wait()) == 0


def test_a_call_that_makes_a_batch_in_the_context_of_its_verb_waits_for_no_thread_of_it():
    """Where threads inherit the context, as on a free-threaded Python, all waited for all."""
    with crew():
        context = [copy_context() for _ in range(4)]
        together = threading.Barrier(2, timeout=10)

        def nested(number):
            together.wait()
            return context[number].run(lambda: list(mapped(slow_if_even, range(4), 2)))

        found = mapped(nested, range(4), 2)
        asked = threading.Thread(target=copy_context().run, args=(list, found), daemon=True)
        asked.start()
        asked.join(20)

        assert not asked.is_alive()


def test_a_thread_that_collects_its_own_batch_does_not_wait_for_itself():
    before, is_garbage = threading.active_count(), threading.Event()

    def collected(item):
        if item:
            is_garbage.wait(10)
            gc.collect()

    def leave():
        found = mapped(collected, range(10), 2)
        next(found)
        cycle = [found]
        cycle.append(cycle)

    leave()
    is_garbage.set()

    assert ended_within(20, lambda: threading.active_count() == before)


KEPT = """
import time
from simdb.core.threads import mapped, read_ahead
def slow(item):
    time.sleep(item and 60)
def failing():
    kept = mapped(slow, range(9), 2), read_ahead(map(slow, range(9)), 2)
    [next(each) for each in kept]
    raise ValueError("an end with a traceback")
failing()
"""


@pytest.mark.skipif(not CAN_INJECT, reason="places are instructions of CPython 3.11")
@pytest.mark.parametrize("has_ended", [False, True])
def test_an_interrupt_at_any_place_of_a_call_in_this_thread_ends_the_batch(has_ended):
    def batch():
        with crew():
            results = mapped(str, iter([1, 2][: 1 + has_ended]), 2)
            if has_ended:
                next(results)
                threads._CREW.get()().end()
            list(results)

    def interrupted_anywhere():
        places = Injector()
        places.run(batch)
        return [Injector(place).run(batch) for place in range(places.count)]

    assert True in outcome_of(interrupted_anywhere, 60).get()


def test_a_program_ends_while_calls_are_running():
    """Ctrl-C left many programs waiting for ever: its traceback kept the frames that read."""
    ran = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, timeout=30)

    assert ran.returncode == 1
    assert ran.stderr.endswith(b"ValueError: an end with a traceback\n")


def test_what_is_read_ahead_is_closed_where_it_is_read():
    closed_in = []

    def items():
        try:
            yield from count()
        finally:
            closed_in.append(threading.get_ident())

    kept = items()
    found = read_ahead(kept, 2)
    next(found)
    found.close()

    assert closed_in
    assert closed_in != [threading.get_ident()]


def test_a_result_is_not_kept_until_the_next_call():
    class Large:
        pass

    with crew():
        kept = [weakref.ref(each) for each in mapped(lambda _: Large(), range(12), 2)]
        list(mapped(slow_if_even, range(4), 2))

        assert [each() for each in kept] == [None] * 12


def test_a_few_items_are_read_ahead_in_another_thread():
    takers, reached = [], threading.Event()

    def items():
        for each in count():
            takers.append(threading.get_ident())
            if each == threads.AHEAD:
                reached.set()
            yield each

    found = read_ahead(items(), 2)
    next(found)
    reached.wait(10)
    found.close()

    assert threading.get_ident() not in takers
    assert len(takers) <= 2 * threads.AHEAD + 3


@pytest.mark.parametrize("read", [0, 1, 7])
def test_nothing_is_read_any_more_after_the_end(read):
    before = threading.active_count()
    ended = []

    def items():
        try:
            yield from range(1000)
        finally:
            ended.append(True)

    found = read_ahead(items(), 2)
    for _ in range(read):
        next(found)
    found.close()

    assert threading.active_count() == before
    assert len(ended) == (read > 0)


@COUNTS
def test_no_call_runs_while_the_caller_of_rounds_has_a_result(number):
    running = []

    def noted(each):
        running.append(each)
        time.sleep(0.001)
        running.remove(each)
        return each

    seen = [(each, list(running)) for each in in_rounds(noted, range(40), number)]

    assert seen == [(each, []) for each in range(40)]


@COUNTS
def test_streams_are_joined_in_their_order(number, monkeypatch):
    monkeypatch.setattr(threads, "BEGUN", 3)
    lengths = [0, 5, 2, 9, 3, 4]

    found = list(
        streamed(
            (lambda at=at, size=size: ((at, each) for each in range(size))
             for at, size in enumerate(lengths)),
            number,
        )
    )  # fmt: skip

    assert found == [(at, each) for at, size in enumerate(lengths) for each in range(size)]


def test_a_long_stream_is_made_when_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(threads, "BEGUN", 3)
    made = []

    def stream():
        for each in count():
            made.append(each)
            yield each

    found = streamed([stream, stream], 2)
    for _ in range(5):
        next(found)

    assert sorted(made) == [0, 0, 1, 1, 2, 2, 3, 4]


@over(
    ("size", "number", "most", "lengths"),
    [
        (0, 1, 10, [0]),
        (7, 1, 10, [7]),
        (25, 1, 10, [10, 10, 5]),
        (1000, 2, 10_000, [256, 256, 256, 232]),
        (4000, 2, 10_000, [1000, 1000, 1000, 1000]),
        (4000, 2, 700, [667, 667, 667, 667, 667, 665]),
        (4000, 3, 600, [445, 445, 445, 445, 445, 445, 445, 445, 440]),
        (3, 4, 10, [3]),
    ],
)
def test_a_batch_is_cut_into_parts(size, number, most, lengths):
    parts = parts_of(size, number, most=most)

    assert [len(range(size)[part]) for part in parts] == lengths
    assert [each for part in parts for each in range(size)[part]] == list(range(size))


def test_the_number_of_threads_is_that_given_or_of_the_environment_or_of_processors(monkeypatch):
    monkeypatch.setenv("SIMDB_THREADS", "5")
    found = thread_count(3), thread_count()
    monkeypatch.delenv("SIMDB_THREADS")
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {1, 4, 6, 9})

    assert (*found, thread_count()) == (3, 5, 4)


@over("wrong", [0, -1, 257, 1.5, "two", True])
def test_a_wrong_number_of_threads_is_refused(wrong, monkeypatch):
    monkeypatch.setenv("SIMDB_THREADS", str(wrong))

    with pytest.raises(OptionError, match=r"^threads must be a whole number from 1 to 256, got"):
        thread_count(wrong)
    with pytest.raises(OptionError, match="SIMDB_THREADS must be a whole number from 1 to 256"):
        thread_count()


def test_a_child_forked_while_a_thread_notes_its_time_does_not_wait():
    def note(wait):
        with threads.SharedWork._lock:
            wait()

    def work():
        assert list(mapped(slow_if_even, [3], 1)) == [9]

    assert code_of_child(work, meanwhile=note) == 0


STARTABLE = pytest.mark.parametrize("startable", [0, 1, 3])
TEXTS = [f"a text of some words {at % 700} and {at % 700 * 7} more of them" for at in range(3000)]
# The threads of a user count as processes do, but those of root do not.
LIMITED = """
import io, os, resource
import numpy, zstandard, simdb
from simdb.files.content import packed_file
from simdb.files.formats import ZSTD
from simdb.files.outputs import zstd_writer

def answers():
    with simdb.open(None) as database:
        database.insert_many(range(3000), [f"a text of some words {at}" for at in range(3000)])
        found = len(database), len(simdb.deduplicate(["a b c d e f"] * 5000, threads=4).data)
    with zstd_writer(file := io.BytesIO(), 4) as stream:
        stream.write(b"some bytes")
    file.seek(0)
    return found, packed_file(file, ZSTD).read(99)

wanted = answers()
if os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
print(answers() == wanted, wanted)
"""


@pytest.fixture
def limit(monkeypatch):
    """Lets so many threads of the package run at a time, and tells how many were refused."""

    def limit(startable):
        refused, before = [], threading.active_count()

        class Limited(threading.Thread):
            def start(self):
                if threading.active_count() - before >= startable:
                    refused.append(self.name)
                    raise RuntimeError("can't start new thread")
                super().start()

        monkeypatch.setattr(threads, "Thread", Limited)
        return refused

    return limit


@STARTABLE
@pytest.mark.parametrize("has_crew", [False, True])
def test_a_batch_goes_on_with_the_threads_that_there_are(limit, startable, has_crew):
    refused, before = limit(startable), threading.active_count()

    def batches():
        for _ in range(3):
            yield list(mapped(lambda number: number * number, range(50), 6))

    if has_crew:
        with crew():
            found = list(batches())
    else:
        found = list(batches())

    assert found == [[number * number for number in range(50)]] * 3
    assert refused
    assert threading.active_count() == before


@STARTABLE
def test_nothing_is_left_out_of_what_is_read_ahead(limit, startable):
    refused = limit(startable)

    assert list(read_ahead(iter(range(20)), 2)) == list(range(20))
    assert bool(refused) == (startable == 0)


@STARTABLE
def test_verbs_answer_the_same(limit, startable, tmp_path):
    def answers(name, number):
        with simdb.open(tmp_path / name) as database:
            database.insert_many(range(len(TEXTS)), TEXTS, threads=number)
            rows = database.query_many(TEXTS[:300], threads=number)
            pairs = database.find_all(threads=number)
            found = sorted((pair.left, pair.right) for pair in pairs)
            left = simdb.deduplicate(TEXTS, threads=number).data
            assert not list(database.check())
            return [[match.id for match in row] for row in rows], found, left

    expected = answers("first", 1)
    refused = limit(startable)

    assert answers("second", 6) == expected
    assert refused


def test_calls_whose_results_are_large_are_not_kept_without_threads(limit):
    limit(0)

    class Large:
        alive = 0

        def __init__(self):
            Large.alive += 1

        def __del__(self):
            Large.alive -= 1

    most = 0
    with crew():
        for _ in mapped(lambda _: Large(), range(200), 4):
            most = max(most, Large.alive)

    assert most <= 16


def test_a_bar_that_no_thread_draws_stops_as_any_other(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(rich.live._RefreshThread, "start", refuse)
    monkeypatch.setattr("sys.stderr", file := io.StringIO())
    console = rich.console.Console(file=file, force_terminal=True)
    bar, line = Bar(console), ProgressLine()

    bar(7)
    line.show("some words")
    line.stop()
    del bar

    shown, hidden = "\x1b[?25h", "\x1b[?25l"
    assert file.getvalue().count(hidden) == file.getvalue().count(shown) == 1


def test_a_program_under_a_limit_of_threads_ends_as_any_other():
    pytest.importorskip("zstandard")

    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120, check=False
    )

    assert (done.stdout, done.returncode) == ("True ((3000, 1), b'some bytes')\n", 0), done.stderr
