"""Comparing: measures candidates, after their minima have told most that share a band by chance.

Only the texts of those that may match are read.
"""

from math import sqrt

import numpy as np
import numpy.typing as npt

from simdb.deduplication.measures import Measure
from simdb.deduplication.minima import COMPARED_MINIMA
from simdb.running import kernel
from simdb.running.threads import mapped

# A pair that is alike agrees in fewer minima than this many standard deviations below the mean once
# in a million times.
DEVIATIONS = 4.8
CHANCE = 1 / 256  # that two minima of 8 bits are equal though those of 32 bits differ
# So many pairs are compared by their minima at a time.
PART_PAIRS = 1 << 15

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]


class Comparing:
    """Compares documents, given by their places in an order."""

    def __init__(self, measure: Measure, minima: U8, order: I64 | None, threads: int) -> None:
        """`minima` uint8[n, m], in the order in which documents were added.

        `order`: the position of each place, None for the same.
        """
        self._measure, self._minima, self._threads = measure, minima, threads
        self._order = None if order is None else order.astype(np.uint32)
        self._least_agreeing = _least_agreeing(measure.alike)

    def __call__(self, left: U32, right: U32) -> F32:
        """Return the similarity of documents left[i] and right[i], 0 if they surely do not match.

        Pairs are in ascending order.
        """
        found = np.zeros(len(left), np.float32)
        one, other = self._positions(left), self._positions(right)
        may = np.flatnonzero(self._may_match(one, other))
        found[may] = self._measure.similarities(one[may], other[may])
        return found

    def _may_match(self, one: U32, other: U32) -> npt.NDArray[np.bool_]:
        """Tell which pairs agree in enough minima."""
        may = np.empty(len(one), np.bool_)

        def compare(start: int) -> None:
            part = slice(start, start + PART_PAIRS)
            agreeing = kernel.agreements(self._minima[one[part]], self._minima[other[part]])
            may[part] = agreeing >= self._least_agreeing

        for _ in mapped(compare, range(0, len(one), PART_PAIRS), self._threads):
            pass
        return may

    def _positions(self, places: U32) -> U32:
        return places if self._order is None else self._order[places]


def _least_agreeing(similarity: float) -> float:
    """Return in how many minima documents of this similarity agree, except once in a million."""
    chance = similarity + (1 - similarity) * CHANCE
    deviation = sqrt(COMPARED_MINIMA * chance * (1 - chance))
    return COMPARED_MINIMA * chance - DEVIATIONS * deviation
