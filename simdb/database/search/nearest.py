"""Nearest: finds the best k stored documents of each query, without a threshold.

Documents with weights, and signatures, are compared by similarity; documents without weights by
distance.  `plan/nearest.py` plans the steps of a search; here they are carried out.  A query with k
matches after a step is done.  Queries that are left after all steps are compared with every
document.

Estimates confuse documents that are almost equally near.  So if the caller gives vectors or texts,
more than k candidates are found, and more of them for a higher recall.  The exact cosine of
vectors, or the exact similarity of texts, then chooses among them.  Vectors and texts are asked for
by id, in batches.  If a batch has more candidates than there are documents, the vectors of all
documents are compared with all queries, since products of matrices are as fast as comparing
sketches.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil, inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from simdb.core.arrays import EMPTY, WEIGHTED, Id, IdT, Sketches, flags_at, offsets_of
from simdb.core.checks import is_whole, shown
from simdb.core.dtypes import F32, I64
from simdb.core.errors import InputError, OptionError
from simdb.core.matches import Match, Matches
from simdb.core.options import BANDING, POLYTOPE, Options
from simdb.core.threads import mapped, parts_of
from simdb.database.search import lookup
from simdb.database.search.filters import Condition, Where, by_ids, kept, parted
from simdb.database.search.lookup import method_of, nearest_by_scan
from simdb.database.search.methods.exhaustive import with_distances
from simdb.database.search.question import Question
from simdb.database.search.rows import Rows, gathered, joined, merged, no_rows
from simdb.database.search.searcher import (
    Ordinals,
    Queries,
    Searcher,
    StateMatches,
    merged_matches,
    stored_queries,
)
from simdb.database.state.state import Origin, State
from simdb.plan import (
    Criterion,
    NearestStep,
    Steps,
    delays_of,
    steps_by_distance,
    steps_by_similarity,
    worthwhile,
)
from simdb.storage import FieldValues, is_deleted, live_ordinals

# Cost of a step for a single query, and for each query of a batch, in addition to its plan.
ONE_SECONDS, EACH_SECONDS = 10e-6, 1e-6
# Time to read the codes of one document, and the size of the sample that shows how many documents
# have the wanted codes.
CODE_SECONDS, SAMPLED = 1e-9, 1 << 10
# Number of queries of a larger batch that take all steps first.
PILOTS = 64
BATCH_LEAST = 8 * PILOTS
# Queries in a part of a scan.  With fewer, memory would be the limit and not the processor.
SCANNED_LEAST, SCANNED_MOST = 16, 1 << 13
# Factor by which each search asks for more documents than the one before.
MORE = 4
# Found documents that are in memory at a time, unless one query finds more.
FOUND_TOGETHER = 1 << 20
# Limit on the documents that are measured for each wanted one.
CANDIDATES_MOST = 1000
# Candidates whose texts or vectors are in memory together, unless one query has more.
MEASURED_TOGETHER = 1 << 14
# Number of cosines that are computed together.  They round differently in each product, so a
# document that is farther than the last by less than `ROUNDED` is kept.
PRODUCTS, ROUNDED = 1 << 23, np.float32(1e-5)

Vectors: TypeAlias = Mapping[IdT, Any] | Callable[[list[IdT]], Any]
# From documents and the positions of pairs among them to exact similarities, NaN if unknown.
Measure = Callable[[Sequence[Any], I64, I64], F32]


class Wanted(NamedTuple):
    """The number of documents that are wanted, and the recall: the share of the best to find.

    `where`: a condition on the metadata.  `values`: the values that fields must have.  `compare`:
    another way to find the best documents of sketches, which may return None.
    """

    k: int
    recall: float
    where: Condition | None = None
    values: FieldValues = ()
    compare: "Callable[[State, Sketches], Rows | None] | None" = None

    @classmethod
    def checked(
        cls, options: Options, k: Any, recall: float | None, where: Where | None
    ) -> "Wanted":
        """Check the arguments of a caller and return them; raise OptionError if one is invalid."""
        if not is_whole(k, 1):
            raise OptionError(f"k must be a whole number of 1 or more, got {shown(k)}")
        known = Question(recall=recall).criterion(options, is_weighted=True).recall
        return cls(int(k), float(known), *parted(options, where))


def find(
    searcher: Searcher, document: Any, id: Id | None, wanted: Wanted, errors: str
) -> list[Match]:
    """Return the best documents for `document`, or for the stored document `id` except itself."""
    if id is None:
        own = None
        sketches = searcher.store.sketcher.sketch([document], errors=errors, is_query=True)
    else:
        sketches, own = stored_queries(searcher, [id])
    if isinstance(searcher, State) and wanted.where is None:
        # A stored document also finds itself.
        more = wanted if own is None else wanted._replace(k=wanted.k + 1)
        found = _find_fast(searcher, searcher.checked(sketches), more)
        if found is not None:
            own_id = None if own is None else searcher.id_of(int(own[0]))
            return [match for match in found if match.id != own_id][: wanted.k]
    return _find_all(searcher, sketches, own, wanted)[0]


def find_many(searcher: Searcher, queries: Queries, wanted: Wanted) -> Matches:
    """Return the best documents for many queries; stored documents do not find themselves."""
    slices, own = queries.sketched(searcher, None)
    (sketches,) = slices
    return _find_all(searcher, sketches, own, wanted)


def _find_all(
    searcher: Searcher, sketches: Sketches, own: Ordinals | None, wanted: Wanted
) -> Matches:
    """Return the best documents of all states; `own`: the ordinals of queries that are stored."""
    more = wanted if own is None else wanted._replace(k=wanted.k + 1)

    def ask(state: State) -> Matches:
        return lookup.as_matches(state, of_sketches(state, state.checked(sketches), more))

    every = np.arange(len(sketches))
    parts = [StateMatches(number, every, found) for number, found in searcher.every(ask)]
    has_weights = (sketches.states == WEIGHTED) & searcher.store.options.has_similarities
    return merged_matches(len(sketches), parts, has_weights, limit=wanted.k, left_out=own)


def of_sketches(state: State, sketches: Sketches, wanted: Wanted) -> Rows:
    """Return the best documents of every sketch that satisfy `wanted.where`, if it is given."""
    if wanted.where is None:
        found = None if wanted.compare is None else wanted.compare(state, sketches)
        return found or _of_sketches(state, sketches, wanted)
    return _best_satisfying(state, sketches, wanted, wanted.where)


def _of_sketches(state: State, sketches: Sketches, wanted: Wanted) -> Rows:
    """Return the best documents for every sketch; a sketch without features gets none."""
    has_weights = (sketches.states == WEIGHTED) & state.store.has_similarities
    parts = []
    for is_measured, chosen in ((True, has_weights), (False, ~has_weights)):
        which = np.flatnonzero(chosen & (sketches.states != EMPTY))
        if len(which):
            queries = sketches if len(which) == len(sketches) else sketches.taken(which)
            parts.append((which, _of_alike(state, queries, wanted, by_similarity=is_measured)))
    return gathered(len(sketches), parts)


def cosines(vectors: Sequence[Any], left: I64, right: I64) -> F32:
    """Return the cosines of vectors left[i] and right[i]; 0 if one is all zeros."""
    every = _of_length_one(vectors)
    if not len(left):
        return np.empty(0, np.float32)
    return np.asarray(np.einsum("ij,ij->i", every[left], every[right]), np.float32)


def _of_length_one(vectors: Sequence[Any], width: int | None = None) -> F32:
    """Return vectors scaled to length one, except zeros.  `width`: the required dimension."""
    try:
        if not isinstance(vectors, np.ndarray):
            vectors = [np.asarray(each, np.float32) for each in vectors]
        every = np.array(vectors, np.float32)
        if width not in (None, every.shape[-1]):
            raise ValueError(f"{every.shape[-1]} and {width}")
    except (TypeError, ValueError) as error:
        raise InputError(f"vectors must be numeric and of equal length: {error}") from error
    if len(every) and every.ndim != 2:
        raise InputError(f"the vector of a document must have one axis, got {every.ndim - 1}")
    lengths = np.linalg.norm(every, axis=-1, keepdims=True)
    every /= np.where(lengths > 0, lengths, 1)
    return every


def _best_satisfying(state: State, sketches: Sketches, wanted: Wanted, where: Condition) -> Rows:
    """Return the best documents of every sketch that satisfy `where`."""
    known: dict[int, bool] = {}
    parts: list[tuple[I64, Rows]] = []
    pending = np.arange(len(sketches))
    most = max(state.counts.document_count, 1)
    k = wanted.k
    while len(pending):
        k = min(MORE * k, most)
        step = max(FOUND_TOGETHER // k, 1)
        left = []
        for start in range(0, len(pending), step):
            some = pending[start : start + step]
            rows = _of_sketches(state, sketches.taken(some), wanted._replace(k=k))
            has_all = np.diff(rows.offsets) < k
            rows = kept(state, rows, where, wanted.k, known)
            is_done = has_all | (k >= most) | (np.diff(rows.offsets) >= wanted.k)
            parts.append((some[is_done], rows.of(np.flatnonzero(is_done))))
            left.append(some[~is_done])
        pending = np.concatenate(left)
    return gathered(len(sketches), parts)


def _find_fast(state: State, sketches: Sketches, wanted: Wanted) -> list[Match] | None:
    """Return the best documents of one query without arrays; None if it needs them.

    Here each step must find everything that earlier steps found, which is so in the same tables.
    """
    if int(sketches.states[0]) != WEIGHTED or not state.store.has_similarities:
        return None
    steps = _steps(state, wanted, by_similarity=True, step_seconds=ONE_SECONDS).steps
    for criterion, plan in steps:
        find_one = method_of(state, plan).search_one
        if find_one is None or plan.method not in (POLYTOPE, BANDING):
            return None
        found = find_one(state, sketches, criterion, plan, False, wanted.k)
        if not isinstance(found, list):
            return None
        if len(found) == wanted.k:
            return found
    return lookup.as_list(state, _scanned(state, sketches, wanted.k, by_similarity=True))


def _of_alike(state: State, sketches: Sketches, wanted: Wanted, *, by_similarity: bool) -> Rows:
    """Return the best documents for queries that are all compared in the same way."""
    count = len(sketches)
    each = ONE_SECONDS if count == 1 else EACH_SECONDS
    steps = _steps(state, wanted, by_similarity=by_similarity, step_seconds=each)
    search = partial(_in_steps, state, wanted.k, by_similarity)
    if count < BATCH_LEAST or not steps.steps:
        return search(sketches, steps.steps)[0]
    is_pilot = flags_at(np.arange(PILOTS) * count // PILOTS, count)
    pilots, others = np.flatnonzero(is_pilot), np.flatnonzero(~is_pilot)
    first, ended = search(sketches.taken(pilots), steps.steps)
    costs = [step.plan.cost_seconds + each for step in steps.steps]
    fewer = [steps.steps[at] for at in worthwhile(costs, steps.scan_seconds, ended.tolist())]
    second, _ = search(sketches.taken(others), fewer)
    return gathered(count, [(pilots, first), (others, second)])


def _in_steps(
    state: State, k: int, by_similarity: bool, sketches: Sketches, steps: Sequence[NearestStep]
) -> tuple[Rows, I64]:
    """Return the best documents of all queries, and the number of the step in which each ended.

    That number is `len(steps)` for a query that was compared with every document.
    """
    pending = np.arange(len(sketches))
    known = no_rows(len(sketches))
    ended = np.full(len(sketches), len(steps))
    parts = []
    for number, (criterion, plan) in enumerate(steps):
        if not len(pending):
            break
        rows = lookup.search(state, sketches.taken(pending), criterion, limit=k, plan=plan)
        if len(known.ordinals):
            every = np.arange(len(pending))
            both = [(every, known), (every, rows)]
            rows = merged(len(pending), both, by_similarity=by_similarity).limited(k)
        is_done = np.diff(rows.offsets) >= k
        done, left = np.flatnonzero(is_done), np.flatnonzero(~is_done)
        parts.append((pending[done], rows.of(done)))
        ended[pending[done]] = number
        pending, known = pending[left], rows.of(left)
    if len(pending):
        queries = sketches.taken(pending)
        parts.append((pending, _scanned(state, queries, k, by_similarity=by_similarity)))
    return gathered(len(sketches), parts), ended


def _scanned(state: State, sketches: Sketches, k: int, *, by_similarity: bool) -> Rows:
    """Return the best documents of all queries by comparing every stored document."""
    scan, count = nearest_by_scan(state), len(sketches)
    parts = parts_of(count, state.threads, most=SCANNED_MOST, least=SCANNED_LEAST)

    def scan_part(part: slice) -> Rows:
        chosen = sketches if len(parts) == 1 else sketches.taken(part)
        return scan(state, chosen, k, by_similarity)

    return joined(list(mapped(scan_part, parts, state.threads)))


def _steps(state: State, wanted: Wanted, *, by_similarity: bool, step_seconds: float) -> Steps:
    """Return the steps of a search, planned once for the documents that are stored now."""
    plans = state.view.plans
    key = ("nearest", wanted.recall, by_similarity, step_seconds)
    steps: Steps | None = plans.prepared.get(key)
    if steps is None:
        steps = _planned(state, wanted.recall, by_similarity, step_seconds)
        plans.prepare(key, steps)
    # No step can find more documents than there are.
    if wanted.k >= state.counts.document_count:
        return steps._replace(steps=())
    if state.left_out is state.dead:
        return steps
    # If few documents qualify, comparing all of them is faster than a step.
    every = np.linspace(0, max(state.next_ordinal, 1), SAMPLED, endpoint=False).astype(np.uint32)
    share = (np.count_nonzero(~is_deleted(state.left_out, every)) + 1) / SAMPLED
    scan = state.next_ordinal * CODE_SECONDS + share * steps.scan_seconds
    fewer = tuple(step for step in steps.steps if step.plan.cost_seconds + step_seconds < scan)
    return Steps(fewer, scan)


def _planned(state: State, recall: float, by_similarity: bool, step_seconds: float) -> Steps:
    delays, options = delays_of(state.calibration), state.store.options

    def at_similarity(similarity: float) -> Criterion:
        # Steps use the similarity that sketches estimate, as of vectors (2), not the one shown to
        # users.
        return Question(similarity, None, recall).criterion(options, is_weighted=True, content=2)

    def at_distance(distance: int) -> Criterion:
        return Question(distance=distance, recall=1.0).criterion(options, is_weighted=False)

    if by_similarity:
        population = state.population(at_similarity(1.0))
        return steps_by_similarity(at_similarity, population, delays, step_seconds)
    population = state.population(at_distance(0))
    return steps_by_distance(at_distance, population, delays, step_seconds, options.bits)


def ranking_of(vectors: Any, texts: Any, store: Origin) -> "Reranking | None":
    """Return the reranking by the caller's vectors or texts; None without them."""
    if vectors is not None and texts is not None:
        raise OptionError("the nearest are chosen by vectors or by texts, not by both")
    if store.options.is_hashes and (vectors is not None or texts is not None):
        raise OptionError(
            "hashes have no vectors= or texts=; the nearest are those that differ in fewest bits"
        )
    if vectors is not None:
        return Reranking("vectors", vectors, cosines)
    return None if texts is None else Reranking("texts", texts, store.exact_similarity().of_pairs)


