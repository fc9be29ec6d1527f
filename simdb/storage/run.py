"""Runs: the immutable parts of the database, in memory or in LMDB's map.

A run covers consecutive ordinals.  It has the tables of keys that `Keying` defines, a table of the
hashes of ids, all sorted, and columns by ordinal cut into segments.  Only this module and `table`
pack and unpack the stored values of a run.

Mapped values are not copied.  LMDB touches every page of a value it returns.  So a value is fetched
once, on first use, and kept while the run is live; its pages do not move.

Columns by ordinal across all runs and the delta are fetched segment by segment.  So the first
answer after opening a large database fetches only the segments with its matches.  `LazyKernel`
keeps a kernel object over the segments of runs that were needed so far, and makes a new one when
another segment is needed.  `FollowedKernel` adds the delta, which differs in every view.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED
from simdb.core.dtypes import I64, U8, U32, Array
from simdb.core.errors import CorruptError
from simdb.core.values import dataclass
from simdb.storage import codec, file_map, layout
from simdb.storage.delta import DeltaView, StoredBatch, stored_offsets
from simdb.storage.environment import Source
from simdb.storage.file_map import Pages
from simdb.storage.manifest import RunInfo, decode_manifest
from simdb.storage.table import (
    Put,
    Stored,
    Table,
    directory_bits,
    empty_table,
    entry_count,
    has_header_table,
    header_table,
    stored_bits,
    stored_kinds,
)
from simdb.storage.tombstones import Bitmap, live_ordinals

NO_KEYS = np.empty(0, np.uint64)
# Up to this number of ordinals, Python finds their segments faster than NumPy.
FEW = 8


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Consecutive documents, column by column (see `layout`), starting at the ordinal `start`.

    Fingerprints uint64[k], states uint8[k], offsets uint32[k + 1] into the bytes of the ids, and
    volatility vectors uint8[k, width].
    """

    start: int
    columns: dict[int, Array]

    def __len__(self) -> int:
        """Return the number of documents."""
        states = self.columns.get(layout.STATE)
        return len(self.columns[layout.OFFSET]) - 1 if states is None else len(states)

    @property
    def stop(self) -> int:
        """The ordinal after the last document."""
        return self.start + len(self)

    @property
    def ids(self) -> tuple[int, ...] | None:
        """The value of `RunInfo.ids` for these documents."""
        return kernel.describe_ids(self.columns[layout.OFFSET], self.columns[layout.ID])

    def part(self, start: int, stop: int) -> "Segment":
        """Return the documents at the positions start .. stop."""
        parts = {column: array[start:stop] for column, array in self.columns.items()}
        if layout.OFFSET in self.columns:
            offsets = self.columns[layout.OFFSET][start : stop + 1]
            parts[layout.OFFSET] = offsets - offsets[0]
            parts[layout.ID] = self.columns[layout.ID][int(offsets[0]) : int(offsets[-1])]
        return Segment(self.start + start, parts)


def stored_ids(segment: Segment) -> tuple[I64, U8]:
    """Return offsets and bytes of the stored ids of a segment.

    Raises CorruptError if they do not fit.
    """
    offsets = segment.columns[layout.OFFSET].astype(np.int64)
    content = segment.columns[layout.ID]
    if len(offsets) and (offsets[0] or offsets[-1] != len(content) or (np.diff(offsets) < 0).any()):
        raise CorruptError("the offsets of the ids do not fit their bytes")
    return offsets, content


def as_segment(start: int, batch: StoredBatch, offsets: U32 | None = None) -> Segment:
    """Return a batch as one segment; its first document has the ordinal `start`.

    `offsets`: the offsets of the ids as runs store them, if known.  Raises FullError if a run
    cannot store all bytes of the ids.
    """
    if offsets is None:
        offsets = stored_offsets(batch.offsets, f"the ids of {len(batch)} documents")
    return Segment(
        start,
        {
            layout.FINGERPRINT: batch.fingerprints,
            layout.STATE: batch.states,
            layout.OFFSET: offsets,
            layout.ID: batch.content,
            layout.VECTOR: batch.vectors,
        },
    )


