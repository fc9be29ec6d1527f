"""Measuring: similarities of texts under a sketch, as a database would estimate them."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from simdb.columns.vector_form import corrected, unpack
from simdb.running import kernel
from simdb.settings.options import Simhash
from simdb.sketch.quantisation import widened
from simdb.sketch.sketcher import Sketcher

# The level of unrelated pairs follows from this quantile: near-duplicates are rarer than that.
QUANTILE = 0.99
# So many unrelated documents of the collection may reach the threshold, for each document.
CHANCE_MATCHES = 0.1
PART_TEXTS = 4096
NORMAL = NormalDist()

F32 = npt.NDArray[np.float32]


def directions(texts: Sequence[str], sketch: Simhash) -> F32:
    """Return the weights of texts, rounded as stored and of length 1; zeros without features."""
    sketcher = Sketcher(sketch)
    parts = [np.empty((0, sketch.dimensions), np.float32)]
    for start in range(0, len(texts), PART_TEXTS):
        weights = sketcher.weights(texts[start : start + PART_TEXTS])
        _, vectors = kernel.quantise(widened(weights, sketch.dimensions))
        rounded = unpack(vectors)[:, : sketch.dimensions].astype(np.float32)
        rounded[~weights.any(axis=1)] = 0
        lengths = np.sqrt(np.square(rounded).sum(axis=1, keepdims=True))
        parts.append(rounded / np.maximum(lengths, 1))
    return np.concatenate(parts)


def similarities(left: F32, right: F32) -> F32:
    """Return the estimated similarity of each row of `left` to the same row of `right`."""
    return corrected((left * right).sum(axis=1, dtype=np.float32))


def unrelated(rows: F32) -> F32:
    """Return the estimated similarities of all pairs of some texts, few of which are similar."""
    return corrected((rows @ rows.T)[np.triu_indices(len(rows), 1)])


def chance_level(pairs: F32, total: int) -> float:
    """Return the similarity that few unrelated documents reach in a collection of `total`.

    On average `CHANCE_MATCHES` of them reach it, for each document.  It is extrapolated from
    `pairs` by a normal distribution.
    """
    if not len(pairs):
        return 0.0
    middle, high = (float(each) for each in np.quantile(pairs, [0.5, QUANTILE]))
    beyond = -NORMAL.inv_cdf(min(CHANCE_MATCHES / max(total, 1), 0.5))
    return min(1.0, middle + (high - middle) * beyond / NORMAL.inv_cdf(QUANTILE))
