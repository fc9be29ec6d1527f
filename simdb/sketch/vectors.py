"""Vectors as documents: float arrays and CSR matrices, and the weights that are made of them.

A CSR matrix is recognised by the attributes of scipy's matrices, so scipy is never imported.

A Gaussian projection makes weights that are equal to the bit on every machine.  It is W = X R (Sood
& Loguinov 2011, equation (4)) with R[i, j] standard normal for coordinate i and weight j.  So each
bit of two vectors differs with probability angle / pi (Charikar 2002).

R is not stored.  A SplitMix64 stream starts from `seed` and i.  There, 16 bits of word j // 4 pick
R[i, j] among the 65536 quantiles of the normal distribution, in whole units of 1/4096.  Each row of
X is rounded to multiples of its own unit, a power of two, so that its magnitudes sum to at most
2**38 units.  All products and sums are then whole numbers below 2**53, which are exact in float64
for any library and any order.  Weights are rounded to float32 once, at the end.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core.arrays import describe, offsets_of, sorted_unique
from simdb.core.dtypes import F32, F64, I64, U64
from simdb.core.errors import InputError
from simdb.core.values import dataclass

I16 = npt.NDArray[np.int16]

QUANTILES = 1 << 16
UNITS = 1 << 12  # quantiles are whole numbers of 1 / UNITS

# |R| < 2**14.2 units, so a row of 2**38 units makes sums below 2**52.2.
ROW_BITS = 38

# The increment of SplitMix64, 2**64 divided by the golden ratio.
GOLDEN = 0x9E3779B97F4A7C15
WEIGHTS_OF_WORD = 4

BLOCK = 1024  # coordinates whose rows of R are made and cached together, 256 KiB for 128 weights
CACHED_BLOCKS = 128  # rows of R beyond these blocks are made again each time
ROWS_AT_ONCE = 512
ENTRIES_AT_ONCE = 1 << 12  # entries of sparse rows, 1 KiB each while they are multiplied
# With the largest magnitude of a vector within these bounds, no float32 weight loses digits.
PEAK_MIN, PEAK_MAX = 2.0**-90, 2.0**90


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Sparse vectors of `length`: the entries of row i are at offsets[i] to offsets[i + 1].

    `offsets` int64[n + 1], `columns` integer[k], `values` real[k].  They are the caller's arrays,
    so do not change them.
    """

    offsets: I64
    columns: npt.NDArray[np.integer]
    values: npt.NDArray[Any]
    length: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> "SparseRows":
        """Return the rows of a slice."""
        start, stop, _ = rows.indices(len(self))
        offsets = self.offsets[start : stop + 1]
        entries = slice(int(offsets[0]), int(offsets[-1]))
        return SparseRows(
            offsets - offsets[0], self.columns[entries], self.values[entries], self.length
        )


Vectors = npt.NDArray[np.floating] | SparseRows


def as_vectors(documents: Any) -> Vectors | None:
    """Return many vectors given as one object, float[n, d] or CSR; None for other objects."""
    if isinstance(documents, SparseRows):
        return documents
    if is_csr(documents):
        return read_csr(documents)
    if isinstance(documents, np.ndarray) and documents.dtype.kind == "f" and documents.ndim == 2:
        return documents
    if hasattr(documents, "tocsr"):
        raise InputError(f"documents are a {describe(documents)}; pass its .tocsr()")
    return None


