"""The delta: documents that are in no run yet, committed or only staged by a transaction.

A `Delta` grows at its end and never changes what it holds, so an older `DeltaView` of it stays
valid while documents are appended; so the commit of one document costs one document.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from simdb.storage.records.batch import Batch
from simdb.values import EMPTY

LEAST_CAPACITY = 64


class Keying(Protocol):
    """The rule that gives every document its keys in the tables of a database."""

    @property
    def table_count(self) -> int:
        """Number of tables."""

    def searchable(
        self, fingerprints: npt.NDArray[np.uint64], vectors: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.uint64]:
        """Return the data from which keys are made: uint64[n], or uint64[n, k]."""

    def write_keys(
        self, searchable: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64], table: int
    ) -> None:
        """Write the key of each document in `table` to `keys`."""


class DeltaView(NamedTuple):
    """The documents of the delta, with the ordinals start .. start + len(batch).

    `searchable` uint64 (see `Keying`) and `ordinals` uint32 cover the documents with features only.
    """

    start: int
    batch: Batch
    searchable: npt.NDArray[np.uint64]
    ordinals: npt.NDArray[np.uint32]

    @property
    def stop(self) -> int:
        """The ordinal after the last document."""
        return self.start + len(self.batch)


def delta_view(start: int, batch: Batch, keying: Keying) -> DeltaView:
    """Return the documents of `batch` as a view; the first one has the ordinal `start`."""
    ordinals = np.arange(start, start + len(batch), dtype=np.uint32)
    if not (batch.states == EMPTY).any():
        searchable = keying.searchable(batch.fingerprints, batch.vectors)
        return DeltaView(start, batch, searchable, ordinals)
    has_features = batch.states != EMPTY
    searchable = keying.searchable(batch.fingerprints[has_features], batch.vectors[has_features])
    return DeltaView(start, batch, searchable, ordinals[has_features])


class Delta:
    """The columns of the delta, which grow at the end.

    New entries are written behind the end first, and then one assignment moves the end: an
    exception in between, at any instruction, leaves everything as it was.
    """

    def __init__(self, start: int, width: int, keying: Keying) -> None:
        """Start empty; the first appended document gets the ordinal `start`."""
        self.start = start
        self._keying = keying
        none = keying.searchable(np.empty(0, np.uint64), np.empty((0, width), np.uint8))
        self._fingerprints = _Column(np.uint64)
        self._states = _Column(np.uint8)
        self._vectors = _Column(np.uint8, width)
        self._hashes = _Column(np.uint64)
        self._offsets = _Column(np.int64)
        self._content = _Column(np.uint8)
        self._searchable = _Column(np.uint64, *none.shape[1:])
        self._ordinals = _Column(np.uint32)
        self._offsets.put(0, np.zeros(1, np.int64))
        # Documents, bytes of ids, and documents to search.
        self._ends = (0, 0, 0)

    def __len__(self) -> int:
        """Number of documents."""
        return self._ends[0]

    def append(self, batch: Batch) -> None:
        """Append the documents of `batch`."""
        self.extend(delta_view(self.start + len(self), batch, self._keying))

    def extend(self, delta: DeltaView) -> None:
        """Append the documents of a view that already has the next ordinals."""
        batch = delta.batch
        count, content, searchable = self._ends
        assert delta.start == self.start + count
        self._fingerprints.put(count, batch.fingerprints)
        self._states.put(count, batch.states)
        self._vectors.put(count, batch.vectors)
        self._hashes.put(count, batch.hashes)
        self._offsets.put(count + 1, batch.offsets[1:] + content)
        self._content.put(content, batch.content)
        self._searchable.put(searchable, delta.searchable)
        self._ordinals.put(searchable, delta.ordinals)
        self._ends = (
            count + len(batch),
            content + len(batch.content),
            searchable + len(delta.searchable),
        )

    def view(self) -> DeltaView:
        """Return a view of the present documents."""
        count, content, searchable = self._ends
        batch = Batch(
            self._fingerprints.until(count),
            self._states.until(count),
            self._vectors.until(count),
            self._hashes.until(count),
            self._offsets.until(count + 1),
            self._content.until(content),
        )
        return DeltaView(
            self.start, batch, self._searchable.until(searchable), self._ordinals.until(searchable)
        )


class _Column:
    """An array with room at its end; later writes do not touch the slices that `until` returned."""

    __slots__ = ("_array",)

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        shape = (LEAST_CAPACITY,) if width is None else (LEAST_CAPACITY, width)
        self._array: npt.NDArray[Any] = np.empty(shape, dtype)

    def put(self, end: int, values: npt.NDArray[Any]) -> None:
        """Write behind the first `end` entries, which do not change."""
        needed = end + len(values)
        if needed > len(self._array):
            shape = (max(needed, 2 * len(self._array)), *self._array.shape[1:])
            larger = np.empty(shape, self._array.dtype)
            larger[:end] = self._array[:end]
            self._array = larger
        self._array[end:needed] = values

    def until(self, end: int) -> npt.NDArray[Any]:
        """Return the first `end` entries."""
        return self._array[:end]
