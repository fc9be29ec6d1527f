"""Keys of fingerprints: those of block permutations, and those of cross-polytopes.

Block permutations are the tables of BPHS, block-permuted Hamming search; see Manku, Jain & Das
Sarma 2007.  The key of a table is the fingerprint with some blocks of its bits moved to the front.
If few bits differ, then in some table none of them is in front: there the leading bits of the
stored key and of the query agree, and the stored fingerprint lies in the short range of keys that
the table's directory gives for these bits.

Cross-polytope tables find similar documents by their weights; see Andoni et al. 2015.  Each table
rotates the weights of a document by a rotation of its own, and the key begins with the numbers of
the largest coordinates of the rotated weights, the vertices of cross-polytopes that are nearest to
them.  Similar documents have the same vertices, or vertices that are nearly as near.  The sign bits
of the weights follow in the low bits of the key.  `polytope_keys` in `simdb_ext/_search.pyi`
defines the keys.
"""

import numpy as np

from simdb.core import bits, kernel
from simdb.core.dtypes import U8, U64


class Permutations:
    """The block permutations of a database: one table each."""

    def __init__(
        self, blocks: int, leading: int, polytope_count: int = 0, *, may_be_lean: bool = False
    ) -> None:
        """Make C(`blocks`, `leading`) tables: one for each choice of leading blocks.

        Beside them the database has `polytope_count` cross-polytope tables.  `may_be_lean`: runs
        whose documents are all in these have no tables of block permutations.
        """
        self.may_be_lean = may_be_lean and polytope_count > 0
        self.blocks = blocks
        self.leading = leading
        self.polytopes = Polytopes(polytope_count)
        self.masks = bits.leading_masks(blocks, leading)

    @property
    def table_count(self) -> int:
        """Number of tables."""
        return len(self.masks)

    @property
    def header_bits(self) -> int:
        """Number of leading bits of a key; the smallest of all tables if blocks differ in width."""
        return min(mask.bit_count() for mask in self.masks)

    def searchable(self, fingerprints: U64, vectors: U8) -> U64:
        """Return what the keys of documents are made from: their fingerprints."""
        return fingerprints

    def write_keys(self, searchable: U64, keys: U64, table: int) -> None:
        """Write the keys of one table into `keys`, in the order of the fingerprints."""
        kernel.permute(searchable, self.masks[table], keys)

    def distance_served(self, flips: int) -> int:
        """Return the largest distance that is certainly found with up to `flips` flipped bits."""
        return bits.distance_served(self.blocks, self.leading, flips)


class Polytopes:
    """The cross-polytope tables of a database; only documents with weights are in them."""

    def __init__(self, table_count: int) -> None:
        """Make `table_count` tables; 0 for a database without any."""
        self.table_count = table_count

    def keys(self, vectors: U8) -> U64:
        """Return the keys of volatility vectors uint8[n, width]: uint64[tables, n]."""
        if not self.table_count:
            return np.empty((0, len(vectors)), np.uint64)
        found: U64 = kernel.polytope_keys(vectors, self.table_count)
        return found
