"""Snapshots: the reading verbs on one consistent state.

The snapshot owns the transaction, and with it the right to the memory that its views point into;
nothing that it returns points there.
"""

from threading import get_ident
from types import TracebackType
from typing import NoReturn

from simdb.engine.reading import Reading
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.errors import ClosedError
from simdb.storage.environment.gate import Gate, Holder


class Snapshot(Reading):
    """What the database held when the snapshot was taken; close it, or use it with `with`.

    A snapshot that stays open keeps pages from being used again while others write.
    """

    def __init__(self, store: Store) -> None:
        """Of the last commit."""
        self._store = store
        self._gate = Gate("verbs of this snapshot", timeout=store.timeout)
        self._outer: set[Holder] = set()
        self._is_closed = False
        self._base = store.state()

    def close(self) -> None:
        """End it; more often than once is fine.

        BusyError while one of its verbs runs: at once inside of what it calls back, after two
        seconds where it is in another thread.
        """
        if self._is_closed:
            return
        if not self._store.environment.is_foreign:
            with self._gate.alone("the snapshot is to be closed"):
                self._base.source.end()
        self._is_closed = True

    def __enter__(self) -> "Snapshot":
        """Itself."""
        self._outer = self._gate.inside()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        if kind is not None:
            self._gate.forgive(self._outer)
        self.close()

    def abandon(self) -> None:
        """End it after an exception in one of its verbs, which nobody else uses."""
        self._gate.forgive(set())
        self.close()

    def _state(self) -> State:
        base, gate = self._base, self._gate
        state = State(
            base.view, base.source, base.counts, gate=gate, holder=gate.enter(get_ident())
        )
        holder = base.source.holder
        if holder is None or holder.transaction is None:
            state.__exit__(None, None, None)
            self._refuse()
        return state

    def _refuse(self) -> NoReturn:
        self._store.environment.check_usable()
        raise ClosedError("the snapshot, or the database that it was taken of, is closed")

    def _hold(self) -> State:
        return self._state()

    def _lasting(self) -> tuple[Reading, None]:
        return self, None
