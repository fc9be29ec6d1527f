"""Look-up by bands: stored documents with a band of minima like that of a query, measured.

Each band has its own tables, in which documents that agree have equal keys.  What several bands
find is measured once.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import ALL_BITS, is_set
from simdb.engine.state.signature_vectors import SignatureVectors
from simdb.index.bands import Bands
from simdb.storage.records.delta import DeltaView
from simdb.storage.records.tombstones import Bitmap
from simdb.storage.runs.run import Table, make_table
from simdb.values import offsets_of

# So many queries and more have the loose documents sorted; fewer are compared with all of them.
SORTING_QUERIES = 64

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
# Gives the signatures of at least these ordinals.
Measure = Callable[[U32], SignatureVectors]


class BandTables:
    """The tables of all bands of one state, prepared for look-up."""

    def __init__(
        self,
        bands: Bands,
        runs: Sequence[Sequence[Table]],
        loose: DeltaView,
        dead: Bitmap | None,
        windows: Sequence[tuple[int, int]] | None,
    ) -> None:
        """`runs[r][b]`: the table of band b of run r.

        `windows` as for `kernel.Tables`: each match of a whole run is found in just one of windows
        that cover all entries, that in which the first band lies that agrees.
        """
        self._is_part = windows is not None
        self._bands = bands
        self._loose = loose
        self._dead = dead
        self._tables = [
            _prepared([run[band] for run in runs], dead, windows)
            for band in range(bands.table_count)
        ]
        self._sorted: list[kernel.Tables] | None = None  # of loose documents

    def search(
        self, vectors: U8, measure: Measure, *, similarity: float, first: bool, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Documents at least that similar that agree in a band; offsets, ordinals, similarities.

        Those of a query are in descending order of similarity, then by ordinal.  `first`: any one
        for each query.  `after`: only ordinals greater than after[i] for query i.
        """
        keys = self._bands.searchable(np.empty(0, np.uint64), vectors)
        if first:
            return self._first(keys, vectors, measure, similarity, after)
        every = [self._find(keys, band, after) for band in range(len(self._tables))]
        if self._is_part:
            every = [
                _first_in_band(band, found, vectors, measure) for band, found in enumerate(every)
            ]
        every.append(self._find_loose(keys, after))
        asked, ordinals = _distinct(every)
        similarities = measure(ordinals).of_pairs(vectors, asked, ordinals)
        chosen = np.flatnonzero(similarities >= np.float32(similarity))
        asked, ordinals, similarities = asked[chosen], ordinals[chosen], similarities[chosen]
        order = np.lexsort((-similarities, asked))  # stable, and ordinals ascend
        counts = np.bincount(asked, minlength=len(vectors))
        return offsets_of(counts), ordinals[order], similarities[order]

    def candidates_of(self, vector: U8, most: int) -> U32 | None:
        """The documents that agree with one query uint8[1, width] in a band; fast to call.

        None when some band has more than `most`.
        """
        keys = self._bands.searchable(np.empty(0, np.uint64), vector)
        candidates: set[int] = set()
        for table, key in zip(self._tables, keys[0].tolist(), strict=True):
            found = table.lookup_one(key, 0, 0, False, most)
            if found is None:
                return None
            candidates.update(ordinal for ordinal, _ in found)
        if len(self._loose.ordinals):
            candidates.update(self._compare_loose(keys, None).tolist())
        return np.array(sorted(candidates), np.uint32)

    def any_of_each(self, vectors: U8) -> tuple[I64, U32]:
        """Of the documents that agree with a query in a band any one, for every band and query.

        The queries and what was found.
        """
        keys = self._bands.searchable(np.empty(0, np.uint64), vectors)
        every = [self._find(keys, band, None, first=True) for band in range(len(self._tables))]
        return _distinct([*every, self._find_loose(keys, None)])

    def _first(
        self, keys: U64, vectors: U8, measure: Measure, similarity: float, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """One match of each query, from the first band that has any."""
        found = np.zeros(len(keys), np.bool_)
        ordinals = np.zeros(len(keys), np.uint32)
        similarities = np.zeros(len(keys), np.float32)
        for band in range(-1, len(self._tables)):
            asking = np.flatnonzero(~found)
            if not len(asking):
                break
            later = None if after is None else after[asking]
            if band < 0:
                part = self._find_loose(keys[asking], later)
            else:
                part = self._find(keys[asking], band, later)
            asked, candidates = _distinct([part])
            asked = asking[asked]
            measured = measure(candidates).of_pairs(vectors, asked, candidates)
            chosen = np.flatnonzero(measured >= np.float32(similarity))
            winners, firsts = np.unique(asked[chosen], return_index=True)
            found[winners] = True
            ordinals[winners] = candidates[chosen[firsts]]
            similarities[winners] = measured[chosen[firsts]]
        return offsets_of(found), ordinals[found], similarities[found]

    def _find(self, keys: U64, band: int, after: U32 | None, *, first: bool = False) -> U64:
        """Sealed documents with these keys in one band; see `_coupled`."""
        found = self._tables[band].lookup(
            np.ascontiguousarray(keys[:, band]), distance=0, flips=0, first=first, after=after
        )
        return _coupled(found[0], found[1])

    def _find_loose(self, keys: U64, after: U32 | None) -> U64:
        """Delta documents with one of these keys; see `_coupled`."""
        if not len(self._loose.ordinals):
            return np.empty(0, np.uint64)
        if len(keys) < SORTING_QUERIES:
            return self._compare_loose(keys, after)
        if self._sorted is None:
            self._sorted = [
                _prepared([_sort(self._loose, self._bands, band)], self._dead, None)
                for band in range(len(self._tables))
            ]
        parts = []
        for band, table in enumerate(self._sorted):
            found = table.lookup(
                np.ascontiguousarray(keys[:, band]), distance=0, flips=0, first=False, after=after
            )
            parts.append(_coupled(found[0], found[1]))
        return np.concatenate(parts)

    def _compare_loose(self, keys: U64, after: U32 | None) -> U64:
        parts = [np.empty(0, np.uint64)]
        for query, row in enumerate(keys):
            near = (self._loose.searchable == row).any(axis=1)
            ordinals = self._loose.ordinals[near]
            if self._dead is not None:
                ordinals = ordinals[~is_set(self._dead, ordinals)]
            if after is not None:
                ordinals = ordinals[ordinals > after[query]]
            parts.append(np.uint64(query << 32) | ordinals)
        return np.concatenate(parts)


def _first_in_band(band: int, found: U64, vectors: U8, measure: Measure) -> U64:
    """Those found in a band that agree in no band before it."""
    asked, ordinals = _distinct([found])
    shared = measure(ordinals).bands_of_pairs(vectors, asked, ordinals)
    is_first = ~shared[:, :band].any(axis=1)
    return np.asarray(asked[is_first].astype(np.uint64) << np.uint64(32) | ordinals[is_first])


def _prepared(
    runs: Sequence[Table], dead: Bitmap | None, windows: Sequence[tuple[int, int]] | None
) -> kernel.Tables:
    """One band of some runs; the whole key leads."""
    rows = [[(table.keys, table.ordinals, table.directory)] for table in runs]
    nothing = np.empty(0, np.uint64), np.empty(0, np.uint32)
    return kernel.Tables([ALL_BITS], rows, nothing, dead, windows)


def _sort(loose: DeltaView, bands: Bands, band: int) -> Table:
    keys = np.empty(len(loose.ordinals), np.uint64)
    bands.write_keys(loose.searchable, keys, band)
    return make_table(keys, loose.ordinals.copy(), 0)


def _coupled(offsets: I64, ordinals: U32) -> U64:
    """Queries and what they found, as numbers that sort by query and then by ordinal."""
    asked = np.repeat(
        np.arange(len(offsets) - 1, dtype=np.uint64) << np.uint64(32), np.diff(offsets)
    )
    return np.asarray(asked | ordinals, np.uint64)


def _distinct(parts: Sequence[U64]) -> tuple[I64, U32]:
    """Queries and ordinals of each distinct couple, in order."""
    couples = np.concatenate(parts)
    kernel.sort(couples, np.empty(len(couples), np.uint32))
    is_first = np.append(True, couples[1:] != couples[:-1])[: len(couples)]
    couples = couples[is_first]
    return (couples >> np.uint64(32)).astype(np.int64), couples.astype(np.uint32)
