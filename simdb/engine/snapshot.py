"""Snapshots: the reading verbs on one consistent state.

The snapshot owns the transaction, and with it the right to the memory that its views point into;
nothing that it returns points there.
"""

from types import TracebackType

from simdb.engine.criteria import Counts
from simdb.engine.queries import Queries
from simdb.engine.store import Store
from simdb.engine.view import View
from simdb.errors import ClosedError
from simdb.storage.run import Source


class Snapshot(Queries):
    """What the database held when the snapshot was taken; close it, or use it with `with`.

    A snapshot that stays open keeps pages from being used again while others write.
    """

    def __init__(self, store: Store) -> None:
        """Of the last commit."""
        self._store = store
        self._view, self._source = store.enter()
        self._manifest = store.contents(self._source).manifest
        self._is_closed = False

    def close(self) -> None:
        """End it; more often than once is fine."""
        if not self._is_closed:
            self._is_closed = True
            self._source.end()

    def __enter__(self) -> "Snapshot":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self.close()

    def __del__(self) -> None:
        """A snapshot that nobody holds any more ends."""
        if hasattr(self, "_is_closed"):
            self.close()

    def _enter(self) -> tuple[View, Source]:
        if self._is_closed:
            raise ClosedError("the snapshot is closed")
        self._source.check_open()
        return self._view, self._source

    def _leave(self, source: Source) -> None:
        """The transaction goes on until the snapshot ends."""

    def _counts(self, source: Source) -> Counts:
        return self._manifest
