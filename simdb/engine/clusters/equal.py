"""Equal documents: the first of each group represents all, so copies are never paired.

Equal means equal fingerprints and, for a search by similarity, equal volatility vectors.  (Equal
vectors have equal fingerprints, as their signs are the bits.)
"""

import numpy as np
import numpy.typing as npt

from simdb.values.arrays import Sketches

I64 = npt.NDArray[np.int64]


def first_equal(sketches: Sketches, *, is_measured: bool) -> I64:
    """Return for each sketch the position of the first sketch equal to it: int64[n]."""
    _, firsts, group = np.unique(sketches.bits, return_index=True, return_inverse=True)
    found: I64 = firsts[group].astype(np.int64)
    if is_measured and len(found):
        sharing = np.flatnonzero(np.bincount(group)[group] > 1)
        found[sharing] = sharing[first_equal_rows(sketches.vectors[sharing])]
    return found


def first_equal_rows(vectors: npt.NDArray[np.uint8]) -> I64:
    """Return for each row of uint8[n, width] the position of the first equal row: int64[n]."""
    if not len(vectors):
        return np.empty(0, np.int64)
    rows = np.ascontiguousarray(vectors)
    whole = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
    _, firsts, group = np.unique(whole, return_index=True, return_inverse=True)
    found: I64 = firsts[group].astype(np.int64)
    return found
