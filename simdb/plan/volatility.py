"""Volatility model: the chance that a bit flips in a similar document, by the size of its weight.

Sood & Loguinov 2011: bit j of document u differs in a similar document if the weight W_j changes
by more than |W_j(u)| against its sign.  So p_j(u) = P(Y > |W_j(u)|), where Y is distributed like
the difference of the weights of similar documents of the collection, symmetric around 0.

Weights are measured in units of the root mean square of the document's own weights, so that long
and short documents share one model.  A `level` is |w| in 64ths of that unit, at most 255; a model
is a table over the 256 levels.  The search uses it as whole numbers, the `costs`:
log((1 - q) / q) in 16ths, where q is `MATCH_SHARE` of p.  Sets of bits with the smallest sums of
costs are the most probable ones (`vosh`).
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import a_map
from simdb.core.dtypes import F32, F64, U8, Array
from simdb.core.errors import CorruptError, FormatError, InputError
from simdb.core.values import dataclass

VERSION = 1
LEVELS = 256
LEVEL_UNIT = 64  # levels in one root mean square
COST_UNIT = 16  # whole costs are natural logarithms times this
COST_MAX = 254
NEVER = 255  # cost of a bit that is never flipped
# Matching documents differ in few bits, so a bit flips less often than its weight alone suggests.
# A flip of one large weight is then more likely than of two small ones (docs/ALGORITHMS.md).
MATCH_SHARE = 0.6
PROBABILITY_MIN = 1e-9  # a bit with a smaller probability is never flipped
# Stored weights are odd whole numbers; each stands for an interval of this width.
STORED_STEP = 2.0
# The cosines of near-duplicates, assumed to be equally likely unless more is known.
COSINES = np.linspace(0.9, 0.995, 12)
TAIL_COUNT = 32  # differences that make a share reliable; beyond, the tail is exponential
# A weight of two documents of 256 weights differs by at most 2 * sqrt(256) units.
_BINS = 2048


@dataclass(frozen=True, slots=True, eq=False)
class VolatilityModel:
    """A table of the probability that a bit flips at each level of its weight.

    `probabilities` float32[256]: p(level) = P(Y > w) at the middle of the level, at most 1/2, never
    rising.
    """

    probabilities: F32


def fit(left: Array, right: Array, *, step: float = 0.0) -> VolatilityModel:
    """Return the model of a collection, learnt from the weights of similar pairs.

    `left` and `right`, real[n, 64 .. 256]: row i has the weights of one document of pair i; a pair
    with a row of zeros is skipped.  `step`: the width of the interval from which a weight was
    rounded, `STORED_STEP` for stored weights, 0 for exact ones.  Raises InputError if no pair
    remains.
    """
    scales = np.stack([_scales(left), _scales(right)])
    present = np.flatnonzero(scales.min(axis=0, initial=np.inf) > 0)
    if len(present) == 0:
        raise InputError("a volatility model needs similar pairs with weights; there are none")
    scales = scales[:, present]
    changes = left[present] / scales[0][:, None] - right[present] / scales[1][:, None]
    counts = np.bincount((np.abs(changes) * LEVEL_UNIT).astype(np.int64).ravel(), minlength=_BINS)
    spread = _unrounded(counts.astype(np.float64), LEVEL_UNIT * step / float(scales.mean()))
    return VolatilityModel((_exceeding(spread) / 2).astype(np.float32))


@lru_cache(64)
def prior(noise: float | None = None) -> VolatilityModel:
    """Return the model to use without data, in closed form.

    Let two documents be at cosine c, and let one have the weight w in units of the root mean
    square.  By the central limit theorem, the other has c w + sqrt(1 - c^2) z, with z standard
    normal.  Its bit differs with probability Phi(-c |w| / sqrt(1 - c^2)).  The model is the mean
    over `COSINES`.  `noise`: the standard deviation of the change of a weight, in the same unit, if
    known; it equals sqrt(1 - c^2) / c.
    """
    slopes = [1.0 / noise] if noise else COSINES / np.sqrt(1.0 - COSINES**2)
    middles = [(level + 0.5) / LEVEL_UNIT / math.sqrt(2.0) for level in range(LEVELS)]
    chances = [sum(math.erfc(at * each) for each in slopes) / 2 / len(slopes) for at in middles]
    return VolatilityModel(np.array(chances, np.float32))


def cosines_within(distance: int) -> F64:
    """Return evenly spread cosines of documents that may match within `distance` bits.

    The least is the cosine at which `distance` bits are expected to differ (Charikar 2002), or the
    least of `COSINES` if that is smaller.
    """
    angle = min(distance, FINGERPRINT_BITS // 2) * math.pi / FINGERPRINT_BITS
    return np.linspace(min(COSINES[0], math.cos(angle)), COSINES[-1], len(COSINES))


def costs(model: VolatilityModel) -> U8:
    """Return the cost of flipping a bit at each level: uint8[256], never falling.

    It is log((1 - q) / q) in 16ths for q = MATCH_SHARE p, rounded, at most 254.  A bit that is
    never flipped has 255.
    """
    chances = MATCH_SHARE * np.maximum(model.probabilities.astype(np.float64), PROBABILITY_MIN)
    exact = np.rint(COST_UNIT * np.log((1.0 - chances) / chances))
    found: U8 = np.clip(exact, 0, COST_MAX).astype(np.uint8)
    found[model.probabilities < PROBABILITY_MIN] = NEVER
    return found


def levels(weights: Array) -> U8:
    """Return the level of each bit, uint8[n, 64], for weights real[n, 64 .. 256].

    The level of a weight w is min(255, floor(64 |w| / s)), where s is the root mean square of all
    weights of the document.  If all weights are 0, it is 255 (`kernel.levels`).
    """
    return np.asarray(kernel.levels(np.ascontiguousarray(weights, np.float32)), np.uint8)


def encode(model: VolatilityModel) -> dict[str, Any]:
    """Return the model in plain types, for storing."""
    return {"version": VERSION, "probabilities": model.probabilities.astype("<f4").tobytes()}


def decode(stored: Mapping[str, Any]) -> VolatilityModel:
    """Decode the map of `encode`.

    Raises FormatError for another version, CorruptError for bad data.
    """
    version = a_map(stored).get("version")
    if version != VERSION:
        raise FormatError(
            f"the volatility model has version {version}, but this program reads version {VERSION};"
            " calibrate again, or use a newer simdb"
        )
    table = stored["probabilities"]
    chances = np.frombuffer(table if len(table) == 4 * LEVELS else b"", "<f4").astype(np.float32)
    is_falling = len(chances) == LEVELS and bool((chances[1:] <= chances[:-1]).all())
    if not is_falling or not 0.0 <= chances[-1] <= chances[0] <= 0.5:
        raise CorruptError("the volatility model is not a falling table of 256 probabilities")
    return VolatilityModel(chances)


def _scales(weights: Array) -> F64:
    """Return the root mean square of each row: float64[n]."""
    wide = weights.astype(np.float64)
    found: F64 = np.sqrt(np.einsum("ij,ij->i", wide, wide) / max(wide.shape[1], 1))
    return found


def _unrounded(counts: F64, width: float) -> F64:
    """Return a histogram of rounded differences, each count spread evenly over `width` bins."""
    reach = round(width / 2)
    if reach == 0:
        return counts
    both = np.concatenate([counts[::-1], counts]) / 2  # Y is symmetric around 0
    even = np.convolve(both, np.full(2 * reach + 1, 1.0 / (2 * reach + 1)), "same")
    return 2 * even[len(counts) :]


def _exceeding(counts: F64) -> F64:
    """Return P(|Y| > middle of the level) for each level.

    From the level that fewer than `TAIL_COUNT` differences exceed, it falls exponentially, at a
    rate given by the mean of these differences.
    """
    beyond = np.cumsum(counts[::-1])[::-1] - counts / 2
    total = float(counts.sum())
    known = int(np.flatnonzero(beyond >= min(TAIL_COUNT, beyond[0]))[-1])
    rest = counts[known:]
    mean = float((rest * np.arange(len(rest))).sum()) / max(float(rest.sum()), 1.0)
    at = np.arange(LEVELS)
    tail = beyond[known] * np.exp(-np.maximum(at - known, 0) / max(mean, 1.0))
    return np.where(at <= known, beyond[:LEVELS], tail) / total