class Run:
    """A run whose parts are fetched on first use."""

    def __init__(
        self,
        info: RunInfo,
        tables: Mapping[bytes, Table] | None = None,
        segments: Sequence[Segment] | None = None,
    ) -> None:
        """Pass all parts for a run in memory, none for a stored run.

        `tables`: all tables by the names of their sub-databases.
        """
        self.info = info
        self._tables: dict[bytes, Table] = dict(tables or {})
        self._columns: dict[tuple[int, int], Any] = {
            (column, number): array
            for number, segment in enumerate(segments or ())
            for column, array in segment.columns.items()
        }
        self._mapped: list[Pages] = []  # pages of the fetched arrays that are in the map
        self._keyed_ids: Table | None = None
        self._unweighted: I64 | None = None

    def give_back(self) -> None:
        """Release the fetched arrays from the memory of this process until their next use."""
        for pages in self._mapped:
            file_map.give_back(pages)

    def table(self, number: int, source: Source) -> Table:
        """Return table `number`."""
        return self.named_table(layout.table_name(number), source)

    def polytope_table(self, number: int, source: Source) -> Table:
        """Return cross-polytope table `number`, which has only documents with weights."""
        return self.named_table(layout.polytope_name(number), source)

    def named_table(self, name: bytes, source: Source) -> Table:
        """Return the table of a sub-database."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = self._fetch_table(name, source)
        return table

    def keyed_table(self, name: bytes, source: Source) -> Table:
        """Return the table of a sub-database with its keys; missing keys of ids are computed."""
        table, ids = self.named_table(name, source), self.info.ids
        if name != layout.IDS or (not ids and len(table.keys) == len(table.ordinals)):
            return table
        if self._keyed_ids is None:
            self._keyed_ids = self._with_keys(table, source)
        return self._keyed_ids

    def left_out(self, source: Source) -> Bitmap | None:
        """Return tombstones of the documents that left the tables, if the ids form a row."""
        info = self.info
        if info.id_count == len(info):
            return None
        key = layout.table_key(info.number, layout.ORDINALS)
        bits = source.fetch(layout.IDS, layout.DELETED_KIND, key, "u1")
        found = np.concatenate([np.zeros(info.start >> 3, np.uint8), bits])
        is_long = len(found) == -(-info.stop // 8)
        if is_long and info.id_count == len(live_ordinals(found, info.start, info.stop)):
            return found
        raise CorruptError(
            f"the {len(bits)} bytes of tombstones of run {info.number} do not fit its"
            f" {info.id_count} of {len(info)} documents"
        )

    def ids(self, number: int, source: Source) -> tuple[Any, ...]:
        """Return the first ordinal and the ids of a segment for `kernel.Identifiers`."""
        start, ids = self.segment_range(number)[0], self._held(layout.ID, number, source)
        if isinstance(ids, kernel.PackedIds):
            return start, ids
        return start, self.column(layout.OFFSET, number, source), ids

    def column(self, column: int, number: int, source: Source) -> Array:
        """Return a column of a segment; packed ids are unpacked each time."""
        array: Array | kernel.PackedIds = self._held(column, number, source)
        return array.forms if isinstance(array, kernel.PackedIds) else array

    def segment(
        self, number: int, source: Source, chosen: Iterable[int] = layout.COLUMN_KINDS
    ) -> Segment:
        """Return the `chosen` columns of a segment for sequential reading; OFFSET and ID together.

        Raises CorruptError if the offsets of the ids do not ascend.
        """
        start, _ = self.segment_range(number)
        columns = {column: self.column(column, number, source) for column in chosen}
        mapped = [pages for pages in map(source.pages_of, columns.values()) if pages is not None]
        if mapped and source.is_larger_than_memory:
            for pages in mapped:
                file_map.fetch(pages)
        offsets = columns.get(layout.OFFSET)
        if offsets is not None and (offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any()):
            raise CorruptError(
                f"the offsets of the ids of segment {number} of run {self.info.number} do not"
                " ascend from 0"
            )
        return Segment(start, columns)

    def searchable(self, number: int, source: Source) -> Table:
        """Return the documents of a segment that have features, for comparing them one by one.

        They are in order of ordinals, under a single header.
        """
        ordinals = np.arange(*self.segment_range(number), dtype=np.uint32)
        fingerprints = self.column(layout.FINGERPRINT, number, source)
        if self.info.entry_count < len(self.info):
            has_features = self.column(layout.STATE, number, source) != EMPTY
            fingerprints, ordinals = fingerprints[has_features], ordinals[has_features]
        return Table(fingerprints, ordinals, np.array([0, len(ordinals)], np.uint32))

    def unweighted(self, source: Source) -> I64:
        """Return the ordinals of documents without a volatility vector or signature."""
        if self._unweighted is None:
            found = [np.empty(0, np.int64)]
            if self.info.weighted_count < len(self.info):
                for number in range(self.segment_count):
                    states = self.column(layout.STATE, number, source)
                    start, _ = self.segment_range(number)
                    found.append(np.flatnonzero(states != WEIGHTED) + start)
            self._unweighted = np.concatenate(found)
        return self._unweighted

    def verify_column(self, column: int, number: int, source: Source) -> None:
        """Raise CorruptError unless a column of a segment is stored with the right checksum."""
        if column == layout.VECTOR and (source.width == 0 or self.info.weighted_count == 0):
            return
        name = layout.column_name(column)
        key = layout.segment_key(self.info.number, column, number)
        codec.verify_value(key, source.value(name, layout.COLUMN_KINDS[column], key))
        self.column(column, number, source)

    def verify_table(
        self, name: bytes, source: Source, columns: Iterable[int] = layout.TABLE_KINDS
    ) -> None:
        """Raise CorruptError unless columns of a table are stored with the right checksums."""
        kinds = stored_kinds(self.info, name)
        for column in kinds.keys() & columns:
            key = layout.table_key(self.info.number, column)
            codec.verify_value(key, source.value(name, kinds[column], key))
        if name == layout.IDS and self.info.ids:
            self.left_out(source)
        self.named_table(name, source)

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return -(-len(self.info) // layout.SEGMENT_ORDINALS)

    def segment_range(self, number: int) -> tuple[int, int]:
        """Return the ordinals start .. stop of a segment."""
        start = self.info.start + number * layout.SEGMENT_ORDINALS
        return start, min(start + layout.SEGMENT_ORDINALS, self.info.stop)

    def value_keys(self, table_names: Sequence[bytes], width: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield sub-database and key of every value; `table_names`: its tables of keys."""
        number = self.info.number
        for name in [*table_names, layout.IDS]:
            for column in stored_kinds(self.info, name):
                yield name, layout.table_key(number, column)
        for segment in range(self.segment_count):
            for column in layout.COLUMN_KINDS:
                if column != layout.VECTOR or (width and self.info.weighted_count):
                    yield layout.column_name(column), layout.segment_key(number, column, segment)

    def _fetch_table(self, name: bytes, source: Source) -> Table:
        count, kinds = entry_count(self.info, name), stored_kinds(self.info, name)
        if layout.DIRECTORY not in kinds:
            return empty_table(directory_bits(name, 0, source.header_offset))
        parts: dict[int, Any] = {layout.KEYS: NO_KEYS}
        for column in kinds:
            key, kind = layout.table_key(self.info.number, column), layout.TABLE_KINDS[column]
            if column == layout.KEYS and has_header_table(name, source.keying):
                array = codec.decode_keys(kind, key, source.unread(name, kind, key))
            else:
                array = source.fetch(name, kind, key, layout.TABLE_TYPES[column])
            if len(array) != count and column != layout.DIRECTORY:
                raise CorruptError(
                    f"run {self.info.number} of {name.decode()} has {len(array)} entries,"
                    f" but the manifest says {count}"
                )
            parts[column] = self._noted(array, source, is_random=True)
        keys, ordinals, directory = parts.values()
        if stored_bits(name, directory, count, source.header_offset) is None:
            raise CorruptError(
                f"the directory of run {self.info.number} of {name.decode()} has"
                f" {len(directory)} entries, which do not fit {count} keys"
            )
        if keys.dtype == np.uint64:
            return Table(keys, ordinals, directory)
        segments = range(self.segment_count)
        fingerprints = [self.column(layout.FINGERPRINT, each, source) for each in segments]
        return header_table(keys, ordinals, directory, self.info.start, fingerprints)

    def _with_keys(self, table: Table, source: Source) -> Table:
        """Compute the keys of the table of ids, or the whole sorted table for a row of ids."""
        stored = source.value(layout.MANIFEST, layout.MANIFEST_KIND, layout.MANIFEST_KEY)
        id_key = decode_manifest(stored).id_key
        segments = (
            self.segment(number, source, layout.ID_COLUMNS) for number in range(self.segment_count)
        )
        found = [kernel.hash_ids(*stored_ids(segment), id_key) for segment in segments]
        hashes, info = np.concatenate(found), self.info
        ordinals = table.ordinals
        if info.ids:
            ordinals = live_ordinals(self.left_out(source), info.start, info.stop)
        inside = ordinals - np.uint32(info.start)
        if (inside >= len(hashes)).any():
            raise CorruptError(f"run {info.number} of ids has ordinals of other runs")
        keys = hashes[inside]
        if info.ids:
            kernel.sort(keys, ordinals)
        return Table(keys, ordinals, table.directory)

    def _held(self, column: int, number: int, source: Source) -> Any:
        """Return a column of a segment; packed ids remain packed."""
        array = self._columns.get((column, number))
        if array is None:
            array = self._fetch_column(column, number, source)
            self._columns[(column, number)] = array
        return array

    def _fetch_column(self, column: int, number: int, source: Source) -> Any:
        start, stop = self.segment_range(number)
        count = stop - start
        if column == layout.VECTOR:
            if source.width == 0 or self.info.weighted_count == 0:
                return np.zeros((count, source.width), np.uint8)
            flat = self._fetch(column, number, source)
            _check_length(self.info, column, number, len(flat), count * source.width)
            return flat.reshape(count, source.width)
        array = self._fetch(column, number, source)
        if isinstance(array, kernel.PackedIds):
            _check_length(self.info, column, number, array.count, count)
            return array
        if column == layout.ID:
            count = int(self.column(layout.OFFSET, number, source)[-1])
        _check_length(self.info, column, number, len(array), count + (column == layout.OFFSET))
        return array

    def _fetch(self, column: int, number: int, source: Source) -> Any:
        name = layout.column_name(column)
        key = layout.segment_key(self.info.number, column, number)
        kind = layout.COLUMN_KINDS[column]
        if column == layout.ID:
            ids = codec.decode_ids(kind, key, source.unread(name, kind, key))
            array = ids.packed if isinstance(ids, kernel.PackedIds) else ids
            self._noted(array, source, is_random=False)
            return ids
        array = source.fetch(name, kind, key, layout.COLUMN_TYPES[column])
        # A search reads the vectors of its candidates, and the fingerprints for a header table.
        has_header_table = source.keying.has_header_table and column == layout.FINGERPRINT
        return self._noted(array, source, is_random=has_header_table or column == layout.VECTOR)

    def _noted(self, fetched: Array, source: Source, *, is_random: bool) -> Array:
        """Record the pages of an array in the map; `is_random`: they are read in random order."""
        pages = source.pages_of(fetched)
        if pages is not None:
            self._mapped.append(pages)
            if is_random and source.is_larger_than_memory:
                file_map.expect_random(pages)
        return fetched