def is_vector(document: Any, position: int) -> bool:
    """Return whether a document is a vector: a float array or a CSR row.

    Raises InputError for an array or a sparse matrix that is probably meant as a vector.
    """
    if is_csr(document):
        if len(document.shape) == 2 and document.shape[0] != 1:
            raise InputError(
                f"document {position} is a CSR matrix of {document.shape[0]} rows; a document is"
                " one row; pass many to insert_many, query_many or simdb.fingerprints"
            )
        return True
    if hasattr(document, "tocsr"):
        raise InputError(f"document {position} is a {describe(document)}; pass its .tocsr()")
    if not isinstance(document, np.ndarray):
        return False
    if document.dtype.kind == "f" and document.ndim == 1:
        return True
    wanted = "a vector is a float array of one dimension"
    if document.dtype.kind in "iub":
        wanted += (
            " (whole numbers could be counts, tokens, or hashes, which need"
            " Options(sketch=simdb.Bits(256)); if they are coordinates, use .astype(numpy.float32))"
        )
    raise InputError(f"document {position} is {describe(document)}; {wanted}")


def join_vectors(documents: Sequence[Any], start: int) -> Vectors:
    """Join vectors of one kind into an array or `SparseRows`.

    Raises InputError if lengths differ.
    """
    if is_csr(documents[0]):
        parts = [read_csr(document) for document in documents]
        _check_lengths([part.length for part in parts], start)
        return SparseRows(
            offsets_of([len(part.values) for part in parts]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.values for part in parts]),
            parts[0].length,
        )
    _check_lengths([len(document) for document in documents], start)
    return np.stack(documents)


def check_vectors(vectors: Vectors, *, length: int, start: int) -> None:
    """Raise InputError unless all vectors are finite, in range and of `length` (0: any)."""
    found = vectors.length if isinstance(vectors, SparseRows) else vectors.shape[1]
    if not found or length not in (0, found):
        wanted = f"the option vector_length is {length}" if length else "it needs 1 or more"
        raise InputError(f"document {start} is a vector of {found} coordinates, but {wanted}")
    if len(vectors) == 0:
        return
    peaks = peaks_of(vectors)
    wrong = np.flatnonzero(~np.isfinite(peaks))
    if len(wrong):
        raise InputError(f"document {start + wrong[0]} is a vector with a NaN or an infinity")
    wrong = np.flatnonzero((peaks > PEAK_MAX) | ((peaks < PEAK_MIN) & (peaks > 0)))
    if len(wrong):
        raise InputError(
            f"document {start + wrong[0]} is a vector whose largest magnitude is"
            f" {peaks[wrong[0]]:.3g}; scale it, so that its weights fit into float32"
        )


def is_csr(value: Any) -> bool:
    """Return whether a value is a matrix, or a row, in compressed sparse row format."""
    names = ("indptr", "indices", "data", "shape")
    return getattr(value, "format", None) == "csr" and all(hasattr(value, name) for name in names)


def read_csr(matrix: Any) -> SparseRows:
    """Read a CSR matrix of real numbers; raise InputError if its arrays do not fit together."""
    values = np.asarray(matrix.data)
    if values.dtype.kind not in "fiub":
        raise InputError(f"a CSR matrix has values of {values.dtype}; use real numbers")
    offsets = np.asarray(matrix.indptr).astype(np.int64)
    columns = np.asarray(matrix.indices)
    length = int(matrix.shape[-1])
    # The arrays of a matrix can have unused memory after its last entry.
    stop = int(offsets[-1]) if len(offsets) else -1
    is_laid_out = 0 <= stop <= min(len(columns), len(values)) and offsets[0] == 0
    columns, values = columns[: max(stop, 0)], values[: max(stop, 0)]
    if not is_laid_out or (np.diff(offsets) < 0).any():
        raise InputError(
            "the indptr of a CSR matrix is not an ascending division of its indices and data"
        )
    if len(columns) and not 0 <= columns.min() <= columns.max() < length:
        raise InputError(f"a CSR matrix of {length} columns has an index outside 0 .. {length - 1}")
    return SparseRows(offsets, columns, values, length)


def peaks_of(vectors: Vectors) -> F64:
    """Return the largest magnitude of each row; NaN or infinite if a coordinate is."""
    if isinstance(vectors, SparseRows):
        return reduced(np.maximum, np.abs(vectors.values), vectors.offsets).astype(np.float64)
    if len(vectors) == 0:
        return np.empty(0)
    return np.asarray(np.maximum(vectors.max(axis=1), -vectors.min(axis=1)), np.float64)


