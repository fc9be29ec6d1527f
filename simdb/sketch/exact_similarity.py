"""Exact similarity: compares documents by all their features, where a sketch only estimates.

The features are those that the sketch is made of.  If every feature counts once, the similarity is
Jaccard's, of the two sets; if features have weights, it is what the sketch estimates:

    sets ("binary", "set")       |A and B| / |A or B|
    weights, of a `Minhash`      sum min(a, b) / sum max(a, b)
    weights, of a `Simhash`      sum a b / sqrt(sum a^2 sum b^2), the cosine

A fingerprint estimates the cosine also of sets.  Two sets with the Jaccard similarity j have at
least the cosine 2 j / (1 + j), and exactly this if they have as many features.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import OptionError
from simdb.running import kernel
from simdb.settings.minhash import BAG, Minhash
from simdb.settings.options import Simhash
from simdb.settings.resources import Resources
from simdb.sketch import weighing
from simdb.sketch.pipeline import Counted
from simdb.sketch.sketcher import Sketcher

JACCARD, WEIGHTED_JACCARD, COSINE = ("Jaccard", "weighted Jaccard", "cosine")
# A threshold that follows from a cosine is rounded to so many digits: .889 gives .8, not .80018.
THRESHOLD_DIGITS = 3

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class ExactSimilarity:
    """The exact similarity of pairs of documents that one sketch would estimate."""

    def __init__(
        self,
        sketch: Simhash | Minhash,
        resources: Resources,
        allowed: Collection[str],
        *,
        compares_numbers: bool = False,
    ) -> None:
        """Take features as `sketch` does; see `Sketcher` for the other arguments.

        `compares_numbers`: documents with different numbers have the similarity 0.
        Raises OptionError for a sketch whose features simdb cannot count.
        """
        if sketch.unit == "moz":
            raise OptionError(
                "unit='moz' has no exact similarity, because its features are windows of a hash;"
                " give verify='estimate'"
            )
        self._sketch = sketch
        self._sketcher = Sketcher(Simhash(**sketch.feature_settings), resources, allowed)
        self._compares_numbers = compares_numbers
        self.measure = _measure_of(sketch)

    def of_cosine(self, cosine: F32) -> F32:
        """Return estimates of this similarity, given what the sketch estimates."""
        return _of_cosine(self._sketch, cosine)

    def estimated(self, similarity: float) -> float:
        """Return what the sketch estimates, at least, for documents of this exact similarity."""
        if self.measure != JACCARD or isinstance(self._sketch, Minhash):
            return similarity
        return 2 * similarity / (1 + similarity)

    def least(self, similarity: float) -> float:
        """Return the threshold of this similarity for a threshold of what the sketch estimates."""
        return exact_threshold(self._sketch, similarity)

    def of_pairs(self, documents: Sequence[Any], left: I64, right: I64) -> F32:
        """Return the similarity of documents left[i] and right[i]; 0 if one has no features.

        `documents`: texts and lists of tokens.  Pairs of one left document are fastest one after
        the other.
        """
        found = self._of_features(documents, left, right)
        if self._compares_numbers:
            numbers = self._sketcher.numbers(documents)
            found[numbers[left] != numbers[right]] = 0
        return found

    def _of_features(self, documents: Sequence[Any], left: I64, right: I64) -> F32:
        """Return the similarity of the features of documents left[i] and right[i]."""
        counted = self._sketcher.count_features(documents, errors="replace")
        offsets, hashes, _ = counted
        weights = self._weights(counted)
        is_least = self.measure == WEIGHTED_JACCARD
        shared = kernel.overlaps(offsets, hashes, weights, left, right, is_least=is_least)
        if self.measure == COSINE:
            assert weights is not None
            squares = _totals(offsets, weights.astype(np.float64) ** 2)
            return _shares(shared, np.sqrt(squares[left] * squares[right]))
        each = np.diff(offsets).astype(np.float64)
        sizes = each if weights is None else _totals(offsets, weights.astype(np.float64))
        return _shares(shared, sizes[left] + sizes[right] - shared)

    def _weights(self, counted: Counted) -> F32 | None:
        """Return the weight of each feature; None if each counts once."""
        if self.measure == JACCARD:
            return None
        _, hashes, counts = counted
        sketch = self._sketch
        counting = "tf" if sketch.weighting == BAG else sketch.counting
        table = sketch.idf if sketch.uses_idf else None
        idf = None if table is None else (table.entries, table.directory, table.default)
        weights = weighing.weigh(hashes, counts.astype(np.int64), counting, idf)
        return (weights / weighing.UNITS).astype(np.float32)


def exact_threshold(sketch: Simhash | Minhash, similarity: float) -> float:
    """Return the least exact similarity that a threshold of what `sketch` estimates means."""
    exact = _of_cosine(sketch, np.array([similarity], np.float32))
    return round(float(exact[0]), THRESHOLD_DIGITS)


def _of_cosine(sketch: Simhash | Minhash, cosine: F32) -> F32:
    if _measure_of(sketch) != JACCARD or isinstance(sketch, Minhash):
        return cosine
    return np.asarray(cosine / (2 - cosine), np.float32)


def _measure_of(sketch: Simhash | Minhash) -> str:
    if sketch.counting == "binary" and not sketch.uses_idf:
        return JACCARD
    return WEIGHTED_JACCARD if isinstance(sketch, Minhash) else COSINE


def _totals(offsets: I64, values: F64) -> F64:
    """Return the sum of the values of each document."""
    return np.add.reduceat(np.append(values, 0.0), offsets[:-1]) * (np.diff(offsets) > 0)


def _shares(parts: F64, wholes: F64) -> F32:
    """Return parts / wholes, and 0 where the whole is 0."""
    found = np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)
    return found.astype(np.float32)
