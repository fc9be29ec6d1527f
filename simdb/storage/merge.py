"""Writing runs: one run from one or several neighbours, value by value.

Tables are merged pair by pair, columns by ordinal are put together segment by segment, and only
what is being written is in memory beside the sources.  Deleted documents leave the tables.  Their
places in the columns stay, so that ordinals keep their meaning, unless `renumber` is asked for:
then the remaining documents get new ordinals without gaps.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.storage import codec, layout
from simdb.storage.manifest import RunInfo
from simdb.storage.run import Run, Segment, Source, Table, make_table
from simdb.storage.tombstones import Bitmap, live_ordinals
from simdb.values import WEIGHTED

Put = Callable[[bytes, bytes, Any], None]


def write_run(
    runs: Sequence[Run],
    number: int,
    put: Put,
    source: Source,
    *,
    table_count: int,
    dead: Bitmap | None,
    renumber: bool = False,
) -> RunInfo:
    """Write `runs`, which follow each other, as run `number`; returns its row of the manifest.

    `put(sub-database, key, value)` stores one value.
    """
    start, stop = runs[0].info.start, runs[-1].info.stop
    kept = live_ordinals(dead, start, stop) if renumber else None
    entry_count = id_count = 0
    for table in range(table_count):
        merged = _merged([run.table(table, source) for run in runs], dead, kept)
        entry_count = len(merged.keys)
        _put_table(layout.table_name(table), number, merged, put)
    merged = _merged([run.id_table(source) for run in runs], dead, kept)
    id_count = len(merged.keys)
    _put_table(layout.IDS, number, merged, put)
    has_vectors = source.width > 0 and any(run.info.weighted_count for run in runs)
    segments = (
        _aligned_segments(runs, source) if kept is None else _kept_segments(runs, source, kept)
    )
    weighted_count = 0
    for at, (segment, vectors) in enumerate(segments):
        _put_segment(number, at, segment, vectors, put, has_vectors=has_vectors)
        weighted_count += int(np.count_nonzero(segment.states == WEIGHTED))
    if kept is not None:
        start, stop = 0, len(kept)
    return RunInfo(number, start, stop, entry_count, id_count, weighted_count)


def run_keys(run: Run, table_count: int, width: int) -> Iterator[tuple[bytes, bytes]]:
    """Sub-database and key of every value of a run."""
    number = run.info.number
    for name in [*layout.table_names(table_count), layout.IDS]:
        for column in layout.TABLE_KINDS:
            yield name, layout.table_key(number, column)
    for segment in range(run.segment_count):
        for column in layout.COLUMN_KINDS:
            if column == layout.VECTOR:
                if width and run.info.weighted_count:
                    yield layout.VOLATILITY, layout.segment_key(number, column, segment)
            else:
                yield layout.DOCUMENTS, layout.segment_key(number, column, segment)


def _merged(
    tables: Sequence[Table], dead: Bitmap | None, kept: npt.NDArray[np.uint32] | None
) -> Table:
    """All entries of `tables` that are not dead, sorted; ordinals renumbered by `kept`."""
    if dead is not None:
        tables = [_without(table, dead) for table in tables]
    merged = tables[0]
    for table in tables[1:]:
        count = len(merged.keys) + len(table.keys)
        keys, ordinals = codec.allocate(np.uint64, count), codec.allocate(np.uint32, count)
        kernel.merge(merged.keys, merged.ordinals, table.keys, table.ordinals, keys, ordinals)
        merged = Table(keys, ordinals, merged.directory)
    if kept is not None:
        ordinals = codec.allocate(np.uint32, len(merged.ordinals))
        ordinals[...] = np.searchsorted(kept, merged.ordinals)
        merged = Table(merged.keys, ordinals, merged.directory)
    if len(tables) == 1 and dead is None and kept is None:
        return merged
    return make_table(merged.keys, merged.ordinals, is_sorted=True)


def _without(table: Table, dead: Bitmap) -> Table:
    keys, ordinals = np.empty_like(table.keys), np.empty_like(table.ordinals)
    count = kernel.keep(table.keys, table.ordinals, dead, keys, ordinals)
    return Table(keys[:count], ordinals[:count], table.directory)


def _put_table(name: bytes, number: int, table: Table, put: Put) -> None:
    columns: dict[int, npt.NDArray[Any]] = {
        layout.KEYS: table.keys,
        layout.ORDINALS: table.ordinals,
        layout.DIRECTORY: table.directory,
    }
    for column, array in columns.items():
        key = layout.table_key(number, column)
        put(name, key, codec.encode_array(layout.TABLE_KINDS[column], key, array))


def _put_segment(
    number: int,
    at: int,
    segment: Segment,
    vectors: npt.NDArray[np.uint8],
    put: Put,
    *,
    has_vectors: bool,
) -> None:
    columns: dict[int, npt.NDArray[Any]] = {
        layout.FINGERPRINT: segment.fingerprints,
        layout.STATE: segment.states,
        layout.OFFSET: segment.offsets,
        layout.ID: segment.content,
        layout.VECTOR: vectors,
    }
    for column, array in columns.items():
        if column == layout.VECTOR and not has_vectors:
            continue
        name = layout.VOLATILITY if column == layout.VECTOR else layout.DOCUMENTS
        key = layout.segment_key(number, column, at)
        put(name, key, codec.encode_array(layout.COLUMN_KINDS[column], key, array))


def _aligned_segments(
    runs: Sequence[Run], source: Source
) -> Iterator[tuple[Segment, npt.NDArray[np.uint8]]]:
    """The documents of `runs` in segments counted from the first ordinal of all."""
    start, stop = runs[0].info.start, runs[-1].info.stop
    for first in range(start, stop, layout.SEGMENT_ORDINALS):
        last = min(first + layout.SEGMENT_ORDINALS, stop)
        yield _joined(list(_slices(runs, source, first, last)), first)


def _kept_segments(
    runs: Sequence[Run], source: Source, kept: npt.NDArray[np.uint32]
) -> Iterator[tuple[Segment, npt.NDArray[np.uint8]]]:
    """The documents `kept` (ordinals, ascending), renumbered from 0, in segments."""
    for first in range(0, len(kept), layout.SEGMENT_ORDINALS):
        chosen = kept[first : first + layout.SEGMENT_ORDINALS]
        parts = []
        for part, vectors in _slices(runs, source, int(chosen[0]), int(chosen[-1]) + 1):
            low, high = np.searchsorted(chosen, [part.start, part.start + len(part)])
            parts.append(_taken(part, vectors, chosen[low:high] - np.uint32(part.start)))
        yield _joined(parts, first)


def _slices(
    runs: Sequence[Run], source: Source, start: int, stop: int
) -> Iterator[tuple[Segment, npt.NDArray[np.uint8]]]:
    """The parts of stored segments that cover the ordinals start .. stop."""
    for run in runs:
        if run.info.stop <= start or run.info.start >= stop:
            continue
        for segment, vectors in zip(run.segments(source), run.vectors(source), strict=True):
            low = max(start - segment.start, 0)
            high = min(stop - segment.start, len(segment))
            if low < high:
                offsets = segment.offsets[low : high + 1]
                part = Segment(
                    segment.start + low,
                    segment.fingerprints[low:high],
                    segment.states[low:high],
                    offsets - offsets[0],
                    segment.content[int(offsets[0]) : int(offsets[-1])],
                )
                yield part, vectors[low:high]


def _taken(
    part: Segment, vectors: npt.NDArray[np.uint8], chosen: npt.NDArray[np.uint32]
) -> tuple[Segment, npt.NDArray[np.uint8]]:
    """Only the documents at the positions `chosen` of a part."""
    lengths = part.offsets[1:].astype(np.int64) - part.offsets[:-1]
    is_kept = np.zeros(len(part), np.bool_)
    is_kept[chosen] = True
    content = part.content[np.repeat(is_kept, lengths)]
    offsets = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.uint32)
    taken = Segment(part.start, part.fingerprints[chosen], part.states[chosen], offsets, content)
    return taken, vectors[chosen]


def _joined(
    parts: list[tuple[Segment, npt.NDArray[np.uint8]]], start: int
) -> tuple[Segment, npt.NDArray[np.uint8]]:
    """One segment from parts that follow each other."""
    lengths = [np.diff(part.offsets.astype(np.int64)) for part, _ in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.uint32)
    segment = Segment(
        start,
        _allocated_join([part.fingerprints for part, _ in parts]),
        _allocated_join([part.states for part, _ in parts]),
        offsets,
        _allocated_join([part.content for part, _ in parts]),
    )
    return segment, _allocated_join([vectors for _, vectors in parts])


def _allocated_join(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    count = sum(len(array) for array in arrays)
    joined = codec.allocate(arrays[0].dtype, (count, *arrays[0].shape[1:]))
    np.concatenate(arrays, out=joined)
    return joined
