"""The delta: documents that are in no run yet, committed or staged by a transaction.

A `Delta` grows at its end and never changes existing documents.  So an older `DeltaView` remains
valid while documents are appended, and the commit of one document costs one document.  A write
transaction appends to a `branch` of the committed delta, which shares its arrays.  A commit makes
the branch the next delta; an abort drops it.

A value of the delta holds the documents of one commit, column by column, after the header:

    document count u32 | vector width u32 | fingerprints u64[n] | hashes of ids u64[n] |
    offsets of ids u32[n + 1] | states u8[n] | vectors u8[n, width] | bytes of ids
"""

import struct
import threading
from collections.abc import Sequence
from copy import copy
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from simdb.core.arrays import EMPTY, NO_EXTRAS, WEIGHTED, Extras, offsets_of
from simdb.core.dtypes import I64, U8, U32, U64, Array
from simdb.core.errors import CorruptError, FullError
from simdb.core.values import dataclass
from simdb.storage import codec, layout

_COUNTS = struct.Struct("<II")
# Up to this number, documents are joined faster as bytes than as arrays.
FEW_DOCUMENTS = 16
LEAST_CAPACITY = 64
# Keys and ordinals of an empty delta, in the form that kernels take.
NO_DOCUMENTS = np.empty(0, np.uint64), np.empty(0, np.uint32)

