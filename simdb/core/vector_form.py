"""Vector forms: the bytes of a document's vector, its fingerprint, and the correction of rounding.

A *volatility vector* has 4 bits for each of d weights (d even), in d / 2 bytes.  Byte i has
weight i in its low half and weight i + d / 2 in its high half:

    byte i:   bits 0 .. 3  weight i   |   bits 4 .. 7  weight i + d / 2

A half byte q from 0 to 15 means the weight 2 q - 15, an odd whole number from -15 to 15.  No
weight is 0, so each has a sign.  Bit j of the fingerprint, counted from the least significant, is
set if weight j is positive (before rounding: if it is not negative).

A *packed signature* has the minima of a MinHash signature in order.  Each takes 4 bytes, least
significant byte first, or 1 byte, 2 bits or 1 bit; the first minimum is in the lowest bits.

*Correction*.  Rounding to 4 bits changes two weights almost independently, unless they are nearly
equal.  It makes both vectors longer and keeps their product.  So the cosine of rounded weights is
lower: by .6 % at .5, by .009 from .85 to .99, and not at all at 1.  The weights of two documents
are about jointly normal in any collection, so one curve suits all (docs/QUALITY.md):

    rounded(c) = E[Q(x) Q(y)] / E[Q(x)^2]    for normal x and y with correlation c

where Q rounds to the 16 levels above.  The kernel compares and returns cosines of rounded weights.
Users give and get corrected cosines.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.dtypes import F32, I8, U8, U64, Array, Bools

HALF_BITS = 4  # of one weight
HALF_MAX = (1 << HALF_BITS) - 1  # the largest half byte, and the largest weight

# The possible numbers of stored weights of a document.
DIMENSIONS = (64, 128, 256)
NO_WEIGHTS = 0x88  # a byte of the vector of a document without features: two weights of 0

# (rounded(c), c).  Between them the curve is a straight line, to within .00004.
CURVE = (
    (0.0, 0.0), (0.395495, 0.4), (0.593431, 0.6), (0.692505, 0.7), (0.791690, 0.8),
    (0.851276, 0.86), (0.891042, 0.9), (0.920895, 0.93), (0.940814, 0.95), (0.955765, 0.965),
    (0.965741, 0.975), (0.972737, 0.982), (0.977779, 0.987), (0.980887, 0.99), (0.983059, 0.992),
    (0.985407, 0.994), (0.987388, 0.9955), (0.988889, 0.9965), (0.990621, 0.9975),
    (0.991619, 0.998), (0.992752, 0.9985), (0.994095, 0.999), (0.995072, 0.9993),
    (0.996292, 0.9996), (0.997400, 0.9998), (0.998183, 0.9999), (0.998736, 0.99995),
    (0.999227, 0.99998), (0.999475, 0.99999), (1.0, 1.0),
)  # fmt: skip
_ROUNDED_LIST = [rounded for rounded, _ in CURVE]
_ROUNDED, _COSINE = (np.array(column) for column in zip(*CURVE, strict=True))


def width(dimensions: int) -> int:
    """Return the number of bytes of a volatility vector of `dimensions` weights."""
    return dimensions * HALF_BITS // 8


def projected(dimensions: int) -> int:
    """Return the number of weights that the kernel computes if `dimensions` of them are used."""
    return max(dimensions, 2 * FINGERPRINT_BITS)


def pack(weights: I8) -> U8:
    """Pack rounded weights int8[..., d], odd numbers from -15 to 15, into uint8[..., d / 2]."""
    halves = ((weights + np.int8(HALF_MAX)) >> 1).astype(np.uint8)
    middle = weights.shape[-1] // 2
    return np.asarray(halves[..., :middle] | halves[..., middle:] << HALF_BITS, np.uint8)


def unpack(vectors: U8) -> I8:
    """Return the weights of volatility vectors uint8[..., w] as int8[..., 2 w]; reverse `pack`."""
    halves = np.concatenate([vectors & HALF_MAX, vectors >> HALF_BITS], axis=-1)
    return np.asarray(2 * halves.astype(np.int8) - np.int8(HALF_MAX), np.int8)


def signs_of(vectors: U8) -> U64:
    """Return the fingerprints of volatility vectors uint8[n, 32 or more]: the signs of weights."""
    count = FINGERPRINT_BITS // 2
    if vectors.shape[1] == count:
        halves = np.concatenate([vectors & 8, vectors >> HALF_BITS & 8], axis=1)
    else:
        halves = vectors[:, :FINGERPRINT_BITS] & np.uint8(8)
    packed = np.packbits(np.ascontiguousarray(halves) != 0, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8")[:, 0].astype(np.uint64, copy=False)


def has_features(vectors: U8) -> Bools:
    """Return which volatility vectors uint8[n, w] belong to documents with features: bool[n].

    Only weights of 0 make a vector of `NO_WEIGHTS` bytes.  A document without a vector has zeros,
    which no weights make.
    """
    first = vectors[:, 0]
    suspect = np.flatnonzero((first == NO_WEIGHTS) | (first == 0))
    found = np.ones(len(vectors), np.bool_)
    found[suspect] = (vectors[suspect] != first[suspect, None]).any(axis=1)
    return found


def fingerprints_of(weights: Array) -> U64:
    """Return the fingerprints of weights real[n, 64 or more]: bit j is set where weight j >= 0."""
    signs = np.ascontiguousarray(weights[:, :FINGERPRINT_BITS] >= 0)
    packed = np.packbits(signs, axis=1, bitorder="little").view("<u8")[:, 0]
    return np.asarray(packed, np.uint64)


def minimum_type(stored_bits: int) -> type[np.unsignedinteger[Any]]:
    """Return the numpy type for minima of `stored_bits`."""
    return np.uint32 if stored_bits == 32 else np.uint8


def pack_minima(minima: Array, stored_bits: int) -> U8:
    """Pack a copy of minima, uint8 or uint32[n, p], into rows uint8[n, p stored_bits / 8].

    The result is in C order even if `minima` has no rows and odd strides: numpy takes the order of
    joined arrays from the strides of all of them.
    """
    packed = np.empty((len(minima), minima.shape[1] * stored_bits // 8), np.uint8)
    rows = packed.view(np.dtype(minimum_type(stored_bits)).newbyteorder("<"))
    each = max(8 // stored_bits, 1)
    rows[...] = minima[:, ::each]
    for at in range(1, each):
        rows |= minima[:, at::each] << np.uint8(at * stored_bits)
    return packed


def rows_of_minima(packed: U8, stored_bits: int) -> Array:
    """Return packed signatures as the kernel compares them: a view as uint8 or uint32."""
    whole = np.ascontiguousarray(packed)
    return whole.view(np.dtype(minimum_type(stored_bits)).newbyteorder("<"))


def unpack_minima(packed: U8, stored_bits: int) -> Array:
    """Unpack the signatures that `pack_minima` made; minima of 1 or 2 bits are copied."""
    rows = rows_of_minima(packed, stored_bits)
    if stored_bits >= 8:
        return rows
    shifts = np.arange(0, 8, stored_bits, dtype=np.uint8)
    minima: U8 = rows[:, :, None] >> shifts & np.uint8((1 << stored_bits) - 1)
    return minima.reshape(len(rows), rows.shape[1] * len(shifts))


def corrected(rounded: Array) -> F32:
    """Return the cosine of documents for the cosine of their rounded weights; NaN for NaN."""
    cosines = np.interp(np.abs(rounded), _ROUNDED, _COSINE)
    return np.asarray(np.copysign(cosines, rounded), np.float32)


def corrected_one(rounded: float) -> float:
    """Return what `corrected` returns for one cosine, without arrays if it is above 0."""
    if rounded >= 1.0:
        return 1.0  # the end of the curve: a query for a stored text costs no array
    if not rounded > 0.0:
        return float(corrected(np.array([rounded]))[0])
    at = bisect_right(_ROUNDED_LIST, rounded) - 1
    (start, low), (stop, high) = CURVE[at], CURVE[at + 1]
    slope = (high - low) / (stop - start)
    return float(np.float32(slope * (rounded - start) + low))


@lru_cache(maxsize=256)
def least_rounded(similarity: float, shown: Callable[[F32], F32] = corrected) -> float:
    """Return the least float32 cosine of rounded weights that is `shown` as `similarity` or more.

    `similarity`: above 0 and at most 1.  `shown` ascends, so a cosine reaches the result if and
    only if its shown value reaches `similarity` as float32.
    """
    wanted = np.float32(similarity)
    # Positive float32 numbers have the order of their bits as integers.
    low, high = 0, int(np.float32(1).view(np.uint32))
    while low < high:
        middle = (low + high) // 2
        value = np.array([middle], np.uint32).view(np.float32)
        if shown(value)[0] >= wanted:
            high = middle
        else:
            low = middle + 1
    return float(np.uint32(low).view(np.float32))
