"""Documents that are in no run yet: the delta, and what a transaction has staged.

`Loose` grows at its end and never changes what it holds, so an older `LooseView` of it stays true
while newer documents are appended; that makes a commit of one document cost one document.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.storage.batch import Batch
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


@dataclass(frozen=True, slots=True)
class LooseView:
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
    """Columns that grow at the end."""

    def __init__(self, start: int, width: int, keying: Keying) -> None:
        """None yet; the first to be appended gets the ordinal `start`."""
        self.start = start
        self._keying = keying
        none = keying.searchable(np.empty(0, np.uint64), np.empty((0, width), np.uint8))
        self._columns = {
            "fingerprints": _Column(np.uint64),
            "states": _Column(np.uint8),
            "vectors": _Column(np.uint8, width),
            "hashes": _Column(np.uint64),
            "offsets": _Column(np.int64),
            "content": _Column(np.uint8),
            "searchable": _Column(np.uint64, *none.shape[1:]),
            "ordinals": _Column(np.uint32),
        }
        self._columns["offsets"].append(np.zeros(1, np.int64))

    def __len__(self) -> int:
        """Number of documents."""
        return self._columns["fingerprints"].count

    def append(self, batch: Batch) -> None:
        """Add documents at the end."""
        self.extend(as_loose(self.start + len(self), batch, self._keying))

    def extend(self, loose: LooseView) -> None:
        """Add documents at the end that have these ordinals already."""
        batch = loose.batch
        assert loose.start == self.start + len(self)
        for name in ("fingerprints", "states", "vectors", "hashes"):
            self._columns[name].append(getattr(batch, name))
        self._columns["offsets"].append(batch.offsets[1:] + self._columns["content"].count)
        self._columns["content"].append(batch.content)
        self._columns["searchable"].append(loose.searchable)
        self._columns["ordinals"].append(loose.ordinals)

    def view(self) -> LooseView:
        """What it holds now."""
        get = {name: column.filled() for name, column in self._columns.items()}
        batch = Batch(
            get["fingerprints"],
            get["states"],
            get["vectors"],
            get["hashes"],
            get["offsets"],
            get["content"],
        )
        return LooseView(self.start, batch, get["searchable"], get["ordinals"])


class _Column:
    """An array with room at its end; filled() gives a slice that later appends leave alone."""

    __slots__ = ("_array", "count")

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        shape = (LEAST_CAPACITY,) if width is None else (LEAST_CAPACITY, width)
        self._array: npt.NDArray[Any] = np.empty(shape, dtype)
        self.count = 0

    def append(self, values: npt.NDArray[Any]) -> None:
        needed = self.count + len(values)
        if needed > len(self._array):
            shape = (max(needed, 2 * len(self._array)), *self._array.shape[1:])
            larger = np.empty(shape, self._array.dtype)
            larger[: self.count] = self._array[: self.count]
            self._array = larger
        self._array[self.count : needed] = values
        self.count = needed

    def filled(self) -> npt.NDArray[Any]:
        return self._array[: self.count]