def reduced(operation: np.ufunc, values: npt.NDArray[Any], offsets: I64) -> npt.NDArray[Any]:
    """Reduce the values of each row by `operation`; 0 for a row without values."""
    result = np.zeros(len(offsets) - 1, values.dtype)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        result[filled] = operation.reduceat(values, offsets[filled])
    return result


def _check_lengths(lengths: list[int], start: int) -> None:
    """Raise InputError unless all vectors have the same length."""
    for at, length in enumerate(lengths):
        if length != lengths[0]:
            raise InputError(
                f"document {start + at} is a vector of {length} coordinates, but document {start}"
                f" has {lengths[0]}; vectors of one call must have one length"
            )


class Projection:
    """The matrix R of one seed, with a cache of its first rows."""

    def __init__(self, seed: int, dimensions: int) -> None:
        """Prepare R with `dimensions` columns for `seed`, 0 .. 2**32 - 1, without its rows."""
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
        """Return the BLOCK rows of R for the coordinates starting at `number` * BLOCK."""
        cached = self._blocks.get(number)
        if cached is not None:
            return cached
        made = self._made(np.arange(number * BLOCK, (number + 1) * BLOCK))
        if number < CACHED_BLOCKS:
            self._blocks[number] = made
        return made

    def _made(self, coordinates: I64) -> I16:
        """Make rows of R: every 16 bits of a word, lowest first, choose a quantile."""
        golden = np.uint64(GOLDEN)
        streams = _mixed(self._start + golden * coordinates.astype(np.uint64))
        steps = np.arange(1, self._dimensions // WEIGHTS_OF_WORD + 1, dtype=np.uint64) * golden
        words = _mixed(streams[:, None] + steps).astype("<u8")
        return np.asarray(normal_quantiles()[words.view("<u2")], np.int16)

    def _dense(self, rows: npt.NDArray[np.floating], units: F64) -> F64:
        """Multiply rows, in whole numbers of their `units`, by R."""
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
        """Multiply sparse rows, in whole numbers of their `units`, by R."""
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
    """Return the projection of a seed, with the cache of earlier calls."""
    return Projection(seed, dimensions)


@cache
def normal_quantiles() -> I16:
    """Return quantile (k + 1/2) / 65536 of the normal distribution, for each k, times 2**12."""
    inverse = import_module("statistics").NormalDist().inv_cdf  # loaded only when needed
    upper = [inverse((k + 0.5) / QUANTILES) for k in range(QUANTILES // 2, QUANTILES)]
    half = np.rint(np.array(upper) * UNITS).astype(np.int16)
    return np.concatenate([-half[::-1], half])


def _mixed(words: U64) -> U64:
    """Apply the finaliser of SplitMix64 to each word (Steele, Lea & Flood 2014)."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)


def _units(peaks: F64, counts: I64) -> F64:
    """Return the unit of each row: a power of two, with `peaks` * `counts` at most 2**38 units."""
    _, peak_bits = np.frexp(peaks)
    _, count_bits = np.frexp(counts.astype(np.float64))
    return np.asarray(np.ldexp(1.0, peak_bits + count_bits - ROW_BITS), np.float64)


def _whole(values: npt.NDArray[Any], units: F64) -> F64:
    """Return `values` rounded to whole numbers of `units`."""
    scaled = np.asarray(values / units, np.float64)
    return np.rint(scaled, out=scaled)


def _fill_counts(vectors: Vectors) -> I64:
    """Count the coordinates of each row that are not 0: int64[n]."""
    if isinstance(vectors, SparseRows):
        return reduced(np.add, (vectors.values != 0).astype(np.int64), vectors.offsets)
    return np.asarray(np.count_nonzero(vectors, axis=1), np.int64)
