"""Similar: all pairs of similar volatility vectors in an array, found in memory.

Few vectors are all compared: first their sign bits, and then the weights of those that differ in
few of them.  Of many, cross-polytope tables are made, as a run of a database has them, and every
vector is looked up among the others.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import Batches, Couples, couples_of, joined_couples, sweep_table
from simdb.engine.search.rows import Rows
from simdb.plan.chance import filter_distance
from simdb.plan.polytope_reach import universal
from simdb.plan.polytopes import shares
from simdb.running import kernel
from simdb.running.threads import mapped, parts_of
from simdb.storage.runs.table import Table, make_table, polytope_header_bits

# So many vectors are all compared: their tables would take longer to make and to look up.
COMPARED_MAX = 1 << 14
TABLES = 4

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


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
