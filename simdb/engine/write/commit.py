"""Commit: the staged changes become one LMDB transaction.

A few documents are appended to the delta.  If the delta would exceed `delta_documents`, it is
sealed into a run, and merged with the neighbouring runs that the compaction policy names.  Readers
see all changes or none, because the manifest is part of the same transaction.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.state.store import Store
from simdb.engine.write.staging import Staging
from simdb.errors import FullError
from simdb.plan.compaction import merged_from
from simdb.storage import layout
from simdb.storage.codec import encode_object
from simdb.storage.contents import Contents
from simdb.storage.membership import Membership
from simdb.storage.records.batch import encode_batch
from simdb.storage.records.manifest import Manifest, RunInfo, encode_manifest
from simdb.storage.records.metadata import encode_blocks
from simdb.storage.records.tombstones import encode_chunks
from simdb.storage.runs.merge import write_run
from simdb.storage.runs.run import Run, Source, run_keys

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


def write_staged(
    store: Store, transaction: Any, base: Contents, staging: Staging, source: Source
) -> Manifest:
    """Write all staged changes on top of `base`; returns the manifest.

    It can be called again after a failure.
    """
    writer = Writer(store, transaction)
    if staging.delta_count > store.options.delta_documents:
        staging.seal_delta()
    manifest = replace(
        base.manifest,
        next_ordinal=staging.next_ordinal,
        document_count=staging.document_count,
        empty_count=staging.empty_count,
        bare_count=staging.bare_count,
    )
    manifest = _write_deletions(writer, manifest, staging)
    for key, value in encode_blocks(staging.metadata):
        writer.put(layout.METADATA, key, value)
    if staging.sealed:
        manifest = _write_sealed(writer, manifest, base, staging, source)
    else:
        _append_to_delta(writer, staging)
    if staging.maintainer is not None:
        manifest = staging.maintainer.counted(manifest)
        write_clusters(writer, staging.maintainer.membership)
    writer.put_manifest(manifest)
    return manifest


def write_clusters(writer: Writer, membership: Membership) -> None:
    """Store the changes of the maintained clusters."""
    for key, value in membership.changes():
        if value is None:
            writer.delete(layout.CLUSTERS, key)
        else:
            writer.put(layout.CLUSTERS, key, value)


def drop_run(writer: Writer, run: Run) -> None:
    """Remove every value of a stored run."""
    for name, key in run_keys(run, writer.store.options.table_count, writer.store.width):
        writer.delete(name, key)


def _append_to_delta(writer: Writer, staging: Staging) -> None:
    """Store the new documents that are not in a run as one value of the delta."""
    if staging.new_count:
        key = layout.number_key(staging.new_start)
        writer.put(layout.DELTA, key, encode_batch(key, staging.new_batch()))


def _write_sealed(
    writer: Writer, manifest: Manifest, base: Contents, staging: Staging, source: Source
) -> Manifest:
    """Store the sealed runs, merged with older runs, and the new delta; returns the manifest."""
    store = writer.store
    store.environment.check_pages(DROPPED.union(layout.table_names(store.options.table_count)))
    runs = [*base.runs, *staging.sealed]
    counts = [run.info.id_count for run in runs]
    start = merged_from(counts, len(staging.sealed), store.options.growth)
    number = manifest.next_run
    info = write_run(
        runs[start:],
        number,
        writer.put,
        source,
        table_count=store.options.table_count,
        dead=staging.dead,
    )
    for run in base.runs[start:]:
        drop_run(writer, run)
    writer.clear(layout.DELTA)
    _append_to_delta(writer, staging)
    unchanged: tuple[RunInfo, ...] = tuple(run.info for run in base.runs[:start])
    return replace(
        manifest,
        runs=(*unchanged, info),
        next_run=number + 1,
        delta_start=staging.new_start,
        delta_version=manifest.delta_version + 1,
    )


def _write_deletions(writer: Writer, manifest: Manifest, staging: Staging) -> Manifest:
    """Store the tombstones of deleted documents; returns the manifest."""
    if not staging.deleted or staging.dead is None:
        return manifest
    ordinals: npt.NDArray[np.uint32] = np.concatenate(staging.deleted)
    for key, value in encode_chunks(staging.dead, ordinals):
        writer.put(layout.DELETED, key, value)
    return replace(
        manifest,
        deleted_count=manifest.deleted_count + len(ordinals),
        deleted_version=manifest.deleted_version + 1,
    )
