"""The write right: held by one thread of one process, from its first read to its commit."""

import os
from threading import get_ident
from types import TracebackType

from simdb.ground.errors import BusyError
from simdb.storage.environment.gate import Gate, Holder, Turn
from simdb.storage.files.locks import FileLock


class WriteRight:
    """The right to write to one environment; it ends with `end`, or when the object is deleted.

    Its holder is inside the gate, so that the database is not closed while a transaction writes.
    """

    def __init__(self, path: str, turn: Turn, lock: FileLock | None, gate: Gate) -> None:
        """Take nothing yet; `turn` excludes other threads, `lock` other processes."""
        self._path = path
        self._turn = turn
        self._lock = lock
        self._gate = gate
        self._pid = os.getpid()
        self._owner = Holder()
        self.holder: Holder | None = None

    def take(self, timeout: float | None) -> None:
        """Wait for the right; BusyError after `timeout` seconds.

        BusyError at once if this thread already has it.
        """
        self._owner.thread = get_ident()
        owner = self._turn.owner
        if owner is not None and owner.thread == self._owner.thread:
            raise BusyError(
                f"this thread already has a write transaction on {self._path}; use its verbs, or"
                " end it first"
            )
        if not self._turn.take(self._owner, timeout):
            raise BusyError(
                f"another thread has been writing to {self._path} for {timeout:g} seconds;"
                " try again, or open with a longer timeout="
            )
        try:
            self.holder = self._gate.enter(self._owner.thread)
            if self._lock is not None and not self._lock.is_closed:
                self._lock.take(timeout)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> "WriteRight":
        """Return the right itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the right."""
        self.end()

    def is_of(self, thread: int) -> bool:
        """Whether the right belongs to a thread."""
        return self._owner.thread == thread

    def end(self) -> None:
        """Let others write; a second call does nothing.

        In a forked child it does nothing either: the right belongs to the parent.
        """
        if self._pid != os.getpid():
            return
        if self._turn.owner is self._owner:
            if self._lock is not None:
                self._lock.release()
            self._turn.give_back(self._owner)
        holder, self.holder = self.holder, None
        if holder is not None:
            self._gate.leave(holder)

    def __del__(self) -> None:
        """End a right that an exception took from its owner."""
        if hasattr(self, "holder"):
            self.end()
