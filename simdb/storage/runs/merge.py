"""Merging: several neighbouring runs become one, table by table and segment by segment.

Tables are merged pair by pair, and in memory window by window, in ranges of keys: a table of
millions of entries takes a while, and so the time is spread over several commits.  Columns by
ordinal are joined in segments that are counted from the first ordinal of all runs.
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import offsets_of
from simdb.core.dtypes import I64, U32, Array
from simdb.core.threads import mapped
from simdb.storage import codec, layout
from simdb.storage.environment import file_map
from simdb.storage.records.delta import stored_offsets
from simdb.storage.records.tombstones import Bitmap
from simdb.storage.runs.run import Run, Segment
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import (
    NO_ENTRIES,
    Entries,
    Table,
    directory_bits,
    joint,
    make_table,
    run_info,
    table_with_room,
)

# Merging fewer documents would not be worth several threads.
THREADED_DOCUMENTS = 1 << 14
# A thread copies so many bytes of a column at a time; fewer are not worth one.
COPIED_BYTES = 1 << 21
# A range of so many entries is merged at a time: it stays in the cache from pair to pair.
RANGE_ENTRIES = 1 << 16


def merge_tables(tables: Sequence[Table], *, threads: int = 1) -> Table:
    """Merge the entries of all `tables`, sorted, as a table without a directory.

    Equal keys keep the order of their tables.  A single table is returned as it is.
    """
    if len(tables) == 1:
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

    for _ in mapped(merge, range(bounds.shape[1] - 1), threads):
        pass
    return merged


def _ranges(tables: Sequence[Table]) -> I64:
    """Return where each table is cut, so that the same keys are in the same range: int64[t, r + 1].

    A range has about `RANGE_ENTRIES` entries of all tables.
    """
    lengths = [len(table.keys) for table in tables]
    longest = tables[int(np.argmax(lengths))].keys
    count = sum(lengths) // RANGE_ENTRIES + 1
    cuts = longest[np.arange(1, count) * len(longest) // count]
    bounds = np.zeros((len(tables), count + 1), np.int64)
    for own, table, length in zip(bounds, tables, lengths, strict=True):
        own[1:-1], own[-1] = np.searchsorted(table.keys, cuts), length
    # Keys that damage has put out of order must not make a range end before it begins.
    return np.maximum.accumulate(bounds, axis=1)


def _merge_range(parts: list[Table], keys: Array, ordinals: Array) -> None:
    """Merge tables that have entries into arrays, each time the neighbours that cost least."""
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


def merge_in_memory(
    runs: Sequence[Run], source: Source, *, table_names: Sequence[bytes], threads: int = 1
) -> Run:
    """Merge runs that follow each other into one run in memory; nothing is left out."""

    def merge(name: bytes) -> tuple[Entries, Table]:
        merged = merge_tables([run.named_table(name, source) for run in runs])
        bits = directory_bits(name, len(merged.keys), source.header_offset)
        return merged.entries, make_table(merged.keys, merged.ordinals, bits, is_sorted=True)

    if all(run.info.is_lean for run in runs):
        table_names = layout.lean_names(table_names)
    names = (*table_names, layout.IDS)
    threads = threads if sum(len(run.info) for run in runs) >= THREADED_DOCUMENTS else 1
    made = dict(zip(names, mapped(merge, names, threads), strict=True))
    info = run_info(
        runs[-1].info.number,
        runs[0].info.start,
        runs[-1].info.stop,
        {name: entries for name, (entries, _) in made.items()},
        sum(run.info.weighted_count for run in runs),
    )
    columns = stored_columns(info.weighted_count > 0)
    tables = {name: table for name, (_, table) in made.items()}
    return Run(info, tables, list(aligned_segments(runs, source, columns, threads)))


def stored_columns(has_vectors: bool) -> list[int]:
    """Return the columns that a run stores: vectors only if some of its documents have weights.

    Where none are stored a run gives zeros, which take longer to copy than all other columns.
    """
    return [column for column in layout.COLUMN_KINDS if has_vectors or column != layout.VECTOR]


def aligned_segments(
    runs: Sequence[Run], source: Source, columns: Sequence[int], threads: int
) -> Iterator[Segment]:
    """Yield the documents of `runs` in segments counted from the first ordinal of all."""
    length = runs[-1].info.stop - runs[0].info.start
    for at in range(-(-length // layout.SEGMENT_ORDINALS)):
        parts = aligned_parts(runs, source, columns, at)
        yield joined(parts, segment_start(runs, at), threads)


def aligned_parts(
    runs: Sequence[Run], source: Source, columns: Sequence[int], at: int
) -> list[Segment]:
    """Return the parts of stored segments of which segment `at` consists."""
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
    is_kept = np.zeros(len(part), np.bool_)
    is_kept[chosen] = True
    columns = {
        column: array[np.repeat(is_kept, lengths)] if column == layout.ID else array[chosen]
        for column, array in part.columns.items()
        if column != layout.OFFSET
    }
    starts = stored_offsets(offsets_of(lengths[chosen]), f"the ids of {len(chosen)} documents")
    return Segment(part.start, {**columns, layout.OFFSET: starts})


def joined(parts: Sequence[Segment], start: int, threads: int = 1) -> Segment:
    """Join parts that follow each other, and have the same columns, into one segment.

    `threads` copy the columns.
    """
    merge = SegmentMerge(start)
    merge.advance(parts, threads=threads)
    return merge.merged


def without(table: Table, dead: Bitmap) -> Table:
    """Return the entries of a table that are not dead."""
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
    """A segment of parts that follow each other, and have the same columns, as far as it is copied.

    `merged`: the segment, once it is complete.
    """

    def __init__(self, start: int) -> None:
        """Begin with nothing; `start` is the first ordinal of the segment."""
        self.merged = Segment(start, {})
        self._copied = 0
        self._is_complete = False

    def advance(self, parts: Sequence[Segment], most: int = sys.maxsize, threads: int = 1) -> int:
        """Copy about `most` more bytes of `parts`; return what is left of `most`.

        The parts are the same in each call, but may have moved in memory.  `threads` copy them.
        """
        if self._is_complete:
            return most
        copies = list(self._copies(parts))
        due = copies[self._copied : self._copied + max(most // COPIED_BYTES, 1)]
        for _ in mapped(lambda pair: np.copyto(*pair), due, threads):
            pass
        self._copied += len(due)
        self._is_complete = self._copied == len(copies)
        if self._is_complete and layout.OFFSET in parts[0].columns:
            offsets = [part.columns[layout.OFFSET] for part in parts]
            self.merged.columns[layout.OFFSET] = _joined_offsets(offsets)
        return most - COPIED_BYTES * len(due)

    def _copies(self, parts: Sequence[Segment]) -> Iterator[tuple[Array, Array]]:
        """Yield what is copied where, some `COPIED_BYTES` at a time."""
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
    """Join the offsets of the ids of parts, which begin at 0; FullError like `stored_offsets`."""
    starts = offsets_of([int(part[-1]) for part in parts])
    count = sum(map(len, parts)) - len(parts)
    narrow = stored_offsets(starts, f"the ids of {count} documents")
    moved = (part[1:] + start for part, start in zip(parts, narrow, strict=False))
    return np.concatenate([np.zeros(1, np.uint32), *moved])


class TableMerge:
    """One table of several runs, as far as it is merged.

    `merged`: the table, once it is complete, without a directory.  `read`: the entries that were
    read, `kept`: those among them that were not left out, and `written`: the entries of `merged`.
    """

    def __init__(self, lengths: Sequence[int], count: int | None = None) -> None:
        """Allocate memory for tables of these lengths; nothing is merged yet.

        `count`: how many entries are expected to be left; it saves memory if others are left out.
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
        """Merge about `most` more entries of `tables` that are not dead; all if so few are left.

        The tables and the tombstones are the same in each call, but may have moved in memory.
        `source` sees the tables.
        """
        stops = self._stops(tables, most)
        parts = [
            Table(table.keys[start:stop], table.ordinals[start:stop])
            for table, start, stop in zip(tables, self._positions, stops, strict=True)
        ]
        for array in (each for part in parts for each in (part.keys, part.ordinals)):
            pages = source.pages_of(array)
            if pages is not None:
                file_map.fetch(pages)
        if dead is not None:
            self.read = joint([self.read, *(part.entries for part in parts)])
            parts = [without(part, dead) for part in parts]
            self.kept = joint([self.kept, *(part.entries for part in parts)])
        count = sum(len(part.keys) for part in parts)
        if self._count + count > len(self.merged.keys):
            self._reserve(self._count + count)
        inside = slice(self._count, self._count + count)
        keys, ordinals, _ = self.merged
        room = Table(keys[inside], ordinals[inside])
        _merge_range([part for part in parts if len(part.keys)], room.keys, room.ordinals)
        self.written = joint([self.written, room.entries])
        if dead is None:
            self.read = self.kept = self.written
        self._positions = stops
        self._count += count
        if self.is_complete and self._count < len(keys):
            self._reserve(self._count)

    def take(self, column: int) -> Array:
        """Return one column of the complete table, which is no longer kept."""
        taken: Array = self.merged[column]
        self.merged = self.merged._replace(**{Table._fields[column]: np.empty(0, taken.dtype)})
        return taken

    def _reserve(self, count: int) -> None:
        """Move what is merged into a table with room for `count` entries."""
        keys, ordinals, _ = self.merged
        self.merged = table_with_room(count)
        self.merged.keys[: self._count] = keys[: self._count]
        self.merged.ordinals[: self._count] = ordinals[: self._count]

    def _stops(self, tables: Sequence[Table], most: int) -> list[int]:
        """Return where the next window ends in each table: all entries up to some key are in it."""
        left = [
            length - start for length, start in zip(self._lengths, self._positions, strict=True)
        ]
        if sum(left) <= most:
            return list(self._lengths)
        longest = int(np.argmax(left))
        last = self._positions[longest] + left[longest] * most // sum(left)
        key = tables[longest].keys[last]
        stops = [
            start + int(np.searchsorted(table.keys[start:], key, side="right"))
            for table, start in zip(tables, self._positions, strict=True)
        ]
        # Keys that damage has put out of order must not keep the window from moving on.
        stops[longest] = max(stops[longest], last + 1)
        return stops
