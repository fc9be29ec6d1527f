"""Threads: the workers for the parts of a batch; no other module starts a thread.

Results come in the order of the parts, so a verb gives the same answer for any number of threads.
The kernel releases the interpreter lock, so threads help wherever most time is spent in the kernel.
Threads end with the verb that started them: none is left when a process forks or ends.

The standard library's `concurrent.futures` does the same, but has locks that every fork takes.  A
child that is forked while another thread imports or uses it can fail.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice
from queue import Empty, Queue, SimpleQueue
from threading import Event, Lock, Thread, current_thread, local
from time import thread_time
from typing import Any, Generic, TypeVar
from weakref import ref

from simdb.core.checks import whole

VARIABLE = "SIMDB_THREADS"
THREADS_MAX = 256
AHEAD = 2  # parts for each thread that are begun before the first result is awaited
PARTS = 2  # parts of a batch for each thread, since some parts take longer
LEAST = 256  # documents of a part; fewer are not worth a thread
TAKEN_SECONDS = 0.01  # of one wait for a reading thread that is no longer needed
BEGUN = 32  # results of each stream that are computed before it is read

Item = TypeVar("Item")
Result = TypeVar("Result")


class SharedWork(local):
    """A timer of the processor seconds spent on work that any number of threads could share."""

    total_seconds = 0.0
    _lock = Lock()
    _depth = 0  # of calls within calls, in this thread
    _begun = 0.0

    def __enter__(self) -> None:
        """Start the timer of this thread."""
        if not self._depth:
            self._begun = thread_time()
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        """Add the elapsed time to the total."""
        self._depth -= 1
        if not self._depth:
            with self._lock:
                SharedWork.total_seconds += thread_time() - self._begun


def _renew_in_child() -> None:
    """Replace the lock after a fork, since a thread of the parent may have held it."""
    SharedWork._lock = Lock()


os.register_at_fork(after_in_child=_renew_in_child)
WORK = SharedWork()
# The number of threads of a verb, for all functions that it calls.
_BOUND: ContextVar[int | None] = ContextVar("threads", default=None)


def thread_count(threads: object = None) -> int:
    """Return the number of threads to use for an argument `threads`.

    None means the number set by `bounded`.  Without it, the number is that in the environment
    variable SIMDB_THREADS, or else the number of processors that this process may use.  Raises
    OptionError unless the number is an integer from 1 to 256.
    """
    if threads is not None:
        return whole("threads", threads, 1, THREADS_MAX)
    bound = _BOUND.get()
    if bound is not None:
        return bound
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        return whole(VARIABLE, int(given) if given.isdecimal() else given, 1, THREADS_MAX)
    return min(_processors(), THREADS_MAX)


@contextmanager
def bounded(threads: int | None) -> Iterator[None]:
    """Make `threads` the default number of threads within the `with` block."""
    before = _BOUND.set(thread_count(threads))
    try:
        yield
    finally:
        _BOUND.reset(before)


def parts_of(count: int, threads: int, *, most: int, least: int | None = None) -> list[slice]:
    """Cut a batch of `count` documents into consecutive parts of at most `most` documents.

    A single thread gets the largest parts possible.  Several threads get equal numbers of parts, at
    least `PARTS` each, unless parts would have fewer than `least` documents (None: `LEAST`).  There
    is always one part.
    """
    shared = max(count, 1)
    if threads > 1:
        of_each = max(PARTS, -(-count // (most * threads)))
        shared = max(-(-count // (of_each * threads)), least or LEAST)
    size = min(shared, most)
    return [slice(start, start + size) for start in range(0, max(count, 1), size)]


class Crew:
    """Threads that are kept between the batches of a verb, and end with it; see `crew`."""

    def __init__(self) -> None:
        """Begin without a thread."""
        self._process = os.getpid()
        self._waiting: SimpleQueue[_PendingCall[Any, Any] | None] = SimpleQueue()
        self._workers: list[Thread] = []
        self.has_ended = False

    @property
    def size(self) -> int:
        """The number of threads."""
        return sum(worker.ident is not None for worker in self._workers)

    @property
    def can_be_awaited(self) -> bool:
        """Whether this thread can wait for the threads of the crew.

        It cannot if it is one of them.  After a fork, they exist only in the parent; while the
        interpreter ends, they no longer run.
        """
        is_here = os.getpid() == self._process and not sys.is_finalizing()
        return is_here and current_thread() not in self._workers

    def give(self, calls: "Iterable[_PendingCall[Any, Any]]", threads: int) -> None:
        """Let up to `threads` threads make the calls, starting threads as needed.

        If the system refuses further threads, the running ones make the calls.  If none runs, the
        crew has ended, and the thread that waits for the calls makes them.
        """
        for _ in () if self.has_ended else range(self.size, threads):
            worker = Thread(target=_work, args=(self._waiting,), name="simdb", daemon=True)
            self._workers.append(worker)
            if not _has_started(worker):
                self._workers.remove(worker)
                break
        self.has_ended = self.has_ended or not self.size
        for call in () if self.has_ended else calls:
            self._waiting.put(call)

    def end(self) -> None:
        """Wait, if possible, until all calls are made and all threads have ended."""
        self.has_ended = True
        self._waiting.put(None)
        for worker in self._workers if self.can_be_awaited else ():
            if worker.ident is not None:  # it was started
                worker.join()

    def __del__(self) -> None:
        """End the threads even if an exception has interrupted `end`, at any instruction."""
        self._waiting.put(None)


def _has_started(thread: Thread) -> bool:
    """Start a thread; return whether the system allowed it."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


