"""The gate: who is inside, and who must be alone.

Pointers into the map live as long as a transaction does, and some changes (closing, growing,
putting another file in place) make all of them void.  Whoever begins a transaction enters the gate
of its environment; whoever makes such a change waits until nobody else is inside.  A snapshot and a
write transaction have a gate of their own, through which their verbs go, so that neither ends
while one of its verbs runs.

A holder is inside before it looks whether the gate is blocked, and whoever blocks the gate does so
before counting who is inside; so one of the two sees the other, and entering needs no lock.

An exception, KeyboardInterrupt too, can strike between any two instructions, also between taking
something and the `try` that gives it back.  So nothing here is owned by a counter: a holder counts
as long as it is alive, and what its owner loses comes back by itself.
"""

import threading
import weakref
from threading import get_ident
from types import TracebackType
from typing import Any

from simdb.errors import BusyError
from simdb.storage.files.pauses import pauses

WAIT_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 0.005


class Holder:
    """Somebody inside: `transaction` of LMDB, if it has one, and `thread`, 0 for any."""

    __slots__ = ("__weakref__", "thread", "transaction")

    def __init__(self) -> None:
        """No transaction yet."""
        self.transaction: Any = None
        self.thread = 0


class Turn:
    """What one at a time may have.  It is free again when its owner is gone."""

    def __init__(self) -> None:
        """Nobody has it."""
        self._lock = threading.Lock()  # for moments only, and always by `with`
        self._owner: weakref.ref[Holder] | None = None

    @property
    def owner(self) -> Holder | None:
        """Who has it."""
        owner = self._owner
        return None if owner is None else owner()

    def take(self, owner: Holder, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds, None without end; returns whether `owner` has it."""
        if self._try_take(owner):
            return True
        tries = pauses(timeout, longest_seconds=LONGEST_PAUSE_SECONDS)
        while not self._try_take(owner):
            if not next(tries, False):
                return False
        return True

    def give_back(self, owner: Holder) -> None:
        """Let others have it; nothing where `owner` has it not."""
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
    """Lets holders in, unless somebody needs to be alone."""

    def __init__(self, inside: str, *, timeout: float | None = None) -> None:
        """`inside`: what the holders are, for messages: "verbs of this snapshot".

        `timeout`: seconds for which `enter` waits for whoever is alone, None without end.
        """
        self._inside = inside
        self._timeout = timeout
        self._is_blocked = False
        self._turn = Turn()
        # Every holder that is alive; those not in use wait in `_idle`, and all others are inside.
        self._alive: set[weakref.ref[Holder]] = set()
        self._idle: list[Holder] = []

    def enter(self, thread: int = 0) -> Holder:
        """Come inside, after whoever is alone; `thread`: the one that will leave, if that is known.

        A thread that is alone, or inside already under its number, does not wait for itself.
        BusyError when whoever is alone takes longer than the timeout.
        """
        try:
            holder = self._idle.pop()
        except IndexError:
            holder = self._new_holder(thread)
        holder.thread = thread
        return self._admitted(holder) if self._is_blocked else holder

    def leave(self, holder: Holder) -> None:
        """Let `holder` out, once."""
        holder.transaction = None
        holder.thread = 0
        self._idle.append(holder)

    def held(self) -> "Held":
        """Be inside for a `with` statement."""
        return Held(self)

    def alone(
        self, why: str, *, besides: Holder | None = None, is_patient: bool = False
    ) -> "Alone":
        """For a `with` statement: nobody is inside but `besides`, and nobody comes in.

        BusyError when somebody stays for `WAIT_SECONDS`, or for the timeout of the gate when
        `is_patient`; at once when that is this thread itself, in the middle of a verb that has
        called back.
        """
        return Alone(self, why, besides, self._timeout if is_patient else WAIT_SECONDS)

    def block(self, owner: Holder, why: str, besides: Holder | None, timeout: float | None) -> None:
        """Let `owner`, a holder that is not inside, be alone; see `alone`."""
        self._refuse_own_thread(why, besides)
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
        """End being alone; nothing where `owner` is not, or not any more."""
        if self._turn.owner is owner:
            self._is_blocked = False
            self._turn.give_back(owner)

    def inside(self) -> set[Holder]:
        """Holders of this thread, and this thread where it is alone."""
        if len(self._alive) == len(self._idle) and self._turn.owner is None:
            return set()
        own = get_ident()
        holders = [reference() for reference in list(self._alive)]
        found = {each for each in holders if each is not None and each.thread == own}
        owner = self._turn.owner
        return found | {owner} if owner is not None and owner.thread == own else found

    def forgive(self, outer: set[Holder]) -> None:
        """Let out whoever of this thread is inside and not among `outer`.

        For a `with` block that an exception ends: verbs that began in the block have ended with it,
        though the exception may have kept them from leaving.
        """
        for holder in self.inside() - outer:
            self._alive.discard(weakref.ref(holder))
            self.unblock(holder)

    def forget_all(self) -> None:
        """In a forked child: nobody is inside, and whoever was has no transaction.

        The transactions are the parent's, and dropped without being ended.
        """
        for reference in list(self._alive):
            holder = reference()
            if holder is not None:
                holder.transaction = None
        self._alive, self._idle = set(), []
        self._is_blocked = False
        self._turn = Turn()

    def is_idle(self, *, besides: Holder | None = None) -> bool:
        """Whether nobody is inside but `besides`."""
        return self._count(besides) == 0

    def _count(self, besides: Holder | None) -> int:
        """How many are inside, not counting `besides`, who is."""
        return len(self._alive) - len(self._idle) - (besides is not None)

    def _new_holder(self, thread: int) -> Holder:
        holder = Holder()
        holder.thread = thread
        self._alive.add(weakref.ref(holder, self._alive.discard))
        return holder

    def _admitted(self, holder: Holder) -> Holder:
        """A holder that may be inside while the gate is blocked, or after that."""
        thread = holder.thread
        tries = pauses(self._timeout, longest_seconds=LONGEST_PAUSE_SECONDS)
        while True:
            if self._turn.owner is None or self.inside() - {holder}:
                return holder
            # Whoever is alone waits for this holder: step back, and come again.
            self.leave(holder)
            if not next(tries, False):
                raise BusyError(
                    f"another thread is in the middle of one of the {self._inside}; try again, or"
                    " open with a longer timeout="
                )
            holder = self._new_holder(thread)

    def _refuse_own_thread(self, why: str, besides: Holder | None) -> None:
        if self.inside() - {besides}:
            raise BusyError(
                f"{why}, but this thread is in the middle of one of the {self._inside}, which has"
                " called back or still reads what it was given; do it afterwards"
            )

    def _wait_for_others(self, why: str, besides: Holder | None, timeout: float | None) -> None:
        tries = pauses(timeout, longest_seconds=LONGEST_PAUSE_SECONDS)
        while self._count(besides):
            if not next(tries, False):
                raise BusyError(
                    f"{why}, but {self._count(besides)} of the {self._inside} are still open;"
                    " close them first"
                )


class Held:
    """Being inside of a gate for the length of a `with` statement."""

    __slots__ = ("_gate", "_holder")

    def __init__(self, gate: Gate) -> None:
        """By `Gate.held`."""
        self._gate = gate

    def __enter__(self) -> None:
        """Come inside."""
        self._holder = self._gate.enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Go out."""
        self._gate.leave(self._holder)


class Alone:
    """Being alone in a gate for the length of a `with` statement."""

    __slots__ = ("_asked", "_gate", "_owner")

    def __init__(self, gate: Gate, why: str, besides: Holder | None, timeout: float | None) -> None:
        """By `Gate.alone`."""
        self._gate = gate
        self._asked = (why, besides, timeout)
        self._owner = Holder()

    def __enter__(self) -> None:
        """Wait until nobody else is inside."""
        self._owner.thread = get_ident()
        self._gate.block(self._owner, *self._asked)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others in."""
        self._gate.unblock(self._owner)
