"""Scales: the conversion between the similarities of users and the estimates of sketches.

For texts, users see the Jaccard similarity of their sets of features.  A fingerprint estimates the
cosine c of these sets.  So a user sees `c / (2 - c)`, and a user's threshold j means the cosine
`2 j / (1 + j)`.  This is exact for sets of equal size; otherwise the cosine is larger.  The
conversion is monotonic, so it changes only the number that is shown.  The kernel, the planner and
calibrations know cosines only.

A `SimilarityScale` is applied where a threshold enters a search, and where a similarity leaves it.
"""

from typing import Any

import numpy as np

from simdb.core.choices import MeasureName
from simdb.core.dtypes import F32
from simdb.core.values import dataclass
from simdb.core.vector_form import corrected, corrected_one, least_rounded

TEXT_CONTENT = 1  # see `Sketches.content`


@dataclass(frozen=True, slots=True)
class SimilarityScale:
    """A conversion of the estimates of sketches into the similarities that users see.

    `measure`: "jaccard", "cosine", or None if documents have only a distance.  `usual`: the default
    threshold.  `is_rounded`: the kernel measures the cosine of rounded weights.  `is_converted`:
    users see the Jaccard similarity instead of the cosine.
    """

    measure: MeasureName
    usual: float
    is_rounded: bool = False
    is_converted: bool = False

    def to_cosine(self, similarity: float) -> float:
        """Return the estimate of the sketch for documents of this similarity."""
        return 2 * similarity / (1 + similarity) if self.is_converted else similarity

    def from_cosine(self, cosine: Any) -> Any:
        """Return the similarity for an estimate of the sketch, or similarities for an array."""
        return cosine / (2 - cosine) if self.is_converted else cosine

    def shown(self, measured: F32) -> F32:
        """Convert the kernel's similarities into the similarities that users see."""
        if not self.is_rounded or not len(measured):
            return measured
        return np.asarray(self.from_cosine(corrected(measured).astype(np.float64)), np.float32)

    def shown_one(self, measured: float | None) -> float | None:
        """Convert one similarity as `shown` does; None if it is unknown."""
        if measured is None or not self.is_rounded:
            return measured
        cosine = corrected_one(measured)
        return float(np.float32(self.from_cosine(cosine))) if self.is_converted else cosine

    def compared(self, similarity: float) -> float:
        """Return the kernel's least similarity that is shown as `similarity` or more."""
        return least_rounded(similarity, self.shown) if self.is_rounded else similarity


# The thresholds have the best F1 on 15 collections (docs/QUALITY.md).  For shingles it is Jaccard
# .8, which is the cosine .889; for single words by tf-idf it is the cosine .909.
SIGNATURES = SimilarityScale("jaccard", 0.8)
FEATURE_SETS = SimilarityScale("jaccard", 0.8, is_rounded=True, is_converted=True)
COSINES = SimilarityScale("cosine", 0.889, is_rounded=True)
TFIDF = SimilarityScale("cosine", 0.909, is_rounded=True)
HASHES = SimilarityScale(None, 1.0)
