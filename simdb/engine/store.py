"""The store: one open database of this process, and the newest view of it.

A query begins a read transaction, which tells the number of the last commit; if the view at hand
was made for that commit it serves, otherwise what has changed is read.  Beginning costs less than
a microsecond, so no reader transaction is kept open between queries to hold back freed pages.
"""

import threading
from typing import Any

from simdb.engine.view import View
from simdb.errors import BusyError, ClosedError
from simdb.index.permutation import Permutations
from simdb.options import Options
from simdb.sketch.sketcher import Sketcher
from simdb.storage import contents as stored
from simdb.storage.contents import Contents
from simdb.storage.environment import Environment
from simdb.storage.run import Source


class Reading(Source):
    """A source that also knows the view it belongs to; given back to `Store.leave`."""

    def __init__(self, environment: Environment, transaction: Any, width: int) -> None:
        """Fetches through `transaction`."""
        super().__init__(environment, transaction, width)
        self.transaction = transaction


class Store:
    """An environment with the options, sketcher and views of one database."""

    def __init__(self, environment: Environment, options: Options, timeout: float | None) -> None:
        """`timeout`: seconds to wait for another writer, None without end."""
        self.environment = environment
        self.options = options
        self.timeout = timeout
        self.permutations = Permutations(options.blocks, options.leading)
        self.sketcher = Sketcher(options.sketch)
        self.width = options.sketch.vector_bytes
        self.is_closed = False
        self._lock = threading.Lock()
        self._latest: tuple[Contents, View] | None = None

    def enter(self) -> tuple[View, Reading]:
        """The view of the last commit and a transaction that sees it; give it back to `leave`."""
        if self.is_closed:
            raise ClosedError(f"{self.environment.path} is closed")
        transaction = self.environment.begin()
        try:
            reading = Reading(self.environment, transaction, self.width)
            latest = self._latest
            if (
                latest is not None
                and latest[0].transaction_number == transaction.id()
                and latest[0].generation == self.environment.generation
            ):
                return latest[1], reading
            return self._refreshed(transaction)[1], reading
        except BaseException:
            self.environment.end(transaction)
            raise

    def leave(self, reading: Reading) -> None:
        """End what `enter` began."""
        self.environment.end(reading.transaction)

    def contents(self, reading: Reading) -> Contents:
        """The stored state that `reading` sees."""
        return self._refreshed(reading.transaction)[0]

    def begin_write(self) -> None:
        """Become the only writer; BusyError when that takes longer than the timeout."""
        environment = self.environment
        own = threading.get_ident()
        if environment.writing_thread == own:
            raise BusyError(
                f"this thread already has a write transaction on {environment.path}; use its"
                " verbs, or end it first"
            )
        wait = -1 if self.timeout is None else self.timeout
        if not environment.write_guard.acquire(timeout=wait):
            raise BusyError(
                f"another thread has been writing to {environment.path} for {wait:g} seconds;"
                " try again, or open with a longer timeout="
            )
        try:
            if environment.writer_lock is not None:
                environment.writer_lock.take(self.timeout)
        except BaseException:
            environment.write_guard.release()
            raise
        environment.writing_thread = own

    def end_write(self) -> None:
        """Let others write."""
        environment = self.environment
        environment.writing_thread = 0
        if environment.writer_lock is not None:
            environment.writer_lock.release()
        environment.write_guard.release()

    def forget_views(self) -> None:
        """Drop the newest view, and with it all pointers into the map."""
        with self._lock:
            self._latest = None

    def _refreshed(self, transaction: Any) -> tuple[Contents, View]:
        """The state and view that `transaction` sees."""
        with self._lock:
            latest = self._latest
            number, generation = transaction.id(), self.environment.generation
            previous = None if latest is None else latest[0]
            if latest is not None and (number, generation) == (
                latest[0].transaction_number,
                latest[0].generation,
            ):
                return latest
            contents = stored.load(self.environment, transaction, self.width, previous)
            view = View(contents.runs, contents.loose, contents.dead, self.permutations)
            newest = (contents, view)
            is_older = previous is not None and number < previous.transaction_number
            if not is_older or (previous is not None and previous.generation != generation):
                self._latest = newest
            return newest
