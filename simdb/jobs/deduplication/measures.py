"""Measures: how similar the documents of pairs are, by their texts or by what their sketches say.

A measure also says from which Jaccard similarity on pairs must be candidates, and which share of
them, so that enough of its matches are found.  It reads the texts of candidates alone.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches
from simdb.core.checks import share
from simdb.core.documents import differing, estimates
from simdb.core.dtypes import F32, I64, U8, U32, U64
from simdb.core.matches import Verification
from simdb.core.options import Minhash, Options
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import mapped
from simdb.core.vector_form import corrected, unpack_minima
from simdb.database import estimate_deviation
from simdb.jobs.deduplication.question import TextSource
from simdb.sketch import AnySketcher, ExactPairs, ExactSimilarity

# Where texts decide, nearly all matches should be candidates.
EXACT_RECALL = 0.9999
# An estimate is so many standard deviations above the truth once in 44 times, so what is less alike
# is seldom a match.
CANDIDATE_DEVIATIONS = 2.0
# So many documents are sketched at a time, and so many pairs compared.
SKETCHED_DOCUMENTS = 1 << 8
COMPARED_PAIRS = 1 << 14


class Measure(Protocol):
    """Measures pairs of documents, which are given by their positions.

    `least`: the similarity of documents that match.  `alike`, `recall`: the Jaccard similarity of
    pairs of which this share must be candidates.  `counts`: what texts have decided, if they do.
    """

    least: float
    alike: float
    recall: float
    counts: Verification | None

    def begin(self, count: int, texts: TextSource, threads: int) -> None:
        """Take the texts of all documents, whose number is `count`."""

    def similarities(self, left: U32, right: U32) -> F32:
        """Return the similarities of documents left[i] and right[i]."""

    def distances(self, left: I64, right: I64) -> I64 | None:
        """Return how far apart documents are that were compared; None if it is not known."""


class ByTexts:
    """The exact similarities, by all features of the texts."""

    def __init__(self, exact: ExactSimilarity, least: float, recall: float | None) -> None:
        """Count pairs as matches from `least` on; `recall`: the least share that is found."""
        _check(least, recall)
        self.least = self.alike = least
        self.recall = max(recall or 0.0, EXACT_RECALL)
        self.counts: Verification | None = Verification(exact.measure, least)
        self._pairs = ExactPairs(exact, is_read_anywhere=True)

    def begin(self, count: int, texts: TextSource, threads: int) -> None:
        """Take the texts of all documents; see `Measure`."""
        self._texts, self._threads = texts, threads

    def similarities(self, left: U32, right: U32) -> F32:
        """Return the exact similarities of pairs; see `Measure`."""
        found = np.zeros(len(left), np.float32)
        for chosen, values in self._pairs.parts(
            self._read, left, right, np.arange(len(left)), self._threads
        ):
            found[chosen] = values
        assert self.counts is not None
        self.counts.judged += len(left)
        return found

    def distances(self, left: I64, right: I64) -> I64 | None:
        """Return None: texts have no distance."""
        return None

    def _read(self, positions: U32) -> Sequence[Any]:
        found: Sequence[Any] = self._texts(positions.astype(np.int64))
        return found


class ByEstimates:
    """What the sketches estimate; only documents that are compared are sketched, once each."""

    counts: Verification | None = None

    def __init__(
        self,
        options: Options,
        sketcher: AnySketcher,
        similarity: float | None,
        recall: float | None,
    ) -> None:
        """Count pairs as matches from the estimate `similarity` on; None: that of `options`."""
        _check(similarity, recall)
        self._sketch = options.sketch
        self.least = options.similarity if similarity is None else similarity
        self.recall = options.recall if recall is None else recall
        deviation = estimate_deviation(options, self.least)
        truth = max(self.least - CANDIDATE_DEVIATIONS * deviation, 0.01)
        # Of two sets with the cosine c, one may hold the other; then they have this similarity.
        self.alike = truth if options.is_minhash else truth**2
        self._sketcher = sketcher

    def begin(self, count: int, texts: TextSource, threads: int) -> None:
        """Take the texts of all documents; see `Measure`."""
        self._texts, self._threads = texts, threads
        # Memory that is not written takes no pages.
        self._bits = np.zeros(count, np.uint64)
        self._vectors = np.zeros((count, self._sketch.vector_bytes), np.uint8)
        self._is_known = np.zeros(count, np.bool_)

    def similarities(self, left: U32, right: U32) -> F32:
        """Return the estimates of pairs; see `Measure`."""
        is_asked = np.zeros(len(self._is_known), np.bool_)
        is_asked[left] = is_asked[right] = True
        self._make(np.flatnonzero(is_asked & ~self._is_known))
        found = np.empty(len(left), np.float32)

        def compare(start: int) -> None:
            part = slice(start, start + COMPARED_PAIRS)
            found[part] = self._compared(left[part], right[part])

        for _ in mapped(compare, range(0, len(left), COMPARED_PAIRS), self._threads):
            pass
        return found

    def distances(self, left: I64, right: I64) -> I64 | None:
        """Return the differing bits, or minima, of documents that were compared; see `Measure`."""
        return apart(self._sketch, self._bits, self._vectors, left, right).astype(np.int64)

    def _make(self, positions: I64) -> None:
        """Sketch some documents."""

        def sketch(start: int) -> tuple[I64, Sketches]:
            some = positions[start : start + SKETCHED_DOCUMENTS]
            return some, self._sketcher.sketch(self._texts(some), errors="replace")

        starts = range(0, len(positions), SKETCHED_DOCUMENTS)
        for some, made in mapped(sketch, starts, self._threads):
            self._bits[some], self._vectors[some] = made.bits, made.vectors
        self._is_known[positions] = True

    def _compared(self, left: U32, right: U32) -> F32:
        sketch = self._sketch
        if isinstance(sketch, Minhash):
            return _agreeing(sketch, self._vectors, left, right)
        every = kernel.Vectors(self._vectors.shape[1], [(0, self._vectors)])
        return corrected(every.between(left, right))


def apart(sketch: TextSketch, bits: U64, vectors: U8, left: I64, right: I64) -> U8:
    """Return the distances of documents, as a database measures them: uint8[n].

    `bits` and `vectors`: the sketches of all documents; `left` and `right`: positions of some.
    """
    if isinstance(sketch, Minhash):
        return differing(_agreeing(sketch, vectors, left, right), sketch)
    return np.asarray(np.bitwise_count(bits[left] ^ bits[right]), np.uint8)


def _agreeing(sketch: Minhash, vectors: U8, left: I64 | U32, right: I64 | U32) -> F32:
    """Return the similarities that signatures estimate."""
    one, other = (unpack_minima(vectors[each], sketch.stored_bits) for each in (left, right))
    return estimates(kernel.agreements(one, other), sketch)


def _check(similarity: float | None, recall: float | None) -> None:
    for name, value in (("similarity", similarity), ("recall", recall)):
        if value is not None:
            share(name, value)
