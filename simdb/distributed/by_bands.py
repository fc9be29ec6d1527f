"""By bands: an exchange for pairs of MinHash signatures that agree in a band.

A document goes to one part for each band, by the key of its minima there; the candidates are
those of a database with the same bands (LSH, Leskovec, Rajaraman & Ullman, section 3.4).
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.distributed.exchange import chosen, in_order
from simdb.engine.search.couples import Couples, sweep_table
from simdb.ground.bits import ALL_BITS
from simdb.index.bands import Bands
from simdb.running import kernel
from simdb.storage.runs.table import Table
from simdb.values.signatures import differing, estimates

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]


class ByBands:
    """A table for each band, cut into 2^part_bits parts."""

    def __init__(self, bands: Bands, part_bits: int, least: float) -> None:
        """`least`: the least similarity of a pair."""
        self.bands = bands
        self.part_bits = part_bits
        self._least = least

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return self.bands.table_count << self.part_bits

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        return self.bands.sketch.vector_bytes

    def band_keys(self, rows: U8) -> npt.NDArray[np.uint64]:
        """Return the key of each band of each row: uint64[n, bands]."""
        return self.bands.searchable(np.empty(0, np.uint64), rows)

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return one part of each band for each row."""
        keys = self.band_keys(rows)
        numbers = np.zeros(keys.shape, np.uint32)
        if self.part_bits:
            numbers = (keys >> np.uint64(64 - self.part_bits)).astype(np.uint32)
        tables = self.bands.table_count
        first = np.arange(tables, dtype=np.uint32) << np.uint32(self.part_bits)
        return np.arange(len(rows) + 1) * tables, (numbers + first).ravel()

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the pairs that agree in the band of the part, in no earlier one, and are alike."""
        band = part >> self.part_bits
        keys = self._keys_of_band(rows, band)
        ordinals = np.arange(len(rows), dtype=np.uint32)
        kernel.sort(keys, ordinals)
        table = Table(keys, ordinals, np.empty(0, np.uint32))
        for found in sweep_table(table, [ALL_BITS], 0, threads=threads):
            couples = self._alike(rows, in_order(found))
            left, right = rows[couples.left], rows[couples.right]
            agreeing = self.bands.agreeing(left, right)[:, :band]
            couples = chosen(couples, ~np.asarray(agreeing.any(axis=1), np.bool_))
            if len(couples):
                yield couples

    def _keys_of_band(self, rows: U8, band: int) -> npt.NDArray[np.uint64]:
        """Return keys which are equal where the minima of one band are: uint64[n]."""
        length = self.bands.rows
        minima = self.bands.minima_of(rows)[:, band * length : (band + 1) * length]
        return kernel.band_keys(np.ascontiguousarray(minima), bands=1, rows=length)[:, 0].copy()

    def _alike(self, rows: U8, couples: Couples) -> Couples:
        """Return the couples whose signatures are similar enough, with their similarities."""
        sketch, minima = self.bands.sketch, self.bands.minima_of
        agreeing = kernel.agreements(minima(rows[couples.left]), minima(rows[couples.right]))
        similarities = estimates(agreeing, sketch)
        distances = differing(similarities, sketch)
        measured = Couples(couples.left, couples.right, distances, similarities)
        return chosen(measured, similarities >= np.float32(self._least))
