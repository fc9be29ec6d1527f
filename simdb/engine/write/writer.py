"""The writer: stores and removes values in one LMDB transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from simdb.engine.state.store import Store
from simdb.ground.errors import FullError
from simdb.storage import layout
from simdb.storage.codec import encode_object
from simdb.storage.contents import table_names
from simdb.storage.membership import Membership
from simdb.storage.notes import encode_note
from simdb.storage.records.manifest import Manifest, encode_manifest
from simdb.storage.runs.run import Run, run_keys

# Besides the tables, the sub-databases that lose values when runs are sealed and merged.
DROPPED = frozenset({layout.IDS, layout.DOCUMENTS, layout.VOLATILITY, layout.DELTA})


@dataclass(slots=True)
class Writer:
    """A writer of values into one LMDB transaction."""

    store: Store
    transaction: Any

    def put(self, name: bytes, key: bytes, value: Any) -> None:
        """Store a value; FullError if it is longer than LMDB can hold."""
        if len(value) > layout.VALUE_BYTES_MAX:
            raise FullError(
                f"the value under key {key.hex()} of {name.decode()} would have {len(value)} bytes,"
                f" and LMDB holds {layout.VALUE_BYTES_MAX} at most; nothing was changed"
            )
        handle = self.store.environment.subdatabase(name)
        self.transaction.put(key, value, db=handle)

    def delete(self, name: bytes, key: bytes) -> None:
        """Remove a value."""
        handle = self.store.environment.subdatabase(name)
        self.transaction.delete(key, db=handle)

    def clear(self, name: bytes) -> None:
        """Remove all values of a sub-database."""
        handle = self.store.environment.subdatabase(name)
        self.transaction.drop(handle, delete=False)

    def put_calibration(self, manifest: Manifest, stored: dict[str, Any]) -> Manifest:
        """Replace the stored calibration; returns the manifest with its new version."""
        key, kind = layout.CALIBRATION_KEY, layout.CALIBRATION_KIND
        self.put(layout.META, key, encode_object(kind, key, stored))
        return replace(manifest, calibration=manifest.calibration + 1)

    def put_manifest(self, manifest: Manifest) -> None:
        """Store the manifest."""
        self.put(layout.MANIFEST, layout.MANIFEST_KEY, encode_manifest(manifest))


def write_clusters(writer: Writer, membership: Membership) -> None:
    """Store the changes of the maintained clusters."""
    for key, value in membership.changes():
        if value is None:
            writer.delete(layout.CLUSTERS, key)
        else:
            writer.put(layout.CLUSTERS, key, value)


def write_notes(writer: Writer, notes: Mapping[bytes, bytes | None]) -> None:
    """Store packed notes by their keys; None removes a note."""
    if notes:
        # LMDB frees the pages of the notes that are replaced.
        writer.store.environment.page_checks.walk(frozenset({layout.META}))
    for key, packed in notes.items():
        if packed is None:
            writer.delete(layout.META, key)
        else:
            writer.put(layout.META, key, encode_note(key, packed))


def drop_run(writer: Writer, run: Run) -> None:
    """Remove every value of a stored run, and its pages from the memory of this process."""
    for name, key in run_keys(run, table_names(writer.store.options), writer.store.width):
        writer.delete(name, key)
    run.give_back()
