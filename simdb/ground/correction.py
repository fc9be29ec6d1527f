"""Correction: the cosine of two documents, from the cosine of their weights rounded to 4 bits.

Rounding moves two weights in ways that are nearly unrelated unless the weights are nearly equal.
So it makes both vectors longer and leaves their product as it was, and the cosine of the rounded
weights is lower: by .6 % at .5, by .009 from .85 to .99, and not at all at 1.  The weights of two
documents are jointly normal, about, whatever the documents are.  So one curve is right for all
collections (docs/QUALITY.md):

    rounded(c) = E[Q(x) Q(y)] / E[Q(x)^2]    for normal x and y with correlation c

where Q rounds to the 16 levels of `vector_form`.  The kernel compares and returns cosines of
rounded weights.  What a user asks for and gets is the corrected cosine.
"""

from bisect import bisect_right
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

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

F32 = npt.NDArray[np.float32]


def corrected(rounded: npt.NDArray[Any]) -> F32:
    """Return the cosine of documents for the cosine of their rounded weights; NaN for NaN."""
    cosines = np.interp(np.abs(rounded), _ROUNDED, _COSINE)
    return np.asarray(np.copysign(cosines, rounded), np.float32)


def corrected_one(rounded: float) -> float:
    """Return the same for one cosine above 0, without arrays."""
    if not 0.0 < rounded < 1.0:
        return float(corrected(np.array([rounded]))[0])
    at = bisect_right(_ROUNDED_LIST, rounded) - 1
    (start, low), (stop, high) = CURVE[at], CURVE[at + 1]
    slope = (high - low) / (stop - start)
    return float(np.float32(slope * (rounded - start) + low))


@lru_cache(maxsize=256)
def least_rounded(similarity: float) -> float:
    """Return the least cosine of rounded weights, a float32, that is corrected to `similarity`.

    `similarity`: above 0 and at most 1.  A cosine of rounded weights is at least the result exactly
    if the corrected cosine is at least `similarity` as float32.
    """
    wanted = np.float32(similarity)
    # Positive float32 are in the order of their bits.
    low, high = 0, int(np.float32(1).view(np.uint32))
    while low < high:
        middle = (low + high) // 2
        value = np.array([middle], np.uint32).view(np.float32)
        if corrected(value)[0] >= wanted:
            high = middle
        else:
            low = middle + 1
    return float(np.uint32(low).view(np.float32))