def _check_length(info: RunInfo, column: int, number: int, found: int, wanted: int) -> None:
    if found != wanted:
        raise CorruptError(
            f"column {column} of segment {number} of run {info.number} has {found} entries,"
            f" not {wanted}"
        )


def put_segment(
    number: int, at: int, segment: Segment, put: Put, *, has_vectors: bool, may_be_even: bool
) -> None:
    """Write the columns of segment `at` of run `number`; vectors only if `has_vectors`.

    See `encoded_column`.
    """
    for column in segment.columns:
        if has_vectors or column != layout.VECTOR:
            put(*encoded_column(number, at, segment, column, may_be_even=may_be_even))


def encoded_column(
    number: int, at: int, segment: Segment, column: int, *, may_be_even: bool
) -> Stored:
    """Return the stored form of a column of segment `at` of run `number`.

    `may_be_even`: allow the short form of evenly spaced numbers.  It must be false if old versions
    may read the database that know neither this form nor header tables nor packed ids.
    """
    name, array = layout.column_name(column), segment.columns[column]
    key, short = layout.segment_key(number, column, at), None
    if column == layout.ID:
        packed = kernel.pack_ids(segment.columns[layout.OFFSET], array)
        short = packed and codec.encode_packed(key, packed)
    elif may_be_even or (column == layout.OFFSET and segment.ids is not None):
        short = codec.encode_even(key, array) if column in layout.EVEN_COLUMNS else None
    return name, key, short or codec.encode_array(layout.COLUMN_KINDS[column], key, array)


