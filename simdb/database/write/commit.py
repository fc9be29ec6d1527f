"""Commit: the staged changes become one LMDB transaction.

A few documents are appended to the delta.  If the delta would exceed `delta_documents`, it is
sealed into a run, and merged with the small neighbours that the compaction policy names.  Each
commit also does a part of the unfinished large merge, if there is one.  It does the steps that are
due for the documents inserted since the merge began (`steps_due` in `plan/compaction.py`).  If no
step is due, it prepares the next step in memory.  Readers see all changes or none, because the
manifest is part of the same transaction.

Every commit that inserts also writes the grains of its documents as one passage run, merged with
small older ones.  Grains that are too many for one LMDB transaction are written ahead, a part in
each commit.  The manifest then names the first number that does not count.

LMDB keeps all writes of a transaction in memory until it commits.  So new runs of many documents
are written ahead (`Ahead`), some values in each commit.  The manifest names the first of their
numbers, and nobody reads them until the last commit makes them live.  If it does not follow, the
next commit of any process removes them.  For each such run, the first commit stores an empty column
of states, and the last one the true states.  So it can be recognised even if the manifest is lost.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from simdb.core.dtypes import U32
from simdb.core.errors import CorruptError, Error, FullError
from simdb.core.memory import memory_bytes
from simdb.core.values import dataclass, replace
from simdb.database.state.staged import StagedMetadata
from simdb.database.state.store import Store
from simdb.database.write.staging import Staging
from simdb.plan import compaction
from simdb.storage import (
    Change,
    Contents,
    Manifest,
    MapFull,
    Membership,
    PassageInfo,
    Passages,
    Run,
    RunInfo,
    Source,
    Unfinished,
    check_rewritten,
    codec,
    contents,
    encode_chunks,
    encode_manifest,
    file_map,
    groups_of,
    joined_ids,
    layout,
    living,
    merge as merges,
    metadata as records,
    rewriting,
    rings,
    table_names,
)

# Sub-databases, other than the tables, that lose values when runs are sealed and merged.
DROPPED = frozenset({layout.IDS, layout.DOCUMENTS, layout.VOLATILITY, layout.DELTA})
# Bytes of values that wait to be written together; LMDB copies them when they are written.
WAITING_BYTES = 1 << 24

Result = TypeVar("Result")

# Limit on the entries of runs that a commit merges: 48 MB, which takes some 50 ms.
MERGED_MOST = 1 << 22
# This number of entries or more are written ahead of the commit that makes them live.
AHEAD_ENTRIES = 1 << 23


@dataclass(slots=True)
class Writer:
    """A writer of values into one LMDB transaction."""

    store: Store
    transaction: Any

    def source(self) -> Source:
        """Return a source that sees the writes of this transaction; see `Store.source`."""
        return self.store.source(inside=self.transaction)

    def put(self, name: bytes, key: bytes, value: Any) -> None:
        """Store a value; raise FullError if it is longer than LMDB can hold."""
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
        """Remove the values whose keys begin with `number` or a larger number."""
        environment = self.store.environment
        environment.watch.walk(frozenset(names))
        for name in names:
            handle = environment.subdatabase(name)
            for key in file_map.keys_from(self.transaction, handle, layout.number_key(number)):
                self.delete(name, key)

    def clear(self, name: bytes) -> None:
        """Remove all values of a sub-database."""
        handle = self.store.environment.subdatabase(name)
        self.transaction.drop(handle, delete=False)

    def manifest(self) -> Manifest:
        """Return the stored manifest."""
        return contents.read_manifest(self.store.environment, self.transaction)

    def put_calibration(self, manifest: Manifest, stored: dict[str, Any]) -> Manifest:
        """Replace the stored calibration; return the manifest with its new version."""
        key = layout.CALIBRATION_KEY
        self.put(layout.META, key, codec.encode_object(layout.OBJECT_KINDS[key], key, stored))
        return replace(manifest, calibration=manifest.calibration + 1)

    def put_manifest(self, manifest: Manifest) -> None:
        """Store the manifest."""
        self.put(layout.MANIFEST, layout.MANIFEST_KEY, encode_manifest(manifest))


def write(store: Store, change: Callable[[Writer], Result]) -> Result:
    """Return the result of `change`, which writes in one LMDB transaction.

    Raises `MapFull` if the map has no space for it.
    """
    return store.environment.write(lambda transaction: change(Writer(store, transaction)))


def commit(store: Store, change: Callable[[Writer], None]) -> None:
    """Commit the writes of `change`; the map grows if necessary."""
    with store.begin_write() as right:
        store.with_room(lambda: write(store, change), right)


def write_clusters(writer: Writer, membership: Membership) -> None:
    """Store the changes of the maintained clusters."""
    writer.put_all(layout.CLUSTERS, membership.changes())


def put_clusters(writer: Writer, numbers: U32) -> None:
    """Replace the clusters of a database; see `write_anew`."""
    count = write_anew(writer, writer.source(), numbers)
    writer.put_manifest(replace(writer.manifest(), cluster_count=count, last_cluster=count))


def write_anew(writer: Writer, source: Source, numbers: U32) -> int:
    """Replace the clusters in a transaction, numbered from 1; return their number.

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
        writer.put_all(
            layout.META, [(key, None if packed is None else records.encode_note(key, packed))]
        )


