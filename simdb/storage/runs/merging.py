"""Merging over several commits: the steps of a large merge, each of which writes a few values.

The new run is written value by value under its number, which the manifest names as unfinished, and
its values are read by nothing but the merge.  With the last step it becomes live and the merged
runs end.  A process that is killed leaves a merge that the next commit carries on.

The steps, in this order: for the table of ids and then for each table of keys, its ordinals, its
keys, and its directory; for each segment, all columns but the states and the vectors, and the
vectors; the states of all segments.  So a run without states is known to be unfinished even if the
manifest is lost.  The first step decides which documents leave the tables: those that are deleted
by then.  Later steps read that from the ordinals that it wrote.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simdb.core.dtypes import U32
from simdb.core.errors import CorruptError
from simdb.storage import layout
from simdb.storage.records.manifest import RunInfo, Unfinished
from simdb.storage.records.tombstones import Bitmap
from simdb.storage.runs.merge import SegmentMerge, TableMerge, aligned_parts, segment_start
from simdb.storage.runs.run import Run, put_segment
from simdb.storage.runs.source import Source
from simdb.storage.runs.sums import REMEDY, check_merge, entries_in, written_entries
from simdb.storage.runs.table import (
    Put,
    directory_bits,
    encoded_part,
    ends_with,
    entry_count,
    is_stored,
    make_table,
    with_entries,
)

# What a step writes: columns of a table, or of segments.
TABLE_GROUPS = ((layout.ORDINALS,), (layout.KEYS,), (layout.DIRECTORY,))
DOCUMENT_COLUMNS = (layout.FINGERPRINT, layout.OFFSET, layout.ID)
VECTORS, STATES = (layout.VECTOR,), (layout.STATE,)
# About how many bytes of a document each step writes; before its ordinals a table is merged.
COSTS = {
    (layout.ORDINALS,): 16, (layout.KEYS,): 8, (layout.DIRECTORY,): 4,
    DOCUMENT_COLUMNS: 32, VECTORS: 64, STATES: 1,
}  # fmt: skip
# The entries of a table that are merged in some 10 to 30 milliseconds.
WINDOW_ENTRIES = 1 << 21
# The bytes of columns that are copied in such a time.
WINDOW_BYTES = 1 << 24


class MergedValues(NamedTuple):
    """The values of one step: `columns` of a table, or of `segments` if `table` is None.

    `table`: the name of its sub-database.  `cost`: about how many bytes are written.
    """

    columns: Sequence[int]
    table: bytes | None
    segments: Sequence[int]
    cost: int


def steps_of(run: RunInfo, table_names: Sequence[bytes]) -> Sequence[MergedValues]:
    """Return the steps that write a run; `table_names`: the tables of keys."""
    names = layout.lean_names(table_names) if run.is_lean else table_names
    return _steps(len(run), run.weighted_count > 0, tuple(names))


def written_keys(merge: Unfinished, table_names: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield sub-database and key of every value that an unfinished merge has written.

    Cross-polytope tables without entries have no values.
    """
    number = merge.run.number
    for step in steps_of(merge.run, table_names)[: merge.done]:
        if step.table and not is_stored(merge.run, step.table):
            continue
        for column in step.columns:
            if step.table is not None:
                yield step.table, layout.table_key(number, column)
            for segment in step.segments:
                yield layout.column_name(column), layout.segment_key(number, column, segment)


class MergedRuns(NamedTuple):
    """The runs that a step merges; `source` sees them, and `dead` is what is deleted now."""

    runs: Sequence[Run]
    source: Source
    dead: Bitmap | None


