"""By blocks: an exchange that misses no pair within a Hamming distance.

A fingerprint is cut into blocks.  If at most d bits of two fingerprints differ, then for one choice
of blocks none of these bits is in them (Manku, Jain & Das Sarma 2007).  So there is a table for
each choice, as in BPHS; the parts of a table divide its documents by the first bits of their keys.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.columns.vector_form import signs_of
from simdb.distributed.exchange import chosen, in_order
from simdb.engine.clusters.arrays import sorted_tables
from simdb.engine.search.couples import Couples, Searched, sweep_tables
from simdb.ground.bits import leading_masks
from simdb.ground.correction import corrected
from simdb.plan.arrangement import BLOCKS_MAX, choose_tables
from simdb.running import kernel

FINGERPRINT_BYTES = 8
# A part is cut into at most so many blocks more than its distance, to be searched in.
BLOCKS_MORE = 4

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


class ByBlocks:
    """Tables for C(blocks, distance) choices of blocks, each cut into 2^part_bits parts."""

    def __init__(
        self, distance: int, blocks: int, part_bits: int, row_bytes: int, least: float | None
    ) -> None:
        """Rows are fingerprints, or volatility vectors if they are longer.

        `least`: of the rounded weights, the least similarity of a pair; None for any.
        """
        self.distance = distance
        self.row_bytes = row_bytes
        self.part_bits = part_bits
        self.masks = leading_masks(blocks, blocks - distance)
        self._least = least

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return len(self.masks) << self.part_bits

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return one part of each table for each row."""
        bits, tables = self._bits(rows), len(self.masks)
        found = np.empty((len(bits), tables), np.uint32)
        for table in range(tables):
            found[:, table] = self._numbers(bits, table)
            found[:, table] += np.uint32(table << self.part_bits)
        return np.arange(len(bits) + 1) * tables, found.ravel()

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the pairs within the distance that share no part of an earlier table."""
        bits = self._bits(rows)
        earlier = [self._numbers(bits, table) for table in range(part >> self.part_bits)]
        every = Searched(bits, np.arange(len(bits), dtype=np.uint32))
        blocks = min(self.distance + BLOCKS_MORE, BLOCKS_MAX)
        masks, flips = choose_tables(bits, blocks=blocks, distance=self.distance)
        tables = sorted_tables(every, masks)
        for found in sweep_tables(tables, masks, self.distance, flips, threads=threads):
            couples = in_order(found)
            for numbers in earlier:
                is_new = numbers[couples.left] != numbers[couples.right]
                couples = chosen(couples, is_new)
            couples = self._measured(rows, couples)
            if len(couples):
                yield couples

    def _measured(self, rows: U8, couples: Couples) -> Couples:
        """Return couples with the similarities of their vectors, those that are similar enough."""
        if self.row_bytes == FINGERPRINT_BYTES or not len(couples):
            return couples
        vectors = kernel.Vectors(self.row_bytes, [(0, rows)])
        rounded = vectors.between(couples.left, couples.right)
        measured = Couples(couples.left, couples.right, couples.distances, corrected(rounded))
        if self._least is None:
            return measured
        return chosen(measured, rounded >= np.float32(self._least))

    def _bits(self, rows: U8) -> U64:
        if self.row_bytes == FINGERPRINT_BYTES:
            return rows.view("<u8").ravel().astype(np.uint64, copy=False)
        return signs_of(rows)

    def _numbers(self, bits: U64, table: int) -> U32:
        """Return the part of each fingerprint within a table."""
        keys = np.empty_like(bits)
        kernel.permute(bits, self.masks[table], keys)
        if not self.part_bits:
            return np.zeros(len(bits), np.uint32)
        return (keys >> np.uint64(64 - self.part_bits)).astype(np.uint32)
