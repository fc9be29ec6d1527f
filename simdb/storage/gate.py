"""The gate: transactions and verbs in progress, threads that must be alone, and the writer.

Pointers into the map are valid only while a transaction is open.  Closing the environment, growing
its map, or replacing the data file invalidates all of them.  So every transaction enters the gate
of its environment, and a thread that makes such a change waits until no other holder is inside.  A
snapshot and a write transaction have their own gates, which their verbs enter, so that neither ends
while one of its verbs runs.

A holder enters before it checks whether the gate is blocked.  A thread that blocks the gate does so
before it counts the holders inside.  At least one of the two sees the other, so entering needs no
lock.

An exception such as KeyboardInterrupt can strike between any two instructions, even between taking
something and the `try` that releases it.  So nothing is counted up and down here.  A holder counts
while its object is alive, and a lost object is released by its deletion.

One thread of one process has the right to write, from its first read to its commit.
"""

import os
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from simdb.core.errors import BusyError
from simdb.storage.files import Board, FileLock, pauses, wait

WAIT_SECONDS = 2.0
SILENT_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 0.005


class Holder:
    """A place inside a gate, with its LMDB `transaction` (if any) and its `thread` (0 if unknown).

    Threads that share the transaction take turns with the lock `reading`.
    """

    __slots__ = ("__weakref__", "reading", "thread", "transaction")

    def __init__(self) -> None:
        """Start without a transaction."""
        self.transaction: Any = None
        self.thread = 0
        self.reading = threading.Lock()  # held for moments only, and always with `with`


