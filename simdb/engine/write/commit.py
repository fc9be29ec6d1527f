"""Commit: the staged changes become one LMDB transaction.

A few documents are appended to the delta.  If the delta would exceed `delta_documents`, it is
sealed into a run, and merged with the neighbouring runs that the compaction policy names.  Readers
see all changes or none, because the manifest is part of the same transaction.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.state.store import Store
from simdb.engine.write.staging import Staging
from simdb.engine.write.writer import DROPPED, Writer, drop_run, write_clusters
from simdb.plan.compaction import merged_from
from simdb.storage import layout
from simdb.storage.contents import Contents
from simdb.storage.records.batch import encode_batch
from simdb.storage.records.manifest import Manifest, RunInfo
from simdb.storage.records.metadata import encode_blocks
from simdb.storage.records.tombstones import encode_chunks
from simdb.storage.runs.merge import write_run
from simdb.storage.runs.run import Source


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
