"""Method: the interface of a search method, and the measuring of its candidates.

A method is a record of the functions that carry out its plans.  A method may omit any field, which
then has its default.  The methods are in `database/search/methods/`; `lookup.py` lists them.  Some
methods find candidates by distance, which the stored vectors then measure.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import WEIGHTED, Sketches
from simdb.core.dtypes import F32, I64, U8, U32
from simdb.core.matches import Match
from simdb.core.reports import Plan, Probe
from simdb.core.values import dataclass
from simdb.database.search.rows import Rows, best_first, gathered
from simdb.database.state.state import State
from simdb.plan import Criterion
from simdb.storage import Run, Table

if TYPE_CHECKING:
    from simdb.database.search.couples import Couples

# A search that stopped after enough candidates is repeated with all candidates, unless one in this
# number of them matches.
SURE_SHARE = 4

# Limit on the number of matches; None for all.
Limit = int | None
# For each query, an ordinal that its matches must exceed; None for all matches.
After = U32 | None
Search = Callable[[State, Sketches, Criterion, Plan, int, After], Rows]
OneFound = list[Match] | Rows | None
SearchOne = Callable[[State, Sketches, Criterion, Plan, int, Limit], OneFound]
SearchBits = Callable[[State, int, Plan, int], list[tuple[int, int]] | Rows | None]
Links = Callable[[State, Criterion, Plan], "Iterator[Couples] | None"]
Joining = Callable[[State, Criterion, Plan, kernel.Forest], "Iterator[Couples] | None"]
Nearest = Callable[[State, Sketches, int, bool], Rows]
LinksAmong = Callable[[State, Criterion, Plan, U32], "Iterator[Couples]"]
# Offsets of each query's candidates, their ordinals and distances.
Candidates = tuple[I64, U32, U8]
FindCandidates = Callable[[State, Sketches, Plan, int, After], Candidates]


class PairMember(NamedTuple):
    """One of two documents, to find out how a search for one finds the other.

    `levels` uint8[64], and `vector`, the packed vector: None without weights.  `ordinal`: None if
    the document is not stored.
    """

    bits: int
    levels: U8 | None = None
    vector: U8 | None = None
    ordinal: int | None = None


# Finds the first probe by which a plan for the first document reaches the second, a stored one.
FindProbe = Callable[[State, Criterion, Plan, PairMember, PairMember], Probe | None]


def first_tables(state: State, plan: Plan, run: Run) -> Iterator[Table]:
    """Yield the first `plan.tables` tables of a run, at least one."""
    return (run.table(number, state.source) for number in range(max(plan.tables, 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The functions that carry out the plans of one method.

    `search(state, sketches, criterion, plan, first, after)` returns the matches of every sketch,
    best first.  All sketches have features.  `first`: number of candidates of each query that
    suffice if one in `SURE_SHARE` of them matches; 1 for any one match, 0 for all, at most 255.
    `after`: only ordinals greater than after[i] for query i.  A method without `search` can only
    find all pairs.

    `search_one` is the fast form for one query with weights.  It takes a limit in place of
    `after`.  It returns matches, rows if they are many, or None to leave the work to `search`.
    `search_bits` is the fast form for one ready fingerprint; it returns ordinals and distances,
    rows if they are many, or None.

    `links` returns every matching pair once, in chunks, or None if each document must be looked
    up.  `joining` is the fast form for connected components.  It takes a forest over ordinals, in
    which the caller joins each chunk of pairs before taking the next, and may omit pairs within a
    component.  It returns None if there is no such form of the plan.  `links_among` returns the
    matching pairs among some documents, by position.

    `nearest(state, sketches, k, by_similarity)` returns the best k documents of every sketch, best
    first, by comparing all.  All sketches have features, and weights if `by_similarity`.

    `tables`: the tables of a run that a plan reads; see `first_tables`.  `scanned`: the column by
    ordinal that a plan reads as a whole, None if it reads tables.  `compares`: whether every query
    is compared with a stored document, given by its ordinal.  `find_probe` returns the probe that
    finds a document.
    """

    search: Search | None = None
    search_one: SearchOne | None = None
    search_bits: SearchBits | None = None
    links: Links | None = None
    joining: Joining | None = None
    links_among: LinksAmong | None = None
    nearest: Nearest | None = None
    tables: Callable[[State, Plan, Run], Iterator[Table]] = first_tables
    scanned: Callable[[State, Plan], int | None] = lambda state, plan: None
    compares: Callable[[State, Plan, int], bool] = lambda state, plan, ordinal: False
    find_probe: FindProbe | None = None


