"""The volatility model: how likely a bit flips in a similar document, by the size of its weight.

Sood & Loguinov 2011: bit j of document u differs in a similar document if the weight W_j changes
by more than |W_j(u)| against its sign, so p_j(u) = P(Y > |W_j(u)|), where Y is distributed as the
difference of the weights of similar documents of the collection, which is symmetric around 0.

Weights count in units of the root mean square of the document's own weights, so that long and
short documents share one model.  A `level` is |w| in 64ths of that unit, 255 at most; a model is a
table over the 256 levels.  What the search needs of it are whole costs, `costs`, log((1 - p) / p)
in 16ths: the sets of bits with the smallest sums of costs are the most probable ones (`vosh`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.bits import FINGERPRINT_BITS
from simdb.decoding import a_map, a_number, a_whole
from simdb.errors import CorruptError, FormatError, InputError, OptionError

VERSION = 1
LEVELS = 256
LEVEL_UNIT = 64  # levels of one root mean square
COST_UNIT = 16  # costs of one natural logarithm
COST_MAX = 254
NEVER = 255  # cost of a bit that is never flipped
# Below, a bit does not flip: 1e9 pairs would show one.
PROBABILITY_MIN = 1e-9
# Weights that are stored are odd whole numbers, each for an interval of this width.
STORED_STEP = 2.0
# A share is trusted if so many differences are behind it; beyond, the tail is exponential.
TAIL_COUNT = 32
# Two documents of 128 weights differ in none of them by more than 2 * sqrt(128) units.
_BINS = 2048

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class VolatilityModel:
    """The probability of a bit to flip at each level of its weight, and what it was learnt from.

    `probabilities` float32[256]: p(level) = P(Y > w) at the middle of the level, at most 1/2, never
    rising.  It is for documents at `similarity` or more or within `distance`, where not None.  It
    was learnt from `pairs` similar pairs in a collection of `documents`; both are 0 for a prior.
    """

    probabilities: F32
    pairs: int
    documents: int
    similarity: float | None = None
    distance: int | None = None
    version: int = VERSION

    def __eq__(self, other: object) -> bool:
        """Whether all is the same."""
        if not isinstance(other, VolatilityModel):
            return NotImplemented
        return encode(self) == encode(other)

    def __hash__(self) -> int:
        """By what it is for and from."""
        return hash((self.pairs, self.documents, self.similarity, self.distance))


def fit(
    left: npt.NDArray[Any],
    right: npt.NDArray[Any],
    *,
    documents: int,
    similarity: float | None = None,
    distance: int | None = None,
    step: float = 0.0,
) -> VolatilityModel:
    """The model of a collection from weights of similar pairs: real[n, 64 .. 128] each.

    Row i of `left` and of `right` are the weights of the two documents of pair i; a pair with a
    row of zeros is left out.  `step`: the width of the interval that a weight was rounded from,
    `STORED_STEP` for stored ones, 0 for exact ones.  InputError when there is no pair.
    """
    if left.shape != right.shape or left.ndim != 2:
        raise InputError(f"weights of pairs have one shape, not {left.shape} and {right.shape}")
    scales = np.stack([_scales(left), _scales(right)])
    present = np.flatnonzero(scales.min(axis=0, initial=np.inf) > 0)
    if len(present) == 0:
        raise InputError("a volatility model needs similar pairs with weights; without any, prior")
    scales = scales[:, present]
    changes = left[present] / scales[0][:, None] - right[present] / scales[1][:, None]
    counts = np.bincount((np.abs(changes) * LEVEL_UNIT).astype(np.int64).ravel(), minlength=_BINS)
    spread = _unrounded(counts.astype(np.float64), LEVEL_UNIT * step / float(scales.mean()))
    return VolatilityModel(
        (_exceeding(spread) / 2).astype(np.float32), len(present), documents, similarity, distance
    )


def prior(*, similarity: float | None = None, distance: int | None = None) -> VolatilityModel:
    """The model before there is data: of documents at `similarity`, or at `distance`.

    Weights of unit variance of two documents at cosine s have the covariance s, so their
    difference Y has the variance 2 (1 - s).  Its tails are exponential (Figure 1(b) of the
    paper), as of a Laplace variable, and that of this variance has

        P(Y > |w|) = exp(-|w| / sqrt(1 - s)) / 2

    Fingerprints at distance h are those of documents at the angle pi h / 64 (Charikar 2002); to
    have some spread also for h = 0, half a bit is added.  If both are given, the larger s counts.
    """
    variance = 1.0 - prior_similarity(similarity, distance)
    middles = (np.arange(LEVELS) + 0.5) / LEVEL_UNIT
    chances = np.exp(-middles / math.sqrt(max(variance, 1e-12))) / 2
    return VolatilityModel(chances.astype(np.float32), 0, 0, similarity, distance)


def prior_similarity(similarity: float | None, distance: int | None) -> float:
    """The cosine of the least similar documents that match, as `prior` has it."""
    if similarity is None and distance is None:
        raise OptionError("volatility is that of a similarity or of a distance; neither is given")
    if similarity is not None and not 0.0 < similarity <= 1.0:
        raise OptionError(f"similarity is above 0 and at most 1, not {similarity!r}")
    if distance is not None and not 0 <= distance <= FINGERPRINT_BITS:
        raise OptionError(f"distance is 0 to {FINGERPRINT_BITS}, not {distance!r}")
    found = 0.0 if similarity is None else similarity
    if distance is not None:
        angle = min(math.pi / 2, math.pi * (distance + 0.5) / FINGERPRINT_BITS)
        found = max(found, math.cos(angle))
    return found


def costs(model: VolatilityModel) -> U8:
    """What flipping a bit costs at each level: uint8[256], never falling.

    log((1 - p) / p) in 16ths, rounded, at most 254; 255 is the cost of a bit that does not flip.
    """
    chances = np.maximum(model.probabilities.astype(np.float64), PROBABILITY_MIN)
    exact = np.rint(COST_UNIT * np.log((1.0 - chances) / chances))
    found: U8 = np.clip(exact, 0, COST_MAX).astype(np.uint8)
    found[model.probabilities < PROBABILITY_MIN] = NEVER
    return found


def levels(weights: npt.NDArray[Any]) -> U8:
    """The level of the weight of each bit, uint8[n, 64], of weights real[n, 64 .. 128].

    min(255, floor(64 |w| / s)), where s is the root mean square of all weights of the document;
    255 where all are 0 (`kernel.levels`).
    """
    return np.asarray(kernel.levels(np.ascontiguousarray(weights, np.float32)), np.uint8)


def encode(model: VolatilityModel) -> dict[str, Any]:
    """The model in plain types, to be stored."""
    return {
        "version": model.version,
        "probabilities": model.probabilities.astype("<f4").tobytes(),
        "pairs": model.pairs,
        "documents": model.documents,
        "similarity": model.similarity,
        "distance": model.distance,
    }


def decode(stored: Mapping[str, Any]) -> VolatilityModel:
    """What `encode` wrote; FormatError for another version, CorruptError for what is no model."""
    version = a_map(stored).get("version")
    if version != VERSION:
        raise FormatError(
            f"the volatility model has version {version}, and this program reads {VERSION};"
            " calibrate again, or use a newer simdb"
        )
    table = stored["probabilities"]
    chances = np.frombuffer(table if len(table) == 4 * LEVELS else b"", "<f4").astype(np.float32)
    is_falling = len(chances) == LEVELS and bool((chances[1:] <= chances[:-1]).all())
    if not is_falling or not 0.0 <= chances[-1] <= chances[0] <= 0.5:
        raise CorruptError("the volatility model is no falling table of 256 probabilities")
    similarity, distance = stored["similarity"], stored["distance"]
    return VolatilityModel(
        chances,
        a_whole(stored["pairs"], 1 << 64),
        a_whole(stored["documents"], 1 << 64),
        None if similarity is None else a_number(similarity),
        None if distance is None else a_whole(distance, FINGERPRINT_BITS + 1),
    )


def _scales(weights: npt.NDArray[Any]) -> F64:
    """The root mean square of each row."""
    wide = weights.astype(np.float64)
    found: F64 = np.sqrt(np.einsum("ij,ij->i", wide, wide) / max(wide.shape[1], 1))
    return found


def _unrounded(counts: F64, width: float) -> F64:
    """A histogram of differences of rounded values, each spread evenly over `width` bins."""
    reach = round(width / 2)
    if reach == 0:
        return counts
    both = np.concatenate([counts[::-1], counts]) / 2  # Y is symmetric around 0
    even = np.convolve(both, np.full(2 * reach + 1, 1.0 / (2 * reach + 1)), "same")
    return 2 * even[len(counts) :]


def _exceeding(counts: F64) -> F64:
    """P(|Y| > middle of the level) for each of the levels.

    Where fewer than `TAIL_COUNT` differences are left it falls exponentially, as fast as the mean
    of those tells.
    """
    beyond = np.cumsum(counts[::-1])[::-1] - counts / 2
    total = float(counts.sum())
    known = int(np.flatnonzero(beyond >= min(TAIL_COUNT, beyond[0]))[-1])
    rest = counts[known:]
    mean = float((rest * np.arange(len(rest))).sum()) / max(float(rest.sum()), 1.0)
    at = np.arange(LEVELS)
    tail = beyond[known] * np.exp(-np.maximum(at - known, 0) / max(mean, 1.0))
    return np.where(at <= known, beyond[:LEVELS], tail) / total