# The number of documents, bytes of ids, searchable documents, and documents with weights.
_Ends = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class StoredBatch:
    """Consecutive documents, column by column, with n entries in each column.

    `fingerprints` uint64, `states` uint8, `vectors` uint8[n, width], `hashes` (of ids) uint64.  The
    stored form of id i is content[offsets[i]:offsets[i + 1]] (int64[n + 1], uint8).  Only new
    documents have `extras`; the delta does not store them.
    """

    fingerprints: U64
    states: U8
    vectors: U8
    hashes: U64
    offsets: I64
    content: U8
    extras: Extras = NO_EXTRAS

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.fingerprints)

    def part(self, start: int, stop: int) -> "StoredBatch":
        """Return the documents start .. stop."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        inside = slice(start, stop)
        sketches = self.fingerprints[inside], self.states[inside], self.vectors[inside]
        return StoredBatch(
            *sketches,
            self.hashes[inside],
            self.offsets[start : stop + 1] - first,
            self.content[first:last],
            self.extras.taken(inside),
        )

    def view(self, start: int, keying: "Keying") -> "DeltaView":
        """Return the documents as a view in which the first one has the ordinal `start`."""
        if len(self) == 1 and int(self.states[0]) != EMPTY:
            # A shortcut for one document takes a third of the time.
            return DeltaView(
                start,
                self,
                keying.searchable(self.fingerprints, self.vectors),
                np.array([start], np.uint32),
                None,
                int(int(self.states[0]) == WEIGHTED),
            )
        ordinals = np.arange(start, start + len(self), dtype=np.uint32)
        weighted_count = int(np.count_nonzero(self.states == WEIGHTED))
        fingerprints, vectors = self.fingerprints, self.vectors
        if weighted_count < len(self):
            has_features = self.states != EMPTY
            if not has_features.all():
                fingerprints, vectors = fingerprints[has_features], vectors[has_features]
                ordinals = ordinals[has_features]
        searchable = keying.searchable(fingerprints, vectors)
        return DeltaView(start, self, searchable, ordinals, None, weighted_count)

    @staticmethod
    def joined(batches: Sequence["StoredBatch"]) -> "StoredBatch":
        """Join the documents of all `batches` (at least one) in order."""
        if len(batches) == 1:
            return batches[0]
        lengths = [np.diff(each.offsets) for each in batches]
        columns = ("fingerprints", "states", "vectors", "hashes", "content")
        return StoredBatch(
            **{name: np.concatenate([getattr(each, name) for each in batches]) for name in columns},
            offsets=offsets_of(np.concatenate(lengths)),
            extras=Extras.joined([each.extras for each in batches]),
        )

    def encoded(self, key: bytes) -> U8:
        """Return the value of the delta under `key`."""
        counts = _COUNTS.pack(len(self), self.vectors.shape[1])
        parts: list[Any] = [
            self.fingerprints,
            self.hashes,
            stored_offsets(self.offsets, f"the ids of {len(self)} documents"),
            self.states,
            self.vectors,
            self.content,
        ]
        if len(self) <= FEW_DOCUMENTS:
            payload = b"".join([counts, *[part.tobytes() for part in parts]])
            stored = codec.encode_bytes(layout.DELTA_KIND, key, len(payload), payload)
            return np.frombuffer(stored, np.uint8)
        parts.insert(0, np.frombuffer(counts, np.uint8))
        flat = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
        whole = codec.allocate(np.uint8, sum(len(part) for part in flat))
        np.concatenate(flat, out=whole)
        return codec.encode_array(layout.DELTA_KIND, key, whole)


class VectorKeying(Protocol):
    """A rule that gives every document with weights its keys in the cross-polytope tables."""

    @property
    def table_count(self) -> int:
        """Number of tables; 0 for none."""

    def keys(self, vectors: U8) -> U64:
        """Return the keys of volatility vectors uint8[n, width]: uint64[tables, n]."""


class Keying(Protocol):
    """A rule that gives every document its keys in the tables of a database."""

    @property
    def polytopes(self) -> VectorKeying:
        """The rule for the cross-polytope tables."""

    @property
    def table_count(self) -> int:
        """Number of tables."""

    @property
    def has_header_table(self) -> bool:
        """Whether there is a single table, with fingerprints as keys; see `table`."""

    def searchable(self, fingerprints: U64, vectors: U8) -> U64:
        """Return the data from which keys are computed: uint64[n], or uint64[n, k]."""

    def write_keys(self, searchable: U64, keys: U64, table: int) -> None:
        """Write the key of each document in `table` to `keys`."""


class DeltaView(NamedTuple):
    """The documents of the delta, with the ordinals start .. start + len(batch).

    `searchable` uint64 (see `Keying`) and `ordinals` uint32 cover only documents with features.
    `narrow`: the offsets of the ids as runs store them, if known.  `weighted_count` documents have
    a volatility vector or a signature.
    """

    start: int
    batch: StoredBatch
    searchable: U64
    ordinals: U32
    narrow: U32 | None
    weighted_count: int

    @property
    def stop(self) -> int:
        """The ordinal after the last document."""
        return self.start + len(self.batch)

    def until(self, count: int) -> "DeltaView":
        """Return the first `count` documents."""
        states = self.batch.states[:count]
        searched = int(np.searchsorted(self.ordinals, self.start + count))
        return DeltaView(
            self.start,
            self.batch.part(0, count),
            self.searchable[:searched],
            self.ordinals[:searched],
            None,
            int(np.count_nonzero(states == WEIGHTED)),
        )

    @property
    def id_offsets(self) -> U32:
        """Offsets of the ids as runs store them; raise FullError if there are too many bytes."""
        if self.narrow is not None:
            return self.narrow
        return stored_offsets(self.batch.offsets, f"the ids of {len(self.batch)} documents")

    @property
    def every(self) -> U32:
        """Ordinals of all documents."""
        if len(self.ordinals) == len(self.batch):
            return self.ordinals
        return np.arange(self.start, self.stop, dtype=np.uint32)


class Delta:
    """The growing columns of the delta.

    New entries are first written behind the end; then one assignment moves the end.  An exception
    at any instruction in between changes nothing.
    """

    def __init__(self, start: int, width: int, keying: Keying) -> None:
        """Start empty; the first appended document gets the ordinal `start`."""
        self.start = start
        self._keying = keying
        self._columns = _DeltaArrays(width, keying)
        self._ends: _Ends = (0, 0, 0, 0)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._ends[0]

    def branch(self) -> "Delta":
        """Return a delta with the same documents that can grow without changing this one.

        They share their arrays until both have grown.
        """
        other = Delta.__new__(Delta)
        other.start, other._keying = self.start, self._keying
        other._columns, other._ends = self._columns, self._ends
        return other

    def append(self, batch: StoredBatch) -> None:
        """Append the documents of `batch`."""
        self.extend(batch.view(self.start + len(self), self._keying))

    def extend(self, delta: DeltaView) -> None:
        """Append the documents of a view with the next ordinals; raise FullError if too long."""
        batch = delta.batch
        count, content, searchable, weighted = self._ends
        assert delta.start == self.start + count
        size = content + len(batch.content)
        if size > layout.VALUE_BYTES_MAX:
            raise FullError(
                f"the ids of {count + len(batch)} documents have {size} bytes, more than the"
                f" {layout.VALUE_BYTES_MAX} of one stored value; nothing was changed"
            )
        if not self._columns.claim(count, count + len(batch)):
            self._columns = self._columns.copied(self._ends)
            self._columns.claim(count, count + len(batch))
        self._columns.write(self._ends, delta)
        self._ends = (
            count + len(batch),
            size,
            searchable + len(delta.searchable),
            weighted + delta.weighted_count,
        )

    def lacks(self, hash: int) -> bool:
        """Return True if no document has an id with this hash; False if that is uncertain."""
        return self._columns.lack(len(self), hash)

    def view(self) -> DeltaView:
        """Return a view of the present documents."""
        *stored, offsets, content, searchable, ordinals, narrow = self._columns.until(self._ends)
        fingerprints, states, vectors, hashes = stored
        batch = StoredBatch(fingerprints, states, vectors, hashes, offsets, content)
        return DeltaView(self.start, batch, searchable, ordinals, narrow, self._ends[-1])


def stored_offsets(offsets: I64, what: str) -> U32:
    """Narrow offsets to uint32; raise FullError, naming `what`, if one value cannot hold them."""
    if offsets[-1] > layout.VALUE_BYTES_MAX:
        raise FullError(
            f"{what} have {offsets[-1]} bytes, more than the {layout.VALUE_BYTES_MAX} of one stored"
            " value; nothing was changed"
        )
    return offsets.astype(np.uint32)


def decode_batch(key: bytes, value: Any) -> StoredBatch:
    """Return the batch in a value of the delta, without copies; verify the checksum."""
    payload = codec.decode_array(layout.DELTA_KIND, key, value, np.uint8, verify=True)
    place = codec.name(layout.DELTA_KIND, key)
    if len(payload) < _COUNTS.size:
        raise CorruptError(f"{place} has no counts")
    count, width = _COUNTS.unpack_from(payload.data)
    sizes = (8 * count, 8 * count, 4 * (count + 1), count, count * width)
    stops = list(accumulate(sizes, initial=_COUNTS.size))
    if stops[-1] > len(payload):
        raise CorruptError(f"{place} is too short for {count} documents")
    columns = (payload[start:stop] for start, stop in pairwise(stops))
    fingerprints, hashes, offsets, states, vectors = columns
    content = payload[stops[-1] :]
    starts = offsets.view(np.uint32).astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(content) or (np.diff(starts) < 0).any():
        raise CorruptError(f"{place} has offsets of ids that do not fit their bytes")
    return StoredBatch(
        fingerprints.view(np.uint64),
        states,
        vectors.reshape(count, width),
        hashes.view(np.uint64),
        starts,
        content,
    )


class _DeltaArrays:
    """The arrays that a delta shares with its branches; only one of them can grow in place.

    They are the columns of `StoredBatch` in order, then searchable, ordinals and narrow offsets of
    `DeltaView`.  `ends` are the ends of a `Delta`.
    """

    def __init__(self, width: int, keying: Keying) -> None:
        none = keying.searchable(np.empty(0, np.uint64), np.empty((0, width), np.uint8))
        types = (np.uint64, np.uint8, np.uint8, np.uint64, np.int64, np.uint8)
        rows = ((), (), (width,), (), (), (), none.shape[1:], (), ())
        self._columns = [
            _Column(dtype, row)
            for dtype, row in zip((*types, np.uint64, np.uint32, np.uint32), rows, strict=True)
        ]
        self._hashes, offsets, narrow = (self._columns[at] for at in (3, 4, -1))
        offsets.put(0, np.zeros(1, np.int64))
        narrow.put(0, np.zeros(1, np.uint32))
        self._claimed = 0  # documents that a branch has written or is writing
        self._lock = threading.Lock()
        # A superset of the hashes of the first `_known_count` ids.
        self._known_hashes: set[int] = set()
        self._known_count = 0

    def claim(self, count: int, wanted: int) -> bool:
        """Return whether a branch of `count` documents may grow in place to `wanted` documents.

        It may not if another branch has grown before.  A claim is never released.
        """
        with self._lock:
            if self._claimed != count:
                return False
            self._claimed = wanted
            return True

    def until(self, ends: _Ends) -> list[Array]:
        """Return the columns up to the ends."""
        columns = zip(self._columns, _ends_of(ends), strict=True)
        return [column.array[:end] for column, end in columns]

    def copied(self, ends: _Ends) -> "_DeltaArrays":
        """Return a copy of the arrays up to `ends` that no branch shares."""
        other, columns = copy(self), zip(self._columns, _ends_of(ends), strict=True)
        other._columns = [column.copied(end) for column, end in columns]
        other._hashes = other._columns[3]
        other._claimed, other._lock = ends[0], threading.Lock()
        other._known_hashes, other._known_count = set(), 0
        return other

    def lack(self, count: int, hash: int) -> bool:
        """Return True if no id among the first `count` has this hash; False if uncertain."""
        if self._known_count < count:
            self._known_hashes.update(self._hashes.array[self._known_count : count].tolist())
            self._known_count = count
        return hash not in self._known_hashes

    def write(self, ends: _Ends, delta: DeltaView) -> None:
        """Write the documents of `delta` behind `ends`."""
        batch = delta.batch
        offsets = batch.offsets[1:] + ends[1]
        parts: tuple[Array, ...] = (
            batch.fingerprints, batch.states, batch.vectors, batch.hashes, offsets, batch.content,
            delta.searchable, delta.ordinals, offsets,
        )  # fmt: skip
        for column, end, part in zip(self._columns, _ends_of(ends), parts, strict=True):
            column.put(end, part)


def _ends_of(ends: _Ends) -> tuple[int, ...]:
    """Return the end of each column."""
    count, content, searchable, _ = ends
    return (count, count, count, count, count + 1, content, searchable, searchable, count + 1)


class _Column:
    """An `array` with spare room; writes at the end do not touch earlier slices."""

    __slots__ = ("array",)

    def __init__(self, dtype: Any, row: tuple[int, ...]) -> None:
        self.array: Array = np.empty((LEAST_CAPACITY, *row), dtype)

    def put(self, end: int, values: Array) -> None:
        """Write values after the first `end` entries, which do not change."""
        needed = end + len(values)
        if needed > len(self.array):
            shape = (max(needed, 2 * len(self.array)), *self.array.shape[1:])
            larger = np.empty(shape, self.array.dtype)
            larger[:end] = self.array[:end]
            self.array = larger
        self.array[end:needed] = values

    def copied(self, end: int) -> "_Column":
        """Return a separate column with the first `end` entries and room for more."""
        other = _Column.__new__(_Column)
        array = self.array
        other.array = np.empty((max(2 * end, LEAST_CAPACITY), *array.shape[1:]), array.dtype)
        other.array[:end] = array[:end]
        return other
