"""Gaussian projection: turns vectors into weights that are equal to the bit on every machine.

W = X R (Sood & Loguinov 2011, equation (4)) with R[i, j] standard normal for coordinate i and
weight j, so that each bit of two vectors differs with probability angle / pi (Charikar 2002).

R is not stored.  A SplitMix64 stream starts from `seed` and i; 16 bits of its word j // 4 choose
R[i, j] among the 65536 quantiles of the normal distribution, in whole units of 1/4096.  Each row
of X is rounded to whole multiples of a power of two, the unit of the row, chosen so that the
magnitudes of the row sum up to at most 2**38 units.  Products and sums are then whole numbers below
2**53, which float64 holds exactly in any order, whichever library multiplies.  Weights are rounded
to float32 once, at the end.
"""

from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core.arrays import sorted_unique
from simdb.core.dtypes import F32, F64, I64, U64
from simdb.sketch.document_kind import SparseRows, Vectors, peaks_of, reduced

I16 = npt.NDArray[np.int16]

QUANTILES = 1 << 16
UNITS = 1 << 12  # units of a quantile that make 1

# |R| < 2**14.2 units, so a row of 2**38 units makes sums below 2**52.2.
ROW_BITS = 38

# The increment of SplitMix64, 2**64 divided by the golden ratio.
GOLDEN = 0x9E3779B97F4A7C15
WEIGHTS_OF_WORD = 4

BLOCK = 1024  # coordinates whose rows of R are made and cached together, 256 KiB of 128 weights
CACHED_BLOCKS = 128  # rows of R for later coordinates are made again each time
ROWS_AT_ONCE = 512
ENTRIES_AT_ONCE = 1 << 12  # entries of sparse rows, 1 KiB each while they are multiplied


class Projection:
    """The matrix R of one seed, with a cache of its first rows."""

    def __init__(self, seed: int, dimensions: int) -> None:
        """Make R of so many columns from `seed`, 0 .. 2**32 - 1, when its rows are needed."""
        self._dimensions = dimensions
        self._start = _mixed(np.array([seed + GOLDEN], np.uint64))
        self._blocks: dict[int, I16] = {}

    def project(self, vectors: Vectors) -> F32:
        """Return the weights float32[n, d] of checked vectors; zeros for vectors of zeros."""
        units = _units(peaks_of(vectors), _fill_counts(vectors))
        if isinstance(vectors, SparseRows):
            sums = self._sparse(vectors, units)
        else:
            sums = self._dense(vectors, units)
        return (sums * (units[:, None] / UNITS)).astype(np.float32)

    def matrix(self, coordinates: I64) -> I16:
        """Return the rows of R for some coordinates, in units: int16[n, d]."""
        blocks = coordinates // BLOCK
        if len(blocks) == 0 or blocks.max() >= CACHED_BLOCKS:
            return self._made(coordinates)
        rows = np.empty((len(coordinates), self._dimensions), np.int16)
        for block in sorted_unique(blocks):
            chosen = blocks == block
            rows[chosen] = self._block(int(block))[coordinates[chosen] % BLOCK]
        return rows

    def _block(self, number: int) -> I16:
        """Return the rows of R for the coordinates from `number` * BLOCK on, BLOCK of them."""
        cached = self._blocks.get(number)
        if cached is not None:
            return cached
        made = self._made(np.arange(number * BLOCK, (number + 1) * BLOCK))
        if number < CACHED_BLOCKS:
            self._blocks[number] = made
        return made

    def _made(self, coordinates: I64) -> I16:
        """Make rows of R: each 16 bits of a word, the lowest first, choose a quantile."""
        golden = np.uint64(GOLDEN)
        streams = _mixed(self._start + golden * coordinates.astype(np.uint64))
        steps = np.arange(1, self._dimensions // WEIGHTS_OF_WORD + 1, dtype=np.uint64) * golden
        words = _mixed(streams[:, None] + steps).astype("<u8")
        return np.asarray(normal_quantiles()[words.view("<u2")], np.int16)

    def _dense(self, rows: npt.NDArray[np.floating], units: F64) -> F64:
        """Multiply rows, in whole `units` of each, with R."""
        count, length = rows.shape
        sums = np.zeros((count, self._dimensions))
        for block in range(-(-length // BLOCK)):
            columns = slice(block * BLOCK, min((block + 1) * BLOCK, length))
            matrix = self._block(block)[: columns.stop - columns.start].astype(np.float64)
            for first in range(0, count, ROWS_AT_ONCE):
                piece = slice(first, first + ROWS_AT_ONCE)
                sums[piece] += _whole(rows[piece, columns], units[piece, None]) @ matrix
        return sums

    def _sparse(self, rows: SparseRows, units: F64) -> F64:
        """Multiply sparse rows, in whole `units` of each, with R."""
        row_of = np.repeat(np.arange(len(rows)), np.diff(rows.offsets))
        sums = np.zeros((len(rows), self._dimensions))
        for first in range(0, len(row_of), ENTRIES_AT_ONCE):
            piece = slice(first, first + ENTRIES_AT_ONCE)
            owners = row_of[piece]
            columns, places = np.unique(rows.columns[piece], return_inverse=True)
            matrix = self.matrix(columns.astype(np.int64)).astype(np.float64)[places]
            whole = _whole(rows.values[piece], units[owners])
            starts = np.flatnonzero(np.diff(owners, prepend=-1)).tolist()
            for start, stop in zip(starts, [*starts[1:], len(owners)], strict=True):
                sums[owners[start]] += whole[start:stop] @ matrix[start:stop]
        return sums


@lru_cache(maxsize=2)
def projection_of(seed: int, dimensions: int) -> Projection:
    """Return the projection of a seed, and its cache with it if the seed was used before."""
    return Projection(seed, dimensions)


@cache
def normal_quantiles() -> I16:
    """Quantile (k + 1/2) / 65536 of the normal distribution for each k, in units of 2**-12."""
    inverse = import_module("statistics").NormalDist().inv_cdf  # not loaded before it is needed
    upper = [inverse((k + 0.5) / QUANTILES) for k in range(QUANTILES // 2, QUANTILES)]
    half = np.rint(np.array(upper) * UNITS).astype(np.int16)
    return np.concatenate([-half[::-1], half])


def _mixed(words: U64) -> U64:
    """Return each word through the finaliser of SplitMix64 (Steele, Lea & Flood 2014)."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)


def _units(peaks: F64, counts: I64) -> F64:
    """Return the power of two for each row, so that `peaks` * `counts` is at most 2**38 of it."""
    _, peak_bits = np.frexp(peaks)
    _, count_bits = np.frexp(counts.astype(np.float64))
    return np.asarray(np.ldexp(1.0, peak_bits + count_bits - ROW_BITS), np.float64)


def _whole(values: npt.NDArray[Any], units: F64) -> F64:
    """Return `values` as whole numbers of `units`."""
    scaled = np.asarray(values / units, np.float64)
    return np.rint(scaled, out=scaled)


def _fill_counts(vectors: Vectors) -> I64:
    """Return how many coordinates of each row are not 0: int64[n]."""
    if isinstance(vectors, SparseRows):
        return reduced(np.add, (vectors.values != 0).astype(np.int64), vectors.offsets)
    return np.asarray(np.count_nonzero(vectors, axis=1), np.int64)
