"""Prefix trees: sorted rows of hash values in memory, found by the first values of a row.

Each tree holds some hash values of each MinHash, as bytes in big-endian order, and sorts them.  The
rows that begin with the same values lie together, so they are found by binary search (Bawa, Condie
& Ganesan 2005).  A tree searched at its full depth is a table of a band.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
Ordinals = npt.NDArray[np.intp]


class PrefixTrees:
    """Sorted trees of `depth` hash values, over the same MinHash."""

    def __init__(self, rows: Sequence[Values], trees: int, depth: int) -> None:
        """Sort the first `trees` * `depth` hash values of each row, [n] or pairs [n, 2]."""
        self.trees, self.depth = trees, depth
        stacked = np.stack([row[: trees * depth] for row in rows])
        self._orders: list[Ordinals] = []
        self._sorted: list[npt.NDArray[np.bytes_]] = []
        content = _big_endian(stacked).reshape(len(rows), trees, -1)
        self._size = content.shape[2]
        for tree in range(trees):
            keys = np.ascontiguousarray(content[:, tree]).view(f"S{self._size}")[:, 0]
            order = np.argsort(keys, kind="stable")
            self._orders.append(order)
            self._sorted.append(keys[order])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._orders[0])

    def find(self, row: Values, depths: Sequence[int], trees: int | None = None) -> list[Ordinals]:
        """Return, for each depth and then tree, the rows that agree in so many first values.

        The rows are in the order of their hash values, then of insertion.
        """
        count = self.trees if trees is None else trees
        content = _big_endian(row[None, : self.trees * self.depth]).reshape(self.trees, -1)
        each = self._size // self.depth
        found: list[list[Ordinals]] = [[] for _ in depths]
        for tree in range(count):
            prefixes = [content[tree, : depth * each].tobytes() for depth in depths]
            # Trailing zero bytes do not count in numpy, so a prefix is its own least row.
            least = np.array(prefixes, f"S{self._size}")
            greatest = [prefix.ljust(self._size, b"\xff") for prefix in prefixes]
            most = np.array(greatest, f"S{self._size}")
            starts = np.searchsorted(self._sorted[tree], least, "left")
            stops = np.searchsorted(self._sorted[tree], most, "right")
            for at, (start, stop) in enumerate(zip(starts, stops, strict=True)):
                found[at].append(self._orders[tree][start:stop])
        return [ordinals for of_depth in found for ordinals in of_depth]


def _big_endian(rows: Values) -> npt.NDArray[np.uint8]:
    """Return rows [n, ...] of hash values as bytes that sort like them: uint8[n, m]."""
    content = np.ascontiguousarray(rows.astype(rows.dtype.newbyteorder(">")))
    return content.reshape(len(rows), -1).view(np.uint8)
