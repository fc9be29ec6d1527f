"""BPHS, block-permuted Hamming search: what its tables store (Manku, Jain & Das Sarma 2007).

The key of a table is the fingerprint with some blocks of its bits moved to the front.  Whatever
bits differ, in some table they are not in front; there the leading bits of stored key and query
agree, and the stored fingerprint lies in the short range that the directory gives for them.
"""

import numpy as np
import numpy.typing as npt

from simdb import bits, kernel


class Permutations:
    """The block permutations of a database: one table each."""

    def __init__(self, blocks: int, leading: int) -> None:
        """C(`blocks`, `leading`) tables."""
        self.blocks = blocks
        self.leading = leading
        self.masks = bits.leading_masks(blocks, leading)

    @property
    def table_count(self) -> int:
        """Number of tables."""
        return len(self.masks)

    @property
    def header_bits(self) -> int:
        """Bits that lead the key; the fewest of any table, where blocks are not of one width."""
        return min(mask.bit_count() for mask in self.masks)

    def searchable(
        self, fingerprints: npt.NDArray[np.uint64], vectors: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.uint64]:
        """What the keys of documents are made of: the fingerprints themselves."""
        return fingerprints

    def write_keys(
        self, searchable: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64], table: int
    ) -> None:
        """The keys of one table, in the order of the fingerprints."""
        kernel.permute(searchable, self.masks[table], keys)

    def distance_served(self, flips: int) -> int:
        """The largest distance found for certain with up to `flips` flipped leading bits."""
        return bits.distance_served(self.blocks, self.leading, flips)
