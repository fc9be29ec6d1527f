"""Products: decides vectors by products of matrices, each vector with all of those that stay."""

import numpy as np

from simdb.deduplication.cosines import F32, SLACK, U32, Cosines
from simdb.deduplication.stars import Stars, decided_in_order

# So many vectors are multiplied with so many of those that stay at a time.
BLOCK_ROWS, BLOCK_LEADERS = 1 << 9, 1 << 13


def find_stars(cosines: Cosines) -> Stars:
    """Decide vectors in the order of their places; every pair that could match is compared."""
    return _Products(cosines).decided()


class _Products:
    """The decisions so far: `owners` uint32[n], what stands for each vector."""

    def __init__(self, cosines: Cosines) -> None:
        count = len(cosines.units)
        self._cosines, self._units = cosines, cosines.units
        self._owners = np.arange(count, dtype=np.uint32)
        self._similarities = np.zeros(count, np.float32)

    def decided(self) -> Stars:
        count = len(self._units)
        places = np.arange(count, dtype=np.uint32)
        for start in range(0, count, BLOCK_ROWS):
            block = places[start : start + BLOCK_ROWS]
            leaders = np.flatnonzero(self._owners[:start] == places[:start]).astype(np.uint32)
            for first in range(0, len(leaders), BLOCK_LEADERS):
                block = block[self._owners[block] == block]
                self._claim(*self._near(leaders[first : first + BLOCK_LEADERS], block))
            block = block[self._owners[block] == block]
            left, right, found = self._near(block, block)
            chosen = decided_in_order(left, right)
            self._claim(left[chosen], right[chosen], found[chosen])
        removed = np.flatnonzero(self._owners != places).astype(np.uint32)
        return Stars(removed, self._owners[removed], self._similarities[removed])

    def _near(self, left: U32, right: U32) -> tuple[U32, U32, F32]:
        """Return the pairs of a left and a later right vector that match, in ascending order."""
        products = self._units[left] @ self._units[right].T
        one, other = np.nonzero(products >= self._cosines.least - SLACK)
        is_later = left[one] < right[other]
        return self._cosines.matching(left[one[is_later]], right[other[is_later]])

    def _claim(self, left: U32, right: U32, similarities: F32) -> None:
        """Let the first of the `left` that matches a vector stand for it."""
        claimed, first = np.unique(right, return_index=True)
        self._owners[claimed] = left[first]
        self._similarities[claimed] = similarities[first]