class Reranking:
    """A reranking of candidates by the vectors or texts that the caller gives for their ids."""

    def __init__(self, name: str, given: Any, measure: Measure) -> None:
        """Take the argument `name` of a verb: a mapping, or a function of a list of ids."""
        self._get = by_ids(name, given)
        self._measure = measure

    def asked(self, wanted: Wanted, queries: Queries) -> Wanted:
        """Return the settings to find candidates, by estimate or by products, before reranking."""
        lost = max(1.0 - wanted.recall, 1.0 / CANDIDATES_MOST)
        more = wanted._replace(k=ceil(round(wanted.k / lost, 6)))
        given, k = self._given(queries), wanted.k + (queries.ids is not None)
        if self._measure is not cosines or any(each is None for each in given):
            return more
        most = inf if wanted.recall == 1.0 else len(given) * more.k
        return more._replace(compare=partial(self._by_products, _of_length_one(given), k, most))

    def _given(self, asked: Queries) -> Sequence[Any]:
        given: Sequence[Any] = asked.documents if asked.ids is None else self._get(asked.ids)
        return given

    def _by_products(
        self, own: F32, k: int, most: float, state: State, sketches: Sketches
    ) -> Rows | None:
        """Return the `k` documents with the greatest cosines, and more that are equally near.

        `own`: the vectors of the queries.  Returns None if there are more than `most` documents, or
        if a vector is not known.
        """
        ordinals, at = live_ordinals(state.unmeasured(), 0, state.next_ordinal), 0
        if len(ordinals) > most or not state.store.has_similarities or not len(own):
            return None
        best, every = no_rows(len(own)), np.arange(len(own))
        waiting, count = list[tuple[I64, Rows]](), 0
        least = np.where(sketches.states == WEIGHTED, -2, 2).astype(np.float32)[:, None]
        while at < len(ordinals):
            # The first blocks are small, since all of their documents are among the best so far.
            some = ordinals[at : at + min(3 * at + 4 * k, PRODUCTS // len(own) + 1)]
            at += len(some)
            vectors = self._get(state.identifiers(some).decode(some))
            if any(each is None for each in vectors):
                return None
            cosines = own @ _of_length_one(vectors, own.shape[1]).T
            # Much faster than finding both with numpy.
            queries, places = np.divmod(np.flatnonzero(cosines >= least), len(some))
            offsets = offsets_of(np.bincount(queries, minlength=len(own)))
            unknown, found = np.zeros(len(places), np.uint8), cosines[queries, places]
            waiting.append((every, Rows(offsets, some[places], unknown, found)))
            count += len(places)
            # Later blocks add few documents, which are merged when they outnumber the best.
            if at < len(ordinals) and count < len(best.ordinals):
                continue
            best = merged(len(own), [(every, best), *waiting], by_similarity=True)
            waiting, count = [], 0
            full = np.flatnonzero(np.diff(best.offsets) >= k)
            least[full, 0] = best.similarities[best.offsets[full] + k - 1] - ROUNDED
            best = best.chosen(np.flatnonzero(best.similarities >= least[best.queries, 0]))
        return with_distances(state, sketches, best.offsets, best.ordinals, best.similarities)

    def best(self, found: Matches, asked: Queries, k: int) -> Matches:
        """Return the `k` candidates of each query that are nearest, with exact similarities.

        A candidate without a vector or text keeps its estimate.
        """
        queries = self._given(asked)
        similarities = found.similarities.copy()
        start = 0
        while start < len(found):
            end = int(found.offsets[start]) + MEASURED_TOGETHER
            stop = max(int(np.searchsorted(found.offsets, end, "right")) - 1, start + 1)
            self._measure_some(found, queries, slice(start, stop), similarities)
            start = stop
        rows = np.repeat(np.arange(len(found)), np.diff(found.offsets))
        order = np.lexsort((found.ordinals, -similarities, rows))
        places = np.arange(len(rows)) - found.offsets[rows]
        found.similarities = similarities
        return found.chosen(order[places < k], np.minimum(np.diff(found.offsets), k))

    def _measure_some(
        self, found: Matches, queries: Sequence[Any], some: slice, similarities: F32
    ) -> None:
        """Write the exact similarities of the candidates of some queries into `similarities`."""
        first, last = int(found.offsets[some.start]), int(found.offsets[some.stop])
        _, at, right = np.unique(found.ordinals[first:last], return_index=True, return_inverse=True)
        own = list(queries[some])
        known = [*own, *self._get(list(found.ids[first + at]))]
        is_known = np.array([each is not None for each in known], np.bool_)
        place, given = np.cumsum(is_known) - 1, [each for each in known if each is not None]
        left = np.repeat(np.arange(len(own)), np.diff(found.offsets[some.start : some.stop + 1]))
        right += len(own)
        pairs = np.flatnonzero(is_known[left] & is_known[right])
        exact = self._measure(given, place[left[pairs]], place[right[pairs]])
        similarities[first + pairs] = exact
