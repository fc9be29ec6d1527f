"""Bands: the keys in the tables of a MinHash database (LSH, locality-sensitive hashing).

The minima of a signature are cut into `bands` bands of `rows` minima each.  Table b is sorted by
the key of band b, a hash of its minima.  So documents with the same minima in a band have equal
keys in its table.  A document is stored as its packed signature (`simdb/core/vector_form.py`).

Two documents are candidates if at least one band is equal in both.  Each minimum agrees with a
probability equal to the similarity s.  So documents are candidates with the probability
1 - (1 - s^rows)^bands (Leskovec, Rajaraman & Ullman 2020, Mining of Massive Datasets, section 3.4).
This is an S-curve: near 0 for small s and near 1 for large s.  More rows make it steeper and move
its step to larger s; more bands move the step to smaller s.
"""

from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core import kernel
from simdb.core.documents import Signatures
from simdb.core.dtypes import F64, U8, U16, U64
from simdb.core.errors import OptionError
from simdb.core.options import Minhash, Options
from simdb.core.values import dataclass
from simdb.core.vector_form import rows_of_minima, unpack_minima
from simdb.plan.polytopes import Polytopes

STEPS = 400  # steps of similarity, from 0 to 1, in a background
# Medians of eight collections of texts with word 3-shingles: most pairs share next to nothing, and
# one pair in 200 shares boilerplate.
UNRELATED_MEAN, BOILERPLATE_SHARE, BOILERPLATE_MEAN = 0.01, 0.005, 0.1
# The cost of looking up one band, relative to measuring one candidate: both wait for memory about
# equally long.
LOOKUP_COST = 1.0
# Users choose minima of 1 or 2 bits to save space.  A table adds 13 bytes a document, so it must
# save this number of candidates.  Queries are no slower with half the tables, of fewer rows.
FEW_BITS_TABLE_COST = 100.0
KEYED_SIGNATURES = 1 << 14  # batch of signatures whose minima fit into the cache


@dataclass(frozen=True, slots=True)
class Banding:
    """A division of signatures: the first bands * rows minima make `bands` bands of `rows` each."""

    bands: int
    rows: int

    def check(self, permutations: int) -> None:
        """Raise OptionError unless signatures of `permutations` minima are long enough."""
        if self.bands < 1 or self.rows < 1 or self.bands * self.rows > permutations:
            raise OptionError(
                f"{self.bands} bands of {self.rows} rows need {self.bands * self.rows} minima, but"
                f" a signature has {permutations}; bands and rows must be 1 or more, and their"
                " product at most permutations="
            )


class Bands:
    """The bands of a database, with one table for each band."""

    def __init__(self, sketch: Minhash, banding: Banding) -> None:
        """Raise OptionError if signatures of `sketch` have too few minima for `banding`."""
        banding.check(sketch.permutations)
        self.sketch = sketch
        self.banding = banding
        self.polytopes = Polytopes(0)
        self.has_header_table = False

    @property
    def table_count(self) -> int:
        """Number of tables."""
        return self.banding.bands

    def minima_of(self, vectors: U8) -> npt.NDArray[Any]:
        """Return packed signatures uint8[n, width] as minima uint8 or uint32[n, permutations]."""
        return unpack_minima(vectors, self.sketch.stored_bits)

    def rows_of(self, vectors: U8) -> npt.NDArray[Any]:
        """Return packed signatures uint8[n, width] as the kernel takes them, without a copy."""
        return rows_of_minima(vectors, self.sketch.stored_bits)

    def agreements(self, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> U16:
        """Count equal minima of rows from `rows_of`: of right[i] with left[i], or with left[0]."""
        return kernel.agreements(left, right, bits=min(self.sketch.stored_bits, 8))

    def searchable(self, fingerprints: U64, vectors: U8) -> U64:
        """Return the keys of documents in all bands: uint64[n, bands]."""
        keys = np.empty((len(vectors), self.banding.bands), np.uint64)
        bands, rows, bits = self.banding.bands, self.banding.rows, self.sketch.stored_bits
        for start in range(0, len(vectors), KEYED_SIGNATURES):
            part = slice(start, start + KEYED_SIGNATURES)
            minima = self.rows_of(vectors[part])
            keys[part] = kernel.band_keys(minima, bands=bands, rows=rows, bits=min(bits, 8))
        return keys

    def keys_of(self, vector: U8) -> U64:
        """Return the keys of one document uint8[1, width] in all bands: uint64[bands]."""
        return kernel.keys_of_one(
            vector,
            stored_bits=self.sketch.stored_bits,
            bands=self.banding.bands,
            rows=self.banding.rows,
        )

    def write_keys(self, searchable: U64, keys: U64, table: int) -> None:
        """Write the keys of the band `table` into `keys`."""
        keys[...] = searchable[:, table]

    def agreeing(self, left: U8, right: U8) -> npt.NDArray[np.bool_]:
        """Return which bands of packed signatures left[i] and right[i] agree: bool[n, bands]."""
        bands, rows = self.banding.bands, self.banding.rows
        same = self.minima_of(left)[:, : bands * rows] == self.minima_of(right)[:, : bands * rows]
        return np.asarray(same.reshape(-1, bands, rows).all(axis=2), np.bool_)

    def reach(self, similarity: float) -> float:
        """Return the share of documents with exactly that similarity that the bands find."""
        bits = self.sketch.stored_bits
        return float(candidate_probability(similarity, self.banding, stored_bits=bits))

    def candidates(self, documents: int) -> float:
        """Return the number of unrelated documents of `documents` that an average query finds."""
        return documents * _candidates(self.banding, self.sketch.stored_bits)


def bands_of(options: Options) -> Bands:
    """Return the bands for signatures; the options must be `settled`."""
    assert isinstance(options.sketch, Minhash)
    assert options.bands is not None
    assert options.rows is not None
    return Bands(options.sketch, Banding(options.bands, options.rows))


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """A distribution of the similarity of unrelated pairs: `shares` of all pairs at `similarities`.

    Both are float64[k]; the shares sum to 1.
    """

    similarities: F64
    shares: F64


def band_keys(signatures: Signatures, banding: Banding) -> npt.NDArray[np.uint64]:
    """Return a key for each band of each signature, uint64[n, bands]; equal bands have equal keys.

    Keys are hashed from the stored form of minima, so they also find stored documents.  Keys of
    documents without features mean nothing.
    """
    banding.check(signatures.sketch.permutations)
    return kernel.band_keys(signatures.minima, bands=banding.bands, rows=banding.rows)


def candidate_probability(
    similarity: npt.ArrayLike, banding: Banding, *, stored_bits: int = 32
) -> F64:
    """Return the probability that documents of `similarity` are candidates, elementwise.

    Unequal minima of `stored_bits` bits still agree by chance, once in 2^stored_bits.
    """
    given = np.asarray(similarity, np.float64)
    agreeing = given + (1 - given) * 2.0**-stored_bits
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(banding.bands * np.log1p(-(agreeing**banding.rows))))


