"""Alike: which documents of one run stay, where texts decide, without a database.

Minima in bands say which documents may be alike, and their texts decide.  Documents are kept as
arrays: their minima, and what becomes of each; the texts are asked for where they are.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.checks import share
from simdb.choices import ErrorsName
from simdb.deduplication.comparing import Comparing
from simdb.deduplication.decided import I64, Decided, Texts
from simdb.deduplication.minima import (
    SAMPLED_MINIMA,
    Minima,
    Signed,
    background_in,
    banding_for,
    signer_of,
)
from simdb.deduplication.stars import find_stars
from simdb.index.banding import Banding
from simdb.options import Options
from simdb.sketch.exact_similarity import JACCARD, ExactSimilarity
from simdb.sketch.kinds import AnySketcher, sketcher_of
from simdb.sketch.packages import take_resources
from simdb.threads import mapped
from simdb.verification import Verification

Bools = npt.NDArray[np.bool_]


class Alike:
    """The documents of one run, in the order in which they are added; `with` frees them.

    `least`: the exact similarity of documents that are alike.
    """

    def __init__(
        self, options: Options, similarity: float | None, recall: float | None, threads: int
    ) -> None:
        """Take features as `options` says; a `similarity` of None means its threshold."""
        for name, value in (("similarity", similarity), ("recall", recall)):
            if value is not None:
                share(name, value)
        self._sketch = options.sketch
        self._resources = take_resources(options.sketch)
        self._allowed = tuple(filter(None, [options.sketch.tokeniser]))
        self._exact = ExactSimilarity(options.sketch, self._resources, self._allowed)
        self.least = self._exact.least(options.similarity) if similarity is None else similarity
        self._recall, self._threads = recall, threads
        self._minima: Minima | None = None

    def __enter__(self) -> "Alike":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the documents."""
        if self._minima is not None:
            self._minima.__exit__(*error)

    @property
    def sketcher(self) -> AnySketcher:
        """What makes sketches of the same features."""
        return sketcher_of(self._sketch, self._resources, self._allowed)

    @property
    def is_possible(self) -> bool:
        """Whether minima find the candidates: if the similarity is that of Jaccard, and not low."""
        return self._exact.measure == JACCARD and self._banding(1.0) is not None

    @property
    def way(self) -> str:
        """How candidates are found, in words."""
        if self._minima is None:
            return "minima"
        banding = self._minima.banding
        return f"minima in {banding.bands} bands of {banding.rows}"

    @property
    def empty_count(self) -> int:
        """How many documents have no features, and are like nothing."""
        return 0 if self._minima is None else int(np.count_nonzero(self._minima.is_empty))

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield how many there are after each.

        InputError, after which nothing may be added, for a text that is not valid Unicode.
        """
        source = iter(parts)
        for first in source:
            # The bands are chosen by the first part, so it waits for nobody.
            if self._minima is None:
                self._minima = Minima(
                    self._sketch, self._chosen(first, count()), self._resources, self._allowed
                )
            yield self._added(self._minima.sign(first, errors=errors))
            break
        minima = self._minima
        if minima is None:
            return
        for signed in mapped(lambda part: minima.sign(part, errors=errors), source, self._threads):
            yield self._added(signed)

    def decide(self, order: I64 | None, texts: Texts) -> Decided:
        """Return what becomes of the documents.

        `order` int64[k]: their positions, those to be preferred first; None for the order in which
        they were added.  `texts` returns the texts at some positions.
        """
        minima = self._minima
        if minima is None:
            nothing = np.empty(0, np.int64)
            counts = Verification(self._exact.measure, self.least)
            return Decided(nothing, nothing, np.empty(0, np.float32), None, counts)
        buckets = minima.buckets(order, self._threads)
        compare = Comparing(self._exact, self.least, minima.rows(), texts, order, self._threads)
        count = len(minima) if order is None else len(order)
        stars = find_stars(buckets, count, self.least, compare)
        removed, leaders = stars.removed.astype(np.int64), stars.leaders.astype(np.int64)
        if order is None:
            return Decided(removed, leaders, stars.similarities, None, compare.counts)
        removed, leaders = order[removed], order[leaders]
        by_position = np.argsort(removed)
        return Decided(
            removed[by_position], leaders[by_position], stars.similarities[by_position], None,
            compare.counts,
        )  # fmt: skip

    def _added(self, signed: Signed) -> int:
        assert self._minima is not None, "the first part has made it"
        self._minima.add(signed)
        return len(self._minima)

    def _chosen(self, texts: Any, count: float) -> Banding:
        """Return the bands for some documents that begin with `texts`."""
        signer = signer_of(self._sketch, SAMPLED_MINIMA, self._resources, self._allowed)
        found = banding_for(self.least, count, self._recall, background_in(texts, signer))
        assert found is not None, "it is possible"
        return found

    def _banding(self, count: float) -> Banding | None:
        return banding_for(self.least, count, self._recall)
