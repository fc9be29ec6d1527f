"""Block permutations: the keys of BPHS, block-permuted Hamming search.

See Manku, Jain & Das Sarma 2007.  The key of a table is the fingerprint with some blocks of its
bits moved to the front.  If few bits differ, then in some table none of them is in front: there the
leading bits of the stored key and of the query agree, and the stored fingerprint lies in the short
range of keys that the table's directory gives for these bits.
"""

import numpy as np
import numpy.typing as npt

from simdb.ground import bits
from simdb.index.polytopes import Polytopes
from simdb.running import kernel


class Permutations:
    """The block permutations of a database: one table each."""

    def __init__(self, blocks: int, leading: int, polytope_count: int = 0) -> None:
        """Make C(`blocks`, `leading`) tables: one for each choice of leading blocks.

        Beside them the database has `polytope_count` cross-polytope tables.
        """
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

    def searchable(
        self, fingerprints: npt.NDArray[np.uint64], vectors: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.uint64]:
        """Return what the keys of documents are made from: their fingerprints."""
        return fingerprints

    def write_keys(
        self, searchable: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64], table: int
    ) -> None:
        """Write the keys of one table into `keys`, in the order of the fingerprints."""
        kernel.permute(searchable, self.masks[table], keys)

    def distance_served(self, flips: int) -> int:
        """Return the largest distance that is certainly found with up to `flips` flipped bits."""
        return bits.distance_served(self.blocks, self.leading, flips)