def _work(waiting: "SimpleQueue[_PendingCall[Any, Any] | None]") -> None:
    """Make calls until None arrives, and pass None on to the next thread."""
    while (call := waiting.get()) is not None:
        call.make()
        del call  # its result may be large
    waiting.put(None)


# The threads that the batches of a verb share; only the verb itself keeps them.
_CREW: ContextVar[Callable[[], Crew | None]] = ContextVar("crew", default=lambda: None)


@contextmanager
def crew() -> Iterator[None]:
    """Let the batches of a `with` statement share threads, to save starting them again.

    This helps a verb with many small batches.  The threads end with the outermost such statement;
    an inner one does nothing.
    """
    if _CREW.get()() is not None:
        yield
        return
    own = Crew()
    before = _CREW.set(ref(own))
    try:
        yield
    finally:
        own.end()
        _CREW.reset(before)


def mapped(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result]:
    """Yield `function(item)` of all items in their order, computed by up to `threads` threads.

    The thread that reads the results takes the items, only a few before they are needed.  The first
    error, in the order of the items, is raised in its turn.  Once the iterator has ended or is
    closed, no call is running.
    """
    return _alone(function, items) if threads == 1 else _shared(function, items, threads)


def run_all(function: Callable[[Item], object], items: Iterable[Item], threads: int) -> None:
    """Call `function(item)` for all items, as `mapped` does."""
    for _ in mapped(function, items, threads):
        pass


def begun(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result]:
    """Return the generator of `mapped`; several threads begin with items at once.

    The caller must close the generator.
    """
    if threads == 1:
        return _alone(function, items)
    results = _shared(function, items, threads, begins=True)
    next(results)
    return results


def _alone(function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result]:
    """Yield the results of `mapped`, computed by this thread."""
    for item in items:
        with WORK:
            result = function(item)
        yield result


def _shared(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, *, begins: bool = False
) -> Generator[Result]:
    """Yield the results of `mapped`; with `begins`, first yield None when threads are at work."""
    given = _CREW.get()()
    is_fit = given and not given.has_ended and given.size <= threads and given.can_be_awaited
    team = given if given and is_fit else Crew()
    running: deque[_PendingCall[Item, Result]] = deque()
    source, is_done, is_given = iter(items), False, False
    try:
        while running or not is_done:
            if not is_done:
                new, is_done = _taken(function, source, AHEAD * threads - len(running))
                running.extend(new)
                # A single item is worth a thread only if the caller works meanwhile.
                is_given = is_given or len(running) > 1 or begins
                if is_given:
                    team.give(new, min(threads, len(running)))
                del new  # or it would keep the results
            if begins:
                begins = False
                yield  # type: ignore[misc]
            elif running:
                if not is_given or team.has_ended:
                    # Removed before the call, since an interrupt may leave it unmade for ever.
                    yield running.popleft().made()
                    continue
                running[0].wait()
                yield running.popleft().result()
    finally:
        for call in running:
            call.give_up()
        for call in running if team.can_be_awaited else ():
            call.wait()
        if team is not given:
            team.end()


