"""Quantisation: turns the weights of documents into fingerprints, volatility vectors and levels."""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.vector_form import fingerprints_of
from simdb.ground.bits import FINGERPRINT_BITS
from simdb.running import kernel

# Weights of this many queries stay in the processor's cache while they are read twice.
CACHED_ROWS = 1024


def columns_of(
    weights: npt.NDArray[Any], width: int, is_query: bool
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8], npt.NDArray[np.uint8] | None]:
    """Return fingerprints, volatility vectors of `width` bytes and, for queries, levels."""
    if not is_query:
        bits, vectors = kernel.quantise(weights)
        return bits, vectors if width else np.empty((len(bits), 0), np.uint8), None
    bits = np.empty(len(weights), np.uint64)
    vectors = np.empty((len(weights), width), np.uint8)
    levels = np.empty((len(weights), FINGERPRINT_BITS), np.uint8)
    for start in range(0, len(weights), CACHED_ROWS):
        part = slice(start, start + CACHED_ROWS)
        levels[part] = kernel.levels(weights[part])
        if width:
            bits[part], vectors[part] = kernel.quantise(weights[part])
        else:
            bits[part] = fingerprints_of(weights[part])
    return bits, vectors, levels


def rows_of_zeros(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Return the positions of rows of zeros; the first weight excludes most other rows."""
    suspect = np.flatnonzero(weights[:, 0] == 0)
    return suspect[~weights[suspect].any(axis=1)]


def widened(weights: npt.NDArray[np.float32], dimensions: int) -> npt.NDArray[np.float32]:
    """Return weights with `dimensions` columns: cut off, or repeated from the first column on."""
    given = weights.shape[1]
    if given >= dimensions:
        return np.ascontiguousarray(weights[:, :dimensions])
    assert given >= FINGERPRINT_BITS
    repeated: npt.NDArray[np.float32] = np.take(weights, np.arange(dimensions) % given, axis=1)
    return repeated
