"""The gate: who has a transaction of an environment open, and who must be alone.

Pointers into the map live as long as a transaction does, and some changes (closing, growing,
putting another file in place) make all of them void.  A holder enters before it looks whether the
gate is blocked, and whoever blocks it does so before looking for holders; so one of the two sees
the other, without a lock on the way of every query.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simdb.errors import BusyError

WAIT_SECONDS = 2.0
PAUSE_SECONDS = 0.0005


class Holder:
    """Whoever has a transaction open; `forget` is called in a forked child, whose it is not."""

    __slots__ = ("transaction",)

    def __init__(self) -> None:
        """No transaction yet."""
        self.transaction: Any = None

    def forget(self) -> None:
        """Drop the transaction without ending it: it is the parent's."""
        self.transaction = None


class Gate:
    """Lets holders in, unless somebody needs to be alone."""

    def __init__(self, path: str) -> None:
        """`path` of the environment, for messages."""
        self._path = path
        self._holders: set[Holder] = set()
        self._is_blocked = False
        self._lock = threading.RLock()

    def enter(self, holder: Holder) -> None:
        """Let `holder` in, after whoever is alone."""
        self._holders.add(holder)
        if self._is_blocked:
            self._holders.discard(holder)
            with self._lock:
                self._holders.add(holder)

    def leave(self, holder: Holder) -> None:
        """Let `holder` out; more often than once is fine."""
        self._holders.discard(holder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be inside for a `with` statement."""
        holder = Holder()
        self.enter(holder)
        try:
            yield
        finally:
            self.leave(holder)

    @contextmanager
    def alone(self, why: str) -> Iterator[None]:
        """Wait until nobody is inside and let nobody in; BusyError when somebody stays."""
        with self._lock:
            self._is_blocked = True
            try:
                deadline = time.monotonic() + WAIT_SECONDS
                while self._holders:
                    if time.monotonic() > deadline:
                        raise BusyError(
                            f"{why}, but {len(self._holders)} snapshot(s) or transaction(s) of"
                            f" this process on {self._path} are still open; close them first"
                        )
                    time.sleep(PAUSE_SECONDS)
                yield
            finally:
                self._is_blocked = False

    def forget_all(self) -> None:
        """In a forked child: nobody is inside, and whoever was has no transaction."""
        for holder in self._holders:
            holder.forget()
        self._holders = set()
        self._is_blocked = False
        self._lock = threading.RLock()

    @property
    def is_idle(self) -> bool:
        """Whether nobody is inside."""
        return not self._holders