def by_candidates(find: FindCandidates) -> Search:
    """Return a search that measures the candidates that `find` returns.

    `find` returns the candidates of each query by distance, then by ordinal.
    """

    def search(
        state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, after: After
    ) -> Rows:
        is_measured = criterion.similarity is not None
        # The first candidate may not match, but among very many candidates some usually do.
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
    is_measured = state.store.has_similarities and (sketches.states == WEIGHTED).any()
    if not is_measured or not len(ordinals):
        return np.full(len(ordinals), np.nan, np.float32)
    vectors = state.vectors(ordinals)
    similarities: F32 = vectors.similarity(sketches.vectors, offsets, ordinals)
    if state.has_bare:
        similarities[state.lack_weights(ordinals)] = np.nan
    if len(sketches) > 1:
        similarities[np.repeat(sketches.states != WEIGHTED, np.diff(offsets))] = np.nan
    return similarities


def levels_of(sketches: Sketches) -> U8:
    """Return the level of each bit; for stored documents, from their vectors."""
    if sketches.levels is not None:
        return sketches.levels
    return np.asarray(kernel.levels_of_vectors(sketches.vectors), np.uint8)


def matches_of_one(
    state: State,
    sketches: Sketches,
    criterion: Criterion,
    found: list[tuple[int, int]] | None,
    limit: Limit,
    enough: int = 0,
) -> list[Match] | None:
    """Return the matches of one document with weights, best first; None if there are many.

    `found`: ordinals and distances of its candidates, by distance, then by ordinal.  `enough`: the
    number of candidates at which the search stopped; if too few of them match, the list is empty.
    """
    if not found:
        return None if found is None else []
    rows: Sequence[tuple[int, int, float | None]]
    if criterion.least is not None:
        rows = _measured(state, sketches, found, criterion.least)
        rows = rows[:limit] if SURE_SHARE * len(rows) >= enough else []
    else:
        found = found[:limit]
        similarities = _similarities(state, sketches, [ordinal for ordinal, _ in found])
        rows = [(*each, value) for each, value in zip(found, similarities, strict=True)]
    return shown_matches(state, rows)


def shown_matches(state: State, rows: Sequence[tuple[int, int, float | None]]) -> list[Match]:
    """Return matches for users from ordinals, distances and similarities."""
    scale = state.scale
    return [
        Match(state.id_of(ordinal), distance, scale.shown_one(similarity), scale.measure)
        for ordinal, distance, similarity in rows
    ]


def _measured(
    state: State, sketches: Sketches, found: list[tuple[int, int]], similarity: float
) -> list[tuple[int, int, float]]:
    """Return ordinals, distances and similarities of candidates that are similar, best first."""
    vectors = state.vectors(np.array([ordinal for ordinal, _ in found], np.uint32))
    rows: list[tuple[int, int, float]]
    rows = vectors.measure_one(sketches.vectors, found, similarity)
    if not rows:
        return rows
    lacking = state.lack_weights(np.array([row[0] for row in rows], np.uint32)).tolist()
    return [row for no, row in zip(lacking, rows, strict=True) if not no]


def _similarities(state: State, sketches: Sketches, ordinals: list[int]) -> list[float | None]:
    """Return similarities of a document to stored ones; None for a stored one without weights."""
    if not state.store.has_similarities:
        return [None] * len(ordinals)
    listed = np.array(ordinals, np.uint32)
    whole = np.array([0, len(ordinals)], np.int64)
    measured = state.vectors(listed).similarity(sketches.vectors, whole, listed).tolist()
    lacking = state.lack_weights(listed).tolist()
    return [None if no else value for no, value in zip(lacking, measured, strict=True)]
