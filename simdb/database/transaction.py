"""Write transactions: all verbs, on a state that only this transaction sees until it commits."""

import sys
import warnings
from typing import Any, NoReturn

from simdb.core import previews
from simdb.core.arrays import IdT
from simdb.core.errors import NotPickledError
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.database.write.write_state import Change, WriteState
from simdb.database.writing import Writing
from simdb.storage import Holder, metadata as records


class LostChangesWarning(ResourceWarning, RuntimeWarning):
    """A write transaction was dropped with changes, so they are lost."""


# Python ignores every ResourceWarning, unless the user says otherwise.
if not sys.warnoptions:
    warnings.simplefilter("default", LostChangesWarning)


class WriteTransaction(Writing[IdT]):
    """A write transaction: inserts, deletions, and queries that see the changes staged before.

    Use it with `with`: it commits at the end, or changes nothing if an exception leaves the block.
    Without `with`, call `commit` or `abort`.  A transaction that is dropped without either changes
    nothing, and warns if it has changes.  A database has one write transaction at a time; other
    writers wait.
    """

    def __init__(self, store: Store) -> None:
        """Wait for the write lock, and begin."""
        self._store = store
        self._writing = WriteState(store)
        self._outer: set[Holder] = set()

    @property
    def next_ordinal(self) -> int:
        """The ordinal of the next document that is stored."""
        return self._writing.staging.next_ordinal

    def set_note(self, name: str, content: Any) -> None:
        """Store a note, which `note` reads.

        Parameters
        ----------
        name : str
            The name of the note.
        content : plain object
            The content: plain types, as of metadata; None removes the note.
        """
        key, packed = records.note_key(name), records.packed_note(content)
        with self._changing("set a note") as writing:
            writing.staging.notes[key] = packed

    def commit(self) -> None:
        """Make all staged changes durable and visible, and end the transaction.

        Raises BusyError while a verb of the transaction runs, at once from a function that the verb
        calls; the transaction then stays open.
        """
        self._writing.commit()

    def abort(self) -> None:
        """Discard all staged changes, and end the transaction; aborting again does nothing.

        Raises BusyError like `commit` while a verb of the transaction runs, after two seconds at
        most.
        """
        self._writing.abort()

    def __enter__(self) -> "WriteTransaction[IdT]":
        """Return the transaction itself."""
        self._outer = self._writing.gate.inside()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Commit, or abort after an exception."""
        if self._writing.is_ended:
            return
        if kind is None:
            self.commit()
        else:
            self._writing.gate.forgive(self._outer)
            self.abort()

    def __repr__(self) -> str:
        """Return the path, and the number of documents, or that the transaction has ended."""
        environment = self._store.environment
        state = previews.counted(self._writing.staging.document_count, "document")
        if environment.is_foreign:
            state = "of another process"
        elif self._writing.is_ended:
            state = "ended"
        return f"<simdb.WriteTransaction on {environment.path!r}, {state}>"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise NotPickledError(
            "a write transaction cannot be pickled or copied, because it has the write lock; pickle"
            " the Database, which opens the same directory again, and write there"
        )

    def __del__(self) -> None:
        """Abort a transaction that was dropped without an end; warn if it has changes."""
        writing = getattr(self, "_writing", None)
        if writing is None or writing.is_ended:
            return
        is_lost = writing.staging.has_changes or writing.staging.notes
        writing.end()
        if is_lost and not self._store.environment.is_foreign:
            warnings.warn(
                f"a write transaction on {self._store.environment.path!r} was dropped with changes,"
                " so nothing of them is stored; use it with `with`, or call commit() or abort()",
                LostChangesWarning,
                stacklevel=2,
            )

    def _changing(self, what: str) -> Change:
        return self._writing.alone(f"the transaction must be idle to {what}")

    def _state(self) -> State:
        return self._writing.state()

    _searcher = _state

    def _hold(self) -> State:
        return self._writing.hold()
