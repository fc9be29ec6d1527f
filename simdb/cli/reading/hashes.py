"""Hashes: a growing set of 64-bit hashes, in eight bytes each.

It is some sorted arrays, of which each is more than twice as large as the next: so a hash is copied
as often as the set has doubled since.
"""

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]


class Hashes:
    """A set of hashes."""

    def __init__(self) -> None:
        """Begin without any."""
        self._sorted: list[U64] = []

    def add(self, hashes: U64) -> None:
        """Take some hashes."""
        self._sorted.append(np.sort(hashes))
        while len(self._sorted) > 1 and len(self._sorted[-2]) <= 2 * len(self._sorted[-1]):
            last = self._sorted.pop()
            # Merging sorted runs is what a stable sort does.
            self._sorted[-1] = np.sort(np.concatenate([self._sorted[-1], last]), kind="stable")

    def holds(self, hashes: U64) -> npt.NDArray[np.bool_]:
        """Return which of some hashes are in the set: bool[n]."""
        found = np.zeros(len(hashes), np.bool_)
        for known in self._sorted:
            if len(known):
                at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
                found |= known[at] == hashes
        return found
