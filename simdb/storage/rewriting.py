"""New runs: merges neighbouring runs value by value, or makes a run in memory from the delta.

Tables are merged window by window, and columns by ordinal are joined segment by segment.  So only
one table or segment is in memory in addition to the sources.  Deleted documents leave the tables.
Their places in the columns remain, so that ordinals keep their meaning.  Only the documents of a
`Piece` get new ordinals without gaps.

A compaction cuts all documents into pieces, so that neither runs nor temporary data outgrow the
memory.

`write_one_run` makes every table from the columns alone.  So tables can be made after the old ones
were damaged, or for options that need other tables.  The keys of all documents are in memory: 8
bytes each for the block permutations and for each cross-polytope table.  For up to `THREADED_MOST`
documents, each thread makes a table; for more, all threads sort one table at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED
from simdb.core.dtypes import U8, U32, U64
from simdb.core.errors import CorruptError
from simdb.core.threads import crew, in_rounds, mapped, parts_of, run_all
from simdb.storage import codec, layout
from simdb.storage.delta import DeltaView, Keying, StoredBatch
from simdb.storage.environment import Source
from simdb.storage.manifest import RunInfo, joined_ids
from simdb.storage.merge import (
    REMEDY,
    TableMerge,
    aligned_segments,
    check_merge,
    check_read,
    entries_in,
    joined,
    put_left_out,
    slices,
    stored_columns,
    taken,
    written_entries,
)
from simdb.storage.run import Run, Segment, as_segment, encoded_column, put_segment, stored_ids
from simdb.storage.table import (
    Entries,
    EntryCounts,
    Put,
    Stored,
    Table,
    directory_bits,
    encoded_table,
    entries_of,
    entry_count,
    make_table,
    run_info,
    sorted_table,
)
from simdb.storage.tombstones import Bitmap, is_deleted

# Entries of a window of all sources; they and the result fit into a cache.
WINDOW_ENTRIES = 1 << 18
# Fewer documents are not worth several threads.
THREADED_DOCUMENTS = 1 << 14
# With more documents, tables are merged one after the other to save memory.
THREADED_MOST = 1 << 22
# Documents in a batch for the keys of cross-polytope tables.
KEYED_DOCUMENTS = 1 << 16
# Documents in a batch of ids to hash.
HASHED_DOCUMENTS = 1 << 16
# The least batch that is worth a thread.
KEYED_LEAST = 1 << 12
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
# For each byte and each of its bits, the number of lower bits that are set.
_BELOW = (np.cumsum(_BITS, axis=1) - _BITS).astype(np.uint8)
_COUNTS = _BITS.sum(axis=1, dtype=np.uint8)

# The sub-database of a table, the keys of its entries, and their ordinals.
Columns = tuple[bytes, U64, U32]
# A function that makes the unsorted columns of one table.
Making = Callable[[], Columns]
# The sub-database of a table, its entries before sorting, and the table.
Made = tuple[bytes, Entries, Table]


class Piece:
    """The live documents of start .. stop, which get the ordinals first .. first + len."""

    def __init__(self, dead: Bitmap | None, start: int, stop: int, first: int) -> None:
        """`dead`: the tombstones of all documents; None if nothing is deleted."""
        self.start, self.stop, self.first = start, stop, first
        # A bit for each ordinal, starting at the byte of `start`; set for live documents of the
        # piece.
        self._low = start >> 3
        self._live = _live_bytes(dead, start, stop)
        self._length = int(_COUNTS[self._live].sum(dtype=np.int64))
        # The number of live documents before each byte, computed on first use.
        self._before: U32 | None = None

    def __len__(self) -> int:
        """Return the number of live documents."""
        return self._length

    @property
    def is_whole(self) -> bool:
        """Whether no document of start .. stop is deleted."""
        return self._length == self.stop - self.start

    def left_out(self, ordinal_count: int) -> Bitmap:
        """Return a bitmap with a bit for each ordinal, set for ordinals outside the piece."""
        bits = np.full(max(-(-ordinal_count // 8), self._low + len(self._live)), 0xFF, np.uint8)
        bits[self._low : self._low + len(self._live)] = ~self._live
        return bits

    def kept(self) -> U32:
        """Return the old ordinals of the documents of the piece."""
        if self.is_whole:
            return np.arange(self.start, self.stop, dtype=np.uint32)
        bits = np.unpackbits(self._live, bitorder="little")
        return np.flatnonzero(bits).astype(np.uint32) + np.uint32(8 * self._low)

    def renumbered(self, ordinals: U32) -> U32:
        """Return the new ordinals of documents of the piece, given in any order."""
        if self.is_whole:
            return ordinals - np.uint32(self.start - self.first)
        if self._before is None:
            counts = _COUNTS[self._live]
            self._before = np.cumsum(counts, dtype=np.uint32) - counts
        at = (ordinals >> np.uint32(3)) - np.uint32(self._low)
        inside = _BELOW[self._live[at], ordinals & np.uint32(7)]
        found: U32 = self._before[at] + inside + np.uint32(self.first)
        return found


def pieces_of(dead: Bitmap | None, ordinal_count: int, longest: int) -> Iterator[Piece]:
    """Yield the documents below `ordinal_count` in pieces of at most `longest` live documents.

    All pieces except the last have `longest` documents.  No piece is empty.
    """
    start = first = 0
    while start < ordinal_count:
        stop = min(start + longest, ordinal_count)
        piece = Piece(dead, start, stop, first)
        while len(piece) < longest and stop < ordinal_count:
            stop = min(stop + longest - len(piece), ordinal_count)
            piece = Piece(dead, start, stop, first)
        if len(piece):
            yield piece
        start, first = stop, first + len(piece)


def _live_bytes(dead: Bitmap | None, start: int, stop: int) -> Bitmap:
    low, high = start >> 3, -(-stop // 8)
    live = np.full(high - low, 0xFF, np.uint8)
    if dead is not None:
        live = ~dead[low:high]
    if len(live):
        live[0] &= 0xFF << (start & 7) & 0xFF
        if stop & 7:
            live[-1] &= (1 << (stop & 7)) - 1
    return live


def write_run(
    runs: Sequence[Run],
    number: int,
    put: Put,
    source: Source,
    *,
    table_names: Sequence[bytes],
    dead: Bitmap | None,
    piece: Piece | None = None,
    threads: int = 1,
) -> RunInfo:
    """Write consecutive `runs` as run `number`; return its row of the manifest.

    `table_names`: the tables of keys.  `put(sub-database, key, value)` stores a value.  `dead`: the
    tombstones.  `piece`: write only these documents, renumbered.  `threads`: number of tables
    merged at a time, unless they are so large that memory matters.
    """
    start, stop = runs[0].info.start, runs[-1].info.stop
    weighted_count = sum(run.info.weighted_count for run in runs)
    left_out = dead
    if piece is not None:
        is_all = piece.is_whole and (piece.start, piece.stop) == (start, stop)
        left_out = None if is_all else piece.left_out(stop)
    counts, ids = _counts(runs, source, left_out), _joined_ids(runs, piece)
    names = table_names if ids else (*table_names, layout.IDS)
    at_a_time = threads if counts.id_count <= THREADED_MOST else 1
    tables = _Tables(runs, source, table_names, left_out, piece, counts)

    def make(name: bytes) -> tuple[Entries, list[Stored]]:
        entries, table = tables.merged(name)
        return entries, list(encoded_table(name, number, table, source.keying, ids))

    entries = {}
    for name, made in zip(names, in_rounds(make, names, at_a_time, ahead=1), strict=True):
        entries[name], values = made
        for stored in values:
            put(*stored)
    if piece is not None:
        start, stop = piece.first, piece.first + len(piece)
        if left_out is not None:
            weighted_count = counts.polytope_count
    has_vectors = source.width > 0 and weighted_count > 0
    columns, may_be_even = stored_columns(has_vectors), source.keying.has_header_table
    for at, segment in enumerate(_segments(runs, source, columns, piece, threads)):
        encode = partial(encoded_column, number, at, segment, may_be_even=may_be_even)
        for stored in mapped(encode, segment.columns, threads):
            put(*stored)
    info = run_info(number, start, stop, entries, weighted_count, ids)
    return put_left_out(info, dead, put) if ids else info


def merge_in_memory(
    runs: Sequence[Run], source: Source, *, table_names: Sequence[bytes], threads: int = 1
) -> Run:
    """Merge consecutive runs in memory into one run in memory, with all entries."""
    ids = _joined_ids(runs, None)
    names = table_names if ids else (*table_names, layout.IDS)
    threads = threads if sum(len(run.info) for run in runs) >= THREADED_DOCUMENTS else 1
    tables = _Tables(runs, source, table_names, None, None, _counts(runs, source, None))
    made = dict(zip(names, mapped(tables.merged, names, threads), strict=True))
    info = run_info(
        runs[-1].info.number, runs[0].info.start, runs[-1].info.stop,
        {name: entries for name, (entries, _) in made.items()},
        sum(run.info.weighted_count for run in runs), ids,
    )  # fmt: skip
    segments = aligned_segments(runs, source, stored_columns(info.weighted_count > 0), threads)
    return Run(info, {name: table for name, (_, table) in made.items()}, list(segments))


def seal(delta: DeltaView, keying: Keying, header_offset: int, threads: int = 1) -> Run:
    """Make a run in memory from all documents of the delta, without a number.

    `header_offset`: see `header_bits`.
    """
    batch = delta.batch
    weighted = np.flatnonzero(batch.states == WEIGHTED).astype(np.uint32)
    # Avoid a copy if all documents have weights.
    vectors = batch.vectors if len(weighted) == len(batch) else batch.vectors[weighted]
    keys = keys_by_weights(vectors, keying, threads)
    every = np.arange(delta.start, delta.stop, dtype=np.uint32)
    segments = list(_cut(delta.start, batch))
    ids = joined_ids((each.ids, len(each)) for each in segments)
    makings = _makings(
        keying, [delta.searchable], delta.ordinals, [keys], every[weighted],
        [] if ids else [batch.hashes], every,
    )  # fmt: skip
    # With more threads than tables, several threads sort each table.
    of_each = max(threads // (keying.polytopes.table_count + 1), 1)
    made = list(made_tables(makings, header_offset, threads, of_each=of_each))
    entries = {name: each for name, each, _ in made}
    info = run_info(-1, delta.start, delta.stop, entries, len(weighted), ids)
    return Run(info, {name: table for name, _, table in made}, segments)


def write_one_run(
    parts: Sequence[Segment],
    kept: U32,
    number: int,
    put: Put,
    *,
    keying: Keying,
    offset: int,
    id_key: bytes,
    threads: int,
) -> tuple[RunInfo, U8]:
    """Write run `number` of the documents `kept`; return its row and the states of its documents.

    `parts` contain at least the documents `kept` (ascending ordinals).  `keying` decides which
    tables are made, and `offset` sets the width of their directories.  `id_key` is the key of the
    hash of ids.  `threads` make the keys and sort the tables.
    """
    weighted_count = sum(int(np.count_nonzero(_states(part, kept) == WEIGHTED)) for part in parts)
    found_states, searchable, keys = [], [], []
    hashes: list[U64] = []
    described = []
    for at, segment in enumerate(kept_segments(lambda *_: parts, kept, 0, threads)):
        put_segment(
            number, at, segment, put,
            has_vectors=weighted_count > 0, may_be_even=keying.has_header_table,
        )  # fmt: skip
        own, vectors = segment.columns[layout.STATE], segment.columns[layout.VECTOR]
        chosen = slice(None) if (own != EMPTY).all() else own != EMPTY
        searched = segment.columns[layout.FINGERPRINT][chosen], vectors[chosen]
        searchable.append(keying.searchable(*searched))
        chosen = slice(None) if (own == WEIGHTED).all() else own == WEIGHTED
        keys.append(keys_by_weights(vectors[chosen], keying, threads))
        hashes += _hashes(segment, id_key, threads)
        described.append((segment.ids, len(segment)))
        found_states.append(own)
    states = np.concatenate(found_states)
    ordinals = np.flatnonzero(states != EMPTY).astype(np.uint32)
    weighted = np.flatnonzero(states == WEIGHTED).astype(np.uint32)
    every = np.arange(len(states), dtype=np.uint32)
    ids = joined_ids(described)
    hashes = [] if ids else hashes
    makings = _makings(keying, searchable, ordinals, keys, weighted, hashes, every)
    # With very many documents, only one table at a time is in memory.
    at_a_time, of_each = (threads, 1) if len(kept) <= THREADED_MOST else (1, threads)
    entries = {}
    for name, own_entries, table in made_tables(makings, offset, at_a_time, of_each=of_each):
        entries[name] = own_entries
        for stored in encoded_table(name, number, table, keying, ids):
            put(*stored)
    return run_info(number, 0, len(kept), entries, weighted_count, ids), states


def _states(part: Segment, kept: U32) -> U8:
    """Return the states of the documents of a segment that are in `kept`."""
    low, high = np.searchsorted(kept, [part.start, part.stop])
    found: U8 = part.columns[layout.STATE][kept[low:high] - np.uint32(part.start)]
    return found


def _hashes(segment: Segment, id_key: bytes, threads: int) -> Iterator[U64]:
    """Yield hashes of the ids in batches."""
    offsets, content = stored_ids(segment)

    def hashed(part: slice) -> U64:
        return kernel.hash_ids(offsets[part.start : part.stop + 1], content, id_key)

    return mapped(hashed, parts_of(len(segment), threads, most=HASHED_DOCUMENTS), threads)


def _makings(
    keying: Keying,
    searchable: Sequence[U64],
    ordinals: U32,
    keys: Sequence[U64],
    weighted: U32,
    hashes: Sequence[U64],
    every: U32,
) -> Iterator[Making]:
    """Yield functions that make the columns of each table of some documents.

    The documents are given in parts.  `searchable`: the data of the documents `ordinals`.  `keys`:
    the keys of documents with weights, see `keyed_by_weights`.  `hashes`: the hashes of all ids,
    empty if the ids need no table.
    """
    whole = searchable[0] if len(searchable) == 1 else np.concatenate(searchable)
    yield from keyed(whole, ordinals, keying)
    if len(weighted):
        yield from keyed_by_weights(keys, weighted)
    if not hashes:
        return
    own = codec.allocate(np.uint64, len(every))
    np.concatenate(hashes, out=own)
    yield lambda: (layout.IDS, own, every)


def made_tables(
    makings: Iterable[Making], header_offset: int, threads: int, *, of_each: int = 1
) -> Iterator[Made]:
    """Yield the sorted tables of columns; `threads` make tables, `of_each` sort each of them."""

    def make(columns: Making) -> Made:
        name, keys, ordinals = columns()
        entries, bits = entries_of(keys, ordinals), directory_bits(name, len(keys), header_offset)
        with crew():
            table = sorted_table(keys, ordinals, of_each)
        return name, entries, make_table(table.keys, table.ordinals, bits, is_sorted=True)

    return mapped(make, makings, threads)


def keyed(searchable: U64, ordinals: U32, keying: Keying) -> Iterator[Making]:
    """Yield functions that make the columns of each table of all documents with features."""

    def columns(table: int) -> Columns:
        keys = codec.allocate(np.uint64, len(searchable))
        keying.write_keys(searchable, keys, table)
        return layout.table_name(table), keys, ordinals

    return (partial(columns, table) for table in range(keying.table_count))


def keys_by_weights(vectors: U8, keying: Keying, threads: int) -> U64:
    """Return keys for each cross-polytope table of documents with weights: uint64[tables, n]."""
    every = np.empty((keying.polytopes.table_count, len(vectors)), np.uint64)

    def fill(part: slice) -> None:
        every[:, part] = keying.polytopes.keys(vectors[part])

    parts = parts_of(len(vectors), threads, most=KEYED_DOCUMENTS, least=KEYED_LEAST)
    run_all(fill, parts, threads)
    return every


def keyed_by_weights(keys: Sequence[U64], ordinals: U32) -> Iterator[Making]:
    """Yield functions that make the columns of each cross-polytope table.

    `keys`: uint64[tables, n] of consecutive documents with weights, in parts.
    """

    def columns(table: int) -> Columns:
        of_table = codec.allocate(np.uint64, len(ordinals))
        np.concatenate([each[table] for each in keys], out=of_table)
        return layout.polytope_name(table), of_table, ordinals

    return (partial(columns, table) for table in range(len(keys[0])))


def kept_segments(
    parts_of: Callable[[int, int], Iterable[Segment]], kept: U32, first: int, threads: int
) -> Iterator[Segment]:
    """Yield the documents `kept`, renumbered starting at `first`, in segments for storage.

    `parts_of(start, stop)` returns segments with at least the kept documents in this range.
    """
    for at in range(0, len(kept), layout.SEGMENT_ORDINALS):
        chosen, parts = kept[at : at + layout.SEGMENT_ORDINALS], []
        for part in parts_of(int(chosen[0]), int(chosen[-1]) + 1):
            low, high = np.searchsorted(chosen, [part.start, part.stop])
            if low < high:
                parts.append(taken(part, chosen[low:high] - np.uint32(part.start)))
        yield joined(parts, first + at, threads)


class _Tables(NamedTuple):
    """The tables of `runs` without the documents `left_out`; `counts`: of remaining documents."""

    runs: Sequence[Run]
    source: Source
    table_names: Sequence[bytes]
    left_out: Bitmap | None
    piece: Piece | None
    counts: EntryCounts

    def merged(self, name: bytes) -> tuple[Entries, Table]:
        """Merge the remaining entries of a table, and renumber them.

        Raises CorruptError if the entries read differ from what was written to the runs.
        """
        tables = [run.keyed_table(name, self.source) for run in self.runs]
        written = written_entries(self.runs, name, self.source, self.table_names)
        if len(tables) == 1 and self.left_out is None and self.piece is None:
            check_read(self.runs, name, tables[0].entries, written)
            return written, tables[0]
        expected = entry_count(self.counts, name)
        merge = TableMerge([len(table.keys) for table in tables], expected)
        while not merge.is_complete:
            merge.advance(tables, self.source, self.left_out, WINDOW_ENTRIES)
        check_merge(self.runs, name, merge, written)
        keys, ordinals, _ = merge.merged
        if len(keys) != expected:
            raise CorruptError(
                f"{entries_in(self.runs, name)} are {len(keys)}, of {expected} documents; {REMEDY}"
            )
        entries = merge.written
        if self.piece is not None:
            for at in range(0, len(ordinals), WINDOW_ENTRIES):
                inside = slice(at, at + WINDOW_ENTRIES)
                ordinals[inside] = self.piece.renumbered(ordinals[inside])
            entries = entries_of(keys, ordinals)
        bits = directory_bits(name, len(keys), self.source.header_offset)
        return entries, make_table(keys, ordinals, bits, is_sorted=True)


def _counts(runs: Sequence[Run], source: Source, left_out: Bitmap | None) -> EntryCounts:
    """Return the counts of the documents that are not left out."""
    if left_out is None:
        infos = [run.info for run in runs]
        return EntryCounts(
            sum(info.id_count for info in infos),
            sum(info.entry_count for info in infos),
            sum(info.polytope_count for info in infos),
        )
    live = empty = weighted = 0
    for run in runs:
        for number in range(run.segment_count):
            start, stop = run.segment_range(number)
            is_kept = ~is_deleted(left_out, np.arange(start, stop, dtype=np.uint32))
            states = run.column(layout.STATE, number, source)[is_kept]
            live += len(states)
            empty += int(np.count_nonzero(states == EMPTY))
            weighted += int(np.count_nonzero(states == WEIGHTED))
    return EntryCounts(live, live - empty, weighted)


def _joined_ids(runs: Sequence[Run], piece: Piece | None) -> tuple[int, ...] | None:
    """Return `RunInfo.ids` for `runs`, or for a piece of them."""
    ids = joined_ids((run.info.ids, len(run.info)) for run in runs)
    if piece is None or not ids:
        return ids
    return kernel.row_at(ids, piece.start - runs[0].info.start) if piece.is_whole else ()


def _segments(
    runs: Sequence[Run], source: Source, columns: Sequence[int], piece: Piece | None, threads: int
) -> Iterator[Segment]:
    """Yield the documents of a piece, or of all runs, in segments."""
    if piece is not None:
        return kept_segments(
            partial(slices, runs, source, columns), piece.kept(), piece.first, threads
        )
    if len(runs) > 1:
        return aligned_segments(runs, source, columns, threads)
    # A run in memory is not copied again.
    return (runs[0].segment(at, source, columns) for at in range(runs[0].segment_count))


def _cut(start: int, batch: StoredBatch) -> Iterator[Segment]:
    """Cut any number of documents into segments.

    The segments together may have more bytes of ids than one value can hold.
    """
    for first in range(0, len(batch), layout.SEGMENT_ORDINALS):
        stop = min(first + layout.SEGMENT_ORDINALS, len(batch))
        yield as_segment(start + first, batch.part(first, stop))
