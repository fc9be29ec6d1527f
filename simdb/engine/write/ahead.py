"""Ahead: what is written before a commit, in commits of its own.

LMDB keeps all that a transaction writes in memory until it commits.  So new runs of many documents
are written ahead, some values in each commit, and nobody reads them: the manifest names the first
of their numbers, and they count only when the last commit makes them live.  If it does not follow,
the next commit of any process removes them.

Of each such run, the first commit stores states of no document, and the last one the true states.
So it can be told from other runs even if the manifest is lost.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from simdb.engine.state.store import Store
from simdb.engine.write.writer import Writer
from simdb.ground.errors import Error
from simdb.storage import codec, layout
from simdb.storage.contents import table_names
from simdb.storage.environment.reading import keys_from
from simdb.storage.records.manifest import Manifest, PassageInfo, RunInfo
from simdb.storage.translation import MapFull

# Values wait until they have so many bytes together; LMDB copies them when they are written.
WAITING_BYTES = 1 << 24


class Ahead:
    """The commits before one commit; the caller has the write lock."""

    def __init__(self, store: Store, manifest: Manifest, number: int | None) -> None:
        """Begin after the transaction `number`, which left `manifest`; None if any number will do.

        Nothing is written yet.
        """
        self.manifest, self.number = manifest, number
        self.rows: Sequence[RunInfo] = ()  # the runs that were written, once they are complete
        self.passages: PassageInfo | None = None  # the same for a passage run
        self.store = store
        self._is_begun = False
        self._states: list[tuple[bytes, bytes, Any]] = []
        self._waiting: list[tuple[bytes, bytes, Any]] = []
        self._waiting_bytes = 0

    def commit(self, change: Callable[[Writer], Manifest]) -> None:
        """Commit what `change` writes, and the manifest that it returns."""

        def write(transaction: Any) -> tuple[int, Manifest]:
            writer = Writer(self.store, transaction)
            manifest = change(writer)
            writer.put_manifest(manifest)
            return int(transaction.id()), manifest

        number, self.manifest = self.store.environment.write(write, base=self.number)
        if self.number is not None:
            self.number = number

    def begin(self, count: int) -> int:
        """Reserve numbers for `count` runs; returns the first."""
        first = self.manifest.next_run + 1  # so `ahead` is not 0

        def reserve(writer: Writer) -> Manifest:
            manifest = drop_ahead(writer, self.manifest)
            kind = layout.COLUMN_KINDS[layout.STATE]
            for number in range(first, first + count):
                key = layout.segment_key(number, layout.STATE, 0)
                value = codec.encode_array(kind, key, np.empty(0, np.uint8))
                writer.put(layout.column_name(layout.STATE), key, value)
            return replace(manifest, ahead=first, next_run=first + count)

        self.commit(reserve)
        self._is_begun = True
        return first

    def put(self, name: bytes, key: bytes, value: Any) -> None:
        """Store a value of a run, now or by the next `flush`, or with the last commit."""
        is_state = name == layout.column_name(layout.STATE) and (
            layout.segment_key_parts(key)[1] == layout.STATE
        )
        if is_state:
            self._states.append((name, key, value))
            return
        self._waiting.append((name, key, value))
        self._waiting_bytes += len(value)
        if self._waiting_bytes >= WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Commit all values that wait, except states."""
        if self._waiting:
            self.commit(self._write_waiting)
            self._waiting, self._waiting_bytes = [], 0

    def finish(self, writer: Writer) -> Manifest:
        """Store in the last commit what makes the runs complete; returns the manifest without them.

        Without `begin`, remove what others have left.  It can be called again.
        """
        if not self._is_begun:
            return drop_ahead(writer, self.manifest)
        assert not self._waiting
        for name, key, value in self._states:
            writer.put(name, key, value)
        return replace(self.manifest, ahead=0)

    def abandon(self) -> None:
        """Remove what was written, if that is possible now; otherwise the next commit does it."""
        self._states, self._waiting = [], []
        if self._is_begun:
            with suppress(Error, MapFull):
                self.commit(lambda writer: drop_ahead(writer, self.manifest))

    def _write_waiting(self, writer: Writer) -> Manifest:
        for name, key, value in self._waiting:
            writer.put(name, key, value)
        return self.manifest


def drop_ahead(writer: Writer, manifest: Manifest) -> Manifest:
    """Remove runs written ahead of a commit that did not follow; returns the manifest."""
    if not manifest.ahead:
        return manifest
    store = writer.store
    names = [*table_names(store.options), layout.IDS, layout.DOCUMENTS, layout.VOLATILITY]
    store.environment.page_checks.walk(frozenset(names))
    for name in names:
        handle = store.environment.subdatabase(name)
        for key in keys_from(writer.transaction, handle, layout.number_key(manifest.ahead)):
            writer.delete(name, key)
    return replace(manifest, ahead=0, next_run=manifest.live_next_run)
