"""Merging: several neighbouring runs become one, table by table and segment by segment.

Tables are merged pair by pair.  Columns by ordinal are joined in segments that are counted from the
first ordinal of all runs.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.running import kernel
from simdb.running.threads import mapped
from simdb.storage import codec, layout
from simdb.storage.records.batch import stored_offsets
from simdb.storage.records.tombstones import Bitmap
from simdb.storage.runs.run import Run, Segment
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import (
    Entries,
    Table,
    directory_bits,
    entries_of,
    make_table,
    run_info,
    table_with_room,
)
from simdb.values.arrays import offsets_of

# Merging fewer documents would not be worth several threads.
THREADED_DOCUMENTS = 1 << 14


def merge_tables(tables: Sequence[Table], into: Table | None = None) -> Table:
    """Merge the entries of all `tables`, sorted; the directory is left empty.

    Equal keys keep the order of their tables, so only neighbours are merged, each time the pair
    that costs least.  The last pair is merged `into` the arrays of a table of the right length, if
    it is given.
    """
    left = list(tables)
    while len(left) > 1:
        sizes = [len(table.keys) for table in left]
        at = min(range(len(left) - 1), key=lambda at: sizes[at] + sizes[at + 1])
        first, second = left[at : at + 2]
        merged = into if len(left) == 2 else None
        if merged is None:
            merged = table_with_room(sizes[at] + sizes[at + 1])
        kernel.merge(
            first.keys, first.ordinals, second.keys, second.ordinals, merged.keys, merged.ordinals
        )
        left[at : at + 2] = [merged]
    return left[0]


def merge_in_memory(
    runs: Sequence[Run], source: Source, *, table_names: Sequence[bytes], threads: int = 1
) -> Run:
    """Merge runs that follow each other into one run in memory; nothing is left out."""

    def merge(name: bytes) -> tuple[Entries, Table]:
        merged = merge_tables([run.named_table(name, source) for run in runs])
        bits = directory_bits(name, len(merged.keys), source.header_offset)
        entries = entries_of(merged.keys, merged.ordinals)
        return entries, make_table(merged.keys, merged.ordinals, bits, is_sorted=True)

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
    return Run(info, tables, list(aligned_segments(runs, source, columns)))


def stored_columns(has_vectors: bool) -> list[int]:
    """Return the columns that a run stores: vectors only if some of its documents have weights.

    Where none are stored a run gives zeros, which take longer to copy than all other columns.
    """
    return [column for column in layout.COLUMN_KINDS if has_vectors or column != layout.VECTOR]


def aligned_segments(
    runs: Sequence[Run], source: Source, columns: Sequence[int]
) -> Iterator[Segment]:
    """Yield the documents of `runs` in segments counted from the first ordinal of all."""
    length = runs[-1].info.stop - runs[0].info.start
    for at in range(-(-length // layout.SEGMENT_ORDINALS)):
        yield aligned_segment(runs, source, columns, at)


def aligned_segment(
    runs: Sequence[Run], source: Source, columns: Sequence[int], at: int
) -> Segment:
    """Return segment `at` of the documents of `runs`, counted from the first ordinal of all."""
    first = runs[0].info.start + at * layout.SEGMENT_ORDINALS
    last = min(first + layout.SEGMENT_ORDINALS, runs[-1].info.stop)
    return joined(list(slices(runs, source, columns, first, last)), first)


def taken(part: Segment, chosen: npt.NDArray[np.uint32]) -> Segment:
    """Return a segment with only the documents at the ascending positions `chosen`."""
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


def joined(parts: list[Segment], start: int) -> Segment:
    """Join parts that follow each other, and have the same columns, into one segment."""
    columns = {
        column: _allocated_join([part.columns[column] for part in parts])
        for column in parts[0].columns
        if column != layout.OFFSET
    }
    if layout.OFFSET in parts[0].columns:
        lengths = [np.diff(part.columns[layout.OFFSET].astype(np.int64)) for part in parts]
        every = offsets_of(np.concatenate(lengths))
        columns[layout.OFFSET] = stored_offsets(every, f"the ids of {len(every) - 1} documents")
    return Segment(start, columns)


def without(table: Table, dead: Bitmap) -> Table:
    """Return the entries of a table that are not dead."""
    keys, ordinals = np.empty_like(table.keys), np.empty_like(table.ordinals)
    count = kernel.keep(table.keys, table.ordinals, dead, keys, ordinals)
    return Table(keys[:count], ordinals[:count], table.directory)


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


def _allocated_join(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    count = sum(len(array) for array in arrays)
    joined = codec.allocate(arrays[0].dtype, (count, *arrays[0].shape[1:]))
    np.concatenate(arrays, out=joined)
    return joined
