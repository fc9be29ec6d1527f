"""Minima: makes MinHash signatures of features, compares them and hashes their bands, in numpy."""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.mix import SECOND_WORD, fmix64
from simdb.sketch.permutations import MERSENNE, Family

U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

FAMILIES = ("multiply-shift", "mersenne", "one-permutation")
MOST = 1024  # permutations of one family
STEP = 8  # the number of permutations is a multiple of this
NOTHING = 0xFFFFFFFF  # the minimum of a document without features
LOGARITHM_TERMS = 8  # the next term of the series would be below 1e-14
LN_2 = 0.6931471805599453
SQRT_2 = 1.4142135623730951

_BATCH = 1 << 19  # values computed at once
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_DRAWS = SECOND_WORD * np.arange(1, 4, dtype=np.uint64)  # added to a word for three random words


def sign_features(
    offsets: I64, hashes: U64, counts: U32 | None, *, family: Family, feature_bits: int
) -> U32:
    """Return the signatures uint32[n, p] of documents given as features.

    `counts`: how often each feature occurs; None means once.
    """
    check_family(family, feature_bits)
    _check_offsets(offsets, hashes, "counts", counts, np.uint32)
    rows = np.empty((len(offsets) - 1, len(family[1])), np.uint32)
    for document in range(len(rows)):
        part = slice(offsets[document], offsets[document + 1])
        occurring = hashes[part]
        if counts is not None:
            times = counts[part].astype(np.int64)
            number = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            occurring = np.repeat(occurring, times) + SECOND_WORD * number.astype(np.uint64)
        rows[document] = minima_of(occurring, family, feature_bits)
    return rows


