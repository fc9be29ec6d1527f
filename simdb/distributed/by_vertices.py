"""By vertices: an exchange for pairs of similar volatility vectors, by cross-polytope hashes.

Each table rotates the weights of a document; its parts are the vertices of a cross-polytope, and a
document goes to all vertices that are nearly as near as its nearest one (Andoni et al. 2015).  Few
bits of a hash are compared here, so that few copies travel; within a part, all similar pairs are
found by other tables.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.columns.vector_form import signs_of
from simdb.distributed.part_pairs import chosen
from simdb.distributed.similar import similar_pairs
from simdb.engine.search.couples import Couples
from simdb.ground.correction import corrected
from simdb.running import kernel

# A part is one vertex of the first slice of a key.
VERTEX_BITS = 7
VERTICES = 1 << VERTEX_BITS
# So many rows are marked at a time.
MARKED_ROWS = 1 << 14

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


class ByVertices:
    """Tables of 128 parts each; a document goes to the vertices that cost it at most a threshold.

    Costs are those of `polytope_costs` in `simdb_ext/_search.pyi`.
    """

    def __init__(
        self,
        tables: int,
        threshold: float,
        row_bytes: int,
        *,
        searched: float,
        least: float,
        recall: float,
    ) -> None:
        """Rows are volatility vectors of `row_bytes` bytes.

        `least`: the least similarity of the rounded weights of a pair.  `recall`: the share of the
        pairs of a part, of similarity `searched` or more, that is found in it.
        """
        self.tables = tables
        self.threshold = threshold
        self.row_bytes = row_bytes
        self._searched = searched
        self._least = least
        self._recall = recall

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return self.tables << VERTEX_BITS

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return the near vertices of each row, in all tables."""
        offsets, headers = kernel.polytope_headers(rows, VERTEX_BITS, self.threshold, self.tables)
        tables = np.tile(np.arange(self.tables, dtype=np.uint32), len(rows))
        first = np.repeat(tables << np.uint32(VERTEX_BITS), np.diff(offsets))
        return offsets[:: self.tables].copy(), first + headers

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the similar pairs that share no earlier part."""
        marks = _Marks(self, rows)
        flags = np.zeros(self.part_count, np.uint8)
        flags[:part] = 1
        earlier = np.packbits(flags, bitorder="little").view(np.uint64)
        for couples in similar_pairs(
            rows, signs_of(rows), similarity=self._searched, floor=self._least,
            recall=self._recall, threads=threads,
        ):  # fmt: skip
            is_shared = marks.shared(couples.left, couples.right, earlier)
            own = chosen(couples, ~is_shared)
            if len(own):
                yield Couples(own.left, own.right, own.distances, corrected(own.similarities))


class _Marks:
    """A bit for each part of each row, made for the rows that are asked for."""

    def __init__(self, exchange: ByVertices, rows: U8) -> None:
        """Take the rows; their bits are made later."""
        self._exchange = exchange
        self._rows = rows
        self._marks = np.empty((len(rows), exchange.part_count // 64), np.uint64)
        self._is_known = np.zeros(len(rows), np.bool_)

    def shared(self, left: U32, right: U32, parts: U64) -> npt.NDArray[np.bool_]:
        """Return which rows left[i] and right[i] both go to one of the parts that are marked."""
        asked = np.zeros(len(self._rows), np.bool_)
        asked[left] = asked[right] = True
        self._make(np.flatnonzero(asked & ~self._is_known))
        found = np.zeros(len(left), np.bool_)
        for word in np.flatnonzero(parts).tolist():
            column = self._marks[:, word]
            found |= (column[left] & column[right] & parts[word]) != 0
        return found

    def _make(self, places: I64) -> None:
        for start in range(0, len(places), MARKED_ROWS):
            some = places[start : start + MARKED_ROWS]
            offsets, parts = self._exchange.parts(self._rows[some])
            flags = np.zeros((len(some), self._exchange.part_count), np.uint8)
            flags[np.repeat(np.arange(len(some)), np.diff(offsets)), parts] = 1
            packed = np.packbits(flags, axis=1, bitorder="little")
            self._marks[some] = packed.view(np.uint64)
        self._is_known[places] = True
