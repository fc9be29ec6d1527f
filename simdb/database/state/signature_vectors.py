"""Signature vectors: measures stored MinHash signatures.

The share of minima that agree in two signatures estimates the similarity of the documents.
"""

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from simdb.core import kernel
from simdb.core.arrays import offsets_of
from simdb.core.bits import is_set
from simdb.core.documents import COUNTED_MAX, differing, estimates
from simdb.core.dtypes import F32, I64, U8, U16, U32, U64, Bools
from simdb.core.options import Minhash
from simdb.plan import Bands

# Pairs are compared in groups whose signatures fit into the cache.
COMPARED_BYTES = 1 << 20


class SignatureVectors:
    """Packed signatures by ordinal, with the methods of `kernel.Vectors`."""

    def __init__(self, bands: Bands, width: int, segments: Sequence[tuple[int, U8]]) -> None:
        """`segments`: first ordinal and signatures uint8[k, width] of each, sorted, disjoint."""
        self._bands = bands
        self._segments = segments
        self._vectors = kernel.Vectors(width, segments)
        self._size = bands.sketch.stored_bits // 8
        self._estimates = _estimates(bands.sketch)
        self._group = max(COMPARED_BYTES // width, 1)

    def followed_by(self, first: int, vectors: U8) -> "SignatureVectors":
        """Return the same segments and one more, from the ordinal `first` on."""
        other = copy(self)
        other._segments = [*self._segments, (first, vectors)]
        other._vectors = self._vectors.followed_by(first, vectors)
        return other

    def similarity(self, queries: U8, offsets: I64, ordinals: U32) -> F32:
        """Return similarities of queries[i] and each of ordinals[offsets[i]:offsets[i + 1]].

        `queries`: packed signatures uint8[m, width].
        """
        which = np.repeat(np.arange(len(queries)), np.diff(offsets))
        return self.of_pairs(queries, which, ordinals)

    def measure_one(
        self, query: U8, ordinals: U32, similarity: float
    ) -> list[tuple[int, int, float]]:
        """Return (ordinal, differing minima, similarity) of the similar signatures, best first.

        `query`: a packed signature uint8[1, width].  The ordinals ascend.
        """
        known = self._estimates
        rows = self._vectors.agree_one(query, ordinals, self._size, self._least(similarity))
        return [(ordinal, len(known) - 1 - count, known[count]) for ordinal, count in rows]

    def of_pairs(self, queries: U8, which: npt.NDArray[np.integer], ordinals: U32) -> F32:
        """Return the similarities of queries[which[i]] and ordinals[i]."""
        found = np.empty(len(ordinals), np.uint16)
        for start in range(0, len(ordinals), self._group):
            part = slice(start, start + self._group)
            found[part] = self._agreements(queries[which[part]], self.gather(ordinals[part]))
        return estimates(found, self._bands.sketch)

    def between(self, left: U32, right: U32) -> F32:
        """Return the similarities of the stored signatures left[i] and right[i]."""
        found = np.empty(len(left), np.uint16)
        for start in range(0, len(left), self._group):
            part = slice(start, start + self._group)
            found[part] = self._agreements(self.gather(left[part]), self.gather(right[part]))
        return estimates(found, self._bands.sketch)

    def shared_bands(self, left: U32, right: U32) -> Bools:
        """Return which bands of the stored signatures left[i], right[i] agree: bool[n, bands]."""
        found = np.empty((len(left), self._bands.table_count), np.bool_)
        for start in range(0, len(left), self._group):
            part = slice(start, start + self._group)
            found[part] = self._bands.agreeing(self.gather(left[part]), self.gather(right[part]))
        return found

    def bands_of_pairs(self, queries: U8, which: npt.NDArray[np.integer], ordinals: U32) -> Bools:
        """Return which bands of queries[which[i]] and ordinals[i] agree: bool[n, bands]."""
        found = np.empty((len(ordinals), self._bands.table_count), np.bool_)
        for start in range(0, len(ordinals), self._group):
            part = slice(start, start + self._group)
            found[part] = self._bands.agreeing(queries[which[part]], self.gather(ordinals[part]))
        return found

    def scan(
        self, queries: U8, *, similarity: float, skip: U8 | None, after: U32 | None, first: int = 0
    ) -> tuple[I64, U32, F32]:
        """Find all stored signatures with at least that similarity to each query, by comparing all.

        `first`: so many of each segment are enough, 0 for all.  Return offsets, ordinals and
        similarities in the same order as `kernel.Vectors.scan`.
        """
        minima, least = self._bands.minima_of(queries), self._least(similarity)
        parts = [(np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint16))]
        for start, vectors in self._segments:
            stored = self._bands.minima_of(vectors)
            for query, own in enumerate(minima):
                begin = (
                    0 if after is None else min(max(int(after[query]) + 1 - start, 0), len(stored))
                )
                agreeing = kernel.agreements(own[None], stored[begin:])
                (similar,) = (agreeing >= least).nonzero()
                if not len(similar):
                    continue
                found = (similar + (start + begin)).astype(np.uint32)
                if skip is not None:
                    remaining = ~is_set(skip, found)
                    similar, found = similar[remaining], found[remaining]
                found = found[:first] if first else found
                parts.append((np.full(len(found), query), found, agreeing[similar[: len(found)]]))
        which, ordinals, agreements = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((ordinals, -agreements.astype(np.int64), which))
        offsets = offsets_of(np.bincount(which, minlength=len(queries)))
        return offsets, ordinals[order], estimates(agreements[order], self._bands.sketch)

    def nearest(self, queries: U8, k: int, skip: U8 | None) -> tuple[I64, U32, U8, F32]:
        """Return the `k` stored signatures that agree with each query in most minima.

        All are compared.  Return offsets, ordinals, numbers of minima that differ and similarities,
        the most similar first; of equally similar ones, those with the lowest ordinals.
        """
        minima, count = self._bands.minima_of(queries), self._bands.sketch.permutations
        every = [_Best(k, count) for _ in queries]
        for start, vectors in self._segments:
            # All queries pass over a group of signatures while it is in the cache.
            for first in range(0, len(vectors), self._group):
                stored = self._bands.minima_of(vectors[first : first + self._group])
                for query, best in zip(minima, every, strict=True):
                    agreeing = kernel.agreements(query[None], stored)
                    best.offer(start + first, agreeing, skip)
        ranks = [np.empty(0, np.uint64), *(best.sorted() for best in every)]
        offsets, found = offsets_of([len(each) for each in ranks[1:]]), np.concatenate(ranks)
        missing = (found >> np.uint64(32)).astype(np.int64)
        differing = np.minimum(missing, COUNTED_MAX).astype(np.uint8)
        similarities = estimates(count - missing, self._bands.sketch)
        return offsets, found.astype(np.uint32), differing, similarities

    def distances(self, similarities: F32) -> U8:
        """Return the numbers of minima that differ, at most `COUNTED_MAX`: uint8[n]."""
        return differing(similarities, self._bands.sketch)

    def gather(self, ordinals: U32) -> U8:
        """Return copies of the signatures: uint8[len(ordinals), width]."""
        return np.asarray(self._vectors.gather(ordinals), np.uint8)

    def _least(self, similarity: float) -> int:
        """Return in how many minima signatures of at least that similarity agree, at least."""
        return bisect_left(self._estimates, float(np.float32(similarity)))

    def _agreements(self, left: U8, right: U8) -> U16:
        bands = self._bands
        return np.asarray(kernel.agreements(bands.minima_of(left), bands.minima_of(right)))


