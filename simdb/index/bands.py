"""Bands: the keys in the tables of a MinHash database (LSH, locality-sensitive hashing).

Table b is sorted by the key of band b, a hash of the minima in the band, so documents with the same
minima in a band have equal keys in its table.  A document is stored as its packed signature: its
minima one after the other, little-endian.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.vector_form import unpack_minima
from simdb.index.banding import (
    Banding,
    candidate_probability,
    expected_candidates,
)
from simdb.index.permutation import Polytopes
from simdb.running import kernel
from simdb.settings.minhash import Minhash
from simdb.settings.options import Options

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
KEYED_SIGNATURES = 1 << 14  # signatures at a time, whose minima then stay in the cache


class Bands:
    """The bands of a database, with one table for each band."""

    def __init__(self, sketch: Minhash, banding: Banding) -> None:
        """Raise OptionError if signatures of `sketch` have too few minima for `banding`."""
        banding.check(sketch.permutations)
        self.sketch = sketch
        self.banding = banding
        self.polytopes = Polytopes(0)

    @property
    def table_count(self) -> int:
        """Number of tables."""
        return self.banding.bands

    @property
    def rows(self) -> int:
        """Number of minima in each band."""
        return self.banding.rows

    def minima_of(self, vectors: U8) -> npt.NDArray[Any]:
        """Return packed signatures uint8[n, width] as minima uint8 or uint32[n, permutations]."""
        return unpack_minima(vectors, self.sketch.stored_bits)

    def searchable(self, fingerprints: U64, vectors: U8) -> U64:
        """Return the keys of some documents in all bands: uint64[n, bands]."""
        keys = np.empty((len(vectors), self.banding.bands), np.uint64)
        bands, rows = self.banding.bands, self.banding.rows
        for start in range(0, len(vectors), KEYED_SIGNATURES):
            part = slice(start, start + KEYED_SIGNATURES)
            keys[part] = kernel.band_keys(self.minima_of(vectors[part]), bands=bands, rows=rows)
        return keys

    def keys_of(self, vector: U8) -> U64:
        """Return the keys of one document uint8[1, width] in all bands: uint64[bands]."""
        found: U64 = kernel.keys_of_one(
            vector,
            stored_bits=self.sketch.stored_bits,
            bands=self.banding.bands,
            rows=self.banding.rows,
        )
        return found

    def write_keys(self, searchable: U64, keys: U64, table: int) -> None:
        """Write the keys of the band `table` into `keys`."""
        keys[...] = searchable[:, table]

    def agreeing(self, left: U8, right: U8) -> npt.NDArray[np.bool_]:
        """Return which bands of packed signatures left[i], right[i] are equal: bool[n, bands]."""
        bands, rows = self.banding.bands, self.banding.rows
        same = self.minima_of(left)[:, : bands * rows] == self.minima_of(right)[:, : bands * rows]
        return np.asarray(same.reshape(-1, bands, rows).all(axis=2), np.bool_)

    def reach(self, similarity: float) -> float:
        """Return the share that the bands find of documents with exactly that similarity."""
        bits = self.sketch.stored_bits
        return float(candidate_probability(similarity, self.banding, stored_bits=bits))

    def candidates(self, documents: int) -> float:
        """Return how many of `documents` an average query finds although they are not similar."""
        return documents * _candidates(self.banding, self.sketch.stored_bits)


def bands_of(options: Options) -> Bands:
    """Return the bands for signatures; the options must be `settled`."""
    assert isinstance(options.sketch, Minhash)
    assert options.bands is not None
    assert options.rows is not None
    return Bands(options.sketch, Banding(options.bands, options.rows))


@lru_cache
def _candidates(banding: Banding, stored_bits: int) -> float:
    return expected_candidates(1, banding, stored_bits=stored_bits)
