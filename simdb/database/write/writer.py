"""Writer: stores and removes values, in one LMDB transaction or ahead of it.

LMDB keeps all that a transaction writes in memory until it commits.  So new runs of many documents
are written ahead (`Ahead`), some values in each commit, and nobody reads them: the manifest names
the first of their numbers, and they count only when the last commit makes them live.  If it does
not follow, the next commit of any process removes them.

Of each such run, the first commit stores states of no document, and the last one the true states.
So it can be told from other runs even if the manifest is lost.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from simdb.core.dtypes import U32
from simdb.core.errors import Error, FullError
from simdb.database.state.store import Store
from simdb.storage import (
    Manifest,
    MapFull,
    Membership,
    PassageInfo,
    Run,
    RunInfo,
    Source,
    codec,
    encode_manifest,
    encode_note,
    encode_object,
    groups_of,
    keys_from,
    layout,
    read_manifest,
    rings,
    run_keys,
    table_names,
)

# Besides the tables, the sub-databases that lose values when runs are sealed and merged.
DROPPED = frozenset({layout.IDS, layout.DOCUMENTS, layout.VOLATILITY, layout.DELTA})
# Values wait until they have so many bytes together; LMDB copies them when they are written.
WAITING_BYTES = 1 << 24

Result = TypeVar("Result")


@dataclass(slots=True)
class Writer:
    """A writer of values into one LMDB transaction."""

    store: Store
    transaction: Any

    def source(self) -> Source:
        """Return what the transaction sees, with what it has written; see `Store.source`."""
        return self.store.source(inside=self.transaction)

    def put(self, name: bytes, key: bytes, value: Any) -> None:
        """Store a value; FullError if it is longer than LMDB can hold."""
        if len(value) > layout.VALUE_BYTES_MAX:
            raise FullError(
                f"the value under key {key.hex()} of {name.decode()} would have {len(value)} bytes,"
                f" and LMDB holds {layout.VALUE_BYTES_MAX} at most; nothing was changed"
            )
        handle = self.store.environment.subdatabase(name)
        self.transaction.put(key, value, db=handle)

    def put_all(self, name: bytes, entries: Iterable[tuple[bytes, Any]]) -> None:
        """Store values by their keys; None in place of a value removes it."""
        for key, value in entries:
            if value is None:
                self.delete(name, key)
            else:
                self.put(name, key, value)

    def delete(self, name: bytes, key: bytes) -> None:
        """Remove a value."""
        handle = self.store.environment.subdatabase(name)
        self.transaction.delete(key, db=handle)

    def delete_from(self, names: Sequence[bytes], number: int) -> None:
        """Remove the values whose keys begin with a number from `number` on."""
        environment = self.store.environment
        environment.watch.walk(frozenset(names))
        for name in names:
            handle = environment.subdatabase(name)
            for key in keys_from(self.transaction, handle, layout.number_key(number)):
                self.delete(name, key)

    def clear(self, name: bytes) -> None:
        """Remove all values of a sub-database."""
        handle = self.store.environment.subdatabase(name)
        self.transaction.drop(handle, delete=False)

    def manifest(self) -> Manifest:
        """Return the stored manifest."""
        return read_manifest(self.store.environment, self.transaction)

    def put_calibration(self, manifest: Manifest, stored: dict[str, Any]) -> Manifest:
        """Replace the stored calibration; returns the manifest with its new version."""
        key = layout.CALIBRATION_KEY
        self.put(layout.META, key, encode_object(layout.OBJECT_KINDS[key], key, stored))
        return replace(manifest, calibration=manifest.calibration + 1)

    def put_manifest(self, manifest: Manifest) -> None:
        """Store the manifest."""
        self.put(layout.MANIFEST, layout.MANIFEST_KEY, encode_manifest(manifest))


def write(store: Store, change: Callable[[Writer], Result]) -> Result:
    """Return the result of `change`, which writes in one LMDB transaction.

    `MapFull` if the map has no space for it.
    """
    return store.environment.write(lambda transaction: change(Writer(store, transaction)))


def commit(store: Store, change: Callable[[Writer], None]) -> None:
    """Commit what `change` writes; the map grows if it must."""
    with store.begin_write() as right:
        store.with_room(lambda: write(store, change), right)


def write_clusters(writer: Writer, membership: Membership) -> None:
    """Store the changes of the maintained clusters."""
    writer.put_all(layout.CLUSTERS, membership.changes())


def put_clusters(writer: Writer, numbers: U32) -> None:
    """Make these the clusters of a database, see `write_anew`."""
    count = write_anew(writer, writer.source(), numbers)
    writer.put_manifest(replace(writer.manifest(), cluster_count=count, last_cluster=count))


def write_anew(writer: Writer, source: Source, numbers: U32) -> int:
    """Make these the clusters, numbered from 1, in a transaction; returns their number.

    `numbers`: the cluster of every ordinal, 0 for an ordinal in no cluster; uint32[n].
    """
    members = np.flatnonzero(numbers).astype(np.uint32)
    named, which = np.unique(numbers[members], return_inverse=True)
    order, offsets = groups_of(which)
    members = members[order]
    settled, following = np.zeros_like(numbers), np.zeros_like(numbers)
    settled[members] = which[order] + 1
    if len(members):
        following[members] = rings(members, offsets)
    membership = Membership(source)
    membership.replace(settled, following)
    write_clusters(writer, membership)
    return len(named)


def write_notes(writer: Writer, notes: Mapping[bytes, bytes | None]) -> None:
    """Store packed notes by their keys; None removes a note."""
    if notes:
        # LMDB frees the pages of the notes that are replaced.
        writer.store.environment.watch.walk(frozenset({layout.META}))
    for key, packed in notes.items():
        writer.put_all(layout.META, [(key, None if packed is None else encode_note(key, packed))])


def drop_run(writer: Writer, run: Run) -> None:
    """Remove every value of a stored run, and its pages from the memory of this process."""
    for name, key in run_keys(run, table_names(writer.store.options), writer.store.width):
        writer.delete(name, key)
    run.give_back()


def drop_ahead(writer: Writer, manifest: Manifest) -> Manifest:
    """Remove runs written ahead of a commit that did not follow; returns the manifest."""
    if not manifest.ahead:
        return manifest
    names = [*table_names(writer.store.options), layout.IDS, layout.DOCUMENTS, layout.VOLATILITY]
    writer.delete_from(names, manifest.ahead)
    return replace(manifest, ahead=0, next_run=manifest.live_next_run)


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
