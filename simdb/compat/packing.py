"""Packing: the 32-bit minima that are stored of datasketch's hash values, and the values of minima.

In the schemes "affine32" and "legacy" a hash value is a minimum.  In "affine64" a hash value, and
in "weighted" a pair (k, t), becomes two minima.  The pair is first k 2^32 + t, with t mod 2^32.
These 64 bits are mixed by the finaliser of MurmurHash3 and cut into halves, the lower half first.
The finaliser is one-to-one, so nothing is lost; and as it mixes, two different values agree in a
half as rarely as random numbers, so that the share of equal minima estimates the similarity.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.compat.minwise import AFFINE32, AFFINE64, DTYPES, LARGEST, LEGACY, MIXING, mixed
from simdb.ground.errors import InputError
from simdb.values.arrays import describe

# The scheme of a weighted MinHash, which has none in datasketch.
WEIGHTED = "weighted"
# The minima of one hash value.
WIDTHS = {AFFINE32: 1, LEGACY: 1, AFFINE64: 2, WEIGHTED: 2}
INT32 = np.iinfo(np.int32)

Values = npt.NDArray[Any]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


def packed(values: Values, scheme: str) -> U32:
    """Return the minima uint32[n * width] of hash values [n], or of pairs [n, 2]."""
    if scheme == WEIGHTED:
        return _halves(_paired(values))
    if values.dtype.kind != "u" or values.ndim != 1:
        raise InputError(f"hash values must be unsigned numbers in one row, got {describe(values)}")
    if scheme == AFFINE64:
        return _halves(values.astype(np.uint64, copy=False))
    if values.dtype != np.uint32 and int(values.max(initial=0)) > LARGEST[LEGACY]:
        raise InputError(f"a hash value has more than 32 bits, in scheme {scheme!r}")
    return values.astype(np.uint32, copy=False)


def unpacked(minima: U32, scheme: str) -> Values:
    """Return the hash values of minima [..., n * width], of the type that datasketch has."""
    if WIDTHS[scheme] == 1:
        return minima.astype(DTYPES[scheme])
    whole = _unmixed(np.ascontiguousarray(minima, "<u4").view("<u8").astype(np.uint64))
    if scheme == AFFINE64:
        return whole
    pairs = np.empty((*whole.shape, 2), np.int64)
    pairs[..., 0] = (whole >> np.uint64(32)).astype(np.int64)
    pairs[..., 1] = whole.astype(np.uint32).view(np.int32)
    return pairs


def _paired(values: Values) -> U64:
    """Return pairs int64[n, 2] as one number each."""
    if values.dtype.kind not in "iu" or values.ndim != 2 or values.shape[1] != 2:
        raise InputError(
            f"the hash values of a weighted MinHash must be whole numbers [n, 2], got"
            f" {describe(values)}"
        )
    places, steps = values[:, 0].astype(np.int64), values[:, 1].astype(np.int64)
    fits = (places >= 0) & (places < 2**32) & (steps >= INT32.min) & (steps <= INT32.max)
    if not fits.all():
        raise InputError(
            f"the pair {values[~fits][0].tolist()} of a weighted MinHash does not fit into 32 bits"
            " each; scale the weights so that they are nearer to 1"
        )
    return places.astype(np.uint64) << np.uint64(32) | steps.astype(np.uint32).astype(np.uint64)


def _halves(values: U64) -> U32:
    return mixed(values, AFFINE64).astype("<u8").view("<u4").astype(np.uint32)


def _unmixed(mixed_values: U64) -> U64:
    """Return the values that `mixed` turns into these."""
    shift, first, _, second, _ = MIXING[AFFINE64]
    values = mixed_values
    # A shift by more than half of the bits undoes itself, and the multipliers are odd.
    for multiplier in (second, first):
        values = values ^ (values >> np.uint64(shift))
        values = values * np.uint64(pow(multiplier, -1, 2**64))
    return np.asarray(values ^ (values >> np.uint64(shift)))
