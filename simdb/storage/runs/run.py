"""Runs: the immutable part of the database, in memory or in LMDB's map.

A run covers consecutive ordinals.  It has the tables of keys that `Keying` says, one of the hashes
of ids, all sorted, and columns by ordinal cut into segments.  In the map nothing
is copied; since LMDB touches every page of a value that it hands out, values are fetched once,
when first asked for, and kept as long as the run is live (its pages stay where they are).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.errors import ClosedError, CorruptError
from simdb.storage import codec, layout
from simdb.storage.environment.environment import Environment
from simdb.storage.environment.gate import Holder
from simdb.storage.environment.reading import get_value, values_from
from simdb.storage.records.batch import Batch, stored_offsets
from simdb.storage.records.delta import Keying, LooseView
from simdb.storage.records.manifest import RunInfo
from simdb.storage.runs import page_cache
from simdb.values import EMPTY, WEIGHTED

# More would make the directory larger than what it points into is worth: 2 entries to a header.
HEADER_BITS_MAX = 28
# That of the ids, which are asked for less often: two to four entries to a header.
ID_HEADER_OFFSET = -1


class Table(NamedTuple):
    """One sorted collection: `keys` uint64[n], `ordinals` uint32[n], `directory` uint32."""

    keys: npt.NDArray[np.uint64]
    ordinals: npt.NDArray[np.uint32]
    directory: npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Consecutive documents from the ordinal `start` on, column by column (see `layout`).

    fingerprints uint64[k], states uint8[k], offsets uint32[k + 1] into the bytes of the ids,
    volatility vectors uint8[k, width].
    """

    start: int
    columns: dict[int, npt.NDArray[Any]]

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.columns[layout.STATE])

    def part(self, start: int, stop: int) -> "Segment":
        """The documents at the positions start .. stop."""
        offsets = self.columns[layout.OFFSET][start : stop + 1]
        parts = {column: array[start:stop] for column, array in self.columns.items()}
        parts[layout.OFFSET] = offsets - offsets[0]
        parts[layout.ID] = self.columns[layout.ID][int(offsets[0]) : int(offsets[-1])]
        return Segment(self.start + start, parts)


def as_segment(start: int, batch: Batch) -> Segment:
    """Documents as one segment, the first of them with the ordinal `start`; FullError."""
    return Segment(
        start,
        {
            layout.FINGERPRINT: batch.fingerprints,
            layout.STATE: batch.states,
            layout.OFFSET: stored_offsets(batch.offsets, f"the ids of {len(batch)} documents"),
            layout.ID: batch.content,
            layout.VECTOR: batch.vectors,
        },
    )


class Source:
    """Where the values of stored runs are fetched from: a transaction that sees them."""

    __slots__ = ("_environment", "_is_lent", "header_offset", "holder", "width")

    def __init__(
        self, environment: Environment, width: int, header_offset: int, *, inside: Any = None
    ) -> None:
        """Begin a read transaction; `width` is the bytes of a volatility vector.

        `header_offset`: how wide the directories of tables of fingerprints are, see `header_bits`.
        `inside`: a write transaction to read what it has written; whoever began it ends it, and
        nothing may be written while what was fetched is in use.
        """
        self._environment = environment
        self.width = width
        self.header_offset = header_offset
        self.holder: Holder | None = None
        self._is_lent = inside is not None
        if inside is None:
            self.holder = environment.begin()
        else:
            self.holder = Holder()
            self.holder.transaction = inside

    @property
    def transaction(self) -> Any:
        """The transaction of LMDB; None after `end`, and in a forked child."""
        return None if self.holder is None else self.holder.transaction

    def end(self) -> None:
        """End the transaction, again is fine; nothing that was fetched may be used after it."""
        holder, self.holder = self.holder, None
        if holder is not None and not self._is_lent:
            self._environment.end(holder)

    def check_open(self) -> None:
        """Raise ClosedError after `end`, ForkedError in a child of the process that began."""
        self._environment.check_usable()
        if self.transaction is None:
            raise ClosedError("the snapshot or transaction that this comes from has ended")

    def fetch(self, name: bytes, kind: bytes, key: bytes, dtype: npt.DTypeLike) -> Any:
        """The array stored under `key` of a sub-database; CorruptError when it is missing."""
        return codec.decode_array(kind, key, self.value(name, kind, key), dtype)

    def value(self, name: bytes, kind: bytes, key: bytes) -> Any:
        """The bytes stored under `key` of a sub-database; CorruptError when there are none."""
        value = self.find(name, key)
        if value is None:
            raise CorruptError(f"{codec.name(kind, key)} is missing from {name.decode()}")
        return value

    def find(self, name: bytes, key: bytes) -> Any:
        """The bytes stored under `key` of a sub-database; None when there are none."""
        return get_value(self.transaction, self._environment.subdatabase(name), key)

    def handle(self, name: bytes) -> Any:
        """LMDB's handle of a sub-database."""
        return self._environment.subdatabase(name)

    def every(self, name: bytes) -> Iterator[tuple[bytes, Any]]:
        """Every key of a sub-database, in order, and the bytes stored under it."""
        return values_from(self.transaction, self._environment.subdatabase(name))


