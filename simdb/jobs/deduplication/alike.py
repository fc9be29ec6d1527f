"""Alike: deduplication of the documents of one run, by minima or by a temporary database.

The first method finds candidates by minima in bands, and measures them by their texts or sketches.
It holds arrays of minima and decisions; texts are read again from their source.  `ByDatabase` is
for the cosine of weights and the distance of fingerprints, which minima cannot find.

A `Measure` returns the similarities of pairs.  Pairs match at a similarity of `least` or more.  The
share `recall` of all pairs above its bound of Jaccard similarity must be candidates.  `counts`: how
many estimates the texts confirmed or corrected; None if texts are not compared.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from math import comb
from typing import Any, TypeAlias

import numpy as np

from simdb import database, sketch as sketching
from simdb.core import kernel
from simdb.core.arrays import Sketches, flags_at
from simdb.core.arrow import TextColumn
from simdb.core.checks import shares
from simdb.core.choices import ErrorsName
from simdb.core.clusters import Clusters
from simdb.core.documents import differing, estimates
from simdb.core.dtypes import F32, F64, I64, U8, U32, U64, Array, Bools
from simdb.core.matches import Verification
from simdb.core.options import Bits, Minhash, Options
from simdb.core.progress import Report
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import mapped, run_all
from simdb.core.vector_form import rows_of_minima
from simdb.database import Places, Remembered, TextsByOrdinal, estimate_deviation, settled
from simdb.jobs.deduplication.minima import (
    COMPARED_MINIMA,
    RECALL_MOST,
    SAMPLED_MINIMA,
    Minima,
    Signed,
    background_in,
    banding_for,
    signer_of,
)
from simdb.jobs.deduplication.question import Decided, DedupQuestion, TextSource
from simdb.jobs.deduplication.stars import find_connected, find_stars
from simdb.plan import Background, Banding

# Comparing minima may lose the share `LOST_SHARE` of the matches that bands may lose, and at most
# `LOST_MOST` of all matches.
LOST_SHARE, LOST_MOST = 0.01, 1e-6
CHANCE = 1 / 256  # that minima of 32 bits differ but their lowest 8 bits are equal
# Pairs per batch when minima are compared.
PART_PAIRS = 1 << 15
COMMIT_DOCUMENTS = 1 << 17
# Removed documents per batch when their similarities are computed.
COMPARED_DOCUMENTS = 1 << 14
# One estimate in 44 is more than two standard deviations too high, so pairs further below the
# threshold than that are seldom matches.
CANDIDATE_DEVIATIONS = 2.0
# Documents and pairs per batch when estimates are computed.
SKETCHED_DOCUMENTS = 1 << 8
COMPARED_PAIRS = 1 << 14


class ByTexts:
    """The measure by exact similarities, of all features of the texts."""

    def __init__(
        self, exact: sketching.ExactSimilarity, least: float, recall: float | None
    ) -> None:
        """Let pairs match at `least` or more; `recall`: the least share of matches to find."""
        shares(similarity=least, recall=recall)
        self.least = self.alike = least
        self.recall = max(recall or 0.0, database.EXACT_RECALL)
        self.counts = Verification(exact.measure, least)
        self.lose, self._exact, self._held = exact.lose, exact, sketching.RecurringPairs(exact)
        plain: Any = sketching.ExactPairs(exact, is_read_anywhere=True)
        self._pairs = plain if self.lose is None else self._held

    def begin(self, count: int, texts: TextSource, threads: int) -> None:
        """Take the source of the texts of all `count` documents."""
        self._texts, self._threads, self._sizes = texts, threads, np.zeros(count)

    def similarities(self, left: U32, right: U32) -> F32:
        """Return the exact similarities of documents left[i] and right[i]."""
        found, every = np.zeros(len(left), np.float32), np.arange(len(left))
        for chosen, values in self._pairs.parts(self._read, left, right, every, self._threads):
            found[chosen] = values
        self.counts.judged += len(left)
        return found

    def distances(self, left: I64, right: I64) -> I64 | None:
        """Return None: texts have no distance."""
        return None

    def sizes(self, positions: U32) -> F64:
        """Return the number of features of each document."""
        some = np.sort(positions)
        self._sizes[some] = self._held.sizes(self._read, some, self._threads)
        return self._sizes[positions]

    def steps(self, left: U32, right: U32) -> I64:
        """Return the least similarity of left[i] and right[i] if the first contains the second.

        The unit is 1 / `COMPARED_MINIMA`, so that `COMPARED_MINIMA` is the similarity 1.
        """
        lose = self.lose or 0
        least = (self._sizes[right] - lose) / (self._sizes[left] + lose)
        return (COMPARED_MINIMA * least).clip(0, COMPARED_MINIMA).astype(np.int64)

    def lost(self, left: I64, right: I64, similarities: F32) -> I64:
        """Return the number of features of right[i], which is removed, that left[i] lacks."""
        return self._exact.lost(self._sizes[left], self._sizes[right], similarities)

    def _read(self, positions: U32) -> Sequence[Any]:
        found: Sequence[Any] = self._texts(positions.astype(np.int64))
        return found


class ByEstimates:
    """The measure by estimates of sketches; each document is sketched when first compared."""

    counts: Verification | None = None

    def __init__(
        self,
        options: Options,
        sketcher: sketching.AnySketcher,
        similarity: float | None,
        recall: float | None,
    ) -> None:
        """Let pairs match at an estimate of `similarity` or more; None takes that of `options`."""
        shares(similarity=similarity, recall=recall)
        self._sketch, self._scale = options.sketch, options.scale
        self.least = options.similarity if similarity is None else similarity
        self.recall = options.recall if recall is None else recall
        estimate = self._scale.to_cosine(self.least)
        deviation = estimate_deviation(options, estimate)
        truth = max(estimate - CANDIDATE_DEVIATIONS * deviation, 0.01)
        # The least Jaccard similarity of sets with the cosine c is c^2: one set contains the other.
        self.alike = truth if options.is_minhash else truth**2
        self._sketcher = sketcher

    def begin(self, count: int, texts: TextSource, threads: int) -> None:
        """Take the source of the texts of all `count` documents."""
        self._texts, self._threads = texts, threads
        # Memory that is never written takes no pages.
        self._bits = np.zeros(count, np.uint64)
        self._vectors = np.zeros((count, self._sketch.vector_bytes), np.uint8)
        self._is_known = np.zeros(count, np.bool_)

    def similarities(self, left: U32, right: U32) -> F32:
        """Return the estimates of documents left[i] and right[i]."""
        is_asked = flags_at(np.concatenate([left, right]), len(self._is_known))
        self._make(np.flatnonzero(is_asked & ~self._is_known))
        found = np.empty(len(left), np.float32)

        def compare(start: int) -> None:
            part = slice(start, start + COMPARED_PAIRS)
            found[part] = self._compared(left[part], right[part])

        run_all(compare, range(0, len(left), COMPARED_PAIRS), self._threads)
        return found

    def distances(self, left: I64, right: I64) -> I64 | None:
        """Return the number of differing bits, or minima, of compared documents."""
        return apart(self._sketch, self._bits, self._vectors, left, right).astype(np.int64)

    def _make(self, positions: I64) -> None:
        """Sketch the documents at the positions."""

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
        return self._scale.shown(every.between(left, right))


Measure: TypeAlias = ByTexts | ByEstimates


def apart(sketch: TextSketch, bits: U64, vectors: U8, left: I64, right: I64) -> Array:
    """Return the distances of documents left[i] and right[i]: uint8[n] or uint16[n].

    A database measures them in the same way.  `bits` and `vectors`: the sketches of all documents.
    """
    if isinstance(sketch, Minhash):
        return differing(_agreeing(sketch, vectors, left, right), sketch)
    if isinstance(sketch, Bits) and sketch.vector_bytes:
        every = kernel.Vectors(vectors.shape[1], [(0, vectors)])
        return every.differing_between(left.astype(np.uint32), right.astype(np.uint32))
    return np.asarray(np.bitwise_count(bits[left] ^ bits[right]), np.uint8)


def _agreeing(sketch: Minhash, vectors: U8, left: I64 | U32, right: I64 | U32) -> F32:
    """Return the estimates of signatures for documents left[i] and right[i]."""
    bits = sketch.stored_bits
    one, other = (rows_of_minima(vectors[each], bits) for each in (left, right))
    return estimates(kernel.agreements(one, other, bits=min(bits, 8)), sketch)


class Alike(ExitStack):
    """The documents of one run, in the order of adding; `with` frees them."""

    needs_texts = True  # `decide` needs the texts of candidates

    def __init__(self, options: Options, question: DedupQuestion) -> None:
        """Take features as `options` says, and compare as `question` says."""
        super().__init__()
        self._options, self._question, self._threads = options, question, question.threads
        self._resources = sketching.take_resources(options.sketch)
        self._allowed = tuple(filter(None, [options.sketch.tokeniser]))
        self._exact = sketching.ExactSimilarity(
            options.sketch, self._resources, self._allowed,
            compares_numbers=question.compares_numbers,
        )  # fmt: skip
        self._exact.lose = question.lose
        self._measure = self._measure_of(question)
        self._minima: Minima | None = None

    @property
    def sketcher(self) -> sketching.AnySketcher:
        """A sketcher of the same features."""
        return sketching.sketcher_of(self._options.sketch, self._resources, self._allowed)

    @property
    def is_possible(self) -> bool:
        """Whether minima can find the candidates: the similarity must be Jaccard and not low."""
        return self._exact.measure != sketching.COSINE and self._banding(1.0) is not None

    @property
    def way(self) -> str:
        """The search for candidates, in words."""
        if self._minima is None:
            return "minima"
        banding = self._minima.banding
        return f"minima in {banding.bands} bands of {banding.rows}"

    @property
    def empty_count(self) -> int:
        """The number of documents without features, which never match."""
        return int(np.count_nonzero(self.is_empty))

    @property
    def is_empty(self) -> Bools:
        """Whether each document has no features: bool[n]."""
        return np.empty(0, np.bool_) if self._minima is None else self._minima.is_empty

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield their number after each part.

        Raises InputError for a text that is not valid Unicode; nothing may be added after that.
        """
        source = iter(parts)
        for first in source:
            # The first part chooses the bands, so it is signed alone.
            yield self._added(self._signed(first, count, errors, self._threads))
            break
        for signed in mapped(lambda part: self._signed(part, count, errors), source, self._threads):
            yield self._added(signed)

    def sketch_and_sign(
        self, sketcher: sketching.AnySketcher, texts: Any, count: float, errors: ErrorsName
    ) -> "tuple[Sketches, Signed] | None":
        """Return the sketches of a part, and the `Signed` part for `add_all`.

        Returns None if making both at once saves nothing.  `sketcher` reads the same features.
        """
        if not isinstance(sketcher, sketching.Sketcher) or not isinstance(texts, TextColumn):
            return None
        if not sketcher.can_sign or not len(texts):
            return None
        minima = self._prepared(texts, count)
        return minima.sketch_and_sign(sketcher, texts, errors=errors, threads=self._threads)

    def decide(self, order: I64 | None, texts: TextSource, *, leading: int = 0) -> Decided:
        """Return which documents are removed.

        `order` int64[k]: positions, the preferred first; None for the order of adding.  `texts`
        returns the texts at given positions.  The first `leading` documents are always kept.
        """
        minima, measure = self._minima, self._measure
        if minima is None:
            nothing = np.empty(0, np.int64)
            return Decided(nothing, nothing, np.empty(0, np.float32), None, measure.counts)
        measure.begin(len(minima), texts, self._threads)
        compare = Comparing(measure, minima.rows(), order, self._threads, self._question.watch)
        count = len(minima) if order is None else len(order)
        decide = partial(find_stars, leading=leading) if self._question.is_star else find_connected
        if (sized := compare.sized) is not None:
            sizes = lambda places: sized.sizes(compare.positions(places))  # noqa: E731
            decide = partial(find_stars, leading=leading, sizes=sizes)
        stars = decide(minima.buckets(order, self._threads), count, measure.least, compare)
        removed, leaders = stars.removed.astype(np.int64), stars.leaders.astype(np.int64)
        similarities = stars.similarities
        if order is not None:
            removed, leaders = order[removed], order[leaders]
        unknown = np.flatnonzero(np.isnan(similarities))
        left, right = (each[unknown].astype(np.uint32) for each in (leaders, removed))
        similarities[unknown] = measure.similarities(left, right)
        distances = measure.distances(removed, leaders)
        lost = None if sized is None else sized.lost(leaders, removed, similarities)
        return Decided(removed, leaders, similarities, distances, measure.counts, lost).ascending()

    def _signed(
        self, part: Any, count: Callable[[], float], errors: ErrorsName, threads: int = 1
    ) -> Signed:
        if isinstance(part, Signed):
            return part
        return self._prepared(part, count()).sign(part, errors=errors, threads=threads)

    def _prepared(self, first: Any, count: float) -> Minima:
        """Return the minima; the first part chooses their bands, for about `count` documents."""
        if self._minima is None:
            self._minima = self.enter_context(Minima(
                self._options.sketch, self._chosen(first, count), self._resources,
                self._allowed, self._question.memory,
            ))  # fmt: skip
        return self._minima

    def _added(self, signed: Signed) -> int:
        assert self._minima is not None, "the first part has made it"
        self._minima.add(signed)
        return len(self._minima)

    def _measure_of(self, question: DedupQuestion) -> Measure:
        """Return the measure for a question."""
        similarity, recall = question.similarity, question.recall
        if not question.is_exact:
            return ByEstimates(self._options, self.sketcher, similarity, recall)
        least = self._options.similarity if similarity is None else similarity
        return ByTexts(self._exact, least, recall)

    def _chosen(self, texts: Any, count: float) -> Banding:
        """Return the bands for about `count` documents, of which `texts` are the first."""
        sketch = self._options.sketch
        signer = signer_of(sketch, SAMPLED_MINIMA, self._resources, self._allowed)
        found = self._banding(count, background_in(texts, signer, self._threads))
        assert found is not None, "it is possible"
        return found

    def _banding(self, count: float, background: Background | None = None) -> Banding | None:
        return banding_for(self._measure.alike, count, self._measure.recall, background)


