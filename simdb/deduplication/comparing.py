"""Comparing: decides by their texts which candidates match.

Most candidates that share a band by chance are told from matches by their minima, so that only the
texts of those that may match are read.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.deduplication.minima import COMPARED_MINIMA
from simdb.sketch.exact_pairs import ExactPairs
from simdb.sketch.exact_similarity import ExactSimilarity
from simdb.threads import mapped
from simdb.verification import Verification

# A pair that matches agrees in fewer minima than this many standard deviations below the mean once
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
    """Compares documents, given by their places in an order; `counts` says what was decided."""

    def __init__(
        self,
        exact: ExactSimilarity,
        least: float,
        minima: U8,
        texts: Callable[[I64], Sequence[Any]],
        order: I64 | None,
        threads: int,
    ) -> None:
        """Documents match from the similarity `least` on.

        `minima` uint8[n, m] and `texts`, a function of positions, are in the order in which
        documents were added; `order`: the position of each place, None for the same.
        """
        self.counts = Verification(exact.measure, least)
        self._pairs = ExactPairs(exact, is_read_anywhere=True)
        self._least_agreeing = _least_agreeing(least)
        self._minima, self._texts, self._order = minima, texts, order
        self._threads = threads

    def __call__(self, left: U32, right: U32) -> F32:
        """Return the similarity of documents left[i] and right[i], 0 if they surely do not match.

        Pairs are in ascending order.
        """
        found = np.zeros(len(left), np.float32)
        may_match = np.flatnonzero(self._may_match(left, right))
        for chosen, values in self._pairs.parts(
            lambda places: self._texts(self._positions(places)), left, right, may_match,
            self._threads,
        ):  # fmt: skip
            found[chosen] = values
        self.counts.judged += len(may_match)
        return found

    def _may_match(self, left: U32, right: U32) -> npt.NDArray[np.bool_]:
        """Tell which pairs agree in enough minima."""
        may = np.empty(len(left), np.bool_)

        def compare(start: int) -> None:
            part = slice(start, start + PART_PAIRS)
            one, other = self._positions(left[part]), self._positions(right[part])
            agreeing = kernel.agreements(self._minima[one], self._minima[other])
            may[part] = agreeing >= self._least_agreeing

        for _ in mapped(compare, range(0, len(left), PART_PAIRS), self._threads):
            pass
        return may

    def _positions(self, places: U32) -> I64:
        return places.astype(np.int64) if self._order is None else self._order[places]


def _least_agreeing(similarity: float) -> float:
    """Return in how many minima documents of this similarity agree, except once in a million."""
    chance = similarity + (1 - similarity) * CHANCE
    deviation = sqrt(COMPARED_MINIMA * chance * (1 - chance))
    return COMPARED_MINIMA * chance - DEVIATIONS * deviation