def minima_of(hashes: U64, family: Family, feature_bits: int) -> U32:
    """Return the signature uint32[p] of the features with these hashes."""
    name, multipliers, increments = family
    features = np.unique(fmix64(hashes))
    if feature_bits == 32:
        features = np.unique(features >> _HALF << _HALF | features >> _HALF)
    if name == "one-permutation":
        return _binned(features, increments)
    minima = np.full(len(multipliers), NOTHING, np.uint32)
    step = max(1, _BATCH // len(multipliers))
    for start in range(0, len(features), step):
        batch = features[start : start + step, None]
        if name == "mersenne":
            values = _mersenne(multipliers, batch >> np.uint64(3), increments) >> np.uint64(29)
        else:
            halves = np.where(np.arange(len(multipliers)) % 2, batch >> _HALF, batch)
            values = (multipliers * halves + increments) & _LOW
        minima = np.minimum(minima, values.min(axis=0).astype(np.uint32))
    return minima


def sign_weighted(offsets: I64, hashes: U64, weights: F32, keys: U64) -> U32:
    """Return the signatures uint32[n, p] of documents given as distinct features with weights."""
    _check_offsets(offsets, hashes, "weights", weights, np.float32)
    _check_permutations(keys, keys)
    if not np.isfinite(weights).all():
        raise ValueError(f"weight {np.argmin(np.isfinite(weights))} is not finite")
    rows = np.empty((len(offsets) - 1, len(keys)), np.uint32)
    for document in range(len(rows)):
        part = slice(offsets[document], offsets[document + 1])
        is_there = weights[part] > 0
        rows[document] = _samples(
            fmix64(hashes[part][is_there]), weights[part][is_there].astype(np.float64), keys
        )
    return rows


def agreements(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> U16:
    """Return in how many places each row of `right` agrees with its row of `left`: uint16[n].

    A single row of `left` is compared with every row of `right`.
    """
    check_minima(left)
    check_minima(right)
    if left.dtype != right.dtype or left.shape[1] != right.shape[1]:
        raise ValueError(f"{left.dtype}{left.shape} and {right.dtype}{right.shape} do not compare")
    if len(left) not in (1, len(right)):
        raise ValueError(f"{len(left)} signatures on the left, not 1 or {len(right)}")
    return np.asarray((left == right).sum(axis=1), np.uint16)


def band_keys(minima: npt.NDArray[Any], *, bands: int, rows: int) -> U64:
    """Return the keys uint64[n, bands] of the bands of signatures."""
    check_minima(minima)
    if bands < 1 or rows < 1 or bands * rows > minima.shape[1]:
        raise ValueError(f"{bands} bands of {rows} rows of {minima.shape[1]} minima")
    banded = minima[:, : bands * rows].reshape(len(minima), bands, rows).astype(np.uint64)
    keys = np.tile(fmix64(np.arange(bands, dtype=np.uint64) + SECOND_WORD), (len(minima), 1))
    for row in range(rows):
        keys = fmix64(keys ^ banded[:, :, row])
    return keys


def check_family(family: Family, feature_bits: int) -> None:
    """Raise ValueError unless the parts of a family fit together."""
    name, multipliers, increments = family
    if name not in FAMILIES:
        raise ValueError(f"family is {name!r}, not one of {', '.join(map(repr, FAMILIES))}")
    _check_permutations(multipliers, increments)
    if name == "mersenne" and max(multipliers.max(), increments.max()) >= MERSENNE:
        raise ValueError("the numbers of family 'mersenne' must be below 2**61 - 1")
    if feature_bits not in (32, 64):
        raise ValueError(f"feature_bits is {feature_bits}, not 32 or 64")


def check_minima(minima: Any) -> None:
    """Raise TypeError or ValueError unless these are the minima of signatures."""
    if not isinstance(minima, np.ndarray) or minima.dtype not in (np.uint8, np.uint32):
        found = getattr(minima, "dtype", type(minima).__name__)
        raise TypeError(f"minima are {found}, not uint8 or uint32")
    if minima.ndim != 2 or not 0 < minima.shape[1] <= MOST:
        raise ValueError(f"minima have shape {minima.shape}, not (n, 1 .. {MOST})")


def _mersenne(multipliers: U64, features: U64, increments: U64) -> U64:
    """Return (a x + b) mod 2^61 - 1 for numbers of 61 bits, from products of 32 bits."""
    low, high = multipliers & _LOW, multipliers >> _HALF
    x_low, x_high = features & _LOW, features >> _HALF
    crossed = high * x_low + low * x_high
    # 2^61 is congruent to 1, so 2^64 is congruent to 8, and crossed * 2^32 has two parts.
    total = _folded(low * x_low) + (high * x_high << np.uint64(3))
    total += ((crossed & np.uint64(0x1FFFFFFF)) << _HALF) + (crossed >> np.uint64(29))
    return (_folded(total) + increments) % np.uint64(MERSENNE)


def _folded(words: U64) -> U64:
    """Return congruent words that have little more than 61 bits."""
    return (words & np.uint64(MERSENNE)) + (words >> np.uint64(61))


def _bins(words: U64, count: int) -> I64:
    """Return one of `count` bins for each word, by its highest 32 bits."""
    return ((words >> _HALF) * np.uint64(count) >> _HALF).astype(np.int64)


def _binned(features: U64, increments: U64) -> U32:
    """Put each feature into one bin, return the minima; an empty bin copies a random filled one."""
    count = len(increments)
    words = fmix64(features + increments[0])
    bins = _bins(words, count)
    minima = np.full(count, NOTHING, np.uint32)
    np.minimum.at(minima, bins, (words & _LOW).astype(np.uint32))
    filled = np.zeros(count, np.bool_)
    filled[bins] = True
    found, empty, draw = minima.copy(), np.flatnonzero(~filled), np.uint64(0)
    while len(features) and len(empty):
        others = _bins(fmix64(increments[1] + (empty.astype(np.uint64) << _HALF) + draw), count)
        is_found = filled[others]
        found[empty[is_found]] = minima[others[is_found]]
        empty, draw = empty[~is_found], draw + np.uint64(1)
    return found


def _samples(features: U64, weights: F64, keys: U64) -> U32:
    """Return the consistent samples (Ioffe 2010, section 3) of weighted features: uint32[p]."""
    words = np.full(len(keys), NOTHING, np.uint64)
    least = np.full(len(keys), np.inf)
    step = max(1, _BATCH // len(keys))
    for start in range(0, len(features), step):
        batch = slice(start, start + step)
        values, found = _sampled(features[batch, None], weights[batch, None], keys)
        # Of equal values, which are almost impossible, the lowest word wins.
        order = np.lexsort((found, values), axis=0)[0], np.arange(len(keys))
        is_less = (values[order] < least) | ((values[order] == least) & (found[order] < words))
        least = np.where(is_less, values[order], least)
        words = np.where(is_less, found[order], words)
    return words.astype(np.uint32)


def _sampled(features: U64, weights: F64, keys: U64) -> tuple[F64, U64]:
    """Return ln a for each feature under each key, and the word of its sample."""
    draws = fmix64(features ^ keys)
    first, second, third = (fmix64(draws + step) for step in _DRAWS)
    rate, cost = _gamma(first), logarithm(_gamma(second))
    shift = _uniform(third >> _HALF)
    steps = np.floor(logarithm(weights) / rate + shift)
    words = fmix64(features + steps.astype(np.int64).view(np.uint64) * SECOND_WORD) >> _HALF
    return cost - rate * (steps - shift + 1), words


def logarithm(numbers: F64) -> F64:
    """Return ln of normal numbers above 0, by operations that every machine rounds alike."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    exponents = (bits >> np.uint64(52)).astype(np.float64) - 1023
    parts = (bits & np.uint64(0xFFFFFFFFFFFFF) | np.uint64(0x3FF0000000000000)).view(np.float64)
    is_large = parts > SQRT_2
    exponents, parts = exponents + is_large, np.where(is_large, parts * 0.5, parts)
    ratio = (parts - 1) / (parts + 1)
    square = ratio * ratio
    total = np.full_like(ratio, 1.0 / (2 * LOGARITHM_TERMS - 1))
    for term in range(2 * LOGARITHM_TERMS - 3, 0, -2):
        total = total * square + 1.0 / term
    return np.asarray(exponents * LN_2 + 2 * ratio * total, np.float64)


def _uniform(halves: U64) -> F64:
    """Return numbers between 0 and 1, exclusive, from words of 32 bits."""
    return np.asarray((halves.astype(np.float64) + 0.5) * 2.0**-32, np.float64)


def _gamma(words: U64) -> F64:
    """Return samples of Gamma(2, 1): minus the logarithm of the product of two uniform numbers."""
    return -logarithm(_uniform(words & _LOW) * _uniform(words >> _HALF))


def _check_offsets(
    offsets: I64, hashes: U64, name: str, values: npt.NDArray[Any] | None, dtype: type
) -> None:
    """Raise ValueError unless offsets, hashes and the values named `name` fit together."""
    for what, array, kind in (
        ("offsets", offsets, np.int64), ("hashes", hashes, np.uint64), (name, values, dtype)
    ):  # fmt: skip
        if array is not None and (array.dtype != kind or array.ndim != 1):
            raise ValueError(f"{what} are {array.dtype}[{array.ndim} axes], not {np.dtype(kind)}")
    if len(offsets) == 0 or offsets.min() < 0 or offsets.max() > len(hashes):
        raise ValueError(f"offsets do not lie within the {len(hashes)} hashes")
    if (np.diff(offsets) < 0).any():
        raise ValueError("offsets descend")
    if values is not None and len(values) != len(hashes):
        raise ValueError(f"{len(values)} {name} for {len(hashes)} hashes")


def _check_permutations(multipliers: U64, increments: U64) -> None:
    """Raise ValueError unless these are the numbers of a family."""
    for name, array in (("multipliers", multipliers), ("increments", increments)):
        if array.dtype != np.uint64 or array.ndim != 1:
            raise ValueError(f"{name} are {array.dtype}[{array.ndim} axes], not uint64[1 axis]")
    if len(multipliers) != len(increments):
        raise ValueError(f"{len(multipliers)} multipliers and {len(increments)} increments")
    if not 0 < len(multipliers) <= MOST or len(multipliers) % STEP:
        raise ValueError(f"{len(multipliers)} permutations, not a multiple of {STEP} up to {MOST}")
