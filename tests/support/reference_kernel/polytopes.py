"""Polytopes: searches the tables of cross-polytope keys by similarity, in numpy.

`simdb_ext/_search.pyi` has the contract.  The headers of each query become ranges of positions, and
the entries that are near enough are measured once, by their vectors.
"""

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from reference_kernel.columns import (
    Column,
    Window,
    checked_column,
    checked_windows,
    header_width,
    is_inside,
)
from reference_kernel.keys import key_ranges
from reference_kernel.polytope import (
    TAG_BITS,
    WIDTH_MAX,
    WIDTHS,
    checked_cuts,
    checked_table_count,
    checked_vectors,
    deviations,
    fingerprints,
    headers,
    rotations,
)
from reference_kernel.vectors import Vectors, array, marked
from simdb.bits import FINGERPRINT_BITS, bit_counts

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]

# Number of the query and ordinal of each candidate.
Candidates = tuple[I64, U32]
# Offsets of each query, ordinals, distances, similarities.
Found = tuple[I64, U32, U8, F32]

TAG = np.uint64((1 << TAG_BITS) - 1)  # the bits of a key that come from the fingerprint


class Polytopes:
    """A collection's runs of cross-polytope keys and its vectors, prepared for searching."""

    def __init__(
        self,
        vector_width: int,
        segments: Sequence[tuple[int, U8]],
        runs: Sequence[Sequence[Column]],
        delta: tuple[U64, U32],
        dead: U8 | None,
        windows: Sequence[Window] | None = None,
    ) -> None:
        """Take the arrays; ValueError if they do not fit together."""
        if not 1 <= vector_width <= WIDTH_MAX:
            raise ValueError(f"vector_width is {vector_width}, not from 1 to {WIDTH_MAX}")
        self._width = vector_width
        self._vectors = Vectors(vector_width, segments)
        self._runs = [[checked_column(column) for column in run] for run in runs]
        self._table_count = checked_table_count(len(self._runs[0]) if self._runs else 0)
        for run in self._runs:
            if len(run) != self._table_count or len(run) == 0:
                raise ValueError(f"every run needs {max(self._table_count, 1)} tables")
            widths = {header_width(column) for column in run}
            if len(widths) > 1 or not widths <= set(WIDTHS):
                raise ValueError(f"the tables of a run have directories of {widths} bits")
        self._windows = checked_windows(self._runs, windows)
        self._take(delta, dead)

    def over(self, delta: tuple[U64, U32], dead: U8 | None, vectors: Vectors) -> "Polytopes":
        """Return the same runs with another delta, other tombstones and the vectors of both."""
        if vectors.width != self._width:
            raise ValueError(f"vectors have {vectors.width} bytes; they need {self._width}")
        other = copy(self)
        other._vectors = vectors
        other._take(delta, dead)
        return other

    def _take(self, delta: tuple[U64, U32], dead: U8 | None) -> None:
        if len(delta[0]) != len(delta[1]):
            raise ValueError("delta fingerprints and ordinals differ in number")
        self._delta = (array(delta[0], np.uint64), array(delta[1], np.uint32))
        self._dead = None if dead is None else array(dead, np.uint8)

    def search(
        self,
        vectors: U8,
        *,
        thresholds: F32,
        similarity: float,
        distance: int,
        delta_distance: int,
        first: bool,
        after: U32 | None,
        forest: tuple[U32, U32] | None = None,
    ) -> Found:
        """Find the stored vectors at least `similarity` to each query that some table reaches."""
        self._check(vectors, thresholds, distance, delta_distance, after)
        queries = fingerprints(vectors)
        found = list(self._scan_delta(queries, delta_distance))
        rotated = rotations(vectors, self._table_count)
        units = deviations(vectors)
        for run, window, threshold in zip(self._runs, self._windows, thresholds, strict=True):
            cuts = checked_cuts(np.float32(threshold), units)
            for column, table in zip(run, rotated, strict=True):
                found += _probe(column, window, table, cuts, queries, distance)
        pairs = self._living(found, after)
        if forest is not None:
            pairs = _apart(pairs, *forest, len(vectors))
        return self._measured(vectors, queries, *pairs, np.float32(similarity), first)

    def search_one(
        self,
        vector: U8,
        thresholds: F32,
        similarity: float,
        distance: int,
        delta_distance: int,
        first: bool,
        room: int,
    ) -> list[tuple[int, int, float]] | None:
        """Do `search` for one query; return (ordinal, distance, similarity) of each match."""
        _, ordinals, distances, similarities = self.search(
            np.frombuffer(vector, np.uint8).reshape(1, -1),
            thresholds=thresholds,
            similarity=similarity,
            distance=distance,
            delta_distance=delta_distance,
            first=first,
            after=None,
        )
        if len(ordinals) > room:
            return None
        columns = ordinals.tolist(), distances.tolist(), similarities.tolist()
        return list(zip(*columns, strict=True))

    def _check(
        self, vectors: U8, thresholds: F32, distance: int, delta_distance: int, after: U32 | None
    ) -> None:
        """Raise TypeError or ValueError for arguments of a search that do not fit."""
        if checked_vectors(vectors).shape[1] != self._width:
            raise ValueError(f"vectors have {vectors.shape[1]} bytes; they need {self._width}")
        if len(array(thresholds, np.float32)) != len(self._runs):
            raise ValueError(f"{len(thresholds)} thresholds of {len(self._runs)} runs")
        if not (0 <= distance <= TAG_BITS and 0 <= delta_distance <= FINGERPRINT_BITS):
            raise ValueError(f"distance {distance} or delta_distance {delta_distance} is too large")
        if after is not None and len(array(after, np.uint32)) != len(vectors):
            raise ValueError("after needs one ordinal for each query")

    def _scan_delta(self, queries: U64, distance: int) -> Iterator[Candidates]:
        """Yield the documents of the delta whose fingerprints are near."""
        keys, ordinals = self._delta
        for number, query in enumerate(queries):
            near = ordinals[bit_counts(keys ^ query) <= distance]
            yield np.full(len(near), number), near

    def _living(self, found: list[Candidates], after: U32 | None) -> Candidates:
        """Return each candidate once, by query and ordinal, if it is alive and comes `after`."""
        numbers = np.concatenate([np.empty(0, np.int64), *(part[0] for part in found)])
        ordinals = np.concatenate([np.empty(0, np.uint32), *(part[1] for part in found)])
        is_found = ~marked(self._dead, ordinals)
        if after is not None:
            is_found &= ordinals > after[numbers]
        pairs = np.stack([numbers, ordinals.astype(np.int64)], axis=1)
        pairs = np.unique(pairs[is_found], axis=0)
        return pairs[:, 0], pairs[:, 1].astype(np.uint32)

    def _measured(
        self,
        vectors: U8,
        queries: U64,
        numbers: I64,
        ordinals: U32,
        similarity: np.float32,
        first: bool,
    ) -> Found:
        """Return the candidates that are similar enough, sorted by query, similarity, ordinal."""
        offsets = np.searchsorted(numbers, np.arange(len(vectors) + 1)).astype(np.int64)
        similarities = self._vectors.similarity(vectors, offsets, ordinals)
        stored = fingerprints(self._vectors.gather(ordinals))
        distances = bit_counts(stored ^ queries[numbers])
        kept = np.flatnonzero(similarities >= similarity)
        kept = kept[np.lexsort((ordinals[kept], -similarities[kept], numbers[kept]))]
        if first:
            kept = kept[np.unique(numbers[kept], return_index=True)[1]]
        offsets = np.searchsorted(numbers[kept], np.arange(len(vectors) + 1)).astype(np.int64)
        return offsets, ordinals[kept], distances[kept], similarities[kept]