@cache
def usual_background() -> Background:
    """Return the background of an unknown collection, typical of word 3-shingles."""
    edges = np.linspace(0, 1, STEPS + 1)
    above = (1 - BOILERPLATE_SHARE) * np.exp(-edges / UNRELATED_MEAN)
    above += BOILERPLATE_SHARE * np.exp(-edges / BOILERPLATE_MEAN)
    shares = -np.diff(above)
    return Background((edges[:-1] + edges[1:]) / 2, shares / shares.sum())


def background_of(similarities: npt.ArrayLike) -> Background:
    """Return the background of a collection, from the similarities of randomly drawn pairs."""
    counts, edges = np.histogram(np.asarray(similarities, np.float64), STEPS, (0.0, 1.0))
    if not counts.any():
        raise OptionError(
            "a background needs the similarities, from 0 to 1, of some pairs, but there are none"
        )
    return Background((edges[:-1] + edges[1:]) / 2, counts / counts.sum())


def expected_candidates(
    documents: float,
    banding: Banding,
    *,
    background: Background | None = None,
    stored_bits: int = 32,
) -> float:
    """Return the number of `documents` unrelated documents that are candidates by chance."""
    known = background or usual_background()
    found = candidate_probability(known.similarities, banding, stored_bits=stored_bits)
    return documents * float(known.shares @ found)


def fewest_bands(
    rows: int, permutations: int, similarity: float, recall: float, stored_bits: int
) -> Banding | None:
    """Return the fewest bands of `rows` rows that reach the recall; None if no number does."""
    bands = np.arange(1, permutations // rows + 1)
    single = float(candidate_probability(similarity, Banding(1, rows), stored_bits=stored_bits))
    with np.errstate(divide="ignore"):
        found = -np.expm1(bands * np.log1p(-single))
    enough = np.flatnonzero(found >= recall)
    return Banding(int(bands[enough[0]]), rows) if len(enough) else None


def choose(
    permutations: int,
    similarity: float,
    recall: float,
    *,
    documents: float = 1e6,
    stored_bits: int = 32,
    bands_max: int | None = None,
) -> Banding:
    """Return the banding with the least cost of a query that reaches `recall`.

    At least a share `recall` of the documents at exactly `similarity` are then candidates, and a
    larger share of more similar documents.  The cost has two terms: looking up every band (with
    minima of few bits, storing its table), and measuring the expected candidates among `documents`.
    For each number of rows, the fewest sufficient bands are considered, up to `bands_max`.  Raises
    OptionError if even bands of one row do not reach the recall.
    """
    if not 0 < similarity <= 1 or not 0 < recall <= 1:
        raise OptionError(
            f"similarity and recall must be above 0 and at most 1, not {similarity} and {recall}"
        )
    served = [
        banding
        for rows in range(1, permutations + 1)
        if (banding := fewest_bands(rows, permutations, similarity, recall, stored_bits))
        and (bands_max is None or banding.bands <= bands_max)
    ]
    if not served:
        best = float(
            candidate_probability(similarity, Banding(permutations, 1), stored_bits=stored_bits)
        )
        raise OptionError(
            f"{permutations} permutations find a share of {best:.6f} of documents of similarity"
            f" {similarity:g} at most, not {recall:g}; use more permutations= or a lower recall="
        )

    def cost(banding: Banding) -> float:
        """Return the cost of a query, in look-ups."""
        table = LOOKUP_COST if stored_bits >= 8 else FEW_BITS_TABLE_COST
        return banding.bands * table + documents * _candidates(banding, stored_bits)

    return min(served, key=cost)


@lru_cache
def _candidates(banding: Banding, stored_bits: int) -> float:
    return expected_candidates(1, banding, stored_bits=stored_bits)
