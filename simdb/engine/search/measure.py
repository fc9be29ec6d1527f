"""Measuring: turns candidates into matches, by distance or by stored volatility vectors."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simdb.engine.search.method import SURE_SHARE, Search
from simdb.engine.search.rows import Rows, best_first, gathered
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.results.matches import Match
from simdb.results.plans import Plan
from simdb.running import kernel
from simdb.values.arrays import WEIGHTED, Sketches

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]
# Offsets of each query's candidates, their ordinals and distances.
Candidates = tuple[I64, U32, U8]
FindCandidates = Callable[[State, Sketches, Plan, int, U32 | None], Candidates]


def by_candidates(find: FindCandidates) -> Search:
    """Return a search that measures the candidates that `find` returns.

    `find` returns the candidates of each query by distance, then by ordinal.
    """

    def search(
        state: State,
        sketches: Sketches,
        criterion: Criterion,
        plan: Plan,
        first: int,
        after: U32 | None,
    ) -> Rows:
        is_measured = criterion.similarity is not None
        # The first candidate need not match, but of very many candidates some usually do.
        enough = 0 if is_measured and first == 1 else first
        offsets, ordinals, distances = find(state, sketches, plan, enough, after)
        found = Rows(offsets, ordinals, distances, np.empty(len(ordinals), np.float32))
        if not is_measured:
            return found
        rows = measured_rows(state, sketches, criterion, found)
        least = max(enough // SURE_SHARE, 1) if enough else 0
        is_unsure = (np.diff(offsets) >= enough) & (np.diff(rows.offsets) < least)
        unsure = np.flatnonzero(is_unsure)
        if not len(unsure):
            return rows
        later = None if after is None else after[unsure]
        every = search(state, sketches.taken(unsure), criterion, plan, 0, later)
        sure = rows.chosen(np.flatnonzero(~is_unsure[rows.queries]))
        return gathered(len(sketches), [(np.arange(len(sketches)), sure), (unsure, every)])

    return search


def measured_rows(state: State, sketches: Sketches, criterion: Criterion, rows: Rows) -> Rows:
    """Return the candidates that are similar enough for the criterion, the most similar first."""
    rows.similarities = estimates(state, sketches, rows.offsets, rows.ordinals)
    chosen = np.flatnonzero(rows.similarities >= np.float32(criterion.least))
    found = rows.chosen(chosen)
    return found.chosen(best_first(found.queries, found.similarities, found.ordinals))


def estimates(state: State, sketches: Sketches, offsets: I64, ordinals: U32) -> F32:
    """Return similarities by volatility vectors; NaN if either document has no weights."""
    if not state.width or not (sketches.states == WEIGHTED).any() or not len(ordinals):
        return np.full(len(ordinals), np.nan, np.float32)
    vectors = state.vectors(ordinals)
    similarities: F32 = vectors.similarity(sketches.vectors, offsets, ordinals)
    if state.has_bare:
        similarities[state.lack_weights(ordinals)] = np.nan
    if len(sketches) > 1:
        similarities[np.repeat(sketches.states != WEIGHTED, np.diff(offsets))] = np.nan
    return similarities


def levels_of(sketches: Sketches) -> U8:
    """Return how far each bit is from flipping, for stored documents from their vectors."""
    if sketches.levels is not None:
        return sketches.levels
    return np.asarray(kernel.levels_of_vectors(sketches.vectors), np.uint8)


def matches_of_one(
    state: State,
    sketches: Sketches,
    criterion: Criterion,
    found: list[tuple[int, int]],
    limit: int | None,
) -> list[Match]:
    """Return the matches of one document with weights, best first.

    `found`: the ordinals and distances of its candidates, by distance, then by ordinal.
    """
    if not found:
        return []
    rows: Sequence[tuple[int, int, float | None]]
    if criterion.least is not None:
        rows = _measured(state, sketches, found, criterion.least)[:limit]
    else:
        found = found[:limit]
        similarities = _similarities(state, sketches, [ordinal for ordinal, _ in found])
        rows = [(*each, value) for each, value in zip(found, similarities, strict=True)]
    return [
        Match(state.id_of(ordinal), distance, state.kind.shown_one(similarity))
        for ordinal, distance, similarity in rows
    ]


def _measured(
    state: State, sketches: Sketches, found: list[tuple[int, int]], similarity: float
) -> list[tuple[int, int, float]]:
    """Return ordinals, distances and similarities of the similar ones of `found`, best first."""
    vectors = state.vectors(np.array([ordinal for ordinal, _ in found], np.uint32))
    rows: list[tuple[int, int, float]]
    rows = vectors.measure_one(sketches.vectors, found, similarity)
    if not rows:
        return rows
    lacking = state.lack_weights(np.array([row[0] for row in rows], np.uint32)).tolist()
    return [row for no, row in zip(lacking, rows, strict=True) if not no]


def _similarities(state: State, sketches: Sketches, ordinals: list[int]) -> list[float | None]:
    """Return similarities of one document and some stored ones; None for one without weights."""
    if not state.width:
        return [None] * len(ordinals)
    listed = np.array(ordinals, np.uint32)
    whole = np.array([0, len(ordinals)], np.int64)
    measured = state.vectors(listed).similarity(sketches.vectors, whole, listed).tolist()
    lacking = state.lack_weights(listed).tolist()
    return [None if no else value for no, value in zip(lacking, measured, strict=True)]
