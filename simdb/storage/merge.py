"""Merging: joins several neighbouring runs into one, table by table and segment by segment.

Merging a table of millions of entries takes a while, so its time is spread over several commits.
Tables are merged in pairs, window by window, in ranges of keys.  Columns by ordinal are joined in
segments that are counted from the first ordinal of all runs.

A large merge takes several commits, in steps that write a few values each.  The manifest names the
new run as unfinished; until the last step, only the merge reads its values.  Then the new run
becomes live and the merged runs end.  If the process is killed, the next commit continues the
merge.

The order of the steps is fixed.  First, for the table of ids and then for each table of keys: its
ordinals, its keys, and its directory.  Then, for each segment: all columns except states and
vectors, and then the vectors.  Last, the states of all segments.  So a run without states is known
to be unfinished even if the manifest is lost.  The first step decides which documents leave the
tables: those deleted at that time.  Later steps learn this from the ordinals that it wrote.

The manifest has a checksum of the entries of each table, independent of their order.  So a merge
can verify what it read before it stores a value, and a check reads a table only once.
"""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import flags_at, offsets_of
from simdb.core.dtypes import I64, U32, Array
from simdb.core.errors import CorruptError, FormatError
from simdb.core.threads import run_all
from simdb.storage import codec, file_map, layout
from simdb.storage.delta import stored_offsets
from simdb.storage.environment import Source
from simdb.storage.manifest import RunInfo, Unfinished
from simdb.storage.run import Run, Segment, put_segment
from simdb.storage.table import (
    NO_ENTRIES,
    Entries,
    Put,
    Table,
    directory_bits,
    encoded_part,
    ends_with,
    entry_count,
    joint,
    make_table,
    stored_column,
    stored_kinds,
    sums_of,
    table_with_room,
    with_entries,
)
from simdb.storage.tombstones import Bitmap, live_ordinals, with_room

# Bytes of a column that a thread copies at a time; fewer are not worth a thread.
COPIED_BYTES = 1 << 21
# Entries of all tables in a range of keys, few enough to remain in the cache from pair to pair.
RANGE_ENTRIES = 1 << 16


REMEDY = "build the tables again from the stored columns: rebuild(), simdb rebuild"
# The columns of a table, or of segments, that one step writes.
TABLE_GROUPS = ((layout.ORDINALS,), (layout.KEYS,), (layout.DIRECTORY,))
DOCUMENT_COLUMNS = (layout.FINGERPRINT, layout.OFFSET, layout.ID)
VECTORS, STATES = (layout.VECTOR,), (layout.STATE,)
# The approximate bytes of a document that each step writes.  A table is merged before its ordinals
# are written.
COSTS = {
    (layout.ORDINALS,): 16, (layout.KEYS,): 8, (layout.DIRECTORY,): 4,
    DOCUMENT_COLUMNS: 32, VECTORS: 64, STATES: 1,
}  # fmt: skip
# The entries of a table that take about 10-30 ms to merge.
WINDOW_ENTRIES = 1 << 21
# The bytes of columns that take about the same time to copy.
WINDOW_BYTES = 1 << 24


def merge_tables(tables: Sequence[Table], *, threads: int = 1) -> Table:
    """Merge all `tables` into one sorted table without a directory.

    Entries with equal keys keep the order of their tables.  A single table with whole keys is
    returned unchanged.
    """
    if len(tables) == 1 and tables[0].gathered is None:
        return tables[0]
    merged = table_with_room(sum(len(table.keys) for table in tables))
    bounds = _ranges(tables)
    starts = bounds.sum(axis=0)

    def merge(at: int) -> None:
        parts = [
            Table(table.keys[start:stop], table.ordinals[start:stop])
            for table, start, stop in zip(tables, bounds[:, at], bounds[:, at + 1], strict=True)
            if start < stop
        ]
        inside = slice(starts[at], starts[at + 1])
        _merge_range(parts, merged.keys[inside], merged.ordinals[inside])

    run_all(merge, range(bounds.shape[1] - 1), threads)
    return merged