def _apart(pairs: Candidates, parents: U32, members: U32, count: int) -> Candidates:
    """Return the candidates that are not in the component of their query."""
    array(parents, np.uint32)
    if len(array(members, np.uint32)) != count:
        raise ValueError(f"a forest must have one number for each of {count} queries")
    if count and int(members.max()) >= len(parents):
        raise ValueError(f"number {members.max()} is not among {len(parents)}")
    numbers, ordinals = pairs
    inside = np.flatnonzero(ordinals < len(parents))
    is_apart = np.ones(len(ordinals), np.bool_)
    is_apart[inside] = _roots(parents, ordinals[inside]) != _roots(
        parents, members[numbers[inside]]
    )
    return numbers[is_apart], ordinals[is_apart]


def _roots(parents: U32, numbers: U32) -> U32:
    """Return the root of each number; see `Forest`."""
    while True:
        above = np.minimum(parents[numbers], numbers)
        if np.array_equal(above, numbers):
            return numbers
        numbers = above


def _probe(
    column: Column, window: Window, rotated: I64, cuts: I64, queries: U64, distance: int
) -> Iterator[Candidates]:
    """Yield the near entries under the headers that the queries look up in one table of a run."""
    keys, ordinals, directory = column
    if len(queries) == 0:
        return
    asked = [
        headers(row, header_width(column), cut)
        for row, cut in zip(rotated, cuts.tolist(), strict=True)
    ]
    owners = np.repeat(np.arange(len(queries)), [len(each) for each in asked])
    chosen = np.concatenate(asked).astype(np.int64)
    inside = is_inside(window, chosen)
    owners, chosen = owners[inside], chosen[inside]
    starts = np.minimum(directory[chosen].astype(np.int64), len(keys))
    stops = np.minimum(directory[chosen + 1].astype(np.int64), len(keys))
    for probes, positions in key_ranges(starts, np.maximum(starts, stops)):
        numbers = owners[probes]
        near = bit_counts((keys[positions] ^ queries[numbers]) & TAG) <= distance
        yield numbers[near], ordinals[positions[near]]
