"""Tables: sorted keys with the ordinals of their documents, and a directory over their headers.

The sub-database of a table decides which documents are in it, and the width of its directory.  For
`table/NN` and `ids` the width follows the number of entries.  For `polytope/NN`, headers consist of
whole vertices.

A **header table** is the only table of a database of fingerprints.  Its keys are the fingerprints,
which the columns have anyway.  So it stores **tags** instead: the 16 bits of each key that follow
its header.  Code that needs the keys gathers them from the columns, a part at a time.

Several threads sort large tables without scratch memory.  The words of a table, permuted to keys,
are moved to bins by their leading bits, and then each bin is sorted in place.  Threads share first
the words to move, and then the bins to sort.  A bin fits the cache, so this is also faster for a
single thread.  Bins begin below the bits in which a sample of the keys agrees.  If nearly all keys
agree there, one thread sorts a large bin.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import sorted_unique
from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS
from simdb.core.dtypes import I64, U16, U32, U64, Array
from simdb.core.threads import PARTS, mapped, parts_of, run_all
from simdb.storage import codec, layout
from simdb.storage.delta import Keying
from simdb.storage.manifest import SUM_BYTES, RunInfo

# A sub-database, a key and the stored form of a value.
Stored = tuple[bytes, bytes, Any]
Put = Callable[[bytes, bytes, Any], None]
SUM_STOP = 1 << 64
NO_DIRECTORY = np.empty(0, np.uint32)
ENTRY_BYTES = 12  # a key and an ordinal
# Entries that are summed at a time, few enough for the cache.
PART_ENTRIES = 1 << 16
# A wider directory would cost more memory than the time it saves is worth.
HEADER_BITS_MAX = 28
# The header offset of the table of ids, which is probed less often: 2-4 entries for each header.
ID_HEADER_OFFSET = -1
# The widths of the directory of a cross-polytope table, whose headers consist of whole vertices.  A
# width applies up to the number of entries in POLYTOPE_ENTRIES.
POLYTOPE_HEADER_BITS = (7, 13, 18, 22)
POLYTOPE_ENTRIES = (6000, 1 << 17, 6_000_000)


# Fewer entries are sorted without bins, since starting threads would take longer.
BINNED_ENTRIES = 1 << 17
# The intended number of entries in a bin.
BIN_ENTRIES = 1 << 14
# With more bins, the cache lines being written no longer fit the cache.
BIN_BITS_MIN, BIN_BITS_MAX = 6, 10
SAMPLED_KEYS = 1 << 10


class Entries(NamedTuple):
    """The number of entries of a table and their checksum, see `entry_sum` of the kernel."""

    length: int
    checksum: int


NO_ENTRIES = Entries(0, 0)


class Table(NamedTuple):
    """A sorted collection: `keys` uint64[n], `ordinals` uint32[n], `directory` uint32[2^t + 1].

    The directory is empty until it is made.  The keys of a stored header table are `GatheredKeys`.
    """

    keys: U64
    ordinals: U32
    directory: U32 = NO_DIRECTORY

    @property
    def entries(self) -> Entries:
        """Number and sum of the entries."""
        parts = parts_of(len(self.ordinals), 1, most=PART_ENTRIES)
        return joint(entries_of(self.keys[part], self.ordinals[part]) for part in parts)

    @property
    def width(self) -> int:
        """Bits of a header: t, where the directory has 2^t + 1 entries."""
        return (len(self.directory) - 1).bit_length() - 1

    @property
    def gathered(self) -> "GatheredKeys | None":
        """The keys of a stored header table; None if the keys are an array."""
        return self.keys if isinstance(self.keys, GatheredKeys) else None

    @property
    def searched(self) -> tuple[Any, ...]:
        """The table in the form that kernel lookups take."""
        known = self.gathered
        return self if known is None else (known.tags, *self[1:], known.start, known.segments)

    def stored(self, part: slice) -> tuple[Array, Array]:
        """Return a part of the stored keys or tags, and of the ordinals."""
        keys: Array = self.keys if self.gathered is None else self.gathered.tags
        return keys[part], self.ordinals[part]

    def places_of(self, wanted: U64, side: Literal["left", "right"]) -> I64:
        """Return the insertion positions of `wanted` keys, like np.searchsorted; gathers few keys.

        Damaged entries give wrong positions between 0 and n.
        """
        if self.gathered is None:
            return np.searchsorted(self.keys, wanted, side)
        headers = wanted >> np.uint64(1) >> np.uint64(FINGERPRINT_BITS - 1 - self.width)
        ends = self.directory[np.stack([headers, headers + np.uint64(1)])]
        low, high = np.minimum(ends, len(self.ordinals)).astype(np.int64)
        while len(left := np.flatnonzero(low < high)):
            middle = (low[left] + high[left]) // 2
            keys = self.keys[middle]
            is_before = keys <= wanted[left] if side == "right" else keys < wanted[left]
            low[left[is_before]] = middle[is_before] + 1
            high[left[~is_before]] = middle[~is_before]
        return cast(I64, low)


class GatheredKeys:
    """The keys of a header table; a slice of them is an array gathered from the columns.

    `tags` are stored instead of the keys.  `segments` are the fingerprints, starting at the ordinal
    `start`.
    """

    def __init__(self, tags: U16, ordinals: U32, start: int, segments: Sequence[U64]) -> None:
        """Keep the columns; nothing is gathered yet."""
        self.tags, self.start, self.segments = tags, start, segments
        self._ordinals = ordinals

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._ordinals)

    def __getitem__(self, part: Any) -> U64:
        """Return the keys in a slice or at positions; raise CorruptError for an unknown ordinal."""
        ordinals = self._ordinals[part]
        keys = np.empty(len(ordinals), np.uint64)
        kernel.gather(ordinals, self.start, self.segments, keys)
        return keys


def header_table(
    tags: U16, ordinals: U32, directory: U32, start: int, segments: Sequence[U64]
) -> Table:
    """Return a stored header table; `segments`: the fingerprints, starting at ordinal `start`."""
    return Table(cast(U64, GatheredKeys(tags, ordinals, start, segments)), ordinals, directory)


def has_header_table(name: bytes, keying: Keying) -> bool:
    """Return whether the tables of a sub-database are header tables."""
    return keying.has_header_table and layout.is_permuted_name(name)


def tags_of(keys: U64, width: int) -> U16:
    """Return the 16 bits of each key that follow its header of `width` bits."""
    tags = codec.allocate(np.uint16, len(keys))
    kernel.tags(keys, width, tags)
    return tags


def entries_of(keys: U64, ordinals: U32) -> Entries:
    """Return number and checksum of the entries in two columns of a table."""
    return Entries(len(keys), kernel.entry_sum(keys, ordinals))


def joint(parts: Iterable[Entries]) -> Entries:
    """Return number and checksum of the entries of several tables together."""
    counts, sums = zip(*parts, strict=True)
    return Entries(sum(counts), sum(sums) % SUM_STOP)


def make_table(keys: U64, ordinals: U32, bits: int, *, is_sorted: bool = False) -> Table:
    """Sort both columns in place unless sorted; make the directory for headers of `bits`."""
    if not is_sorted:
        kernel.sort(keys, ordinals)
    directory = codec.allocate(np.uint32, (1 << bits) + 1)
    kernel.directory(keys, bits, directory)
    return Table(keys, ordinals, directory)


def empty_table(bits: int) -> Table:
    """Return a table without entries, with a directory for headers of `bits` bits."""
    directory = np.zeros((1 << bits) + 1, np.uint32)
    return Table(np.empty(0, np.uint64), np.empty(0, np.uint32), directory)


def table_with_room(count: int) -> Table:
    """Return a table with room for `count` entries, without a directory."""
    return Table(codec.allocate(np.uint64, count), codec.allocate(np.uint32, count))


def encoded_table(
    name: bytes, number: int, table: Table, keying: Keying, ids: tuple[int, ...] | None
) -> Iterator[Stored]:
    """Yield sub-database, key and stored form of each column of a table of run `number`.

    A cross-polytope table without entries has no values.  `ids`: see `RunInfo`.
    """
    if layout.is_polytope_name(name) and not len(table.keys):
        return
    for column in layout.TABLE_KINDS:
        if column != layout.KEYS or name != layout.IDS or ids is None:
            yield encoded_part(name, number, column, stored_column(name, column, table, keying))


def stored_column(name: bytes, column: int, table: Table, keying: Keying) -> Array:
    """Return a column of a table as stored: for the keys of a header table, the tags."""
    if column == layout.KEYS and has_header_table(name, keying):
        known = table.gathered
        return tags_of(table.keys, table.width) if known is None else known.tags
    return cast(Array, table[column])


def encoded_part(name: bytes, number: int, column: int, array: Array) -> Stored:
    """Return the stored form of a `stored_column` of a table of run `number`."""
    key = layout.table_key(number, column)
    kind = codec.TAGS_KIND if array.dtype == np.uint16 else layout.TABLE_KINDS[column]
    return name, key, codec.encode_array(kind, key, array)


def directory_bits(name: bytes, entry_count: int, header_offset: int) -> int:
    """Return the width of the directory of a new table in the sub-database `name`."""
    if layout.is_polytope_name(name):
        return polytope_header_bits(entry_count)
    return header_bits(entry_count, ID_HEADER_OFFSET if name == layout.IDS else header_offset)


def stored_bits(name: bytes, directory: U32, entry_count: int, header_offset: int) -> int | None:
    """Return the width of the stored directory of a table; None if it is wrong.

    Cross-polytope tables of any size may have any of their widths.
    """
    usual = directory_bits(name, entry_count, header_offset)
    possible = POLYTOPE_HEADER_BITS if layout.is_polytope_name(name) else (usual,)
    return next((bits for bits in possible if len(directory) == (1 << bits) + 1), None)


def header_bits(entry_count: int, header_offset: int) -> int:
    """Return the width t of a table's directory: floor(log2 n) + `header_offset`, limited.

    PSM (Sood & Loguinov 2011, section 4.3) calls the directory a header table and its width t.  Its
    table takes T' = 1 + 2^(t - d) times the memory of the fingerprints, with d = log2 n.
    """
    return min(max(entry_count.bit_length() - 1 + header_offset, 0), HEADER_BITS_MAX)


def polytope_header_bits(entry_count: int) -> int:
    """Return the width of the directory of a new cross-polytope table."""
    return POLYTOPE_HEADER_BITS[bisect_right(POLYTOPE_ENTRIES, entry_count)]


class EntryCounts(NamedTuple):
    """The numbers of live documents, of those with features, and of those with weights."""

    id_count: int
    entry_count: int
    polytope_count: int


def entry_count(info: RunInfo | EntryCounts, name: bytes) -> int:
    """Return the number of entries of a run in the table of a sub-database."""
    if name == layout.IDS:
        return info.id_count
    return info.polytope_count if layout.is_polytope_name(name) else info.entry_count


def stored_kinds(info: RunInfo, name: bytes) -> Mapping[int, bytes]:
    """Return the stored columns of a table of a run, with the kinds of their values.

    If ids form a row, the only column is a bitmap of documents that left the tables, if any.
    """
    kinds = layout.TABLE_KINDS
    if name == layout.IDS and info.ids:
        return {layout.ORDINALS: layout.DELETED_KIND} if info.id_count < len(info) else {}
    if name == layout.IDS and info.ids is not None:
        return {column: kinds[column] for column in (layout.ORDINALS, layout.DIRECTORY)}
    return kinds if info.polytope_count > 0 or not layout.is_polytope_name(name) else {}


def with_entries(info: RunInfo, name: bytes, entries: Entries) -> RunInfo:
    """Return the row of a run with the entries of one more table.

    Tables are added in the order of `sums_of`.
    """
    sums = info.sums + entries.checksum.to_bytes(SUM_BYTES, "little")
    if name == layout.IDS:
        sums = sums if info.ids is None else info.sums
        return replace(info, id_count=entries.length, sums=sums)
    if not layout.is_polytope_name(name):
        return replace(info, entry_count=entries.length, sums=sums)
    if not entries.length:
        return info
    return replace(info, polytope_count=entries.length, sums=sums)


def ends_with(info: RunInfo, name: bytes, entries: Entries) -> bool:
    """Return whether `with_entries` can have added a table with these `entries` last.

    A row without sums cannot tell, and a table without entries may have no sum.
    """
    if not entries.length or not info.sums:
        return entries.length == entry_count(info, name)
    last = info.sums[-SUM_BYTES:]
    return entries == (entry_count(info, name), int.from_bytes(last, "little"))


def run_info(
    number: int, start: int, stop: int, tables: Mapping[bytes, Entries], weighted_count: int,
    ids: tuple[int, ...] | None,
) -> RunInfo:  # fmt: skip
    """Return the row of a run in the manifest; `tables`: its tables, with tables of keys in order.

    Without a table of ids, all documents count as its entries.  `ids`: see `RunInfo`.
    """
    info = RunInfo(number, start, stop, 0, stop - start, weighted_count, ids=ids)
    for name in sorted(tables, key=layout.IDS.__ne__):  # ids precede the keys
        info = with_entries(info, name, tables[name])
    return info


def sums_of(info: RunInfo, table_names: Iterable[bytes]) -> dict[bytes, int]:
    """Return the checksum of each table of a run; empty if not all are known.

    `table_names`: all tables of keys, in order.  The table of ids precedes them.  Tables that are
    not stored and a table of ids without keys have no checksum.
    """
    every = (layout.IDS, *table_names)
    names = [name for name in every if layout.KEYS in stored_kinds(info, name)]
    if len(info.sums) != SUM_BYTES * len(names):
        return {}
    return dict(zip(names, np.frombuffer(info.sums, "<u8").tolist(), strict=True))


class _Bins(NamedTuple):
    """The bins of the keys that `mask` makes: the first starts at `low`, each spans 2^`shift`."""

    mask: int
    low: int
    shift: int


class Sorting:
    """A sorter for several tables of the same words.

    It permutes `words` uint64[n] by each of `masks` and sorts them.
    """

    def __init__(self, words: U64, ordinals: U32, masks: Sequence[int], threads: int) -> None:
        """Count the keys of all tables; `words` and `ordinals` uint32[n] must not change."""
        self._words, self._ordinals = words, ordinals
        self._masks, self._threads = masks, threads
        count = len(words)
        self._parts: list[slice] = []
        if count >= BINNED_ENTRIES:
            self._parts = parts_of(count, threads, most=count)
        width = min(max((count // BIN_ENTRIES).bit_length(), BIN_BITS_MIN), BIN_BITS_MAX)
        sample = np.ascontiguousarray(words[:: max(1, count // SAMPLED_KEYS)])
        self._bins = [_bins_of(sample, mask, width) for mask in masks if self._parts]

        def counts(part: slice) -> I64:
            found = np.zeros((len(self._bins), 1 << width), np.int64)
            for own, bins in zip(found, self._bins, strict=True):
                kernel.count_bins(words[part], *bins, own)
            return found

        # Counts by part, mask and bin.
        self._counts = list(mapped(counts, self._parts, threads))

    def write(self, number: int, keys: U64, ordinals: U32) -> None:
        """Write the sorted keys of mask `number` and their ordinals; equal keys keep order."""
        if not self._parts:
            kernel.permute(self._words, self._masks[number], keys)
            np.copyto(ordinals, self._ordinals)
            kernel.sort(keys, ordinals)
            return
        counts = np.array([part[number] for part in self._counts])
        bounds = np.zeros(counts.shape[1] + 1, np.int64)
        np.cumsum(counts.sum(axis=0), out=bounds[1:])
        # Where each part writes into each bin: the start of the bin plus the entries of earlier
        # parts.
        starts = bounds[:-1] + np.cumsum(counts, axis=0) - counts

        def move(at: int) -> None:
            part = self._parts[at]
            kernel.to_bins(
                self._words[part], self._ordinals[part], *self._bins[number], starts[at],
                keys, ordinals,
            )  # fmt: skip

        def sort(some: I64) -> None:
            kernel.sort_bins(keys, ordinals, some)

        run_all(move, range(len(self._parts)), self._threads)
        run_all(sort, _shared(bounds, self._threads), self._threads)


def sorted_table(keys: U64, ordinals: U32, threads: int = 1) -> Table:
    """Return the sorted table of some entries, without a directory.

    A small table sorts `keys` in place, so no other code may need them; `ordinals` are copied.
    """
    if len(keys) >= BINNED_ENTRIES:
        table = table_with_room(len(keys))
        Sorting(keys, ordinals, [ALL_BITS], threads).write(0, table.keys, table.ordinals)
        return table
    copied = codec.allocated(ordinals)
    kernel.sort(keys, copied)
    return Table(keys, copied)


def _bins_of(sample: U64, mask: int, width: int) -> _Bins:
    """Return 2^`width` bins for the keys of words, chosen by a sample of the words."""
    keys = np.empty_like(sample)
    kernel.permute(sample, mask, keys)
    low = int(keys.min())
    varying = (low ^ int(keys.max())).bit_length()
    return _Bins(mask, low >> varying << varying, max(varying - width, 0))


def _shared(bounds: I64, threads: int) -> list[I64]:
    """Cut the bins into parts with about equal numbers of entries; return the bounds."""
    parts = 2 * PARTS * threads if threads > 1 else 1
    cuts = np.searchsorted(bounds, np.arange(1, parts) * int(bounds[-1]) // parts)
    ends = sorted_unique(np.concatenate([[0], cuts, [len(bounds) - 1]]))
    return [bounds[start : stop + 1] for start, stop in pairwise(ends)]