class Comparing:
    """A comparison of documents by their places in an order."""

    def __init__(
        self,
        measure: Measure,
        minima: U8,
        order: I64 | None,
        threads: int,
        watch: Report | None = None,
    ) -> None:
        """Compare by `minima` uint8[n, m], in the order of adding, and then by `measure`.

        `order`: the position of each place; None if they are equal.  `watch`: see `DedupQuestion`.
        """
        self._watch, self._pairs = watch, 0
        self._measure, self._minima, self._threads = measure, minima, threads
        self._order = None if order is None else order.astype(np.uint32)
        lost = min(LOST_SHARE * (1 - min(measure.recall, RECALL_MOST)), LOST_MOST)
        # By the rule "contained", the sizes of two documents bound the similarity they need.
        self.sized = measure if isinstance(measure, ByTexts) and measure.lose is not None else None
        shares = [0.0] if self.sized is None else np.arange(COMPARED_MINIMA + 1) / COMPARED_MINIMA
        self._enough = np.array([_least_agreeing(max(measure.alike, s), lost) for s in shares])

    def __call__(self, left: U32, right: U32) -> F32:
        """Return the similarities of documents left[i] and right[i]; 0 if too few minima are equal.

        The pairs must ascend.
        """
        found = np.zeros(len(left), np.float32)
        one, other = self.positions(left), self.positions(right)
        may = np.flatnonzero(self._may_match(one, other))
        found[may] = self._measure.similarities(one[may], other[may])
        self._pairs += len(left)
        if self._watch is not None:
            self._watch(self._pairs)
        return found

    def _may_match(self, one: U32, other: U32) -> Bools:
        """Return whether each pair agrees in enough minima."""
        may = np.empty(len(one), np.bool_)

        def compare(start: int) -> None:
            part = slice(start, start + PART_PAIRS)
            agreeing = kernel.agreements(self._minima[one[part]], self._minima[other[part]])
            steps: Any = 0 if self.sized is None else self.sized.steps(one[part], other[part])
            may[part] = agreeing >= self._enough[steps]

        run_all(compare, range(0, len(one), PART_PAIRS), self._threads)
        return may

    def positions(self, places: U32) -> U32:
        """Return the positions of documents at the places."""
        return places if self._order is None else self._order[places]