class Turn:
    """A lock for one holder at a time; it is free again when that holder is deleted."""

    def __init__(self) -> None:
        """Start free."""
        self._lock = threading.Lock()  # held for moments only, and always with `with`
        self._owner: weakref.ref[Holder] | None = None
        self._board = Board()

    @property
    def owner(self) -> Holder | None:
        """The holder that has the turn, or None."""
        owner = self._owner
        return None if owner is None else owner()

    def take(self, owner: Holder, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds (None: for ever); return whether `owner` got the turn."""

        def is_taken() -> bool:
            return self._try_take(owner)

        return wait(is_taken, timeout, self._board, longest_seconds=LONGEST_PAUSE_SECONDS)

    def give_back(self, owner: Holder) -> None:
        """Free the turn; do nothing if `owner` does not have it."""
        with self._lock:
            if self.owner is owner:
                self._owner = None

    def _try_take(self, owner: Holder) -> bool:
        with self._lock:
            if self.owner is not None:
                return False
            self._owner = weakref.ref(owner)
            return True


class Gate:
    """A gate that admits holders unless one thread needs to be alone."""

    def __init__(self, inside: str, *, timeout: float | None = None) -> None:
        """Name the holders for messages with `inside`, for example "verbs of this snapshot".

        `timeout`: seconds that `enter` waits for a thread that is alone; None waits for ever.
        """
        self._inside = inside
        self._timeout = timeout
        self._is_blocked = False
        self._turn = Turn()
        # All living holders.  Unused holders are in `_idle`; all others are inside.
        self._alive: set[weakref.ref[Holder]] = set()
        self._idle: list[Holder] = []

    def enter(self, thread: int = 0) -> Holder:
        """Enter the gate and return a holder; wait while another thread is alone.

        `thread`: the thread that will leave, if known.  A thread that is alone, or already inside
        under its number, does not wait for itself.  BusyError after the timeout of the gate.
        """
        try:
            holder = self._idle.pop()
        except IndexError:
            holder = self._new_holder(thread)
        holder.thread = thread
        return self._admitted(holder) if self._is_blocked else holder

    def leave(self, holder: Holder) -> None:
        """Take `holder` out of the gate; call this once."""
        holder.transaction = None
        holder.thread = 0
        self._idle.append(holder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stay inside the gate during a `with` block."""
        holder = self.enter()
        try:
            yield
        finally:
            self.leave(holder)

    @contextmanager
    def alone(
        self, why: str, *, besides: Holder | None = None, is_patient: bool = False
    ) -> Iterator[None]:
        """Wait until only `besides` is inside, and admit no holder during a `with` block.

        Raises BusyError if other holders remain for `WAIT_SECONDS`, or, if `is_patient`, for the
        timeout of the gate.  Raises it at once if this thread itself is inside, in a verb that has
        called back.
        """
        owner = Holder()
        owner.thread = get_ident()
        self.block(owner, why, besides, self._timeout if is_patient else WAIT_SECONDS)
        try:
            yield
        finally:
            self.unblock(owner)

    def block(self, owner: Holder, why: str, besides: Holder | None, timeout: float | None) -> None:
        """Make `owner`, a holder that is not inside, alone; see `alone`."""
        if self.inside() - {besides}:
            raise BusyError(
                f"{why}, but this thread is in the middle of one of the {self._inside}, which"
                " called a function or still reads its input; do it afterwards"
            )
        if not self._turn.take(owner, timeout):
            raise BusyError(f"{why}, but another thread is changing it; try again")
        try:
            self._is_blocked = True
            if self._count(besides):
                self._wait_for_others(why, besides, timeout)
        except BaseException:
            self.unblock(owner)
            raise

    def unblock(self, owner: Holder) -> None:
        """Stop being alone; do nothing if `owner` is not alone."""
        if self._turn.owner is owner:
            self._is_blocked = False
            self._turn.give_back(owner)

    def inside(self) -> set[Holder]:
        """Return the holders of this thread, and its owner object if it is alone."""
        if len(self._alive) == len(self._idle) and self._turn.owner is None:
            return set()
        own = get_ident()
        holders = [reference() for reference in list(self._alive)]
        found = {each for each in holders if each is not None and each.thread == own}
        owner = self._turn.owner
        return found | {owner} if owner is not None and owner.thread == own else found

    def forgive(self, outer: set[Holder]) -> None:
        """Remove the holders of this thread that are inside but not in `outer`.

        A `with` block that ends with an exception calls this.  The verbs begun in the block have
        ended with it, but the exception may have kept them from leaving.
        """
        for holder in self.inside() - outer:
            self._alive.discard(weakref.ref(holder))
            self.unblock(holder)

    def forget_all(self) -> None:
        """Empty the gate in a forked child, and drop the transactions of all holders.

        The transactions belong to the parent, so they are not ended.
        """
        for reference in list(self._alive):
            holder = reference()
            if holder is not None:
                holder.transaction = None
        self._alive, self._idle = set(), []
        self._is_blocked = False
        self._turn = Turn()

    def is_idle(self, *, besides: Holder | None = None) -> bool:
        """Return whether no holder is inside except `besides`."""
        return self._count(besides) == 0

    def _count(self, besides: Holder | None) -> int:
        """Return the number of holders inside, not counting `besides`, which must be inside."""
        return len(self._alive) - len(self._idle) - (besides is not None)

    def _new_holder(self, thread: int) -> Holder:
        holder = Holder()
        holder.thread = thread
        self._alive.add(weakref.ref(holder, self._alive.discard))
        return holder

    def _admitted(self, holder: Holder) -> Holder:
        """Return a holder that may be inside, at once or when the gate is no longer blocked."""
        thread = holder.thread
        tries = pauses(self._timeout, longest_seconds=LONGEST_PAUSE_SECONDS)
        while True:
            if self._turn.owner is None or self.inside() - {holder}:
                return holder
            # The thread that wants to be alone waits for this holder, so leave and try again.
            self.leave(holder)
            if not next(tries, False):
                raise BusyError(
                    f"another thread is in the middle of one of the {self._inside}; try again, or"
                    " open with a longer timeout="
                )
            holder = self._new_holder(thread)

    def _wait_for_others(self, why: str, besides: Holder | None, timeout: float | None) -> None:
        tries = pauses(timeout, longest_seconds=LONGEST_PAUSE_SECONDS)
        while self._count(besides):
            if not next(tries, False):
                raise BusyError(
                    f"{why}, but {self._count(besides)} of the {self._inside} are still open;"
                    " close them first"
                )


class WriteRight:
    """A right to write to an environment; it ends with `end`, or when the object is deleted.

    Its holder is inside the gate, so that the database is not closed while a transaction writes.
    """

    def __init__(self, path: str, turn: Turn, lock: FileLock | None, gate: Gate) -> None:
        """Prepare a right; `turn` excludes other threads, `lock` other processes."""
        self._path = path
        self._turn = turn
        self._lock = lock
        self._gate = gate
        self._pid = os.getpid()
        self._owner = Holder()
        self.holder: Holder | None = None

    def take(self, timeout: float | None) -> None:
        """Wait for the right; BusyError after `timeout` seconds.

        BusyError at once if this thread already has it.  Without a timeout, issue a RuntimeWarning
        if another thread has it for long.
        """
        self._owner.thread = get_ident()
        owner = self._turn.owner
        if owner is not None and owner.thread == self._owner.thread:
            raise BusyError(
                f"this thread already has a write transaction on {self._path}; use its verbs, or"
                " end it first"
            )
        is_taken = self._turn.take(self._owner, SILENT_SECONDS if timeout is None else timeout)
        if not is_taken and timeout is None:
            warnings.warn(
                f"another thread has been writing to {self._path} for {SILENT_SECONDS:g} seconds,"
                " and this one waits until it ends; open(timeout=) limits the wait",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
            is_taken = self._turn.take(self._owner, None)
        if not is_taken:
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

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End the right."""
        self.end()

    def is_of(self, thread: int) -> bool:
        """Return whether the right belongs to a thread."""
        return self._owner.thread == thread

    def end(self) -> None:
        """Let others write; a second call does nothing.

        It also does nothing in a forked child, since the right belongs to the parent.
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
        """End a right that its owner lost by an exception."""
        if hasattr(self, "holder"):
            self.end()