class Merging:
    """What a process keeps in memory between the steps of an unfinished merge.

    All of it can be made again from what is stored.  It is of use only if no other process has
    committed in between.
    """

    def __init__(self, number: int, table_names: Sequence[bytes]) -> None:
        """Begin with nothing; the merge writes run `number` with these tables of keys."""
        self.number = number
        self._table_names = table_names
        self._step: MergedValues | None = None
        self._segments: list[SegmentMerge] = []
        self._table: bytes | None = None
        self._merge: TableMerge | None = None
        self._written: set[int] = set()  # columns of the table, which are no longer in memory
        self._left_out: Bitmap | None = None

    def write(self, step: MergedValues, run: RunInfo, merged: MergedRuns, put: Put) -> RunInfo:
        """Carry out one step of merging into `run`; returns its row with the known counts.

        The source sees the steps before it, unless this object has carried them out.
        """
        runs, source, _ = merged
        if step.table is None:
            self.note(step, runs)
            self._copy(step, merged)
            for number, each in zip(step.segments, self._segments, strict=True):
                put_segment(
                    run.number, number, each.merged, put,
                    has_vectors=True, may_be_even=source.keying.may_be_lean,
                )  # fmt: skip
            self._step, self._segments = None, []
            return run
        self._take(step, runs)
        self._advance(step, run, merged, most=sum(len(each.info) for each in runs))
        assert self._merge is not None
        entries = self._merge.written
        if layout.ORDINALS in step.columns:
            written = written_entries(runs, step.table, source, self._table_names)
            check_merge(runs, step.table, self._merge, written)
            run = with_entries(run, step.table, entries)
            if step.table == layout.IDS and entries.length < len(run):
                self._left_out = _others(run, self._merge.merged.ordinals)
        elif not ends_with(run, step.table, entries):
            raise CorruptError(
                f"{entries_in(runs, step.table)} are not those of the steps before; {REMEDY}"
            )
        self._written.update(step.columns)
        for column in step.columns:
            # It leaves the memory: until the commit ends, LMDB and the system need as much.
            array = self._merge.take(column)
            if is_stored(run, step.table):
                put(*encoded_part(step.table, run.number, column, array))
        return run

    def note(self, step: MergedValues, runs: Sequence[Run]) -> bool:
        """Take note of the step that comes next; returns whether it was noted before."""
        if step.table is not None:
            return not self._take(step, runs)
        is_known = self._step == step
        if not is_known:
            self._step = step
            self._segments = [SegmentMerge(segment_start(runs, at)) for at in step.segments]
        return is_known

    def prepare(self, step: MergedValues, run: RunInfo, merged: MergedRuns) -> None:
        """Copy or merge one more window of the columns or the table that the next step writes.

        If the step was not noted it only is noted: if each process commits once, more would be in
        vain.
        """
        if not self.note(step, merged.runs):
            return
        if step.table is not None:
            self._advance(step, run, merged, most=WINDOW_ENTRIES)
        else:
            self._copy(step, merged, most=WINDOW_BYTES)

    def _take(self, step: MergedValues, runs: Sequence[Run]) -> bool:
        """Make the table of a step the one that is merged; returns whether it is begun now.

        It is begun again if what the step writes is no longer in memory.
        """
        assert step.table is not None
        if self._table == step.table and self._written.isdisjoint(step.columns):
            return False
        lengths = [entry_count(each.info, step.table) for each in runs]
        self._table, self._merge, self._written = step.table, TableMerge(lengths), set()
        return True

    def _copy(self, step: MergedValues, merged: MergedRuns, *, most: int = sys.maxsize) -> None:
        """Copy at most about `most` more bytes of the segments that a step writes."""
        runs, source, _ = merged
        for at, each in zip(step.segments, self._segments, strict=True):
            if most > 0:
                most = each.advance(aligned_parts(runs, source, step.columns, at), most)

    def _advance(self, step: MergedValues, run: RunInfo, merged: MergedRuns, *, most: int) -> None:
        """Merge at most `most` more entries of the table that was taken.

        After its ordinals, which are no longer in memory then, its directory is made.
        """
        runs, source, dead = merged
        assert self._merge is not None
        assert step.table is not None
        is_first = layout.ORDINALS in step.columns
        if not self._merge.is_complete:
            is_decided = step.table == layout.IDS and is_first
            left_out = dead if is_decided else self._find_left_out(run, source)
            tables = [each.named_table(step.table, source) for each in runs]
            self._merge.advance(tables, source, left_out, most)
        keys, ordinals, directory = self._merge.merged
        if self._merge.is_complete and not is_first and not len(directory):
            bits = directory_bits(step.table, len(keys), source.header_offset)
            self._merge.merged = make_table(keys, ordinals, bits, is_sorted=True)

    def _find_left_out(self, run: RunInfo, source: Source) -> Bitmap | None:
        """Return the tombstones of the documents that the table of ids leaves out; None if none."""
        if run.id_count == len(run):
            return None
        if self._left_out is None:
            self._left_out = _others(run, _stored_kept(run, source))
        return self._left_out


@lru_cache(maxsize=8)  # every commit asks for the steps of the merge that is unfinished
def _steps(
    length: int, has_vectors: bool, table_names: tuple[bytes, ...]
) -> tuple[MergedValues, ...]:
    steps = [
        MergedValues(columns, name, (), COSTS[columns] * length)
        for name in (layout.IDS, *table_names)
        for columns in TABLE_GROUPS
    ]
    groups = [DOCUMENT_COLUMNS, VECTORS] if has_vectors else [DOCUMENT_COLUMNS]
    segments = range(-(-length // layout.SEGMENT_ORDINALS))
    of_segment = min(length, layout.SEGMENT_ORDINALS)
    steps += [
        MergedValues(columns, None, (segment,), COSTS[columns] * of_segment)
        for segment in segments
        for columns in groups
    ]
    return (*steps, MergedValues(STATES, None, segments, COSTS[STATES] * length))


def _others(run: RunInfo, kept: U32) -> Bitmap:
    """Return a bitmap with a bit for each ordinal, set for those of `run` that are not `kept`."""
    is_out = np.zeros(-(-run.stop // 8) * 8, np.bool_)
    is_out[run.start : run.stop] = True
    is_out[kept] = False
    return np.packbits(is_out, bitorder="little")


def _stored_kept(run: RunInfo, source: Source) -> U32:
    """Return the ordinals in the table of ids of an unfinished run; CorruptError."""
    key, kind = layout.table_key(run.number, layout.ORDINALS), layout.TABLE_KINDS[layout.ORDINALS]
    kept: U32 = source.fetch(layout.IDS, kind, key, "<u4")
    if len(kept) != run.id_count or ((kept < run.start) | (kept >= run.stop)).any():
        raise CorruptError(
            f"the unfinished run {run.number} has {len(kept)} ordinals of ids that do not fit its"
            f" {run.id_count} documents {run.start}..{run.stop}"
        )
    return kept