class ColumnPart(NamedTuple):
    """A segment of a run, by its number."""

    run: Run
    number: int

    @property
    def start(self) -> int:
        """First ordinal."""
        return self.run.segment_range(self.number)[0]

    def column(self, column: int, source: Source) -> Array:
        """Return a column of the segment."""
        return self.run.column(column, self.number, source)


class ColumnParts(Sequence[ColumnPart]):
    """The segments of consecutive runs, and the delta after them, by ordinal."""

    def __init__(self, parts: Sequence[ColumnPart]) -> None:
        """Keep parts in order; see `of_runs` and `followed_by`."""
        self._parts = parts
        self._starts = [part.start for part in parts]

    @classmethod
    def of_runs(cls, runs: Sequence[Run], segment: int | None = None) -> "ColumnParts":
        """Return the segments of runs; with `segment`, only the segments with this number."""
        return cls(
            [
                ColumnPart(run, number)
                for run in runs
                for number in range(run.segment_count)
                if segment is None or number == segment
            ]
        )

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self._parts)

    def __getitem__(self, number: Any) -> Any:
        """Return a part."""
        return self._parts[number]

    def which(self, ordinals: U32) -> I64:
        """Return the number of the part that contains each ordinal."""
        return np.searchsorted(self._starts, ordinals, side="right") - 1

    def which_one(self, ordinal: int) -> int:
        """Return the number of the part that contains an ordinal."""
        return bisect_right(self._starts, ordinal) - 1

    def place_of(self, ordinal: int) -> tuple[ColumnPart, int]:
        """Return the part that contains an ordinal, and its position there."""
        number = bisect_right(self._starts, ordinal) - 1
        return self._parts[number], ordinal - self._starts[number]

    def followed_by(self, delta: DeltaView) -> "ColumnParts":
        """Return these segments, followed by the delta if it has documents."""
        if not len(delta.batch):
            return self
        segment = as_segment(delta.start, delta.batch, delta.id_offsets)
        run = Run(RunInfo(-1, delta.start, delta.stop, 0, 0, 0), segments=[segment])
        return ColumnParts([*self, ColumnPart(run, 0)])


