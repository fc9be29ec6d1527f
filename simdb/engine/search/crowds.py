"""Crowds: connected groups so large that their members are put off, and searched without them.

A member of a group of m similar documents meets the other members in every table, and passes over
them one by one.  For all members these are m^2 steps.  Tables without the group are made once, at
the price of reading all tables, and its members are looked up there at the end.
"""

from collections.abc import Iterator
from math import isqrt

import numpy as np
import numpy.typing as npt

from simdb.running import kernel
from simdb.values.arrays import sorted_unique

# A group of at least this size, and of CROWD_ROOTS * sqrt(n) among n documents, is a crowd: passing
# over an entry takes as long as copying an entry, and the tables of n documents are copied.
CROWD_MIN = 1024
CROWD_ROOTS = 2
# Counting reads all labels, so it waits for this number of pairs.
COUNTED_PAIRS = 512

U32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]


class Crowds:
    """The documents that are in crowds, and of these the documents that were put off.

    `least`: the size from which on a group is a crowd.
    Groups grow while pairs are joined, so they are counted again whenever the number of documents
    that were looked up has doubled, and some hundred pairs were found since.
    """

    def __init__(self, forest: kernel.Forest) -> None:
        """Take the forest over ordinals in which the caller joins the pairs that it finds."""
        self._forest = forest
        count = len(forest.parents)
        self.least = max(CROWD_MIN, CROWD_ROOTS * isqrt(count))
        self._seen, self._counted_at, self._pairs = 0, 0, 0
        self._is_crowded = self._counted(forest.labels())
        self._waiting: list[U32] = []

    def put_off(self, ordinals: U32) -> U32:
        """Put off the documents that are in crowds, and return the others."""
        if self._seen > 2 * self._counted_at and self._pairs >= COUNTED_PAIRS:
            self._is_crowded = self._counted(self._forest.labels())
            self._counted_at, self._pairs = self._seen, 0
        self._seen += len(ordinals)
        crowded = self._is_crowded[ordinals]
        self._waiting.append(ordinals[crowded])
        return ordinals[~crowded]

    def found(self, pairs: int) -> None:
        """Take the number of pairs that were found, and that the caller joins."""
        self._pairs += pairs

    def groups(self) -> Iterator[tuple[U32, Bools]]:
        """Yield the documents that were put off, group by group, and which ordinals are members.

        Call it when all other documents have been looked up.
        """
        labels = self._forest.labels()
        waiting = np.concatenate([np.empty(0, np.uint32), *self._waiting])
        waiting.sort()
        of_each = labels[waiting]
        for label in sorted_unique(of_each):
            yield waiting[of_each == label], labels == label

    def _counted(self, labels: U32) -> Bools:
        """Return which documents are in crowds."""
        is_large: Bools = np.bincount(labels, minlength=1) >= self.least
        return np.asarray(is_large[labels])
