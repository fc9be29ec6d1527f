"""Staged passages: the grains of the documents that a write transaction has inserted."""

import numpy as np

from simdb.running import kernel
from simdb.storage.passages.passage_run import NO_ENTRIES, entries_of_grains
from simdb.storage.runs.table import Table
from simdb.values.arrays import Grains, joined_grains


class StagedPassages:
    """The grains of new documents, in order; it only grows, or is taken back."""

    def __init__(self, first: int) -> None:
        """Begin without documents; the first one will have the ordinal `first`."""
        self._first = first
        self._parts: list[Grains] = []
        self._sorted: tuple[int, Table] = (0, NO_ENTRIES)

    def __len__(self) -> int:
        """Number of insertions, for `restore`."""
        return len(self._parts)

    def restore(self, count: int) -> None:
        """Forget all insertions but the first `count`."""
        del self._parts[count:]
        if self._sorted[0] > count:
            self._sorted = (0, NO_ENTRIES)

    def insert(self, grains: Grains) -> None:
        """Add the grains of the next documents."""
        self._parts.append(grains)

    def entries(self) -> Table:
        """Return the entries of all documents, sorted."""
        if self._sorted[0] < len(self._parts):
            table = entries_of_grains(self._first, joined_grains(self._parts))
            kernel.sort(table.keys, table.ordinals)
            self._sorted = (len(self._parts), table)
        return self._sorted[1]

    @property
    def entry_count(self) -> int:
        """Number of entries."""
        return int(np.sum([len(part.hashes) for part in self._parts], dtype=np.int64))
