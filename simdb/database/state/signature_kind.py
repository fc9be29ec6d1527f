"""Signature kind: a database of MinHash signatures, with tables for each band (LSH).

Documents with the same minima in a band have equal keys in the tables of that band.  A document
that several bands find is measured once.

The share of minima that agree in two signatures estimates the similarity of the documents.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from simdb import storage
from simdb.core import kernel
from simdb.core.arrays import EMPTY, Fingerprint, Sketches, is_first, offsets_of, sorted_unique
from simdb.core.bits import ALL_BITS
from simdb.core.documents import COUNTED_MAX, Signature, differing, estimates
from simdb.core.dtypes import F32, I64, U8, U16, U32, U64, Bools
from simdb.core.options import Minhash, Options
from simdb.database.state.view import SIGNATURES, Kind, View
from simdb.plan import BandedPopulation, Bands, Criterion, bands_of
from simdb.storage import NO_DOCUMENTS, DeltaView, Source, header_bits, make_table

# Pairs are compared in groups whose signatures fit into the cache.
COMPARED_BYTES = 1 << 20

# For this number of queries or more, the delta is sorted; fewer are compared with the whole delta.
SORTING_QUERIES = 64
# If any one match suffices, this number of documents with one key is tried before all of them.
TRIED = 64
LOWER_BITS = np.uint64(2**32 - 1)

Scalar = TypeVar("Scalar", bound=np.generic)
# Finds the documents with the keys uint64[n, bands] of some queries, and returns them packed by
# `_coupled`.  Only ordinals greater than after[i] match query i.  The last argument is the number
# of documents that suffices for each query, 0 for all.
Find = Callable[[U64, U32 | None, int], U64]
# Returns the signatures of at least the given ordinals.
Measure = Callable[[U32], "SignatureVectors"]


class SignatureVectors:
    """Packed signatures by ordinal, with the methods of `kernel.Vectors`."""

    def __init__(self, bands: Bands, width: int, segments: Sequence[tuple[int, U8]]) -> None:
        """`segments`: (first ordinal, signatures uint8[k, width]), sorted and disjoint."""
        self._bands = bands
        self._segments = segments
        self._vectors = kernel.Vectors(width, segments)
        self._bits = bands.sketch.stored_bits
        self._estimates = _estimates(bands.sketch)
        self._group = max(COMPARED_BYTES // width, 1)

    def followed_by(self, first: int, vectors: U8) -> "SignatureVectors":
        """Return these segments and one more, which starts at the ordinal `first`."""
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
        rows = self._vectors.agree_one(query, ordinals, self._bits, self._least(similarity))
        return [(ordinal, len(known) - 1 - count, known[count]) for ordinal, count in rows]

    def of_pairs(self, queries: U8, which: npt.NDArray[np.integer], ordinals: U32) -> F32:
        """Return the similarities of queries[which[i]] and ordinals[i]."""
        found = self._compared(self._agreements, lambda part: queries[which[part]], ordinals)
        return estimates(found, self._bands.sketch)

    def between(self, left: U32, right: U32) -> F32:
        """Return the similarities of the stored signatures left[i] and right[i]."""
        found = self._compared(self._agreements, lambda part: self.gather(left[part]), right)
        return estimates(found, self._bands.sketch)

    def shared_bands(self, left: U32, right: U32) -> Bools:
        """Return which bands of the stored signatures left[i], right[i] agree: bool[n, bands]."""
        return self._compared(self._bands.agreeing, lambda part: self.gather(left[part]), right)

    def bands_of_pairs(self, queries: U8, which: npt.NDArray[np.integer], ordinals: U32) -> Bools:
        """Return which bands of queries[which[i]] and ordinals[i] agree: bool[n, bands]."""
        return self._compared(self._bands.agreeing, lambda part: queries[which[part]], ordinals)

    def scan(
        self,
        queries: U8,
        *,
        similarity: float,
        skip: storage.LeftOut,
        after: U32 | None,
        first: int = 0,
    ) -> tuple[I64, U32, F32]:
        """Find all stored signatures with at least `similarity` to each query, by comparing all.

        `first`: number of matches in each segment that suffices, 0 for all.  Returns offsets,
        ordinals and similarities in the same order as `kernel.Vectors.scan`.
        """
        rows, least = self._bands.rows_of(queries), self._least(similarity)
        parts = [(np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint16))]
        for start, vectors in self._segments:
            stored = self._bands.rows_of(vectors)
            for query, own in enumerate(rows):
                begin = (
                    0 if after is None else min(max(int(after[query]) + 1 - start, 0), len(stored))
                )
                agreeing = self._bands.agreements(own[None], stored[begin:])
                (similar,) = (agreeing >= least).nonzero()
                if not len(similar):
                    continue
                found = (similar + (start + begin)).astype(np.uint32)
                if skip is not None:
                    remaining = ~storage.is_deleted(skip, found)
                    similar, found = similar[remaining], found[remaining]
                found = found[:first] if first else found
                parts.append((np.full(len(found), query), found, agreeing[similar[: len(found)]]))
        which, ordinals, agreements = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((ordinals, -agreements.astype(np.int64), which))
        offsets = offsets_of(np.bincount(which, minlength=len(queries)))
        return offsets, ordinals[order], estimates(agreements[order], self._bands.sketch)

    def nearest(self, queries: U8, k: int, skip: storage.LeftOut) -> tuple[I64, U32, U8, F32]:
        """Return the `k` stored signatures that agree with each query in most minima.

        All signatures are compared.  Returns offsets, ordinals, numbers of minima that differ and
        similarities: most similar first, then by ordinal.
        """
        rows, count = self._bands.rows_of(queries), self._bands.sketch.permutations
        every = [_Best(k, count) for _ in queries]
        for start, vectors in self._segments:
            # All queries pass over a group of signatures while it is in the cache.
            ordinals = storage.live_ordinals(skip, start, start + len(vectors))
            for first in range(0, len(ordinals), self._group):
                part = ordinals[first : first + self._group]
                stored = self._bands.rows_of(self._of(start, vectors, part))
                for query, best in zip(rows, every, strict=True):
                    best.offer(part, self._bands.agreements(query[None], stored))
        ranks = [np.empty(0, np.uint64), *(best.sorted() for best in every)]
        offsets, found = offsets_of([len(each) for each in ranks[1:]]), np.concatenate(ranks)
        missing = (found >> np.uint64(32)).astype(np.int64)
        differing = np.minimum(missing, COUNTED_MAX).astype(np.uint8)
        similarities = estimates(count - missing, self._bands.sketch)
        return offsets, found.astype(np.uint32), differing, similarities

    @staticmethod
    def _of(start: int, vectors: U8, ordinals: U32) -> U8:
        """Return the signatures of ascending `ordinals`; `vectors` begin with ordinal `start`."""
        first, last = int(ordinals[0]) - start, int(ordinals[-1]) - start
        is_whole = last - first == len(ordinals) - 1
        return vectors[first : last + 1] if is_whole else vectors[ordinals - np.uint32(start)]

    def distances(self, similarities: F32) -> U8:
        """Return the numbers of differing minima, at most `COUNTED_MAX`: uint8[n]."""
        return differing(similarities, self._bands.sketch)

    def gather(self, ordinals: U32) -> U8:
        """Return copies of the signatures: uint8[len(ordinals), width]."""
        return np.asarray(self._vectors.gather(ordinals), np.uint8)

    def _least(self, similarity: float) -> int:
        """Return the least number of agreeing minima for at least this similarity."""
        return bisect_left(self._estimates, float(np.float32(similarity)))

    def _compared(
        self,
        compare: Callable[[U8, U8], npt.NDArray[Scalar]],
        left_of: Callable[[slice], U8],
        right: U32,
    ) -> npt.NDArray[Scalar]:
        """Compare stored signatures with the signatures that `left_of` returns, part by part."""
        starts = range(0, max(len(right), 1), self._group)
        parts = [slice(start, start + self._group) for start in starts]
        return np.concatenate([compare(left_of(part), self.gather(right[part])) for part in parts])

    def _agreements(self, left: U8, right: U8) -> U16:
        return self._bands.agreements(self._bands.rows_of(left), self._bands.rows_of(right))


class _Best:
    """The signatures that agree with one query in the most minima, as ranks uint64[n].

    The upper 32 bits of a rank are the number of differing minima, the lower 32 the ordinal.
    """

    def __init__(self, k: int, minima: int) -> None:
        """Start without signatures; at most `k` are kept."""
        self._k, self._minima = k, minima
        self._ranks = np.empty(0, np.uint64)
        self._least = 0  # a signature that agrees in fewer minima is not among the best

    def offer(self, ordinals: U32, agreeing: U16) -> None:
        """Add signatures in ascending order of ordinals, all above those already added.

        `agreeing`: the number of minima of each signature that equal the query's.
        """
        near = np.flatnonzero(agreeing >= self._least)
        if not len(near):
            return
        far = (self._minima - agreeing[near].astype(np.int64)).astype(np.uint64)
        added = far << np.uint64(32) | ordinals[near].astype(np.uint64)
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
    """Return the similarity for each number of minima that agree, ascending."""
    estimated: list[float] = estimates(np.arange(sketch.permutations + 1), sketch).tolist()
    return estimated


class SignatureKind(Kind):
    """The kind of a database whose options name a `Minhash`."""

    stores = SIGNATURES
    equal_option = "--similarity 1"
    keying: Bands

    def __init__(self, options: Options) -> None:
        """Take the bands from the options, which must be `settled`."""
        self.keying = bands_of(options)
        self.masks = [ALL_BITS] * self.keying.table_count
        self._options = options

    def make_vectors(self, width: int, segments: Sequence[tuple[int, U8]]) -> Any:
        """Return an object that measures packed signatures."""
        return SignatureVectors(self.keying, width, segments)

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of all bands, ready for look-up."""
        sealed = view.sealed
        if sealed.tables is None:
            bands = range(self.keying.table_count)
            sealed.tables = [sealed.searched(source, [ALL_BITS], band) for band in bands]
        return BandTables(
            self.keying, sealed.tables, view.delta, view.dead, is_part=view.windows is not None
        )

    def population(
        self, view: View, source: Source, criterion: Criterion, *, is_swept: bool
    ) -> BandedPopulation:
        """Return the planner's description of a view; `is_swept`: for a search of all pairs."""
        counts = [run.info.entry_count for run in view.runs]
        return BandedPopulation(
            sum(counts) + len(view.delta.searchable),
            self.keying,
            header_bits(max(counts, default=0), source.header_offset),
            source.width,
            is_swept,
        )

    def empty_population(self, *, has_weights: bool) -> BandedPopulation:
        """Return the planner's description of an empty database."""
        width = self._options.sketch.vector_bytes if has_weights else 0
        return BandedPopulation(0, self.keying, 0, width)

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the 64 bits of the signature at position `at`; they have no weights."""
        is_empty = int(sketches.states[at]) == EMPTY
        return Fingerprint(int(sketches.bits[at]), None, is_empty=is_empty)

    def signature_of(self, sketches: Sketches, at: int) -> Signature | None:
        """Return the stored signature at position `at`."""
        minima = self.keying.minima_of(sketches.vectors[at : at + 1])[0]
        return Signature(minima, self.keying.sketch, bool(sketches.states[at] == EMPTY))


class _Asked(NamedTuple):
    """The queries of a search: their keys and vectors, and the conditions for a match."""

    keys: U64
    vectors: U8
    measure: Measure
    similarity: float
    after: U32 | None


class BandTables:
    """The tables of all bands of one state, ready for look-up."""

    def __init__(
        self,
        bands: Bands,
        tables: Sequence[kernel.Tables],
        delta: DeltaView,
        left_out: storage.LeftOut,
        *,
        is_part: bool,
    ) -> None:
        """`tables`: the table of each band over all runs, ready for look-up.

        `is_part`: the tables have windows.  If windows together cover all entries of a run, each
        match is found in exactly one of them: in the window of the first band that agrees.
        """
        self._is_part = is_part
        self._bands = bands
        self._delta = delta
        self._left_out = left_out
        self._tables = tables
        self._sorted: list[kernel.Tables] | None = None  # the sorted delta, by band
        self._asked = 0  # single queries so far
        self._whole = self  # the object that keeps the sorted delta

    def leaving(self, left_out: storage.LeftOut) -> "BandTables":
        """Return these tables without the documents in `left_out`."""
        other = BandTables.__new__(BandTables)  # takes a third of the time of `copy`
        other.__dict__ = {**self.__dict__, "_left_out": left_out}
        return other

    def search(
        self, vectors: U8, measure: Measure, *, similarity: float, first: int, sure: int,
        after: U32 | None,
    ) -> tuple[I64, U32, F32]:  # fmt: skip
        """Return the documents that share a band with a query and are similar enough.

        The result is offsets, ordinals and similarities; the matches of each query descend in
        similarity, then ascend in ordinal.  `first`: number of candidates of each query that
        suffices if `sure` of them match; 1 for any one match of each query, 0 for all.  `after`:
        only ordinals greater than after[i] for query i.
        """
        keys = self._bands.searchable(np.empty(0, np.uint64), vectors)
        if first == 1:
            return self._first(keys, vectors, measure, similarity, after)
        every = np.arange(len(keys))
        asked = _Asked(keys, vectors, measure, similarity, after)
        found, counts = self._matches(every, asked, first)
        if first:
            matches = np.bincount(found[0], minlength=len(keys))
            is_unsure = (counts >= first) & (matches < sure)
            unsure = np.flatnonzero(is_unsure)
            more, _ = self._matches(unsure, asked, 0)
            is_sure = ~is_unsure[found[0]]
            found = (
                np.append(found[0][is_sure], more[0]),
                np.append(found[1][is_sure], more[1]),
                np.append(found[2][is_sure], more[2]),
            )
        queries, ordinals, similarities = found
        order = np.lexsort((-similarities, queries))  # stable, and the ordinals of a query ascend
        counts = np.bincount(queries, minlength=len(vectors))
        return offsets_of(counts), ordinals[order], similarities[order]

    def candidates_of(self, vector: U8, most: int, left_out: storage.LeftOut) -> U32 | None:
        """Return the documents that share a band with one query uint8[1, width], ascending.

        Fast for a single query.  `left_out`: the documents that are not returned.  Returns None if
        all bands together find more than `most` documents, each counted once for each band.
        """
        keys = self._bands.keys_of(vector)
        found: U32 | None = kernel.lookup_bands(self._tables, keys, most, left_out)
        if found is None or not len(self._delta.ordinals):
            return found
        recent = self._recent(keys, most, left_out)
        # The ordinals of the delta are higher than those in runs.
        return np.concatenate([found, recent]) if len(recent) else found

    def any_of_each(self, vectors: U8) -> tuple[I64, U32]:
        """Find one document with the same band key for each query and band, if there is any.

        Returns the position of the query and the ordinal for each document found.
        """
        keys = self._bands.searchable(np.empty(0, np.uint64), vectors)
        return _distinct([find(keys, None, 1) for _, find in self._finders(len(keys))])

    def _first(
        self, keys: U64, vectors: U8, measure: Measure, similarity: float, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Return one match of each query, from the first band that has a match."""
        found = np.zeros(len(keys), np.bool_)
        ordinals = np.zeros(len(keys), np.uint32)
        similarities = np.zeros(len(keys), np.float32)
        for _, find in self._finders(len(keys)):
            pending = np.flatnonzero(~found)
            for most in (TRIED, 0):
                if not len(pending):
                    break
                part = find(keys[pending], None if after is None else after[pending], most)
                positions, candidates = _distinct([part])
                queries = pending[positions]
                measured = measure(candidates).of_pairs(vectors, queries, candidates)
                chosen = np.flatnonzero(measured >= np.float32(similarity))
                winners, firsts = np.unique(queries[chosen], return_index=True)
                found[winners] = True
                ordinals[winners] = candidates[chosen[firsts]]
                similarities[winners] = measured[chosen[firsts]]
                has_more = np.bincount(positions, minlength=len(pending)) >= TRIED
                pending = pending[has_more & ~found[pending]]
        return offsets_of(found), ordinals[found], similarities[found]

    def _matches(self, asking: I64, asked: _Asked, first: int) -> tuple[tuple[I64, U32, F32], I64]:
        """Return queries, ordinals, similarities, and the most candidates of each query in a band.

        `asking`: the positions of the queries to search for.  `first`: the number of candidates in
        one band after which a query gets no more, 0 for no limit.
        """
        keys, vectors, measure, similarity, after = asked
        counts = np.zeros(len(keys), np.int64)
        parts = [np.empty(0, np.uint64)]
        for band, find in self._finders(len(asking)):
            if first:
                asking = asking[counts[asking] < first]
            if not len(asking):
                break
            if len(asking) == len(keys):
                found = find(keys, after, first)
            else:
                found = find(keys[asking], None if after is None else after[asking], first)
                positions = asking[(found >> np.uint64(32)).astype(np.int64)]
                found = positions.astype(np.uint64) << np.uint64(32) | found & LOWER_BITS
            if first:
                positions = (found >> np.uint64(32)).astype(np.int64)
                counts = np.maximum(counts, np.bincount(positions, minlength=len(keys)))
            if self._is_part and band is not None:
                found = _first_in_band(band, found, vectors, measure)
            parts.append(found)
        queries, ordinals = _distinct(parts)
        similarities = measure(ordinals).of_pairs(vectors, queries, ordinals)
        chosen = np.flatnonzero(similarities >= np.float32(similarity))
        return (queries[chosen], ordinals[chosen], similarities[chosen]), counts

    def _finders(self, query_count: int) -> Iterator[tuple[int | None, Find]]:
        """Yield the band of each table, and a function that finds documents by key in it.

        The band is None for the delta.
        """
        if len(self._delta.ordinals):
            if query_count < SORTING_QUERIES:
                yield None, self._compare_delta
            else:
                for band, table in enumerate(self._sort_delta()):
                    yield None, partial(_find, self._over(table), band)
        for band, table in enumerate(self._tables):
            yield band, partial(_find, self._over(table), band)

    def _over(self, table: kernel.Tables) -> kernel.Tables:
        """Return the table of a band without omitted documents."""
        return table if self._left_out is None else table.over(NO_DOCUMENTS, self._left_out)

    def _sort_delta(self) -> list[kernel.Tables]:
        """Return the tables of the delta, one for each band."""
        whole = self._whole
        if whole._sorted is None:
            bands = range(len(self._tables))
            whole._sorted = [_sort(self._delta, self._bands, band) for band in bands]
        return whole._sorted

    def _recent(self, keys: U64, most: int, left_out: storage.LeftOut) -> U32:
        """Return the documents of the delta with one of these keys of one query, ascending."""
        self._asked += 1
        found: U32 | None = None
        # After many single queries, sorting the delta costs less than comparing it again.
        if self._sorted is not None or self._asked > SORTING_QUERIES:
            found = kernel.lookup_bands(self._sort_delta(), keys, most, left_out)
        if found is None:
            found = self._compare_delta(keys[None], None, 0).astype(np.uint32)
            found = found[~storage.is_deleted(left_out, found)]
        return found

    def _compare_delta(self, keys: U64, after: U32 | None, first: int) -> U64:
        """Return the documents of the delta with one of these keys, as a `Find`."""
        parts = [np.empty(0, np.uint64)]
        for query, row in enumerate(keys):
            # Few keys are equal, so this is much faster than reducing each row.
            equal = np.flatnonzero(self._delta.searchable == row)
            ordinals = self._delta.ordinals[sorted_unique(equal // len(row))]
            ordinals = ordinals[~storage.is_deleted(self._left_out, ordinals)]
            if after is not None:
                ordinals = ordinals[ordinals > after[query]]
            if first:
                ordinals = ordinals[:first]
            parts.append(np.uint64(query << 32) | ordinals)
        return np.concatenate(parts)


def _find(table: kernel.Tables, band: int, keys: U64, after: U32 | None, first: int) -> U64:
    """Return the documents with these keys in the table of a band, as a `Find`."""
    found = table.lookup(
        np.ascontiguousarray(keys[:, band]), distance=0, flips=0, first=first, after=after
    )
    return _coupled(found[0], found[1])


def _first_in_band(band: int, found: U64, vectors: U8, measure: Measure) -> U64:
    """Return the couples found in a band that agree in no earlier band."""
    queries, ordinals = _distinct([found])
    shared = measure(ordinals).bands_of_pairs(vectors, queries, ordinals)
    is_new = ~shared[:, :band].any(axis=1)
    return np.asarray(queries[is_new].astype(np.uint64) << np.uint64(32) | ordinals[is_new])


def _sort(delta: DeltaView, bands: Bands, band: int) -> kernel.Tables:
    """Return the table of one band of the delta, ready for look-up."""
    keys = np.empty(len(delta.ordinals), np.uint64)
    bands.write_keys(delta.searchable, keys, band)
    table = make_table(keys, delta.ordinals.copy(), header_bits(len(keys), 0))
    return kernel.Tables([ALL_BITS], [[table]], NO_DOCUMENTS, None)


def _coupled(offsets: I64, ordinals: U32) -> U64:
    """Pack (query, ordinal) couples into numbers that sort by query, then by ordinal."""
    queries = np.repeat(
        np.arange(len(offsets) - 1, dtype=np.uint64) << np.uint64(32), np.diff(offsets)
    )
    return np.asarray(queries | ordinals, np.uint64)


def _distinct(parts: Sequence[U64]) -> tuple[I64, U32]:
    """Return the queries and the ordinals of all distinct couples, sorted."""
    couples = np.concatenate(parts)
    kernel.sort(couples)
    couples = couples[is_first(couples)]
    return (couples >> np.uint64(32)).astype(np.int64), couples.astype(np.uint32)
