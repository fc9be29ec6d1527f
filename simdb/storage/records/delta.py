"""Documents that are in no run yet: the delta, and what a transaction has staged.

`Loose` grows at its end and never changes what it holds, so an older `LooseView` of it stays true
while newer documents are appended; that makes a commit of one document cost one document.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from simdb.storage.records.batch import Batch
from simdb.values import EMPTY

LEAST_CAPACITY = 64


class Keying(Protocol):
    """Which keys the tables of a database store."""

    @property
    def table_count(self) -> int:
        """Number of tables."""

    def searchable(
        self, fingerprints: npt.NDArray[np.uint64], vectors: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.uint64]:
        """What the keys of documents are made of: uint64[n], or uint64[n, k]."""

    def write_keys(
        self, searchable: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64], table: int
    ) -> None:
        """Write the key of each in one table to `keys`."""


class LooseView(NamedTuple):
    """The documents with ordinals start .. start + len(batch) and those of them to search.

    `searchable` uint64 (see `Keying`) and `ordinals` uint32 of those with features.
    """

    start: int
    batch: Batch
    searchable: npt.NDArray[np.uint64]
    ordinals: npt.NDArray[np.uint32]

    @property
    def stop(self) -> int:
        """The ordinal after the last one."""
        return self.start + len(self.batch)


def as_loose(start: int, batch: Batch, keying: Keying) -> LooseView:
    """The documents of `batch`, the first of them with the ordinal `start`."""
    ordinals = np.arange(start, start + len(batch), dtype=np.uint32)
    if not (batch.states == EMPTY).any():
        searchable = keying.searchable(batch.fingerprints, batch.vectors)
        return LooseView(start, batch, searchable, ordinals)
    kept = batch.states != EMPTY
    searchable = keying.searchable(batch.fingerprints[kept], batch.vectors[kept])
    return LooseView(start, batch, searchable, ordinals[kept])


class Loose:
    """Columns that grow at the end.

    What is appended is written behind the end first, and then one assignment moves the end: an
    exception in between, at whatever instruction, leaves everything as it was.
    """

    def __init__(self, start: int, width: int, keying: Keying) -> None:
        """None yet; the first to be appended gets the ordinal `start`."""
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
        """Add documents at the end."""
        self.extend(as_loose(self.start + len(self), batch, self._keying))

    def extend(self, loose: LooseView) -> None:
        """Add documents at the end that have these ordinals already."""
        batch = loose.batch
        count, content, searchable = self._ends
        assert loose.start == self.start + count
        self._fingerprints.put(count, batch.fingerprints)
        self._states.put(count, batch.states)
        self._vectors.put(count, batch.vectors)
        self._hashes.put(count, batch.hashes)
        self._offsets.put(count + 1, batch.offsets[1:] + content)
        self._content.put(content, batch.content)
        self._searchable.put(searchable, loose.searchable)
        self._ordinals.put(searchable, loose.ordinals)
        self._ends = (
            count + len(batch),
            content + len(batch.content),
            searchable + len(loose.searchable),
        )

    def view(self) -> LooseView:
        """What it holds now."""
        count, content, searchable = self._ends
        batch = Batch(
            self._fingerprints.until(count),
            self._states.until(count),
            self._vectors.until(count),
            self._hashes.until(count),
            self._offsets.until(count + 1),
            self._content.until(content),
        )
        return LooseView(
            self.start, batch, self._searchable.until(searchable), self._ordinals.until(searchable)
        )


class _Column:
    """An array with room at its end; until() gives a slice that later writes leave alone."""

    __slots__ = ("_array",)

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        shape = (LEAST_CAPACITY,) if width is None else (LEAST_CAPACITY, width)
        self._array: npt.NDArray[Any] = np.empty(shape, dtype)

    def put(self, end: int, values: npt.NDArray[Any]) -> None:
        """Write behind the first `end` entries, which stay."""
        needed = end + len(values)
        if needed > len(self._array):
            shape = (max(needed, 2 * len(self._array)), *self._array.shape[1:])
            larger = np.empty(shape, self._array.dtype)
            larger[:end] = self._array[:end]
            self._array = larger
        self._array[end:needed] = values

    def until(self, end: int) -> npt.NDArray[Any]:
        """The first `end` entries."""
        return self._array[:end]