class LazyKernel:
    """A kernel object over the segments of runs that were needed so far."""

    def __init__(
        self, parts: ColumnParts, make: Callable[[Sequence[ColumnPart], Source], Any]
    ) -> None:
        """Start without segments; `make` makes the object from a list of segments."""
        self._parts = parts
        self._make = make
        self._held: tuple[frozenset[int], Any] = (frozenset(), None)
        self.whole: Any = None  # the object, once it covers all parts

    def over(self, source: Source, ordinals: U32 | None, stop: int) -> Any:
        """Return an object that covers at least the segments of the ordinals below `stop`.

        `ordinals`: None means all.
        """
        if self.whole is not None:
            return self.whole
        if ordinals is None:
            return self._with(source, range(len(self._parts)))
        if len(ordinals) <= FEW:
            which = self._parts.which_one
            return self._with(source, [which(at) for at in ordinals.tolist() if at < stop])
        # np.unique would import numpy.ma, which takes longer than a query.
        counts = np.bincount(self._parts.which(ordinals[ordinals < stop]))
        return self._with(source, np.flatnonzero(counts).tolist())

    def _with(self, source: Source, numbers: Sequence[int]) -> Any:
        held, made = self._held
        if made is None or not held.issuperset(numbers):
            held = held.union(numbers)
            made = self._make([self._parts[number] for number in sorted(held)], source)
            # A single assignment, so that another thread sees either the old pair or the new one.
            self._held = (held, made)
            if len(held) == len(self._parts):
                self.whole = made
        return made


class FollowedKernel:
    """A kernel object over the segments of runs that were needed so far, and over the delta."""

    def __init__(
        self, sealed: LazyKernel, delta: DeltaView, columns: Callable[[], tuple[Array, ...]]
    ) -> None:
        """Start without an object; `columns` returns the columns of the delta that it covers."""
        self._sealed = sealed
        self._delta = delta
        self._columns = columns
        self._held: tuple[Any, Any] = (None, None)
        self.held: Any = None  # the object over the delta and the segments needed so far
        self.whole: Any = None  # the object, once it covers all segments and the delta

    def over(self, source: Source, ordinals: U32 | None) -> Any:
        """Return an object that covers at least the segments of these ordinals; None means all."""
        if self.whole is not None:
            return self.whole
        before = self._sealed.over(source, ordinals, self._delta.start)
        known, followed = self._held
        if known is not before:
            followed = before
            if len(self._delta.batch):
                followed = before.followed_by(self._delta.start, *self._columns())
            self._held = (before, followed)
            self.held = followed
        if before is self._sealed.whole:
            self.whole = followed
        return followed
