"""Compaction: one run, no tombstones, no gaps, and the smallest possible data file.

All live documents are written as one run with new ordinals.  More than `compacted_most` documents
become several runs, and large runs are written ahead of the commit that makes them live, so the
memory is bounded.  LMDB keeps the pages that this frees inside its file.  So the file is then
copied without them, and the copy replaces it.  This is possible only while no other process has the
database open.

A copy elsewhere can follow the database.  One transaction stores the changed values, so the copy
shows either the earlier state or the new one.  LMDB keeps the writes of a transaction in memory.
So after large changes, such as a compaction, a new data file replaces the old one.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from simdb.core.dtypes import U32, U64
from simdb.core.errors import BusyError, FullError, OptionError
from simdb.core.memory import memory_bytes
from simdb.core.options import Options
from simdb.core.reports import Compaction
from simdb.database.maintenance.calibration import covered_of, covering
from simdb.database.state.kinds import kind_of
from simdb.database.state.store import Access, Store, open_store, settled
from simdb.database.write import commit
from simdb.database.write.commit import Ahead, Writer, drop_run, write, write_clusters
from simdb.database.write.idf import copy_idf
from simdb.plan import compaction as policy
from simdb.storage import (
    COPY_FILE,
    DATA_FILE,
    Contents,
    Manifest,
    MapFull,
    Membership,
    Passages,
    Put,
    Run,
    RunInfo,
    Source,
    WriteRight,
    as_segment,
    by_ordinal,
    contents,
    following,
    is_database,
    layout,
    live_count,
    live_ordinals,
    made_beside,
    merge as merges,
    metadata,
    renumbering,
    rewriting,
    table_names,
    whole_codes,
)

METADATA_GROUP = 4096
UNFINISHED = ".copying"
# Limits on the bytes that one transaction writes to a copy: these bytes, or this percentage of the
# memory if that is more.
AT_ONCE_BYTES = 1 << 26
MEMORY_PERCENT = 12


def compact(store: Store, threads: int = 1) -> Compaction:
    """Compact the database; the note of the result says why the file did not shrink.

    `threads` make and merge the tables.
    """
    with store.begin_write() as right:
        before = file_bytes(store)
        store.with_room(lambda: _rewrite(store, threads), right, before)
        store.take_options()
        note = shrink(store, right)
        return Compaction(before, file_bytes(store), note)


def copy(store: Store, target: str, *, incremental: bool = False) -> int:
    """Write a copy without free pages to the new directory `target`; return its bytes.

    `incremental`: if `target` is an earlier copy, bring it up to date and return the bytes of the
    values that it lacked.
    """
    if not incremental or not is_database(target):
        return made_beside(target, UNFINISHED, lambda directory: _copy_into(store, directory))
    if store.environment.is_at(target):
        raise OptionError(f"{target} is the database itself; name another directory for its copy")
    access = Access("full", None, store.timeout, store.allowed)
    with closing(open_store(target, "w", None, access)) as earlier:
        return _follow(store, earlier)


def shrink(store: Store, right: WriteRight) -> str:
    """Replace the data file by a copy without free pages; return the reason if this fails."""
    return replaced(store, right, store.environment.copy_to)


def replaced(store: Store, right: WriteRight, make: Callable[[str], None]) -> str:
    """Replace the data file by a file that `make` writes; return the reason if this fails.

    Raises FullError if the disk cannot take the copy, CorruptError if the file cannot be copied;
    earlier commits are not affected.
    """
    environment = store.environment
    if not environment.can_be_alone:
        return "the file was not shrunk: its lock files could not be made"
    if not environment.is_idle(right):
        return "the file was not shrunk: snapshots of this process are open"
    copy = os.path.join(environment.path, COPY_FILE)
    with environment.presence.alone() as is_alone:
        if not is_alone:
            return "the file was not shrunk: other processes have the database open"
        try:
            with copied(make, copy):
                store.forget_views()
                environment.reopen(copy, right)
        except BusyError:
            return "the file was not shrunk: snapshots of this process are open"
        except (OSError, FullError) as error:
            raise FullError(
                f"the file was not shrunk, and nothing in it is lost: the disk of {copy} is full or"
                f" has failed: {error}"
            ) from error
    return ""


@contextmanager
def copied(make: Callable[[str], None], copy: str) -> Iterator[None]:
    """Make the file `copy` for a `with` block, which may move it away."""
    try:
        with suppress(FileNotFoundError):
            os.unlink(copy)
        make(copy)
        yield
    finally:
        with suppress(OSError):  # a copy that stays is removed the next time
            os.unlink(copy)


def store_open(writer: Writer, manifest: Manifest, options: Options) -> Manifest:
    """Store the changeable options if they differ from the stored ones.

    Returns the manifest, whose new version makes every process that has the database open read the
    options again.
    """
    environment = writer.store.environment
    if not contents.replace_open(environment, writer.transaction, options):
        return manifest
    return replace(manifest, options_version=manifest.options_version + 1)


def renumber_metadata(writer: Writer, found: Iterator[tuple[int, bytes]], kept: U32) -> None:
    """Store the metadata in `found` of the documents `kept`, under their new ordinals."""
    while group := list(islice(found, METADATA_GROUP)):
        ordinals = np.array([ordinal for ordinal, _ in group], np.uint32)
        places = np.searchsorted(kept, ordinals)
        entries = [
            (int(place), packed)
            for place, (ordinal, packed) in zip(places, group, strict=True)
            if place < len(kept) and kept[place] == ordinal
        ]
        writer.put_all(layout.METADATA, metadata.encode_blocks(entries))


def put_times(writer: Writer, times: U32) -> None:
    """Replace the stored times by `times`, one for each ordinal."""
    writer.clear(layout.TIMES)
    writer.put_all(layout.TIMES, metadata.whole_times(times))


def put_codes(writer: Writer, manifest: Manifest, codes: U64) -> Manifest:
    """Replace the stored codes of fields by `codes` of each ordinal; return the manifest."""
    writer.clear(layout.FIELDS)
    writer.put_all(layout.FIELDS, whole_codes(codes))
    return replace(manifest, fields_version=manifest.fields_version + 1)


def file_bytes(store: Store) -> int:
    """Return the size of the data file in bytes."""
    return store.environment.presence.data_bytes


def _copy_into(store: Store, directory: str) -> int:
    path = os.path.join(directory, DATA_FILE)
    _copy_to(store, path)
    return os.path.getsize(path)


def _copy_to(store: Store, path: str) -> None:
    """Make the data file of a copy, marked as a copy, and the IDF table next to it."""
    store.environment.copy_to(path)
    following.note_new_copy(path)
    copy_idf(store, os.path.dirname(path))


def _follow(store: Store, earlier: Store) -> int:
    """Bring a copy up to date; return the bytes of the values that it lacked."""
    with earlier.begin_write() as right, store.state() as state:
        source, environment = state.source, earlier.environment
        options = contents.with_stored(store.environment, source.transaction, store.options)
        names, stored = (set(contents.all_names(each)) for each in (options, earlier.options))
        with earlier.source() as old:
            following.check_follows(source, old)
            found = list(following.changes(source, names, old, stored))
        if not found:
            return 0
        size = sum(len(value) for _, _, value in found if value is not None)
        whole = min(file_bytes(store) // 2, memory_bytes() * MEMORY_PERCENT // 100)
        is_much = size > max(whole, AT_ONCE_BYTES) or not names <= stored
        if is_much and not replaced(earlier, right, partial(_copy_to, store)):
            return file_bytes(earlier)
        copy_idf(store, environment.path)  # before the options that name it
        contents.make_room_for(environment, options)
        earlier.with_room(lambda: write(earlier, partial(_put_changes, found)), right, size)
        return size


def _put_changes(changes: list[following.Change], writer: Writer) -> None:
    environment = writer.store.environment
    environment.watch.walk()  # LMDB frees the pages of the values that are replaced
    for name, key, value in changes:
        writer.put_all(name, [(key, value)])
    handles = (environment.subdatabase(name) for name in (layout.META, layout.MANIFEST))
    following.note_copy(writer.transaction, *handles)


def _rewrite(store: Store, threads: int) -> None:
    """Write everything without gaps, if there are any; `MapFull` if the map has no space for it."""
    with store.state() as state:
        source = state.source
        base = store.contents(source)
        options = settled(store.options)
        columns = by_ordinal.columns_of(options)
        is_whole = not any(column.is_scattered(source) for column in columns)
        if is_whole and _is_compact(base) and options == store.options:
            return
        contents.make_room_for(store.environment, options)
        ahead = Ahead(store, base.manifest, None)
        try:
            if options == store.options and base.manifest.next_ordinal >= policy.AHEAD_LEAST:
                count = len(list(_pieces(base)))
                if count:
                    number = ahead.begin(count)
                    rows = _merge_runs(ahead.store, base, source, number, ahead.put, threads)
                    ahead.flush()
                    _check_ahead(ahead.store, rows)
                    ahead.rows = rows
            _write_passages_ahead(ahead, base, source)
            write(store, lambda writer: _write_all(ahead, writer, options, base, source, threads))
        except MapFull:
            raise
        except BaseException:
            ahead.abandon()
            raise


def _is_compact(base: Contents) -> bool:
    """Return whether compaction would remove nothing and make the same runs."""
    if len(base.delta.batch) or base.manifest.deleted_count or len(base.manifest.passages) > 1:
        return False
    if base.manifest.unfinished is not None or base.manifest.ahead or base.manifest.passages_ahead:
        return False
    longest = policy.compacted_most(memory_bytes())
    return all(len(run.info) >= longest for run in base.runs[:-1])


def _write_all(
    ahead: Ahead, writer: Writer, options: Options, base: Contents, source: Source, threads: int
) -> None:
    store = writer.store
    store.environment.watch.walk()
    manifest = ahead.finish(writer)
    if not manifest.next_run and not manifest.next_ordinal:
        # Nothing was ever inserted, so it must stay possible to set an IDF table.
        writer.put_manifest(store_open(writer, manifest, options))
        return
    count = live_count(base.dead, manifest.next_ordinal)
    rows = ahead.rows
    if count and not rows:
        if options == store.options:
            rows = _merge_runs(store, base, source, manifest.next_run, writer.put, threads)
        else:
            rows = [_make_tables(writer, options, base, source, manifest.next_run, threads)]
    for run in base.runs:
        drop_run(writer, run)
    commit.drop_unfinished(writer, manifest.unfinished)
    writer.clear(layout.DELTA)
    writer.clear(layout.DELETED)
    rewritten = commit.rewrite_passages(
        ahead, writer, base.manifest.passages, source, renumbering(_kept(base)), count
    )
    if next(source.every(layout.METADATA), None) is not None:
        writer.clear(layout.METADATA)
        renumber_metadata(writer, metadata.read_all(source), _kept(base))
    for column in by_ordinal.columns_of(store.options):
        if base.manifest.deleted_count or column.is_scattered(source):
            blocks = column.renumbered(column.blocks(source), _kept(base), threads)
            writer.clear(column.name)
            writer.put_all(column.name, blocks)
    if store.options.keeps_times:
        times = metadata.read_times(source.every(layout.TIMES), manifest.next_ordinal)
        put_times(writer, times[_kept(base)])
    if store.options.fields:
        codes = store.field_codes(base.manifest).read(source, manifest.next_ordinal)
        manifest = put_codes(writer, manifest, codes[_kept(base)])
    if store.options.keeps_clusters:
        manifest = _renumber_clusters(writer, source, _kept(base), manifest)
    # Last, since nothing may change what was written before it is committed.
    written = writer.source()
    if ahead.rows:
        merges.check_written(
            each
            for row in rows
            for each in merges.column_differences(Run(row), written, [layout.STATE])
        )
    else:
        merges.check_written(merges.differences(rows, written, table_names(options)))
    manifest = manifest.renumbered(tuple(rows), count).with_passages(rewritten)
    if base.calibration is not None:
        covered = live_count(base.dead, covered_of(base.calibration, base.manifest))
        manifest = writer.put_calibration(manifest, covering(base.calibration, covered))
    writer.put_manifest(store_open(writer, manifest, options))


def _pieces(base: Contents) -> Iterator[rewriting.Piece]:
    """Yield the documents of each new run."""
    longest = policy.compacted_most(memory_bytes())
    return rewriting.pieces_of(base.dead, base.manifest.next_ordinal, longest)


def _write_passages_ahead(ahead: Ahead, base: Contents, source: Source) -> None:
    """Write the passages in commits of their own, if they are too many for one."""
    stored = Passages.stored(base.manifest.passages)
    if stored.entry_count >= commit.AHEAD_ENTRIES:
        kept = _kept(base)
        change = renumbering(kept)
        ahead.passages = commit.write_passages_ahead(ahead, stored, (0, len(kept)), source, change)


def _check_ahead(store: Store, rows: Sequence[RunInfo]) -> None:
    """Raise CorruptError unless runs written ahead, except their states, are stored as written.

    They are read through the map of the file, so that they do not stay in memory.  The states are
    written later.
    """
    columns = [column for column in layout.COLUMN_KINDS if column != layout.STATE]
    with store.source() as source:
        for row in rows:
            merges.check_written(
                merges.table_differences(Run(row), source, table_names(store.options))
            )
            merges.check_written(merges.column_differences(Run(row), source, columns))


def _merge_runs(
    store: Store, base: Contents, source: Source, number: int, put: Put, threads: int
) -> list[RunInfo]:
    """Write all live documents as runs, numbered starting at `number`."""
    runs = list(base.runs)
    if len(base.delta.batch):
        runs.append(rewriting.seal(base.delta, store.keying, store.options.header_offset, threads))
    rows: list[RunInfo] = []
    for piece in _pieces(base):
        inside = [run for run in runs if run.info.start < piece.stop]
        rows.append(
            rewriting.write_run(
                [run for run in inside if run.info.stop > piece.start],
                number + len(rows),
                put,
                source,
                table_names=table_names(store.options),
                dead=base.dead,
                piece=piece,
                threads=threads,
            )
        )
    return rows


def _make_tables(
    writer: Writer, options: Options, base: Contents, source: Source, number: int, threads: int
) -> RunInfo:
    """Write one run with the tables of `options`, which the runs partly lack."""
    segments = [
        run.segment(number, source) for run in base.runs for number in range(run.segment_count)
    ]
    if len(base.delta.batch):
        segments.append(as_segment(base.delta.start, base.delta.batch))
    info, _ = rewriting.write_one_run(
        segments, _kept(base), number, writer.put, keying=kind_of(options).keying,
        offset=options.header_offset, id_key=base.manifest.id_key, threads=threads,
    )  # fmt: skip
    return info


def _kept(base: Contents) -> U32:
    """Return the ordinals of all documents that are not deleted."""
    return live_ordinals(base.dead, 0, base.manifest.next_ordinal)


def _renumber_clusters(writer: Writer, source: Source, kept: U32, manifest: Manifest) -> Manifest:
    """Store the clusters of the documents `kept` under new ordinals, numbered from 1."""
    membership = Membership(source)
    numbers, following = (each[kept] for each in membership.whole(manifest.next_ordinal))
    is_member = numbers > 0
    named, which = np.unique(numbers[is_member], return_inverse=True)
    numbers[is_member] = which + 1
    following[is_member] = np.searchsorted(kept, following[is_member])
    membership.replace(numbers, following)
    write_clusters(writer, membership)
    return replace(manifest, last_cluster=len(named))
