"""By cosine: which vectors of one run stay, by their exact cosines and without a database.

The sides of random planes on which vectors lie say which may be alike; of few vectors, or at a low
similarity, all are compared.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from simdb.deduplication.cosines import F32, Cosines, scaled
from simdb.deduplication.decided import I64, Decided, Texts
from simdb.deduplication.measures import EXACT_RECALL
from simdb.deduplication.planes import bands_for, buckets_of
from simdb.deduplication.products import find_stars as find_stars_of_all
from simdb.deduplication.question import Question
from simdb.deduplication.stars import find_stars
from simdb.ground.choices import ErrorsName
from simdb.results.verification import Verification
from simdb.sketch.exact_similarity import COSINE


class ByCosine:
    """The vectors of one run, in the order in which they are added; `with` frees them."""

    def __init__(self, question: Question) -> None:
        """Begin without vectors; the question has a similarity."""
        assert question.similarity is not None
        self._question, self._least = question, question.similarity
        self._units: list[F32] = []

    def __enter__(self) -> "ByCosine":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the vectors."""
        self._units = []

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the vectors of all parts, none of them zero; yield how many there are after each."""
        done = 0
        for part in parts:
            self._units.append(scaled(part).astype(np.float32))
            done += len(part)
            yield done

    def decide(self, order: I64 | None, texts: Texts) -> Decided:
        """Return what becomes of the vectors; `texts` returns those at some positions."""
        assert order is None, "they are added in the order of preference"
        counts = Verification(COSINE, self._least)
        nothing = np.empty(0, np.int64)
        if not self._units:
            return Decided(nothing, nothing, np.empty(0, np.float32), None, counts)
        units, threads = np.concatenate(self._units), self._question.threads
        self._units = []
        cosines = Cosines(units, texts, self._least, threads)
        bands = bands_for(units, self._least, max(self._question.recall or 0.0, EXACT_RECALL))
        if bands is None:
            stars = find_stars_of_all(cosines)
        else:
            buckets = buckets_of(units, bands, threads)
            stars = find_stars(buckets, len(units), self._least, cosines)
        removed, leaders = stars.removed.astype(np.int64), stars.leaders.astype(np.int64)
        counts.judged = cosines.compared
        return Decided(removed, leaders, stars.similarities, None, counts)