class _Best:
    """The signatures that agree with one query in most minima, as ranks uint64[n].

    A rank is the number of minima that differ, and the ordinal in its lower 32 bits.
    """

    def __init__(self, k: int, minima: int) -> None:
        """Start without signatures; at most `k` are kept."""
        self._k, self._minima = k, minima
        self._ranks = np.empty(0, np.uint64)
        self._least = 0  # a signature that agrees in fewer minima is not among the best

    def offer(self, first: int, agreeing: U16, skip: U8 | None) -> None:
        """Take in signatures, whose ordinals are consecutive from `first` on and above all before.

        `agreeing`: of each, the number of minima that agree.
        """
        near = np.flatnonzero(agreeing >= self._least)
        if skip is not None:
            near = near[~is_set(skip, (near + first).astype(np.uint32))]
        if not len(near):
            return
        far = (self._minima - agreeing[near].astype(np.int64)).astype(np.uint64)
        added = far << np.uint64(32) | (near + first).astype(np.uint64)
        self._ranks = np.concatenate([self._ranks, added])
        if len(self._ranks) >= self._k:
            self._ranks = np.partition(self._ranks, self._k - 1)[: self._k]
            # Of signatures that agree equally, the earlier is better.
            self._least = self._minima - int(self._ranks[-1] >> np.uint64(32)) + 1

    def sorted(self) -> U64:
        """Return the ranks, the best first."""
        return np.sort(self._ranks)


@lru_cache
def _estimates(sketch: Minhash) -> list[float]:
    """Return the similarity for each number of minima that agree; they ascend."""
    estimated: list[float] = estimates(np.arange(sketch.permutations + 1), sketch).tolist()
    return estimated
