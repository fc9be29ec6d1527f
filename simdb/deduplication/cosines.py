"""Cosines: the exact similarities of vectors; most pairs are told apart by less work."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simdb.running.threads import mapped

# Products of vectors of length 1 in float32 differ from the cosine by less than this.
SLACK = 1e-3
# So many pairs are compared at a time.
COMPARED_PAIRS = 1 << 13

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.floating]


class Cosines:
    """Compares vectors, none of them zero, by their places."""

    def __init__(
        self, units: F32, values: Callable[[I64], Floats], least: float, threads: int
    ) -> None:
        """Let pairs match from the cosine `least` on.

        `units` float32[n, d]: the vectors at length 1; `values` gives some as they came.
        """
        self.units, self.least, self.threads = units, np.float32(least), threads
        self._values = values
        self.compared = 0  # pairs by the values

    def __call__(self, left: U32, right: U32) -> F32:
        """Return the cosines of vectors left[i] and right[i]; 0 if they surely do not match."""
        found = np.zeros(len(left), np.float32)

        def compare(start: int) -> int:
            one, other = left[start : start + COMPARED_PAIRS], right[start : start + COMPARED_PAIRS]
            near = np.einsum("ij,ij->i", self.units[one], self.units[other])
            may = np.flatnonzero(near >= self.least - SLACK)
            pair = (scaled(self._values(each[may].astype(np.int64))) for each in (one, other))
            found[start + may] = np.einsum("ij,ij->i", *pair)
            return len(may)

        starts = range(0, len(left), COMPARED_PAIRS)
        self.compared += sum(mapped(compare, starts, self.threads))
        return found

    def matching(self, left: U32, right: U32) -> tuple[U32, U32, F32]:
        """Return the pairs that match, with their cosines."""
        found = self(left, right)
        is_match = found >= self.least
        return left[is_match], right[is_match], found[is_match]


def scaled(vectors: Floats) -> F64:
    """Return vectors at length 1."""
    wide = vectors.astype(np.float64)
    # First to 1 at most, so that no square overflows.
    wide /= np.abs(wide).max(axis=1, keepdims=True, initial=0)
    wide /= np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return wide
