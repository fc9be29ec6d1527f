"""Part pairs: the matching pairs that were found in one part, as positions in its rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import Couples

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PartPairs:
    """Some pairs: positions `left` and `right` int64[k], `distance` uint8[k], `similarity`.

    `similarity` float32[k] is NaN where rows are fingerprints alone.  Within one set of rows, left
    is below right; between two sets, left is a position in the first and right in the second.
    """

    left: I64
    right: I64
    distance: npt.NDArray[np.uint8]
    similarity: npt.NDArray[np.float32]

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.left)


def chosen(couples: Couples, which: npt.NDArray[Any]) -> Couples:
    """Return some of the couples; the same object if all are chosen."""
    return couples if which.dtype == np.bool_ and which.all() else couples.chosen(which)


def in_order(couples: Couples) -> Couples:
    """Return couples with the lower position on the left."""
    if (couples.left < couples.right).all():
        return couples
    left, right = np.minimum(couples.left, couples.right), np.maximum(couples.left, couples.right)
    return Couples(left, right, couples.distances, couples.similarities)


def joined(parts: Iterator[PartPairs]) -> PartPairs:
    """Return the pairs of all chunks in one."""
    every = list(parts)
    return PartPairs(
        np.concatenate([np.empty(0, np.int64), *(each.left for each in every)]),
        np.concatenate([np.empty(0, np.int64), *(each.right for each in every)]),
        np.concatenate([np.empty(0, np.uint8), *(each.distance for each in every)]),
        np.concatenate([np.empty(0, np.float32), *(each.similarity for each in every)]),
    )
