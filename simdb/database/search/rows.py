"""Rows: the matches of consecutive queries as arrays, with ordinals in place of ids."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simdb.core import kernel
from simdb.core.arrays import offsets_of, ranges
from simdb.core.dtypes import F32, I64, U8, U32

# Up to this number, the matches of one query are made as objects at once; more, as arrays.
MANY = 512
# With this number of matches or more, the kernel sorts faster than numpy.
SORTED_LEAST = 512


class Rows:
    """Matches of consecutive queries: offsets, ordinals, distances and similarities."""

    __slots__ = ("distances", "offsets", "ordinals", "similarities")

    def __init__(self, offsets: I64, ordinals: U32, distances: U8, similarities: F32) -> None:
        """`offsets` int64[m + 1]; other arrays have length k.  Unknown similarities are NaN."""
        self.offsets = offsets
        self.ordinals = ordinals
        self.distances = distances
        self.similarities = similarities

    @property
    def queries(self) -> I64:
        """The position of the query of each match: int64[k]."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def chosen(self, order: npt.NDArray[np.integer]) -> "Rows":
        """Return the matches at the positions `order`, which must be grouped by query."""
        return self.arranged(len(self.offsets) - 1, self.queries, order)

    def arranged(self, count: int, queries: I64, order: npt.NDArray[np.integer]) -> "Rows":
        """Return the matches in `order`, which groups them by query; there are `count` queries.

        `queries`: the position of the query of each match.
        """
        offsets = offsets_of(np.bincount(queries[order], minlength=count))
        return Rows(offsets, self.ordinals[order], self.distances[order], self.similarities[order])

    def limited(self, limit: int) -> "Rows":
        """Return at most the first `limit` matches of each query."""
        counts = np.minimum(np.diff(self.offsets), min(limit, len(self.ordinals)))
        if counts.sum() == len(self.ordinals):
            return self
        return self._ranges(self.offsets[:-1], counts)

    def of(self, queries: I64) -> "Rows":
        """Return the matches of some queries, whose positions ascend, as consecutive queries."""
        if len(queries) == len(self.offsets) - 1:
            return self
        starts = self.offsets[queries]
        return self._ranges(starts, self.offsets[queries + 1] - starts)

    def _ranges(self, starts: I64, counts: I64) -> "Rows":
        """Return ranges of matches, given by start and count, as the matches of one query each."""
        at, offsets = ranges(starts, counts), offsets_of(counts)
        return Rows(offsets, self.ordinals[at], self.distances[at], self.similarities[at])


def best_first(queries: I64, similarities: F32, ordinals: U32) -> I64:
    """Return the order of matches by query, then most similar first, then by ordinal."""
    if len(queries) < SORTED_LEAST:
        return np.lexsort((ordinals, -similarities, queries))
    positions = np.arange(len(queries), dtype=np.uint32)
    kernel.sort(ordinals.astype(np.uint64), positions)
    # The bits of a float ascend with its absolute value, and the first bit is set if it is
    # negative.
    bits = (similarities[positions] + np.float32(0)).view(np.uint32)  # not -0
    far = np.where(bits >> np.uint32(31), bits, ~bits & np.uint32(2**31 - 1))
    kernel.sort(queries[positions].astype(np.uint64) << np.uint64(32) | far, positions)
    return positions.astype(np.int64)


def no_rows(count: int) -> Rows:
    """Return rows of `count` queries without any match."""
    offsets = np.zeros(count + 1, np.int64)
    nothing = np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.float32)
    return Rows(offsets, *nothing)


def joined(parts: list[Rows]) -> Rows:
    """Return the rows of consecutive batches as one object."""
    if len(parts) == 1:
        return parts[0]
    # `np.diff` takes several times longer, and parts can be many.
    counts = np.concatenate([part.offsets[1:] - part.offsets[:-1] for part in parts])
    every = ((part.ordinals, part.distances, part.similarities) for part in parts)
    columns = zip(*every, strict=True)
    return Rows(offsets_of(counts), *map(np.concatenate, columns))


def gathered(count: int, parts: Sequence[tuple[I64, Rows]]) -> Rows:
    """Return the rows of `count` queries; each part has positions of queries and their rows.

    A query is in one part at most, and has no match if it is in none.
    """
    queries, every = _together(parts)
    order = np.argsort(queries, kind="stable")
    return every.arranged(count, queries, order)


def merged(count: int, parts: Sequence[tuple[I64, Rows]], *, by_similarity: bool) -> Rows:
    """Return the distinct matches of `count` queries, best first for each query.

    Each part has positions of queries, and their rows.
    """
    queries, every = _together(parts)
    far = -every.similarities if by_similarity else every.distances
    order = np.lexsort((every.ordinals, far, queries))
    # A match that was found twice appears twice in a row.
    again = (np.diff(queries[order], prepend=-1) == 0) & (
        np.diff(every.ordinals[order], prepend=0) == 0
    )
    again[:1] = False
    return every.arranged(count, queries, order[~again])


def _together(parts: Sequence[tuple[I64, Rows]]) -> tuple[I64, Rows]:
    """Return the matches of all parts as one object, and the position of the query of each."""
    none = np.empty(0, np.int64)
    queries = np.concatenate([none, *(chosen[rows.queries] for chosen, rows in parts)])
    return queries, joined([no_rows(0), *(rows for _, rows in parts)])