def drop_run(writer: Writer, run: Run) -> None:
    """Remove every value of a stored run, and its pages from the memory of this process."""
    for name, key in run.value_keys(table_names(writer.store.options), writer.store.width):
        writer.delete(name, key)
    run.give_back()


def drop_ahead(writer: Writer, manifest: Manifest) -> Manifest:
    """Remove runs written ahead of a commit that did not follow; return the manifest."""
    if not manifest.ahead:
        return manifest
    names = [*table_names(writer.store.options), layout.IDS, layout.DOCUMENTS, layout.VOLATILITY]
    writer.delete_from(names, manifest.ahead)
    return replace(manifest, ahead=0, next_run=manifest.live_next_run)


class Ahead:
    """The commits that precede one commit; the caller holds the write lock."""

    def __init__(self, store: Store, manifest: Manifest, number: int | None) -> None:
        """Begin after the transaction `number`, which left `manifest`; None allows any number.

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
        """Commit the writes of `change`, and the manifest that it returns."""

        def write(transaction: Any) -> tuple[int, Manifest]:
            writer = Writer(self.store, transaction)
            manifest = change(writer)
            writer.put_manifest(manifest)
            return int(transaction.id()), manifest

        number, self.manifest = self.store.environment.write(write, base=self.number)
        if self.number is not None:
            self.number = number

    def begin(self, count: int) -> int:
        """Reserve numbers for `count` runs; return the first."""
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
        """Commit all waiting values, except states."""
        if self._waiting:
            self.commit(self._write_waiting)
            self._waiting, self._waiting_bytes = [], 0

    def finish(self, writer: Writer) -> Manifest:
        """Complete the runs in the last commit; return the manifest, in which none is ahead.

        Without `begin`, remove what others have left.  It can be called again.
        """
        if not self._is_begun:
            return drop_ahead(writer, self.manifest)
        assert not self._waiting
        for name, key, value in self._states:
            writer.put(name, key, value)
        return replace(self.manifest, ahead=0)

    def abandon(self) -> None:
        """Remove the written values if possible; otherwise the next commit removes them."""
        self._states, self._waiting = [], []
        if self._is_begun:
            with suppress(Error, MapFull):
                self.commit(lambda writer: drop_ahead(writer, self.manifest))

    def _write_waiting(self, writer: Writer) -> Manifest:
        for name, key, value in self._waiting:
            writer.put(name, key, value)
        return self.manifest


def write_ahead(ahead: Ahead, base: Contents, staging: Staging, source: Source) -> None:
    """Write large changes in commits of their own, before the commit of staged changes.

    These are the due steps of the unfinished merge, and the runs and passages of many documents.
    """
    options = ahead.store.options
    if staging.delta_count > options.delta_documents:
        staging.seal_delta()
    _step_ahead(ahead, base, staging, source)
    write_grains_ahead(ahead, staging, source)
    if not staging.sealed:
        return
    runs = [*base.runs, *staging.sealed]
    runs = runs[_merged_from(ahead.store, runs, len(staging.sealed), base.manifest) :]
    lengths = [len(run.info) for run in runs]
    if sum(lengths) < compaction.AHEAD_LEAST:
        return
    groups = compaction.grouped(lengths, compaction.LENGTH_MOST)
    number = ahead.begin(len(groups))
    rows: list[RunInfo] = []
    for group in groups:
        rows.append(
            rewriting.write_run(
                [runs[at] for at in group],
                number + len(rows),
                ahead.put,
                source,
                table_names=table_names(options),
                dead=staging.dead,
                threads=staging.threads,
            )
        )
    ahead.flush()
    ahead.rows = rows


def write_staged(
    ahead: Ahead, writer: Writer, base: Contents, staging: Staging, source: Source
) -> Manifest:
    """Write all staged changes on top of `base`; return the manifest.

    Call `write_ahead` first.  This can be called again after a failure.
    """
    store = ahead.store
    manifest = replace(
        ahead.finish(writer),
        next_ordinal=staging.next_ordinal,
        document_count=staging.document_count,
        empty_count=staging.empty_count,
        bare_count=staging.bare_count,
        content=staging.content,
    )
    manifest = _write_deletions(writer, manifest, staging)
    manifest = write_grains(ahead, writer, manifest, staging, source)
    _write_metadata(writer, base.manifest.next_ordinal, staging.metadata)
    for column, staged in staging.staged_columns.items():
        writer.put_all(column.name, column.encode(staged.first, staged.whole(), staging.threads))
    if staging.times:
        writer.put_all(layout.TIMES, records.changed_times(writer.source(), staging.times.changes))
    if staging.staged_codes is not None:
        entries, has_replaced = staging.staged_codes.encoded(writer.source())
        writer.put_all(layout.FIELDS, entries)
        manifest = replace(manifest, fields_version=manifest.fields_version + has_replaced)
    write_notes(writer, staging.notes)
    if staging.sealed:
        manifest = _write_sealed(writer, manifest, base, staging, source, ahead.rows)
    if staging.new_count:  # documents that are in no run are one value of the delta
        key = layout.number_key(staging.new_start)
        writer.put(layout.DELTA, key, staging.new_batch().encoded(key))
    if manifest.unfinished is not None:
        manifest = _carry_on(writer, manifest, base, staging, source)
    if manifest.unfinished is None and manifest.runs != base.manifest.runs:
        inserted = manifest.next_ordinal - base.manifest.next_ordinal
        manifest = begin_merge(manifest, store.options.growth, inserted)
    if staging.maintainer is not None:
        manifest = staging.maintainer.counted(manifest)
        write_clusters(writer, staging.maintainer.membership)
    writer.put_manifest(manifest)
    return manifest


def begin_merge(manifest: Manifest, growth: int, inserted: int) -> Manifest:
    """Return the manifest with the next large merge begun; unchanged if none is wanted.

    `inserted`: the number of documents in this commit, which has merged all runs that it may.
    """
    runs = manifest.runs
    most = compaction.merged_most(inserted, memory_bytes())
    first = compaction.first_within([len(run) for run in runs], most)
    start = first + compaction.begun_from([run.id_count for run in runs[first:]], growth)
    if start == len(runs):
        return manifest
    weighted_count = sum(run.weighted_count for run in runs[start:])
    number = manifest.next_run
    ids = joined_ids((run.ids, len(run)) for run in runs[start:])
    run = RunInfo(number, runs[start].start, runs[-1].stop, 0, 0, weighted_count, ids=ids)
    merge = Unfinished(run, 0, manifest.next_ordinal)
    return replace(manifest, next_run=number + 1, unfinished=merge)


def drop_unfinished(writer: Writer, merge: Unfinished | None) -> None:
    """Remove every value that an unfinished merge has written."""
    if merge is not None:
        for name, key in merges.written_keys(merge, table_names(writer.store.options)):
            writer.delete(name, key)


def _step_ahead(ahead: Ahead, base: Contents, staging: Staging, source: Source) -> None:
    """Do the due steps of the unfinished merge except the last, each in a commit of its own.

    So a commit that inserts many documents does not hold the values of many steps in memory.
    `source` sees `base`.
    """
    merge = base.manifest.unfinished
    if merge is None:
        return
    work = _Work(ahead.store, base, merge)
    due = work.due(staging.next_ordinal)
    for at in range(merge.done, due - 1):

        def write(writer: Writer, at: int = at) -> Manifest:
            merge = ahead.manifest.unfinished
            assert merge is not None
            merged = merges.MergedRuns(work.runs, source, base.dead)
            run = staging.merging_of(merge).write(work.steps[at], merge.run, merged, writer.put)
            return replace(ahead.manifest, unfinished=Unfinished(run, at + 1, merge.begun))

        ahead.commit(write)
        # In so large an insertion, no query of these runs is expected soon.
        for each in work.runs:
            each.give_back()


def _carry_on(
    writer: Writer, manifest: Manifest, base: Contents, staging: Staging, source: Source
) -> Manifest:
    """Do the due steps of the unfinished merge of `manifest`; return the manifest afterwards.

    `source` sees `base`, the state before this commit.
    """
    merge = manifest.unfinished
    assert merge is not None
    work, merging = _Work(writer.store, base, merge), staging.merging_of(merge)
    run, runs, steps, due = merge.run, work.runs, work.steps, work.due(manifest.next_ordinal)
    merged = merges.MergedRuns(runs, source, staging.dead)
    if merge.done >= due:
        merging.prepare(steps[merge.done], run, merged)
        return manifest
    inserted = manifest.next_ordinal - base.manifest.next_ordinal
    delta_documents = writer.store.options.delta_documents
    if staging.sealed and compaction.are_put_off(due - merge.done, inserted, delta_documents):
        return manifest
    for step in steps[merge.done : due]:
        run = merging.write(step, run, merged, writer.put)
    if due < len(steps):
        merging.note(steps[due], runs)
        return replace(manifest, unfinished=Unfinished(run, due, merge.begun))
    _drop(writer, runs)
    unmerged = [row for row in manifest.runs if row not in work.rows]
    every = sorted([*unmerged, run], key=lambda row: row.start)
    return replace(manifest, runs=tuple(every), unfinished=None)


def _write_metadata(writer: Writer, first: int, metadata: StagedMetadata) -> None:
    """Store the metadata of new documents, from the ordinal `first`, and changes of older ones."""
    changes = metadata.changed_before(first)
    if changes:
        writer.store.environment.watch.walk_rarely(frozenset({layout.METADATA}))
        writer.put_all(layout.METADATA, records.changed_blocks(writer.source(), changes))
    writer.put_all(layout.METADATA, records.encode_blocks(metadata.new_from(first)))


def _write_sealed(
    writer: Writer,
    manifest: Manifest,
    base: Contents,
    staging: Staging,
    source: Source,
    rows: Sequence[RunInfo],
) -> Manifest:
    """Store the sealed runs, merged with small older runs, and the new delta.

    `rows`: the runs that were written ahead, if any.  Returns the manifest.
    """
    store = writer.store
    names = table_names(store.options)
    store.environment.watch.walk(DROPPED.union(names))
    runs = [*base.runs, *staging.sealed]
    number = manifest.next_run
    if not rows:
        start = _merged_from(store, runs, len(staging.sealed), manifest)
        rows = [
            rewriting.write_run(
                runs[start:], number, writer.put, source,
                table_names=names, dead=staging.dead, threads=staging.threads,
            )
        ]  # fmt: skip
        number += 1
    unchanged = [run.info for run in base.runs if run.info.start < rows[0].start]
    for run in base.runs[len(unchanged) :]:
        drop_run(writer, run)
    writer.clear(layout.DELTA)
    return replace(
        manifest,
        runs=(*unchanged, *rows),
        next_run=number,
        delta_start=staging.new_start,
        delta_version=manifest.delta_version + 1,
    )


def _merged_from(store: Store, runs: Sequence[Run], new: int, manifest: Manifest) -> int:
    """Return the position of the first run to merge now; the last `new` runs are sealed now."""
    lengths = [len(run.info) for run in runs]
    most = compaction.merged_at_once(
        store.options.delta_documents, sum(lengths[-new:]), store.width
    )
    busy = 0 if manifest.unfinished is None else manifest.unfinished.run.stop
    first = max(compaction.first_within(lengths, most), sum(run.info.start < busy for run in runs))
    counts = [run.info.id_count for run in runs[first:]]
    return first + compaction.merged_from(counts, new, store.options.growth)


def _write_deletions(writer: Writer, manifest: Manifest, staging: Staging) -> Manifest:
    """Store the tombstones of deleted documents; return the manifest."""
    if not staging.deleted or staging.dead is None:
        return manifest
    ordinals: U32 = np.concatenate(staging.deleted)
    writer.put_all(layout.DELETED, encode_chunks(staging.dead, ordinals))
    return replace(
        manifest,
        deleted_count=manifest.deleted_count + len(ordinals),
        deleted_version=manifest.deleted_version + 1,
    )


class _Work:
    """The steps of the unfinished merge of a state."""

    def __init__(self, store: Store, base: Contents, merge: Unfinished) -> None:
        self._merge = merge
        self.rows = merge.merged(base.manifest.runs)
        self.runs = [each for each in base.runs if each.info in self.rows]
        self.steps = merges.steps_of(merge.run, table_names(store.options))
        if merge.done >= len(self.steps):
            raise CorruptError(
                f"the unfinished merge into run {merge.run.number} has {merge.done} steps"
            )

    def due(self, next_ordinal: int) -> int:
        """Return the number of steps that are due when `next_ordinal` documents were inserted."""
        inserted = next_ordinal - self._merge.begun
        return compaction.steps_due(
            [step.cost for step in self.steps], len(self._merge.run), inserted
        )


def _drop(writer: Writer, runs: Sequence[Run]) -> None:
    """Remove runs after they were merged."""
    store = writer.store
    store.environment.watch.walk(DROPPED.union(table_names(store.options)))
    for run in runs:
        drop_run(writer, run)


def write_grains(
    ahead: Ahead, writer: Writer, manifest: Manifest, staging: Staging, source: Source
) -> Manifest:
    """Store the grains of new documents; return the manifest.

    The `next_ordinal` of `manifest` is already the new one.
    """
    staged = staging.staged_passages
    if staged is None:
        return manifest
    if ahead.passages is not None:
        return replace(manifest, passages=(*manifest.passages, ahead.passages), passages_ahead=0)
    manifest = drop_strays(writer, manifest)
    rows, stop = manifest.passages, manifest.next_ordinal
    start = rows[-1].stop if rows else 0
    if start == stop:
        return manifest
    if rows and not staged.entry_count:
        return replace(manifest, passages=(*rows[:-1], rows[-1]._replace(stop=stop)))
    first = _merged_rows_from(rows, staged.entry_count, writer.store.options.growth)
    merged = rows[first:]
    passages = Passages(Passages.stored(merged).runs, staged.entries())
    span = (merged[0].start if merged else start, stop)
    change = living(staging.dead, stop)
    row = passages.write(manifest.next_passage, span, source, writer.put, change)
    drop_passages(writer, merged)
    return replace(manifest, passages=(*rows[:first], row), next_passage=row.number + 1)


def write_grains_ahead(ahead: Ahead, staging: Staging, source: Source) -> None:
    """Write the grains of new documents ahead, if they are too many for one commit."""
    staged = staging.staged_passages
    if staged is not None and staged.entry_count >= AHEAD_ENTRIES:
        rows, stop = ahead.manifest.passages, staging.next_ordinal
        passages = Passages([], staged.entries())
        change = living(staging.dead, stop)
        span = (rows[-1].stop if rows else 0, stop)
        ahead.passages = write_passages_ahead(ahead, passages, span, source, change)


def write_passages_ahead(
    ahead: Ahead, passages: Passages, span: tuple[int, int], source: Source, change: Change
) -> PassageInfo:
    """Write a passage run in commits of its own, and verify it before anybody reads it."""
    number = max(ahead.manifest.next_passage, 1)

    def reserve(writer: Writer) -> Manifest:
        kept = drop_strays(writer, ahead.manifest)
        return replace(kept, passages_ahead=number + 1, next_passage=number + 1)

    def put(name: bytes, key: bytes, value: Any) -> None:
        def write(writer: Writer) -> Manifest:
            writer.put(name, key, value)
            return ahead.manifest

        ahead.commit(write)

    ahead.commit(reserve)
    row = passages.write(number, span, source, put, change)
    with ahead.store.source() as written:
        check_rewritten([row], written)
    return row


def rewrite_passages(
    ahead: Ahead, writer: Writer, rows: Sequence[PassageInfo], source: Source, change: Change,
    count: int,
) -> tuple[PassageInfo, ...]:  # fmt: skip
    """Store all passages in one run of `count` documents, unless written ahead; return its row.

    Values of `rows` are removed.
    """
    row = ahead.passages
    if row is None:
        drop_strays(writer, ahead.manifest)
    if row is None and rows:
        number = ahead.manifest.next_passage
        passages = Passages.stored(rows)
        row = passages.write(number, (0, count), source, writer.put, change)
        check_rewritten([row], writer.source())
    drop_passages(writer, rows)
    return () if row is None or not count else (row,)


def drop_passages(writer: Writer, rows: Sequence[PassageInfo]) -> None:
    """Remove every value of some passage runs."""
    if rows:
        writer.store.environment.watch.walk(frozenset({layout.PASSAGES}))
    for row in rows:
        for key in row.value_keys():
            writer.delete(layout.PASSAGES, key)


def drop_strays(writer: Writer, manifest: Manifest) -> Manifest:
    """Remove passages written ahead of a commit that did not follow; return the manifest."""
    if not manifest.passages_ahead:
        return manifest
    writer.delete_from([layout.PASSAGES], manifest.passages_ahead - 1)
    return replace(manifest, passages_ahead=0)


def _merged_rows_from(rows: Sequence[PassageInfo], new: int, growth: int) -> int:
    """Return the position of the first stored run to merge with `new` entries."""
    counts = [*(row.entry_count for row in rows), new]
    first = min(compaction.first_within(counts, MERGED_MOST), len(rows))
    return first + compaction.merged_from(counts[first:], 1, growth)