def _ranges(tables: Sequence[Table]) -> I64:
    """Return the cuts of each table into ranges of the same keys: int64[t, r + 1].

    A range has about `RANGE_ENTRIES` entries of all tables.
    """
    lengths = [len(table.keys) for table in tables]
    longest = tables[int(np.argmax(lengths))].keys
    count = sum(lengths) // RANGE_ENTRIES + 1
    cuts = longest[np.arange(1, count) * len(longest) // count]
    bounds = np.zeros((len(tables), count + 1), np.int64)
    for own, table, length in zip(bounds, tables, lengths, strict=True):
        own[1:-1], own[-1] = table.places_of(cuts, "left"), length
    # Even if damage has put keys out of order, no range may end before it begins.
    return np.maximum.accumulate(bounds, axis=1)


def _merge_range(parts: list[Table], keys: Array, ordinals: Array) -> None:
    """Merge tables with entries into arrays, always the neighbours that cost least."""
    while len(parts) > 2:
        sizes = [len(part.keys) for part in parts]
        at = min(range(len(parts) - 1), key=lambda at: sizes[at] + sizes[at + 1])
        merged = table_with_room(sizes[at] + sizes[at + 1])
        kernel.merge(*parts[at][:2], *parts[at + 1][:2], *merged[:2])
        parts[at : at + 2] = [merged]
    if len(parts) == 2:
        kernel.merge(*parts[0][:2], *parts[1][:2], keys, ordinals)
    elif parts:
        keys[:], ordinals[:] = parts[0].keys, parts[0].ordinals


def stored_columns(has_vectors: bool) -> list[int]:
    """Return the columns that a run stores; vectors only if some documents have weights.

    Without stored vectors a run returns zeros, which take longer to copy than all other columns.
    """
    return [column for column in layout.COLUMN_KINDS if has_vectors or column != layout.VECTOR]


def aligned_segments(
    runs: Sequence[Run], source: Source, columns: Sequence[int], threads: int
) -> Iterator[Segment]:
    """Yield the documents of `runs` in segments counted from the first ordinal of all runs."""
    length = runs[-1].info.stop - runs[0].info.start
    for at in range(-(-length // layout.SEGMENT_ORDINALS)):
        parts = aligned_parts(runs, source, columns, at)
        yield joined(parts, segment_start(runs, at), threads)


def aligned_parts(
    runs: Sequence[Run], source: Source, columns: Sequence[int], at: int
) -> list[Segment]:
    """Return the parts of stored segments that form segment `at`."""
    first = segment_start(runs, at)
    last = min(first + layout.SEGMENT_ORDINALS, runs[-1].info.stop)
    return list(slices(runs, source, columns, first, last))


def segment_start(runs: Sequence[Run], at: int) -> int:
    """Return the first ordinal of segment `at`, counted from the first ordinal of all `runs`."""
    return runs[0].info.start + at * layout.SEGMENT_ORDINALS


def taken(part: Segment, chosen: U32) -> Segment:
    """Return a segment with only the documents at the ascending positions `chosen`."""
    if len(chosen) == len(part):
        return part
    offsets = part.columns[layout.OFFSET]
    lengths = offsets[1:].astype(np.int64) - offsets[:-1]
    is_kept = flags_at(chosen, len(part))
    columns = {
        column: array[np.repeat(is_kept, lengths)] if column == layout.ID else array[chosen]
        for column, array in part.columns.items()
        if column != layout.OFFSET
    }
    starts = stored_offsets(offsets_of(lengths[chosen]), f"the ids of {len(chosen)} documents")
    return Segment(part.start, {**columns, layout.OFFSET: starts})


def joined(parts: Sequence[Segment], start: int, threads: int = 1) -> Segment:
    """Join consecutive parts with the same columns into one segment.

    `threads`: number of threads that copy the columns.
    """
    merge = SegmentMerge(start)
    merge.advance(parts, threads=threads)
    return merge.merged


def without(table: Table, dead: Bitmap) -> Table:
    """Return the entries of a table that are not deleted."""
    keys, ordinals = np.empty_like(table.keys), np.empty_like(table.ordinals)
    count = kernel.keep(table.keys, table.ordinals, dead, keys, ordinals)
    return Table(keys[:count], ordinals[:count])


def slices(
    runs: Sequence[Run], source: Source, columns: Sequence[int], start: int, stop: int
) -> Iterator[Segment]:
    """Yield the parts of stored segments that cover the ordinals start .. stop."""
    for run in runs:
        for number in range(run.segment_count):
            first, last = run.segment_range(number)
            low, high = max(start, first), min(stop, last)
            if low < high:
                yield run.segment(number, source, columns).part(low - first, high - first)


class SegmentMerge:
    """A segment that is being copied from consecutive parts with the same columns.

    `merged`: the segment, once it is complete.
    """

    def __init__(self, start: int) -> None:
        """Start without documents; `start` is the first ordinal of the segment."""
        self.merged = Segment(start, {})
        self._copied = 0
        self._is_complete = False

    def advance(self, parts: Sequence[Segment], most: int = sys.maxsize, threads: int = 1) -> int:
        """Copy about `most` more bytes of `parts`; return the unused rest of `most`.

        Each call gets the same parts, but they may have moved in memory.  `threads`: number of
        threads that copy.
        """
        if self._is_complete:
            return most
        copies = list(self._copies(parts))
        due = copies[self._copied : self._copied + max(most // COPIED_BYTES, 1)]
        run_all(lambda pair: np.copyto(*pair), due, threads)
        self._copied += len(due)
        self._is_complete = self._copied == len(copies)
        if self._is_complete and layout.OFFSET in parts[0].columns:
            offsets = [part.columns[layout.OFFSET] for part in parts]
            self.merged.columns[layout.OFFSET] = _joined_offsets(offsets)
        return most - COPIED_BYTES * len(due)

    def _copies(self, parts: Sequence[Segment]) -> Iterator[tuple[Array, Array]]:
        """Yield pairs of destination and source arrays, about `COPIED_BYTES` each."""
        columns = self.merged.columns
        for column, first in parts[0].columns.items():
            if column == layout.OFFSET:
                continue
            arrays = [part.columns[column] for part in parts]
            if column not in columns:
                count = sum(map(len, arrays))
                columns[column] = codec.allocate(first.dtype, (count, *first.shape[1:]))
            free = columns[column]
            for array in arrays:
                rows = max(COPIED_BYTES * len(array) // max(array.nbytes, 1), 1)
                for start in range(0, len(array), rows):
                    some = slice(start, min(start + rows, len(array)))
                    yield free[some], array[some]
                free = free[len(array) :]


def _joined_offsets(parts: Sequence[U32]) -> U32:
    """Join the offsets of the ids of parts, each from 0; FullError like `stored_offsets`."""
    starts = offsets_of([int(part[-1]) for part in parts])
    count = sum(map(len, parts)) - len(parts)
    narrow = stored_offsets(starts, f"the ids of {count} documents")
    moved = (part[1:] + start for part, start in zip(parts, narrow, strict=False))
    return np.concatenate([np.zeros(1, np.uint32), *moved])


class TableMerge:
    """A table of several runs that is being merged.

    `merged`: the table, once it is complete, without a directory.  `read`: the entries read.
    `kept`: the entries read and not dropped.  `written`: the entries of `merged`.
    """

    def __init__(self, lengths: Sequence[int], count: int | None = None) -> None:
        """Allocate memory for tables of these lengths.

        `count`: the number of entries expected to remain; it saves memory if many are dropped.
        """
        self._lengths = lengths
        self._positions = [0] * len(lengths)
        self.merged = table_with_room(sum(lengths) if count is None else count)
        self._count = 0
        self.read = self.kept = self.written = NO_ENTRIES

    @property
    def is_complete(self) -> bool:
        """Whether all entries are merged."""
        return self._positions == list(self._lengths)

    def advance(
        self, tables: Sequence[Table], source: Source, dead: Bitmap | None, most: int
    ) -> None:
        """Merge about `most` more live entries of `tables`, or all if fewer are left.

        Each call gets the same tables and tombstones `dead`, but they may have moved in memory.
        `source` sees the tables.
        """
        stops = self._stops(tables, most)
        inside = [slice(*bounds) for bounds in zip(self._positions, stops, strict=True)]
        windows = list(zip(tables, inside, strict=True))
        # Keys are gathered in random order from the columns, so read the columns sequentially
        # first.
        read = [each for table, part in windows for each in table.stored(part)]
        if not any(self._positions):
            gathered = (known for table in tables if (known := table.gathered) is not None)
            read += [each for known in gathered for each in known.segments]
        for array in read:
            pages = source.pages_of(array)
            if pages is not None:
                file_map.fetch(pages)
        parts = [Table(table.keys[part], table.ordinals[part]) for table, part in windows]
        if dead is not None:
            self.read = joint([self.read, *(part.entries for part in parts)])
            parts = [without(part, dead) for part in parts]
            self.kept = joint([self.kept, *(part.entries for part in parts)])
        count = sum(len(part.keys) for part in parts)
        if self._count + count > len(self.merged.keys):
            self._reserve(self._count + count)
        free = slice(self._count, self._count + count)
        keys, ordinals, _ = self.merged
        room = Table(keys[free], ordinals[free])
        _merge_range([part for part in parts if len(part.keys)], room.keys, room.ordinals)
        self.written = joint([self.written, room.entries])
        if dead is None:
            self.read = self.kept = self.written
        self._positions = stops
        self._count += count
        if self.is_complete and self._count < len(keys):
            self._reserve(self._count)

    def drop(self, column: int) -> None:
        """Drop one column of the complete table."""
        nothing = np.empty(0, self.merged[column].dtype)
        self.merged = self.merged._replace(**{Table._fields[column]: nothing})

    def _reserve(self, count: int) -> None:
        """Move the merged entries to a table with room for `count` entries."""
        keys, ordinals, _ = self.merged
        self.merged = table_with_room(count)
        self.merged.keys[: self._count] = keys[: self._count]
        self.merged.ordinals[: self._count] = ordinals[: self._count]

    def _stops(self, tables: Sequence[Table], most: int) -> list[int]:
        """Return the end of the next window in each table; it has all entries up to some key."""
        left = [
            length - start for length, start in zip(self._lengths, self._positions, strict=True)
        ]
        if sum(left) <= most:
            return list(self._lengths)
        longest = int(np.argmax(left))
        last = self._positions[longest] + left[longest] * most // sum(left)
        key = tables[longest].keys[last : last + 1]
        stops = [
            max(int(table.places_of(key, "right")[0]), start)
            for table, start in zip(tables, self._positions, strict=True)
        ]
        # Even if damage has put keys out of order, the window must advance.
        stops[longest] = max(stops[longest], last + 1)
        return stops


def written_entries(
    runs: Sequence[Run], name: bytes, source: Source, table_names: Sequence[bytes]
) -> Entries:
    """Return the entries of a table of all `runs` as they were written.

    A run of an older version has no sums; then the stored entries count if their checksums are
    right, otherwise CorruptError.  `table_names`: all tables of keys.
    """
    return joint(_written(run, name, source, table_names) for run in runs)


def check_merge(runs: Sequence[Run], name: bytes, merge: TableMerge, written: Entries) -> None:
    """Raise CorruptError unless a complete merge has read the entries `written` to a table.

    Apart from dropped entries, the merge must also have written what it read.
    """
    check_read(runs, name, merge.read, written)
    if merge.kept != merge.written:
        raise CorruptError(
            f"{entries_in(runs, name)} changed when they were merged: {merge.kept.length}"
            f" became {merge.written.length}; nothing was changed, try again"
        )


def check_read(runs: Sequence[Run], name: bytes, read: Entries, written: Entries) -> None:
    """Raise CorruptError unless the entries `read` equal the entries `written`."""
    if read != written:
        raise CorruptError(f"{entries_in(runs, name)} are not what was written; {REMEDY}")


def entries_in(runs: Sequence[Run], name: bytes) -> str:
    """Return a name for the entries of one table in some runs, for messages."""
    first, last = runs[0].info.number, runs[-1].info.number
    return f"the entries of {name.decode()} in the runs {first} to {last}"


def check_written(found: Iterable[tuple[bytes, str]]) -> None:
    """Raise CorruptError for the first difference between written and stored values."""
    for name, problem in found:
        raise CorruptError(
            f"{name.decode()} was not stored as it was written: {problem}; nothing was changed, try"
            " again, and if it happens again, on another disk"
        )


def differences(
    rows: Iterable[RunInfo], source: Source, table_names: Sequence[bytes]
) -> Iterator[tuple[bytes, str]]:
    """Yield a sub-database and a message for each value of runs that is not as written.

    Every byte of the runs is read once.
    """
    for row in rows:
        yield from table_differences(Run(row), source, table_names)
        yield from column_differences(Run(row), source, layout.COLUMN_KINDS)


def table_differences(
    run: Run, source: Source, table_names: Sequence[bytes]
) -> Iterator[tuple[bytes, str]]:
    """Yield the `differences` of the tables of a run."""
    known = sums_of(run.info, table_names)
    for name in (layout.IDS, *table_names):
        try:
            if name not in known:
                run.verify_table(name, source)
                continue
            table = run.named_table(name, source)
            tags = () if table.gathered is None else (layout.KEYS,)
            run.verify_table(name, source, (*tags, layout.DIRECTORY))
            if table.entries.checksum != known[name]:
                number = run.info.number
                yield name, f"the entries of run {number} are not what was written"
        except (CorruptError, FormatError) as error:
            yield name, str(error)
        run.give_back()


def column_differences(
    run: Run, source: Source, columns: Collection[int]
) -> Iterator[tuple[bytes, str]]:
    """Yield the `differences` of some columns by ordinal of a run."""
    for number in range(run.segment_count):
        for column in columns:
            try:
                run.verify_column(column, number, source)
            except (CorruptError, FormatError) as error:
                yield layout.column_name(column), str(error)
        run.give_back()


def _written(run: Run, name: bytes, source: Source, table_names: Sequence[bytes]) -> Entries:
    known = sums_of(run.info, table_names)
    table = run.keyed_table(name, source)
    if name in known:
        return Entries(len(table.keys), known[name])
    if run.info.number >= 0:  # not in memory
        run.verify_table(name, source)
    return table.entries


class MergedValues(NamedTuple):
    """The values of a step: `columns` of a table, or of `segments` if `table` is None.

    `table`: the name of its sub-database.  `cost`: the approximate bytes written.  `is_row`: the
    ids form a row, and the step only decides which documents leave the tables.
    """

    columns: Sequence[int]
    table: bytes | None
    segments: Sequence[int]
    cost: int
    is_row: bool = False


ROW_STEP = MergedValues((layout.ORDINALS,), layout.IDS, (), 0, is_row=True)


def steps_of(run: RunInfo, table_names: Sequence[bytes]) -> Sequence[MergedValues]:
    """Return the steps that write a run; `table_names`: the tables of keys."""
    names = tuple(table_names) if run.ids else (layout.IDS, *table_names)
    steps = _steps(len(run), run.weighted_count > 0, names, has_id_keys=run.ids is None)
    return (ROW_STEP, *steps) if run.ids else steps


def written_keys(merge: Unfinished, table_names: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield sub-database and key of every value that an unfinished merge has written.

    Cross-polytope tables without entries have no values.
    """
    number = merge.run.number
    for step in steps_of(merge.run, table_names)[: merge.done]:
        if step.table and not stored_kinds(merge.run, step.table):
            continue
        for column in step.columns:
            if step.table is not None:
                yield step.table, layout.table_key(number, column)
            for segment in step.segments:
                yield layout.column_name(column), layout.segment_key(number, column, segment)


class MergedRuns(NamedTuple):
    """The runs that a step merges, seen by `source`; `dead`: the present tombstones."""

    runs: Sequence[Run]
    source: Source
    dead: Bitmap | None


class Merging:
    """The state that a process keeps in memory between the steps of an unfinished merge.

    Stored values can replace all of it.  It is useful only if no other process has committed in
    between.
    """

    def __init__(self, number: int, table_names: Sequence[bytes]) -> None:
        """Start without steps; the merge writes run `number` with these tables of keys."""
        self.number = number
        self._table_names = table_names
        self._step: MergedValues | None = None
        self._segments: list[SegmentMerge] = []
        self._table: bytes | None = None
        self._merge: TableMerge | None = None
        self._written: set[int] = set()  # columns of the table that are no longer in memory
        self._left_out: Bitmap | None = None

    def write(self, step: MergedValues, run: RunInfo, merged: MergedRuns, put: Put) -> RunInfo:
        """Carry out one step of merging into `run`; return its row with the known counts.

        The source sees the earlier steps, unless this object has carried them out.
        """
        runs, source, dead = merged
        if step.is_row:
            self._left_out = None if dead is None else dead.copy()
            return put_left_out(run, dead, put)
        if step.table is None:
            self.note(step, runs)
            self._copy(step, merged)
            for number, each in zip(step.segments, self._segments, strict=True):
                put_segment(
                    run.number, number, each.merged, put,
                    has_vectors=True, may_be_even=source.keying.has_header_table,
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
                f"{entries_in(runs, step.table)} are not the entries of earlier steps; {REMEDY}"
            )
        self._written.update(step.columns)
        for column in step.columns:
            array = stored_column(step.table, column, self._merge.merged, source.keying)
            # Free the column, since LMDB and the system need the same memory until the commit ends.
            self._merge.drop(column)
            if stored_kinds(run, step.table):
                put(*encoded_part(step.table, run.number, column, array))
        return run

    def note(self, step: MergedValues, runs: Sequence[Run]) -> bool:
        """Record the step that comes next; return whether it was recorded before."""
        if step.is_row:
            return True
        if step.table is not None:
            return not self._take(step, runs)
        is_known = self._step == step
        if not is_known:
            self._step = step
            self._segments = [SegmentMerge(segment_start(runs, at)) for at in step.segments]
        return is_known

    def prepare(self, step: MergedValues, run: RunInfo, merged: MergedRuns) -> None:
        """Copy or merge one more window of the data that the next step writes.

        The first call for a step only records it: if each process commits once, more work would be
        wasted.
        """
        if not self.note(step, merged.runs) or step.is_row:
            return
        if step.table is not None:
            self._advance(step, run, merged, most=WINDOW_ENTRIES)
        else:
            self._copy(step, merged, most=WINDOW_BYTES)

    def _take(self, step: MergedValues, runs: Sequence[Run]) -> bool:
        """Make the table of a step the one being merged; return whether it starts now.

        It starts again if data that the step writes are no longer in memory.
        """
        assert step.table is not None
        if self._table == step.table and self._written.isdisjoint(step.columns):
            return False
        lengths = [entry_count(each.info, step.table) for each in runs]
        self._table, self._merge, self._written = step.table, TableMerge(lengths), set()
        return True

    def _copy(self, step: MergedValues, merged: MergedRuns, *, most: int = sys.maxsize) -> None:
        """Copy about `most` more bytes of the segments that a step writes."""
        runs, source, _ = merged
        for at, each in zip(step.segments, self._segments, strict=True):
            if most > 0:
                most = each.advance(aligned_parts(runs, source, step.columns, at), most)

    def _advance(self, step: MergedValues, run: RunInfo, merged: MergedRuns, *, most: int) -> None:
        """Merge at most `most` more entries of the table being merged.

        Its directory is built after its ordinals, which are then no longer in memory.
        """
        runs, source, dead = merged
        assert self._merge is not None
        assert step.table is not None
        is_first = layout.ORDINALS in step.columns
        if not self._merge.is_complete:
            is_decided = step.table == layout.IDS and is_first
            left_out = dead if is_decided else self._find_left_out(run, source)
            tables = [each.keyed_table(step.table, source) for each in runs]
            self._merge.advance(tables, source, left_out, most)
        keys, ordinals, directory = self._merge.merged
        if self._merge.is_complete and not is_first and not len(directory):
            bits = directory_bits(step.table, len(keys), source.header_offset)
            self._merge.merged = make_table(keys, ordinals, bits, is_sorted=True)

    def _find_left_out(self, run: RunInfo, source: Source) -> Bitmap | None:
        """Return tombstones of the documents that the table of ids dropped; None for none."""
        if run.id_count == len(run):
            return None
        if self._left_out is None:
            self._left_out = _stored_left_out(run, source)
        return self._left_out


@lru_cache(maxsize=8)  # every commit needs the steps of the unfinished merge
def _steps(
    length: int, has_vectors: bool, table_names: tuple[bytes, ...], *, has_id_keys: bool
) -> tuple[MergedValues, ...]:
    steps = [
        MergedValues(columns, name, (), COSTS[columns] * length)
        for name in table_names
        for columns in TABLE_GROUPS
        if has_id_keys or name != layout.IDS or layout.KEYS not in columns
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
    """Return a bitmap of the ordinals of `run` that are not `kept`, with a bit for each ordinal."""
    is_out = flags_at(slice(run.start, run.stop), -(-run.stop // 8) * 8)
    is_out[kept] = False
    return np.packbits(is_out, bitorder="little")


def put_left_out(run: RunInfo, dead: Bitmap | None, put: Put) -> RunInfo:
    """Store the documents dropped from the tables of a run whose ids form a row; return its row."""
    bits, kept = with_room(dead, run.stop), live_ordinals(dead, run.start, run.stop)
    if bits is not None and len(kept) < len(run):
        key = layout.table_key(run.number, layout.ORDINALS)
        part = bits[run.start >> 3 : -(-run.stop // 8)]
        put(layout.IDS, key, codec.encode_array(layout.DELETED_KIND, key, part))
    return replace(run, id_count=len(kept))


def _stored_left_out(run: RunInfo, source: Source) -> Bitmap | None:
    """Return tombstones of what an unfinished run drops; raise CorruptError for damage."""
    if run.ids:
        return Run(run).left_out(source)
    key, kind = layout.table_key(run.number, layout.ORDINALS), layout.TABLE_KINDS[layout.ORDINALS]
    kept: U32 = source.fetch(layout.IDS, kind, key, "<u4")
    if len(kept) != run.id_count or ((kept < run.start) | (kept >= run.stop)).any():
        raise CorruptError(
            f"the unfinished run {run.number} has {len(kept)} ordinals of ids that do not fit its"
            f" {run.id_count} documents {run.start}..{run.stop}"
        )
    return _others(run, kept)