class Run:
    """A run; parts that were not given are fetched when they are asked for."""

    def __init__(
        self,
        info: RunInfo,
        tables: Sequence[Table] | None = None,
        id_table: Table | None = None,
        segments: Sequence[Segment] | None = None,
    ) -> None:
        """Give all parts for a run in memory, none for one that is stored."""
        self.info = info
        self._tables: dict[int, Table] = dict(enumerate(tables or ()))
        self._id_table = id_table
        self._columns: dict[tuple[int, int], npt.NDArray[Any]] = {
            (column, number): array
            for number, segment in enumerate(segments or ())
            for column, array in segment.columns.items()
        }
        self._mapped: list[npt.NDArray[Any]] = []  # fetched, and not copied
        self._searchable: dict[tuple[int, int], Table] = {}

    def give_back(self) -> None:
        """Take what was fetched out of the memory of this process until it is used again."""
        for array in self._mapped:
            page_cache.give_back(array)

    def table(self, number: int, source: Source) -> Table:
        """The table of one block permutation."""
        if number not in self._tables:
            name = layout.table_name(number)
            self._tables[number] = self._fetch_table(
                name, self.info.entry_count, source, source.header_offset
            )
        return self._tables[number]

    def id_table(self, source: Source) -> Table:
        """The table of hashes of ids."""
        if self._id_table is None:
            self._id_table = self._fetch_table(
                layout.IDS, self.info.id_count, source, ID_HEADER_OFFSET
            )
        return self._id_table

    def column(self, column: int, number: int, source: Source) -> npt.NDArray[Any]:
        """One column of one segment."""
        array = self._columns.get((column, number))
        if array is None:
            array = self._fetch_column(column, number, source)
            self._columns[(column, number)] = array
        return array

    def segment(self, number: int, source: Source) -> Segment:
        """All columns of one segment; CorruptError where the ids do not follow each other."""
        start, _ = self.segment_range(number)
        columns = {column: self.column(column, number, source) for column in layout.COLUMN_KINDS}
        offsets = columns[layout.OFFSET]
        if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise CorruptError(
                f"the ids of segment {number} of run {self.info.number} do not follow each other"
            )
        return Segment(start, columns)

    def searchable(self, number: int, first: int, source: Source) -> Table:
        """The documents with features of one segment, by ordinal from `first` on.

        Their fingerprints stand under one header, as they are compared one by one.
        """
        segment_start, stop = self.segment_range(number)
        start = max(first, segment_start)
        table = self._searchable.get((number, start))
        if table is None:
            inside = slice(start - segment_start, None)
            ordinals = np.arange(start, stop, dtype=np.uint32)
            fingerprints = self.column(layout.FINGERPRINT, number, source)[inside]
            if self.info.entry_count < len(self.info):
                kept = self.column(layout.STATE, number, source)[inside] != EMPTY
                fingerprints, ordinals = fingerprints[kept], ordinals[kept]
            directory = np.array([0, len(ordinals)], np.uint32)
            table = self._searchable[(number, start)] = Table(fingerprints, ordinals, directory)
        return table

    def verify_column(self, column: int, number: int, source: Source) -> None:
        """Raise CorruptError unless a column of a segment is stored, and as it was written."""
        if column == layout.VECTOR and (source.width == 0 or self.info.weighted_count == 0):
            return
        name = layout.column_name(column)
        key = layout.segment_key(self.info.number, column, number)
        codec.verify_value(key, source.value(name, layout.COLUMN_KINDS[column], key))
        self.column(column, number, source)

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return -(-len(self.info) // layout.SEGMENT_ORDINALS)

    def segment_range(self, number: int) -> tuple[int, int]:
        """The ordinals start .. stop of one segment."""
        start = self.info.start + number * layout.SEGMENT_ORDINALS
        return start, min(start + layout.SEGMENT_ORDINALS, self.info.stop)

    def _fetch_table(self, name: bytes, count: int, source: Source, header_offset: int) -> Table:
        parts = []
        for column, dtype in ((layout.KEYS, "<u8"), (layout.ORDINALS, "<u4")):
            key = layout.table_key(self.info.number, column)
            array = source.fetch(name, layout.TABLE_KINDS[column], key, dtype)
            if len(array) != count:
                raise CorruptError(
                    f"run {self.info.number} of {name.decode()} has {len(array)} entries,"
                    f" the manifest says {count}"
                )
            parts.append(self._noted(array))
        key = layout.table_key(self.info.number, layout.DIRECTORY)
        directory = source.fetch(name, layout.TABLE_KINDS[layout.DIRECTORY], key, "<u4")
        if len(directory) != (1 << header_bits(count, header_offset)) + 1:
            raise CorruptError(
                f"the directory of run {self.info.number} of {name.decode()} has"
                f" {len(directory)} entries, which do not fit {count} keys"
            )
        return Table(parts[0], parts[1], self._noted(directory))

    def _fetch_column(self, column: int, number: int, source: Source) -> npt.NDArray[Any]:
        start, stop = self.segment_range(number)
        count = stop - start
        if column == layout.VECTOR:
            if source.width == 0 or self.info.weighted_count == 0:
                return np.zeros((count, source.width), np.uint8)
            flat = self._fetch(column, number, source)
            _check_length(self.info, column, number, len(flat), count * source.width)
            return flat.reshape(count, source.width)
        array = self._fetch(column, number, source)
        if column == layout.ID:
            count = int(self.column(layout.OFFSET, number, source)[-1])
        _check_length(self.info, column, number, len(array), count + (column == layout.OFFSET))
        return array

    def _fetch(self, column: int, number: int, source: Source) -> npt.NDArray[Any]:
        name = layout.column_name(column)
        key = layout.segment_key(self.info.number, column, number)
        dtype = layout.COLUMN_TYPES[column]
        array: npt.NDArray[Any] = source.fetch(name, layout.COLUMN_KINDS[column], key, dtype)
        return self._noted(array)

    def _noted(self, fetched: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if page_cache.is_mapped(fetched):
            self._mapped.append(fetched)
        return fetched


def _check_length(info: RunInfo, column: int, number: int, found: int, wanted: int) -> None:
    if found != wanted:
        raise CorruptError(
            f"column {column} of segment {number} of run {info.number} has {found} entries,"
            f" not {wanted}"
        )


def header_bits(entry_count: int, header_offset: int) -> int:
    """Width of the directory of a table: floor(log2 n) + `header_offset`, within its limits.

    That is t of PSM (Sood & Loguinov 2011, section 4.3), which gives its table T' = 1 + 2^(t - d)
    times the memory of the fingerprints, d = log2 n.
    """
    return min(max(entry_count.bit_length() - 1 + header_offset, 0), HEADER_BITS_MAX)


def make_table(
    keys: npt.NDArray[np.uint64],
    ordinals: npt.NDArray[np.uint32],
    header_offset: int,
    *,
    is_sorted: bool = False,
) -> Table:
    """Sort both columns in place unless they are, and make the directory, see `header_bits`."""
    if not is_sorted:
        kernel.sort(keys, ordinals)
    bits = header_bits(len(keys), header_offset)
    directory = codec.allocate(np.uint32, (1 << bits) + 1)
    kernel.directory(keys, bits, directory)
    return Table(keys, ordinals, directory)


def seal(loose: LooseView, keying: Keying, number: int, header_offset: int) -> Run:
    """A run in memory of all that `loose` holds; `header_offset`: see `header_bits`."""
    batch = loose.batch
    tables = []
    for table in range(keying.table_count):
        keys = codec.allocate(np.uint64, len(loose.searchable))
        keying.write_keys(loose.searchable, keys, table)
        ordinals = _allocated(loose.ordinals, np.uint32)
        tables.append(make_table(keys, ordinals, header_offset))
    every = np.arange(loose.start, loose.stop, dtype=np.uint32)
    id_table = make_table(
        _allocated(batch.hashes, np.uint64), _allocated(every, np.uint32), ID_HEADER_OFFSET
    )
    segments = list(_cut(loose.start, batch))
    weighted_count = int(np.count_nonzero(batch.states == WEIGHTED))
    entry_count = len(loose.searchable)
    info = RunInfo(number, loose.start, loose.stop, entry_count, len(batch), weighted_count)
    return Run(info, tables, id_table, segments)


def _cut(start: int, batch: Batch) -> Iterator[Segment]:
    """Any number of documents as segments; all of them may have more bytes of ids than one."""
    for first in range(0, len(batch), layout.SEGMENT_ORDINALS):
        stop = min(first + layout.SEGMENT_ORDINALS, len(batch))
        yield as_segment(start + first, batch.part(first, stop))


def _allocated(values: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    copied = codec.allocate(dtype, len(values))
    copied[...] = values
    return copied
