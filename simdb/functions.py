"""Fingerprints, distances and similarities without a database."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.errors import InputError
from simdb.options import Simhash
from simdb.sketch.sketcher import Sketcher
from simdb.sketch.vectors import as_vectors
from simdb.values import Fingerprint, Fingerprints, check_bits


def fingerprint(
    document: Any, sketch: Simhash | None = None, *, errors: str = "strict"
) -> Fingerprint:
    """The fingerprint and weights of one text, list of tokens, `Features` or vector."""
    return fingerprints([document], sketch, errors=errors)[0]


def fingerprints(
    documents: Iterable[Any], sketch: Simhash | None = None, *, errors: str = "strict"
) -> Fingerprints:
    """Fingerprints of many documents of one kind: `.bits` uint64[n], `.weights` float32[n, d].

    Vectors may be the rows of one array, float[n, d], or of a CSR matrix.
    """
    if isinstance(documents, str | bytes):
        raise InputError("documents are many, in a list; simdb.fingerprint takes one")
    sketcher = Sketcher(sketch or Simhash())
    vectors = as_vectors(documents)
    listed = list(documents) if vectors is None else vectors
    weights = sketcher.weights(listed, errors=errors)
    bits, _ = kernel.quantise(np.ascontiguousarray(weights))
    return Fingerprints(bits, weights)


def distance(left: Fingerprint | int, right: Fingerprint | int) -> int:
    """Hamming distance: in how many of the 64 bits two fingerprints differ."""
    return (_bits(left) ^ _bits(right)).bit_count()


def similarity(left: Fingerprint, right: Fingerprint) -> float:
    """Estimated cosine of two documents, from the weights of their fingerprints."""
    first, second = _weights(left), _weights(right)
    shared = min(len(first), len(second))
    first, second = first[:shared].astype(np.float64), second[:shared].astype(np.float64)
    norms = float(np.sqrt(first @ first) * np.sqrt(second @ second))
    return float(first @ second) / norms if norms else 0.0


def _bits(value: Fingerprint | int) -> int:
    if isinstance(value, Fingerprint):
        return value.bits
    if isinstance(value, np.integer):
        value = int(value)
    check_bits(value)
    return value


def _weights(value: Fingerprint) -> npt.NDArray[np.float32]:
    if not isinstance(value, Fingerprint) or value.weights is None:
        raise InputError("similarity needs fingerprints with weights, as simdb.fingerprint makes")
    return value.weights
