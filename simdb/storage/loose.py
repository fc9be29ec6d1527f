"""Documents that are in no run yet: the delta, and what a transaction has staged.

`Loose` grows at its end and never changes what it holds, so an older `LooseView` of it stays true
while newer documents are appended; that makes a commit of one document cost one document.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.storage.batch import Batch
from simdb.values import EMPTY

LEAST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class LooseView:
    """The documents with ordinals start .. start + len(batch) and those of them to search.

    `searchable` uint64 and `ordinals` uint32: fingerprints and ordinals of those with features.
    """

    start: int
    batch: Batch
    searchable: npt.NDArray[np.uint64]
    ordinals: npt.NDArray[np.uint32]

    @property
    def stop(self) -> int:
        """The ordinal after the last one."""
        return self.start + len(self.batch)


def as_loose(start: int, batch: Batch) -> LooseView:
    """The documents of `batch`, the first of them with the ordinal `start`."""
    ordinals = np.arange(start, start + len(batch), dtype=np.uint32)
    if not (batch.states == EMPTY).any():
        return LooseView(start, batch, batch.fingerprints, ordinals)
    kept = batch.states != EMPTY
    return LooseView(start, batch, batch.fingerprints[kept], ordinals[kept])


class Loose:
    """Columns that grow at the end."""

    def __init__(self, start: int, width: int) -> None:
        """None yet; the first to be appended gets the ordinal `start`."""
        self.start = start
        self._columns = {
            "fingerprints": _Column(np.uint64),
            "states": _Column(np.uint8),
            "vectors": _Column(np.uint8, width),
            "hashes": _Column(np.uint64),
            "offsets": _Column(np.int64),
            "content": _Column(np.uint8),
            "searchable": _Column(np.uint64),
            "ordinals": _Column(np.uint32),
        }
        self._columns["offsets"].append(np.zeros(1, np.int64))

    def __len__(self) -> int:
        """Number of documents."""
        return self._columns["fingerprints"].count

    def append(self, batch: Batch) -> None:
        """Add documents at the end."""
        stop = self.start + len(self)
        for name in ("fingerprints", "states", "vectors", "hashes"):
            self._columns[name].append(getattr(batch, name))
        self._columns["offsets"].append(batch.offsets[1:] + self._columns["content"].count)
        self._columns["content"].append(batch.content)
        loose = as_loose(stop, batch)
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
