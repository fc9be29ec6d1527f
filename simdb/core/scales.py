"""Scales: the number by which users say how similar two documents are, and what sketches estimate.

Of texts it is Jaccard's similarity of the sets of their features.  A fingerprint estimates another
number, the cosine c of these sets, so a user sees c / (2 - c), and a threshold j of the user is the
cosine 2 j / (1 + j).  Two sets of one size have exactly these two numbers; of two sets of different
sizes the cosine is larger.  The conversion ascends, so it changes no answer but its number.  The
kernel, the planner and calibrations know cosines only.

A `SimilarityScale` is applied where a threshold enters a search, and where a similarity leaves it.
"""

from typing import Any

import numpy as np

from simdb.core.choices import MeasureName
from simdb.core.dtypes import F32
from simdb.core.values import dataclass
from simdb.core.vector_form import corrected, corrected_one, least_rounded

# See `Sketches.content`.
TEXT_CONTENT = 1


@dataclass(frozen=True, slots=True)
class SimilarityScale:
    """How users see what sketches estimate.

    `measure`: "jaccard", "cosine", or None where documents have only a distance.  `usual`: the
    threshold if none is given.  `is_rounded`: sketches are weights, and the kernel measures their
    cosine after they are rounded.  `is_converted`: users see Jaccard's similarity in its place.
    """

    measure: MeasureName
    usual: float
    is_rounded: bool = False
    is_converted: bool = False

    def to_cosine(self, similarity: float) -> float:
        """Return what the sketch estimates for documents of this similarity."""
        return 2 * similarity / (1 + similarity) if self.is_converted else similarity

    def from_cosine(self, cosine: Any) -> Any:
        """Return the similarity of documents for which the sketch estimates this, or of many."""
        return cosine / (2 - cosine) if self.is_converted else cosine

    def shown(self, measured: F32) -> F32:
        """Return similarities as users get them, from those that the kernel measures."""
        if not self.is_rounded or not len(measured):
            return measured
        return np.asarray(self.from_cosine(corrected(measured).astype(np.float64)), np.float32)

    def shown_one(self, measured: float | None) -> float | None:
        """Return the same for one similarity; None if it is unknown."""
        if measured is None or not self.is_rounded:
            return measured
        cosine = corrected_one(measured)
        return float(np.float32(self.from_cosine(cosine))) if self.is_converted else cosine

    def compared(self, similarity: float) -> float:
        """Return the least number of the kernel that is shown as `similarity` or more."""
        return least_rounded(similarity, self.shown) if self.is_rounded else similarity


# The thresholds have the best F1 on 15 collections (docs/QUALITY.md): Jaccard .8 of shingles, which
# is the cosine .889, and .909 for the tf-idf cosine .9 of single words.
SIGNATURES = SimilarityScale("jaccard", 0.8)
FEATURE_SETS = SimilarityScale("jaccard", 0.8, is_rounded=True, is_converted=True)
COSINES = SimilarityScale("cosine", 0.889, is_rounded=True)
TFIDF = SimilarityScale("cosine", 0.909, is_rounded=True)
HASHES = SimilarityScale(None, 1.0)