class ByDatabase(ExitStack):
    """The documents of one run in a temporary database, in the order of adding; `with` frees them.

    Its ids are the positions of the documents.
    """

    way = "a temporary database"  # the search for candidates, in words

    def __init__(self, options: Options, question: DedupQuestion) -> None:
        """Begin without documents.

        Raises OptionError for a question that the database cannot answer.
        """
        super().__init__()
        self._question = question
        self.needs_texts = question.is_exact  # whether `decide` needs texts
        fitting = settled(options, similarity=question.similarity, recall=question.recall)
        with ExitStack() as held:
            self.held: database.Database[int] = held.enter_context(
                database.open(None, options=fitting)
            )
            self.sketcher = self.held.sketcher
            # A search among no documents raises the errors of the question before reading.
            self._find("first", TextsByOrdinal(lambda places: []))
            self.push(held.pop_all())

    @property
    def empty_count(self) -> int:
        """The number of documents without features, which never match."""
        return self.held.stats().empty_count

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts; yield their number after each part."""
        source, done, is_more = iter(parts), 0, True
        while is_more:
            is_more, first = False, done
            with self.held.write() as transaction:
                for texts in source:
                    transaction.insert_many(
                        range(done, done + len(texts)), texts, errors=errors,
                        threads=self._question.threads,
                    )  # fmt: skip
                    done += len(texts)
                    yield done
                    if done - first >= COMMIT_DOCUMENTS:
                        is_more = True
                        break

    def decide(self, order: I64 | None, texts: TextSource) -> Decided:
        """Return which documents are removed.

        `order` int64[n]: all positions, the preferred first; None for the order of adding.  `texts`
        returns the texts at given positions.
        """
        documents = None
        if self._question.is_exact:
            documents = TextsByOrdinal(
                lambda places: texts(places.astype(np.int64)), remembered=Remembered()
            )
        keep: Any = "first"
        if order is not None:
            places = np.empty(len(order), np.uint32)
            places[order] = np.arange(len(order), dtype=np.uint32)
            keep = Places(places)
        groups = self._find(keep, documents)
        members = groups.ids.astype(np.int64)
        is_leader = flags_at(groups.offsets[:-1], len(members))
        leaders, others = np.repeat(members[is_leader], groups.sizes - 1), members[~is_leader]
        measured = self._compared(leaders, others, documents)
        return Decided(others, leaders, *measured, groups.verification).ascending()

    def _find(self, keep: Any, documents: TextsByOrdinal | None) -> Clusters[int]:
        question = self._question
        return self.held.find_clusters(
            similarity=question.similarity, distance=question.distance, recall=question.recall,
            search=question.search, policy=question.policy, verify=question.verify, keep=keep,
            texts=documents if question.is_exact else None, threads=question.threads,
        )  # fmt: skip

    def _compared(
        self, leaders: I64, others: I64, documents: TextsByOrdinal | None
    ) -> tuple[F32, I64]:
        """Return the similarities and distances of documents others[i] and leaders[i]."""
        similarities, distances = [np.empty(0, np.float32)], [np.empty(0, np.int64)]
        verify, threads = self._question.verify, self._question.threads
        with self.held.read() as snapshot:
            for start in range(0, len(others), COMPARED_DOCUMENTS):
                some = slice(start, start + COMPARED_DOCUMENTS)
                sides: Any = leaders[some], others[some]
                compared = snapshot.compare(*sides, verify=verify, texts=documents, threads=threads)
                similarities.append(compared.similarity)
                distances.append(compared.distance.astype(np.int64))
        return np.concatenate(similarities), np.concatenate(distances)


def _least_agreeing(similarity: float, lost: float) -> int:
    """Return the most equal minima that all but the share `lost` of such pairs have."""
    chance = similarity + (1 - similarity) * CHANCE
    fewer = 0.0
    for agreeing in range(COMPARED_MINIMA):
        ways = comb(COMPARED_MINIMA, agreeing)
        fewer += ways * chance**agreeing * (1 - chance) ** (COMPARED_MINIMA - agreeing)
        if fewer > lost:
            return agreeing
    return COMPARED_MINIMA
