"""Polytopes: the keys in the cross-polytope tables, which find similar documents by their weights.

See Andoni et al. 2015.  Each table rotates the weights of a document by a rotation of its own, and
the key begins with the numbers of the largest coordinates of the rotated weights, the vertices of
cross-polytopes that are nearest to them.  Similar documents have the same vertices, or vertices
that are nearly as near.  The sign bits of the weights follow in the low bits of the key.
`polytope_keys` in `simdb_ext/_search.pyi` defines the keys.
"""

import numpy as np
import numpy.typing as npt

from simdb.running import kernel


class Polytopes:
    """The cross-polytope tables of a database; only documents with weights are in them."""

    def __init__(self, table_count: int) -> None:
        """Make `table_count` tables; 0 for a database without any."""
        self.table_count = table_count

    def keys(self, vectors: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
        """Return the keys of volatility vectors uint8[n, width]: uint64[tables, n]."""
        if not self.table_count:
            return np.empty((0, len(vectors)), np.uint64)
        found: npt.NDArray[np.uint64] = kernel.polytope_keys(vectors, self.table_count)
        return found