def _taken(
    function: Callable[[Item], Result], source: Iterator[Item], count: int
) -> "tuple[list[_PendingCall[Item, Result]], bool]":
    """Return calls for the next `count` items, and whether the items have ended."""
    new: list[_PendingCall[Item, Result]] = []
    try:
        for _ in range(count):
            new.append(_PendingCall(function, next(source)))
    except StopIteration:
        return new, True
    except Exception as error:
        # Taking the item failed; the error waits for its turn like a result.
        failed: _PendingCall[Any, Any] = _PendingCall(_raise, error)
        return [*new, failed], True
    return new, False


def _raise(error: Exception) -> None:
    raise error


class _PendingCall(Generic[Item, Result]):
    """A call that some thread will make, and later its result."""

    __slots__ = ("_error", "_function", "_item", "_rests", "_result", "_runs")

    def __init__(self, function: Callable[[Item], Result], item: Item) -> None:
        """Prepare the call for the thread that will make it."""
        self._function, self._item = function, item
        # The thread that takes `_rests` makes the call, and `_runs` is free once it is made.  Locks
        # take a tenth of the time of events.
        self._rests, self._runs = Lock(), Lock()
        self._runs.acquire()
        self._error: BaseException | None = None
        self._result: Result

    def make(self) -> None:
        """Make the call, unless a thread has begun it or it was given up."""
        if not self._rests.acquire(blocking=False):
            return
        try:
            with WORK:
                self._result = self._function(self._item)
        except BaseException as error:
            self._error = error
        finally:
            self._runs.release()

    def give_up(self) -> None:
        """Cancel the call, unless a thread has begun it."""
        if self._rests.acquire(blocking=False):
            self._runs.release()

    def wait(self) -> None:
        """Wait until the call is made or given up."""
        with self._runs:
            return

    def made(self) -> Result:
        """Make the call unless another thread has begun it, and return its result."""
        self.make()
        self.wait()
        return self.result()

    def result(self) -> Result:
        """Return the result of a call that was made, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._result


def read_ahead(items: Iterable[Item], threads: int) -> Iterator[Item]:
    """Yield `items`; with several threads, another thread takes the next few meanwhile.

    That thread takes the items one by one; their errors are raised in turn.  Once the iterator has
    ended or is closed, no item is being taken.
    """
    if threads == 1:
        yield from items
        return
    taken: Queue[tuple[bool, Any]] = Queue(AHEAD)
    is_over = Event()

    def take() -> None:
        end: tuple[bool, Any] = (True, None)
        try:
            for item in items:
                taken.put((False, item))
                if is_over.is_set():
                    break
            # The reader's exception may keep the generator alive, with calls that it has begun.
            if isinstance(items, Generator):
                items.close()
        except BaseException as error:
            end = (True, error)
        taken.put(end)

    taker = Thread(target=take, name="simdb-reading", daemon=True)
    if not _has_started(taker):
        yield from items
        return
    try:
        while True:
            is_end, item = taken.get()
            if not is_end:
                yield item
            elif item is not None:
                raise item
            else:
                return
    finally:
        is_over.set()
        while taker.is_alive() and not sys.is_finalizing():
            with suppress(Empty):
                taken.get(timeout=TAKEN_SECONDS)


def in_rounds(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, *, ahead: int = AHEAD
) -> Iterator[Result]:
    """Yield the results of `mapped`; no call runs while the caller handles a result.

    Streams for users need this, since the object that they read may end between two results.  Up to
    `ahead` results for each thread are in memory.
    """
    rest = iter(items)
    while some := list(islice(rest, ahead * threads if threads > 1 else 1)):
        yield from list(mapped(function, some, threads))


def streamed(streams: Iterable[Callable[[], Iterator[Result]]], threads: int) -> Iterator[Result]:
    """Yield the results of all streams, one stream after the other, as `in_rounds` does.

    Each item of `streams` makes a stream.  Up to `threads` streams begin at a time.  `BEGUN`
    results of each are made ahead, and the rest of a long stream when it is read.
    """

    def begin(make: Callable[[], Iterator[Result]]) -> tuple[list[Result], Iterator[Result]]:
        stream = make()
        return list(islice(stream, BEGUN if threads > 1 else 0)), stream

    for first, rest in in_rounds(begin, streams, threads, ahead=1):
        yield from first
        yield from rest


def _processors() -> int:
    """Return the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # the system has no such call
        return os.cpu_count() or 1
