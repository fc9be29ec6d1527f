"""Band tables: finds the stored documents that share a band with a query, and measures them.

Each band has its own tables, in which documents with the same minima in the band have equal keys.
A document that several bands find is measured once.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import ALL_BITS, is_set
from simdb.engine.state.signature_vectors import SignatureVectors
from simdb.index.bands import Bands
from simdb.storage.records.delta import NO_DOCUMENTS, DeltaView
from simdb.storage.records.tombstones import Bitmap
from simdb.storage.runs.table import Table, header_bits, make_table
from simdb.values import offsets_of

# For this many queries or more the delta is sorted; fewer are compared with all of the delta.
SORTING_QUERIES = 64

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
# Returns the signatures of at least the given ordinals.
Measure = Callable[[U32], SignatureVectors]


class BandTables:
    """The tables of all bands of one state, ready for look-up."""

    def __init__(
        self,
        bands: Bands,
        tables: Sequence[kernel.Tables],
        delta: DeltaView,
        dead: Bitmap | None,
        *,
        is_part: bool,
    ) -> None:
        """`tables`: each band of all runs, as `prepared` returns them.

        `is_part`: they have windows.  If windows together cover all entries of a run, each match is
        found in exactly one of them: in the window of the first band that agrees.
        """
        self._is_part = is_part
        self._bands = bands
        self._delta = delta
        self._dead = dead
        self._tables = (
            tables if dead is None else [table.over(NO_DOCUMENTS, dead) for table in tables]
        )
        self._sorted: list[kernel.Tables] | None = None  # the sorted delta, by band
        self._asked = 0  # single queries so far

    def search(
        self, vectors: U8, measure: Measure, *, similarity: float, first: bool, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Return the documents at least that similar that share a band with a query.

        The result is offsets, ordinals and similarities; the matches of each query descend in
        similarity, then ascend in ordinal.  `first`: any one match of each query.  `after`: only
        ordinals greater than after[i] for query i.
        """
        keys = self._bands.searchable(np.empty(0, np.uint64), vectors)
        if first:
            return self._first(keys, vectors, measure, similarity, after)
        every = [self._find(keys, band, after) for band in range(len(self._tables))]
        if self._is_part:
            every = [
                _first_in_band(band, found, vectors, measure) for band, found in enumerate(every)
            ]
        every.append(self._find_delta(keys, after))
        queries, ordinals = _distinct(every)
        similarities = measure(ordinals).of_pairs(vectors, queries, ordinals)
        chosen = np.flatnonzero(similarities >= np.float32(similarity))
        queries, ordinals, similarities = queries[chosen], ordinals[chosen], similarities[chosen]
        order = np.lexsort((-similarities, queries))  # stable, and ordinals ascend
        counts = np.bincount(queries, minlength=len(vectors))
        return offsets_of(counts), ordinals[order], similarities[order]

    def candidates_of(self, vector: U8, most: int) -> U32 | None:
        """Return the documents that share a band with one query uint8[1, width], ascending.

        Fast for a single query.  Return None if all bands together find more than `most` documents,
        each counted once for each band.
        """
        keys = self._bands.keys_of(vector)
        found: U32 | None = kernel.lookup_bands(self._tables, keys, most)
        if found is None or not len(self._delta.ordinals):
            return found
        recent = self._recent(keys, most)
        # Documents of the delta come after those of all runs.
        return np.concatenate([found, recent]) if len(recent) else found

    def any_of_each(self, vectors: U8) -> tuple[I64, U32]:
        """Find one document with the same band key for each query and band, if there is any.

        Return the position of the query and the ordinal of each find.  Of the delta, all documents
        with the same key are found.
        """
        keys = self._bands.searchable(np.empty(0, np.uint64), vectors)
        every = [self._find(keys, band, None, first=True) for band in range(len(self._tables))]
        return _distinct([*every, self._find_delta(keys, None)])

    def _first(
        self, keys: U64, vectors: U8, measure: Measure, similarity: float, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Return one match of each query, from the first band that has a match."""
        found = np.zeros(len(keys), np.bool_)
        ordinals = np.zeros(len(keys), np.uint32)
        similarities = np.zeros(len(keys), np.float32)
        for band in range(-1, len(self._tables)):
            pending = np.flatnonzero(~found)
            if not len(pending):
                break
            later = None if after is None else after[pending]
            if band < 0:
                part = self._find_delta(keys[pending], later)
            else:
                part = self._find(keys[pending], band, later)
            positions, candidates = _distinct([part])
            queries = pending[positions]
            measured = measure(candidates).of_pairs(vectors, queries, candidates)
            chosen = np.flatnonzero(measured >= np.float32(similarity))
            winners, firsts = np.unique(queries[chosen], return_index=True)
            found[winners] = True
            ordinals[winners] = candidates[chosen[firsts]]
            similarities[winners] = measured[chosen[firsts]]
        return offsets_of(found), ordinals[found], similarities[found]

    def _find(self, keys: U64, band: int, after: U32 | None, *, first: bool = False) -> U64:
        """Return the sealed documents with these keys in one band, packed by `_coupled`."""
        found = self._tables[band].lookup(
            np.ascontiguousarray(keys[:, band]), distance=0, flips=0, first=first, after=after
        )
        return _coupled(found[0], found[1])

    def _find_delta(self, keys: U64, after: U32 | None) -> U64:
        """Return the documents of the delta with one of these keys, packed by `_coupled`."""
        if not len(self._delta.ordinals):
            return np.empty(0, np.uint64)
        if len(keys) < SORTING_QUERIES:
            return self._compare_delta(keys, after)
        parts = []
        for band, table in enumerate(self._sort_delta()):
            found = table.lookup(
                np.ascontiguousarray(keys[:, band]), distance=0, flips=0, first=False, after=after
            )
            parts.append(_coupled(found[0], found[1]))
        return np.concatenate(parts)

    def _sort_delta(self) -> list[kernel.Tables]:
        """Return the tables of the delta, one for each band."""
        if self._sorted is None:
            self._sorted = [
                prepared([_sort(self._delta, self._bands, band)], self._dead, None)
                for band in range(len(self._tables))
            ]
        return self._sorted

    def _recent(self, keys: U64, most: int) -> U32:
        """Return the documents of the delta with one of these keys of one query, ascending."""
        self._asked += 1
        found: U32 | None = None
        # After so many queries one by one, sorting the delta costs less than comparing it again.
        if self._sorted is not None or self._asked > SORTING_QUERIES:
            found = kernel.lookup_bands(self._sort_delta(), keys, most)
        if found is None:
            found = self._compare_delta(keys[None], None).astype(np.uint32)
        return found

    def _compare_delta(self, keys: U64, after: U32 | None) -> U64:
        parts = [np.empty(0, np.uint64)]
        for query, row in enumerate(keys):
            # Few keys are equal, so this is much faster than to reduce each row.
            equal = np.flatnonzero(self._delta.searchable == row)
            ordinals = self._delta.ordinals[np.unique(equal // len(row))]
            if self._dead is not None:
                ordinals = ordinals[~is_set(self._dead, ordinals)]
            if after is not None:
                ordinals = ordinals[ordinals > after[query]]
            parts.append(np.uint64(query << 32) | ordinals)
        return np.concatenate(parts)


def prepared(
    runs: Sequence[Table], dead: Bitmap | None, windows: Sequence[tuple[int, int]] | None
) -> kernel.Tables:
    """Return one band of some runs as kernel tables, in which all bits of a key lead.

    `windows` as for `kernel.Tables`.
    """
    rows = [[(table.keys, table.ordinals, table.directory)] for table in runs]
    return kernel.Tables([ALL_BITS], rows, NO_DOCUMENTS, dead, windows)


def _first_in_band(band: int, found: U64, vectors: U8, measure: Measure) -> U64:
    """Return the couples found in a band that agree in no band before it."""
    queries, ordinals = _distinct([found])
    shared = measure(ordinals).bands_of_pairs(vectors, queries, ordinals)
    is_first = ~shared[:, :band].any(axis=1)
    return np.asarray(queries[is_first].astype(np.uint64) << np.uint64(32) | ordinals[is_first])


def _sort(delta: DeltaView, bands: Bands, band: int) -> Table:
    keys = np.empty(len(delta.ordinals), np.uint64)
    bands.write_keys(delta.searchable, keys, band)
    return make_table(keys, delta.ordinals.copy(), header_bits(len(keys), 0))


def _coupled(offsets: I64, ordinals: U32) -> U64:
    """Pack (query, ordinal) couples into numbers that sort by query, then by ordinal."""
    queries = np.repeat(
        np.arange(len(offsets) - 1, dtype=np.uint64) << np.uint64(32), np.diff(offsets)
    )
    return np.asarray(queries | ordinals, np.uint64)


def _distinct(parts: Sequence[U64]) -> tuple[I64, U32]:
    """Return the queries and the ordinals of all distinct couples, sorted."""
    couples = np.concatenate(parts)
    kernel.sort(couples, np.empty(len(couples), np.uint32))
    is_first = np.append(True, couples[1:] != couples[:-1])[: len(couples)]
    couples = couples[is_first]
    return (couples >> np.uint64(32)).astype(np.int64), couples.astype(np.uint32)
