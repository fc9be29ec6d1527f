"""Snapshots: the reading verbs on one consistent state.

A snapshot owns its LMDB transaction, and with it the right to read the memory that its views point
into.  The values that its verbs return do not point there.
"""

from threading import get_ident
from typing import NoReturn

from simdb.core import previews
from simdb.core.arrays import IdT
from simdb.core.errors import ClosedError, NotPickledError
from simdb.database.reading import Reading
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.storage import Gate, Holder


class Snapshot(Reading[IdT]):
    """The state of the database when the snapshot was taken; close it, or use it with `with`.

    LMDB cannot reuse the pages freed by later commits while a snapshot is open.
    """

    def __init__(self, store: Store) -> None:
        """Take a snapshot of the last commit."""
        self._store = store
        self._gate = Gate("verbs of this snapshot", timeout=store.timeout)
        self._outer: set[Holder] = set()
        self._is_closed = False
        self._base = store.state()
        self._source = self._base.source

    def close(self) -> None:
        """End the snapshot; closing it again does nothing.

        Raises BusyError while a verb of the snapshot runs: at once from a function that the verb
        calls, after two seconds if the verb runs in another thread.
        """
        if self._is_closed:
            return
        if not self._store.environment.is_foreign:
            with self._gate.alone("the snapshot must be idle to close"):
                self._source.end()
        self._is_closed = True

    def __enter__(self) -> "Snapshot[IdT]":
        """Return the snapshot itself."""
        self._outer = self._gate.inside()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End the snapshot."""
        if kind is not None:
            self._gate.forgive(self._outer)
        self.close()

    def __repr__(self) -> str:
        """Return the path, and the number of documents or that it is closed."""
        environment = self._store.environment
        state = previews.counted(self._base.counts.document_count, "document")
        if environment.is_foreign:
            state = "of another process"
        elif self._is_closed or self._source.holder is None:
            state = "closed"
        return f"<simdb.Snapshot of {environment.path!r}, {state}>"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise NotPickledError(
            "a snapshot cannot be pickled or copied, because it reads from its process; pickle the"
            " Database, which opens the same directory again, and take a snapshot there"
        )

    def abandon(self) -> None:
        """End the snapshot after an exception in one of its verbs; it has no other user."""
        self._gate.forgive(set())
        self.close()

    def _state(self) -> State:
        base, source, gate = self._base, self._source, self._gate
        inside = gate.enter(get_ident())
        state = State(base.store, base.view, source, base.counts, inside, gate=gate)
        holder = source.holder
        if holder is None or holder.transaction is None:
            state.__exit__(None, None, None)
            self._store.environment.check_usable()
            raise ClosedError(
                "the snapshot, or its database, is closed; take another with Database.read()"
            )
        return state

    _searcher = _state
