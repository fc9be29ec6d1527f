"""Polytope: makes and costs cross-polytope keys of packed volatility vectors, in numpy.

Andoni, Indyk, Laarhoven, Razenshteyn & Schmidt 2015, "Practical and optimal LSH for angular
distance": a vector is rotated at random, and its hash is the coordinate of largest magnitude, with
its sign: the nearest vertex of a cross-polytope.  `simdb_ext/_search.pyi` has the contract of
every public name.  The stored keys depend on what this module does, so none of it may change:

* The weights of a packed vector are padded with 0 to 128 coordinates x, or to 256 if there are more
  than 128 weights.
* H is the Walsh-Hadamard transform of 128 in natural order, without scaling; the product of two
  vectors of signs and numbers is taken coordinate by coordinate.  Table k sees z = H(S[k + 1] *
  H(S[0] * x)).  Coordinate i of S[r] is -1 if bit i % 64 of the word 2 r + i // 64 is set, else 1;
  word number j is fmix64((j + 1) * 0x9E3779B97F4A7C15).  All numbers fit into 16 bits.
* Of 256 coordinates both halves of x go through the first transform, y = H(S[0] * x) each, and two
  tables share out the coordinates of the result: tables 2 p and 2 p + 1 see z = H(S[k + 1] * c).
  Bit i % 64 of the word 34 + 2 p + i // 64 says from which half table 2 p has coordinate i of c, 0
  for the first; table 2 p + 1 has it from the other half.
* The slices of z are its coordinates 0 .. 64, 64 .. 96, 96 .. 112 and 112 .. 120.  The vertices of
  a slice are its coordinates with either sign; coordinate i of the slice has the vertices 2 i with
  the value z_i and 2 i + 1 with the value -z_i.  The vertex of the vector is the one of largest
  value, of equal ones the coordinate that comes first, and then the vertex 2 i.
* The numbers of the four vertices, in 7, 6, 5 and 4 bits, are the code, the 22 highest bits of the
  key; the 42 lowest bits of the fingerprint are the others.  A header is the first vertex, or the
  first two, three or four: 7, 13, 18 or 22 bits.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.mix import SECOND_WORD, fmix64
from simdb.vector_form import fingerprints_of, unpack

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

COORDINATES = 128
HALF_WIDTH = COORDINATES // 2  # bytes of a packed vector of 128 weights
WIDTH_MAX = 2 * HALF_WIDTH
TABLES_MAX = 16
CODE_BITS = 22
TAG_BITS = 64 - CODE_BITS  # of the fingerprint, in the key
PROBES_MAX = 16384  # headers of one table that a query looks up
CUT_MAX = 32767  # the most that a header may cost, in units of a rotated coordinate
SLICE = 4096  # vectors that are rotated at a time, to bound memory


class Slice(NamedTuple):
    """Neighbouring coordinates that give one vertex."""

    start: int
    dimensions: int
    bits: int  # of the number of a vertex
    ratio: int  # 256 sqrt(ln 2 d / ln 256), d the dimensions: what makes their costs comparable


SLICES = (Slice(0, 64, 7, 239), Slice(64, 32, 6, 222), Slice(96, 16, 5, 202), Slice(112, 8, 4, 181))
# Bits of a header: number of slices.
WIDTHS = {7: 1, 13: 2, 18: 3, 22: 4}


def polytope_keys(vectors: U8, table_count: int) -> U64:
    """Return the keys of vectors in each table: uint64[table_count, n]."""
    checked_vectors(vectors)
    checked_table_count(table_count)
    tags = fingerprints(vectors) & np.uint64((1 << TAG_BITS) - 1)
    keys = np.empty((table_count, len(vectors)), np.uint64)
    for start in range(0, len(vectors), SLICE):
        part = slice(start, start + SLICE)
        keys[:, part] = codes(rotations(vectors[part], table_count)) << np.uint64(TAG_BITS)
    return keys | tags


def polytope_costs(left: U8, right: U8, width: int, table_count: int) -> F32:
    """Return the least cost of a header of right[i], seen from left[i], in standard deviations."""
    _check_pairs(left, right, table_count)
    costs = _costs(left, right, _slices(width), table_count).min(axis=0)
    return _least_thresholds(costs, deviations(left))


def polytope_reaches(
    left: U8, right: U8, thresholds: F32 | float, widths: U8 | int, table_count: int
) -> Flags:
    """Return whether a search from left[i] looks up a header of right[i] in some table."""
    _check_pairs(left, right, table_count)
    given = np.asarray(thresholds, None if np.ndim(thresholds) else np.float32)
    if given.ndim and (given.dtype != np.float32 or given.shape != (len(left),)):
        raise ValueError(f"thresholds must be a number or float32[{len(left)}]")
    if np.ndim(widths) and np.shape(widths) != (len(left),):
        raise ValueError(f"widths must be a number or uint8[{len(left)}]")
    cuts = checked_cuts(given, deviations(left))
    each = np.broadcast_to(np.asarray(widths), len(left))
    result = np.zeros(len(left), np.bool_)
    for width in np.unique(each).tolist():
        rows = np.flatnonzero(each == width)
        costs = _costs(left[rows], right[rows], _slices(width), table_count)
        near = (costs <= cuts[rows]).any(axis=0)
        for row in rows[near].tolist():
            pair = left[row : row + 1], right[row : row + 1]
            result[row] = _first_table(*pair, int(cuts[row]), width, table_count) is not None
    return result


def polytope_probe(
    query: U8, stored: U8, width: int, table_count: int, threshold: float
) -> tuple[int, float, int, int] | None:
    """Return how a search from `query` reaches `stored`: table, cost and both headers."""
    one, other = query.reshape(1, -1), stored.reshape(1, -1)
    _check_pairs(one, other, table_count)
    slices, units = _slices(width), deviations(one)
    cut = int(checked_cuts(np.float32(threshold), units)[0])
    table = _first_table(one, other, cut, width, table_count)
    if table is None:
        return None
    cost = _least_thresholds(_costs(one, other, slices, table_count)[table], units)
    own, probed = (codes(rotations(each, table_count))[table, 0] for each in (one, other))
    shift = CODE_BITS - width
    return table, float(cost[0]), int(own) >> shift, int(probed) >> shift


def polytope_headers(
    vectors: U8, width: int, threshold: float, table_count: int
) -> tuple[I64, U32]:
    """Return the headers that each vector looks up in each table, and where they begin."""
    checked_vectors(vectors)
    checked_table_count(table_count)
    _slices(width)
    cuts = checked_cuts(np.float32(threshold), deviations(vectors))
    found = [np.empty(0, np.uint32)]
    for number in range(len(vectors)):
        for rotated in rotations(vectors[number : number + 1], table_count):
            found.append(np.sort(headers(rotated[0], width, int(cuts[number]))))
    offsets = np.cumsum([len(each) for each in found])
    return np.asarray(offsets, np.int64), np.concatenate(found)


def headers(rotated: I64, width: int, cut: int) -> U32:
    """Return the headers of `width` bits that a vector looks up in one table.

    All that cost at most `cut`.  While there are more than `PROBES_MAX`, the cut becomes cut -
    cut // 8 - 1; below 0 the vector's own header is left.
    """
    costs = [_vertex_costs(rotated, each) for each in _slices(width)]
    while cut >= 0:
        found = _joined(costs, cut)
        if found is not None:
            return found
        cut -= cut // 8 + 1
    own_code = codes(rotated[None, None])[0, 0] >> np.uint64(CODE_BITS - width)
    return np.array([own_code], np.uint32)


def rotations(vectors: U8, table_count: int) -> I64:
    """Return the rotated vectors of each table: int64[table_count, n, 128]."""
    halves = _halves(vectors)
    # Sums of whole numbers below 2**53 are exact in any order.
    first = (halves * _SIGNS[0]) @ _TRANSFORM
    found = np.empty((table_count, len(vectors), COORDINATES), np.int64)
    for table in range(table_count):
        seen = first[0]
        if len(first) == 2:
            seen = np.where(_CHOICES[table // 2] ^ bool(table % 2), first[1], first[0])
        found[table] = (seen * _SIGNS[table + 1]) @ _TRANSFORM
    return found


def codes(rotated: I64) -> U64:
    """Return the codes of rotated vectors int64[..., 128]: uint64[...]."""
    code = np.zeros(rotated.shape[:-1], np.uint64)
    for part in SLICES:
        values = rotated[..., part.start : part.start + part.dimensions]
        places = np.abs(values).argmax(axis=-1)
        is_negative = np.take_along_axis(values, places[..., None], -1)[..., 0] < 0
        code = code << np.uint64(part.bits) | (2 * places + is_negative).astype(np.uint64)
    return code


def fingerprints(vectors: U8) -> U64:
    """Return the fingerprints of packed vectors; bits beyond the weights are 0."""
    weights = np.full((len(vectors), 2 * WIDTH_MAX), -1, np.int8)
    weights[:, : 2 * vectors.shape[1]] = unpack(vectors)
    return fingerprints_of(weights)


def deviations(vectors: U8) -> F64:
    """Return the standard deviation of a rotated coordinate of each vector, the unit of thresholds.

    A table sees half of the coordinates of a wide vector.
    """
    norms = (unpack(vectors).astype(np.int64) ** 2).sum(axis=1)
    halves = 2 if vectors.shape[1] > HALF_WIDTH else 1
    return np.asarray(np.sqrt(COORDINATES * norms / halves), np.float64)


def checked_cuts(thresholds: F32 | np.float32, units: F64) -> I64:
    """Return what headers may cost at most: thresholds in units of a rotated coordinate."""
    thresholds = np.asarray(thresholds, np.float64)
    if not np.all(thresholds >= 0):
        raise ValueError(f"a threshold must be at least 0, got {np.min(thresholds)}")
    cuts = np.floor(thresholds * units)
    return np.asarray(np.minimum(cuts, CUT_MAX), np.int64)


def checked_vectors(vectors: U8) -> U8:
    """Return the vectors if they are uint8[n, 1 to 64]; TypeError or ValueError if not."""
    if not isinstance(vectors, np.ndarray):
        raise TypeError(f"wanted an array, not {type(vectors).__name__}")
    if vectors.dtype != np.uint8 or vectors.ndim != 2 or not vectors.flags.c_contiguous:
        raise ValueError(f"wanted contiguous uint8[n, w], not {vectors.dtype}{vectors.shape}")
    if not 1 <= vectors.shape[1] <= WIDTH_MAX:
        raise ValueError(f"vectors have {vectors.shape[1]} bytes, not 1 to {WIDTH_MAX}")
    return vectors


def checked_table_count(table_count: int) -> int:
    """Return `table_count` if it is from 0 to `TABLES_MAX`; ValueError if not."""
    if not 0 <= table_count <= TABLES_MAX:
        raise ValueError(f"table_count is {table_count}, not from 0 to {TABLES_MAX}")
    return table_count


def _check_pairs(left: U8, right: U8, table_count: int) -> None:
    """Raise an error if the vectors do not form pairs, or there is no table."""
    if checked_vectors(left).shape != checked_vectors(right).shape:
        raise ValueError(f"left is uint8{left.shape}, but right is uint8{right.shape}")
    if checked_table_count(table_count) == 0:
        raise ValueError("table_count is 0; a pair is compared in one table at least")


def _slices(width: int) -> tuple[Slice, ...]:
    """Return the slices that a header of `width` bits covers; ValueError for other widths."""
    if width not in WIDTHS:
        raise ValueError(f"a header has {width} bits, not one of {', '.join(map(str, WIDTHS))}")
    return SLICES[: WIDTHS[width]]


def _first_table(left: U8, right: U8, cut: int, width: int, table_count: int) -> int | None:
    """Return the first table in which a search from left[0] looks up the header of right[0]."""
    stored = codes(rotations(right, table_count))[:, 0] >> np.uint64(CODE_BITS - width)
    for table, rotated in enumerate(rotations(left, table_count)):
        if stored[table] in headers(rotated[0], width, cut):
            return table
    return None


def _joined(costs: list[I64], cut: int) -> U32 | None:
    """Return the headers that cost at most `cut`; None if they are more than `PROBES_MAX`."""
    found, totals = np.zeros(1, np.uint32), np.zeros(1, np.int64)
    for part, own in zip(SLICES, costs, strict=False):
        kept = np.flatnonzero(own <= cut)
        sums = totals[:, None] + own[kept]
        joined = found[:, None] << np.uint32(part.bits) | kept.astype(np.uint32)
        found, totals = joined[sums <= cut], sums[sums <= cut]
        # Each header goes on with at least one vertex, the one that costs nothing.
        if len(found) > PROBES_MAX:
            return None
    return found


def _vertex_costs(rotated: I64, part: Slice) -> I64:
    """Return what each vertex of one slice of a rotated vector costs."""
    values = rotated[part.start : part.start + part.dimensions]
    both = np.stack([values, -values], axis=1).ravel()
    return np.asarray(((both.max() - both) * part.ratio) >> 8)


def _costs(left: U8, right: U8, slices: tuple[Slice, ...], table_count: int) -> I64:
    """Return the cost of the header of right[i] seen from left[i]: int64[table_count, n]."""
    total = np.zeros((table_count, len(left)), np.int64)
    for start in range(0, len(left), SLICE):
        rows = slice(start, start + SLICE)
        seen, others = rotations(left[rows], table_count), rotations(right[rows], table_count)
        for part in slices:
            inside = slice(part.start, part.start + part.dimensions)
            own, other = seen[..., inside], others[..., inside]
            places = np.abs(other).argmax(axis=-1)[..., None]
            signs = np.where(np.take_along_axis(other, places, -1) < 0, -1, 1)
            values = (np.take_along_axis(own, places, -1) * signs)[..., 0]
            total[:, rows] += ((np.abs(own).max(axis=-1) - values) * part.ratio) >> 8
    return total


def _least_thresholds(costs: I64, units: F64) -> F32:
    """Return the least threshold whose cut reaches each cost; infinity above `CUT_MAX`."""
    result = (costs / units).astype(np.float32)
    for towards, is_wanted in ((np.inf, False), (-np.inf, True)):
        moved = np.nextafter(result, np.float32(towards))
        # Move up while the cut does not reach, then down while it still would.
        tried = result if towards > 0 else moved
        reaches = np.floor(tried.astype(np.float64) * units) >= costs
        result = np.where(reaches == is_wanted, moved, result)
    return np.where(costs > CUT_MAX, np.float32(np.inf), result)


def _halves(vectors: U8) -> I64:
    """Return the coordinates of vectors: int64[1, n, 128], or [2, n, 128] of wide ones."""
    count = 2 if vectors.shape[1] > HALF_WIDTH else 1
    padded = np.zeros((len(vectors), count * COORDINATES), np.int64)
    padded[:, : 2 * vectors.shape[1]] = unpack(vectors)
    return padded.reshape(-1, count, COORDINATES).swapaxes(0, 1)


def _word_bits() -> Flags:
    """Return the bits of the words of all rounds and choices: [17 + 8, 128]."""
    rows = TABLES_MAX + 1 + TABLES_MAX // 2
    numbers = np.arange(1, 2 * rows + 1, dtype=np.uint64)
    words = fmix64(numbers * SECOND_WORD).astype("<u8").view(np.uint8)
    return np.unpackbits(words, bitorder="little").reshape(rows, COORDINATES).astype(np.bool_)


def _transform() -> F64:
    """Return the matrix of the Walsh-Hadamard transform: -1 where i & j has an odd number of bits.

    It is symmetric.
    """
    result = np.ones((1, 1))
    while len(result) < COORDINATES:
        result = np.block([[result, result], [result, -result]])
    return result


_BITS = _word_bits()
# The signs of the first round, and then of each table; the choices of each two tables.
_SIGNS = np.where(_BITS[: TABLES_MAX + 1], -1.0, 1.0)
_CHOICES = _BITS[TABLES_MAX + 1 :]
_TRANSFORM = _transform()
