"""By vertices: an exchange for pairs of similar volatility vectors, by cross-polytope hashes.

Each table rotates the weights of a document; its parts are the vertices of a cross-polytope, and a
document goes to all vertices that are nearly as near as its nearest one (Andoni et al. 2015).  Few
bits of a hash are compared here, so that few copies travel; within a part, all similar pairs are
found by other tables.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.columns.vector_form import corrected, signs_of
from simdb.distributed.exchange import chosen
from simdb.engine.search.couples import Batches, Couples, couples_of, joined_couples, sweep_table
from simdb.engine.search.rows import Rows
from simdb.plan.chance import filter_distance
from simdb.plan.polytopes import shares, universal
from simdb.running import kernel
from simdb.running.threads import mapped, parts_of
from simdb.storage.runs.table import Table, make_table, polytope_header_bits

# A part is one vertex of the first slice of a key.
VERTEX_BITS = 7
# So many rows are marked at a time.
MARKED_ROWS = 1 << 14
# So many vectors are all compared: their tables would take longer to make and to look up.
COMPARED_MAX = 1 << 14
TABLES = 4

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


def similar_pairs(
    vectors: U8, bits: U64, *, similarity: float, floor: float, recall: float, threads: int
) -> Iterator[Couples]:
    """Yield the pairs of vectors that are at least `floor` alike, each once, left below right.

    `bits`: their signs.  `similarity` and `floor`, which is not above it, are those of the rounded
    weights, as `kernel.Vectors` measures them.  At least the share `recall` of the pairs of any
    similarity from `similarity` on is found.
    """
    if len(vectors) <= COMPARED_MAX:
        yield from _compared(vectors, bits, floor, recall, threads)
    else:
        yield from _looked_up(vectors, similarity, floor, recall, threads)


def _compared(
    vectors: U8, bits: U64, similarity: float, recall: float, threads: int
) -> Iterator[Couples]:
    """Compare every two vectors."""
    limit = filter_distance(min(similarity, 1.0), 1.0 - recall)
    every = Table(bits, np.arange(len(bits), dtype=np.uint32), np.empty(0, np.uint32))
    measured = kernel.Vectors(vectors.shape[1], [(0, vectors)])
    for couples in sweep_table(every, [0], limit, threads=threads):
        found = measured.between(couples.left, couples.right)
        is_similar = found >= np.float32(similarity)
        if is_similar.any():
            yield Couples(
                couples.left[is_similar], couples.right[is_similar],
                couples.distances[is_similar], found[is_similar],
            )  # fmt: skip


def _looked_up(
    vectors: U8, similarity: float, floor: float, recall: float, threads: int
) -> Iterator[Couples]:
    """Look every vector up; it is enough that one of two finds the other."""
    share, limit = shares(similarity, recall)
    width = polytope_header_bits(len(vectors))
    threshold = universal(similarity, share, width=width, tables=TABLES, either=True)
    tables = kernel.Polytopes(
        vectors.shape[1],
        [(0, vectors)],
        [list(_tables(vectors, width))],
        (np.empty(0, np.uint64), np.empty(0, np.uint32)),
        None,
    )
    batches = Batches(np.arange(len(vectors), dtype=np.uint32), threads)
    for batch in batches:

        def look_up(part: slice, batch: U32 = batch) -> Couples:
            asking = batch[part]
            rows = Rows(*tables.search(
                vectors[asking], thresholds=np.array([threshold], np.float32),
                similarity=floor, distance=limit, delta_distance=0, first=False, after=None,
            ))  # fmt: skip
            return couples_of(asking, rows)

        parts = parts_of(len(batch), threads, most=len(batch))
        found = joined_couples(list(mapped(look_up, parts, threads)))
        batches.found(len(found))
        yield found.chosen(_is_first(vectors, found, threshold, width))


def _is_first(vectors: U8, found: Couples, threshold: float, width: int) -> npt.NDArray[np.bool_]:
    """Return which pairs were found from their lower position, or only from their higher one."""
    is_first: npt.NDArray[np.bool_] = found.left < found.right
    later = np.flatnonzero(found.left > found.right)
    if len(later):
        queries, stored = vectors[found.right[later]], vectors[found.left[later]]
        is_first[later] = ~kernel.polytope_reaches(queries, stored, threshold, width, TABLES)
    return is_first


def _tables(vectors: U8, width: int) -> Iterator[Table]:
    for keys in kernel.polytope_keys(vectors, TABLES):
        yield make_table(keys.copy(), np.arange(len(keys), dtype=np.uint32), width)
