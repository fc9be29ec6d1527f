"""The right to write: one thread of one process has it, from its first look to its commit."""

import os
from threading import get_ident
from types import TracebackType

from simdb.errors import BusyError
from simdb.storage.environment.gate import Gate, Holder, Turn
from simdb.storage.files.locks import FileLock


class WriteRight:
    """The right to write to one environment.  It ends with `end`, or when nobody has it any more.

    Whoever has it is inside the gate, so that the database is not closed before it is given back.
    """

    def __init__(self, path: str, turn: Turn, lock: FileLock | None, gate: Gate) -> None:
        """Nothing is taken yet; `turn` is that of the threads, `lock` that of the processes."""
        self._path = path
        self._turn = turn
        self._lock = lock
        self._gate = gate
        self._pid = os.getpid()
        self._owner = Holder()
        self.holder: Holder | None = None

    def take(self, timeout: float | None) -> None:
        """Wait for the right; BusyError when `timeout` seconds did not bring it.

        BusyError at once where this thread has it already.
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
            if self._lock is not None and self._lock.descriptor >= 0:
                self._lock.take(timeout)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> "WriteRight":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self.end()

    def is_of(self, thread: int) -> bool:
        """Whether it is of a thread."""
        return self._owner.thread == thread

    def end(self) -> None:
        """Let others write; again is fine.  A forked child leaves it to its parent."""
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
        """What an exception took from its owner is given back."""
        if hasattr(self, "holder"):
            self.end()
