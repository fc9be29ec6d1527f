"""One query: finds the matches of a single document in a few microseconds.

The plan for a question is remembered with the view, for each state that a document can have.  The
fast form of each method (`Method.search_one`, `Method.search_bits`) makes an object of every match,
so a query with many matches is searched like a batch instead.
"""

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from simdb.core.arrays import BARE, EMPTY, ONE_STATE, WEIGHTED, Id, Sketches, check_bits
from simdb.core.bits import ALL_BITS
from simdb.core.errors import InputError
from simdb.core.matches import Match
from simdb.core.options import EXHAUSTIVE
from simdb.core.reports import Plan
from simdb.core.search import Search, SearchLike
from simdb.database import search
from simdb.database.search.lookup import as_list, method_of
from simdb.database.search.method import Method
from simdb.database.search.question import Question, criterion_of
from simdb.database.search.rows import Rows
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.state import State
from simdb.plan import Criterion

# The arguments of a question: similarity, distance, recall and search.
Given = tuple[float | None, int | None, float | None, SearchLike | None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is remembered for a question: its criterion, the plan, and the method of the plan."""

    criterion: Criterion
    plan: Plan
    method: Method


def find(
    state: State,
    document: Any,
    id: Id | None,
    given: Given,
    limit: int | None,
    errors: str,
    *,
    first: bool,
) -> list[Match]:
    """Return the matches of `document`, or of the stored document `id` without itself.

    The best match comes first; at most `limit` are returned.  `first`: any one match.
    """
    if id is not None:
        if document is not None:
            raise InputError("query takes a document or the id= of a stored document, not both")
        ordinals = known_ordinals(state, [id])
        sketches, own = stored_sketches(state, ordinals), int(ordinals[0])
        return find_sketched(state, sketches, given, limit, first=first, left_out=own)
    if type(document) is int and state.store.takes_bits:
        prepared = prepare(state, given, ANY_BITS, BARE)
        if not 0 <= document <= ALL_BITS:
            check_bits(document)
        return _search_bits(state, document, prepared, first, limit)
    if document is None:
        raise InputError("query needs a document, or the id= of a stored document")
    sketches = state.store.sketcher.sketch([document], errors=errors, is_query=True)
    return find_sketched(state, state.checked(sketches), given, limit, first=first)


def find_sketched(
    state: State,
    sketches: Sketches,
    given: Given,
    limit: int | None,
    *,
    first: bool,
    left_out: int | None = None,
) -> list[Match]:
    """Return the matches of the single document in `sketches`, as `find` does.

    `left_out`: the ordinal of the document itself, if it is stored.
    """
    document_state = int(sketches.states[0])
    prepared = prepare(state, given, sketches, document_state)
    if document_state == EMPTY:
        return []
    most = 1 if first else limit
    # Any one match of a stored document could be the document itself.
    any_one = first and left_out is None
    return _carry_out(state, sketches, document_state, prepared, any_one, most, left_out)


def prepare(state: State, given: Given, sketches: Sketches, document_state: int) -> Prepared:
    """Return what a question about one document needs; made once for equal questions.

    `document_state`: the state in `sketches`, as an int.
    """
    plans = state.view.plans
    similarity, distance, recall, how = given
    key: Any = (given, document_state, sketches.levels is None)
    # True equals 1 and 3.0 equals 3, but neither is a distance.
    if (
        (similarity is not None and type(similarity) is not float)
        or (distance is not None and type(distance) is not int)
        or (recall is not None and type(recall) is not float)
        or (how is not None and type(how) is not str)
    ):
        set_by_hand = map(type, astuple(how)) if isinstance(how, Search) else ()
        key = (key, *map(type, given), *set_by_hand)
    try:
        known: Prepared | None = plans.prepared.get(key)
    except TypeError:
        known = None  # a value that cannot be a key is refused below
    if known is None:
        known = _prepared(state, criterion_of(state.store.options, sketches, Question(*given)))
        plans.prepare(key, known)
    return known


def _search_bits(
    state: State, bits: int, prepared: Prepared, first: int, limit: int | None
) -> list[Match]:
    """Return the matches of one ready fingerprint, best first, at most `limit`."""
    search_bits = prepared.method.search_bits
    found = None if search_bits is None else search_bits(state, bits, prepared.plan, first)
    if isinstance(found, list):
        if limit is not None:
            found = found[:limit]
        matches = []
        for ordinal, distance in found:  # for one match, faster than a comprehension
            matches.append(Match(state.id_of(ordinal), distance))
        return matches
    if found is None:
        found = _as_batch(state, _bare(bits), prepared.criterion, first, limit)
    return as_list(state, found if limit is None else found.limited(limit))


def best_match(
    state: State, sketches: Sketches, criterion: Criterion, *, among: int
) -> Match | None:
    """Return the best match of the single document in `sketches`; None if nothing matches.

    If it has more than `among` matches, return the best of so many of them.
    """
    document_state = int(sketches.states[0])
    if document_state == EMPTY:
        return None
    prepared = _prepared(state, criterion)
    if document_state == BARE and criterion.similarity is None:
        found = _search_bits(state, int(sketches.bits[0]), prepared, among, 1)
    else:
        found = _carry_out(state, sketches, document_state, prepared, among, 1)
    return found[0] if found else None


def _carry_out(
    state: State,
    sketches: Sketches,
    document_state: int,
    prepared: Prepared,
    first: int,
    limit: int | None,
    left_out: int | None = None,
) -> list[Match]:
    """Return the matches of a document with features, at most `limit`; see `find_sketched`."""
    criterion, plan, method = prepared.criterion, prepared.plan, prepared.method
    # A stored document also finds itself.
    more = limit if limit is None or left_out is None else limit + 1
    rows: Rows | None = None
    if method.search_one is not None and document_state == WEIGHTED:
        found = method.search_one(state, sketches, criterion, plan, first, more)
        if isinstance(found, list):
            if left_out is None:
                return found
            own = state.id_of(left_out)
            return [match for match in found if match.id != own][:limit]
        rows = found
    if rows is None:
        rows = _as_batch(state, sketches, criterion, first, more)
    if left_out is not None:
        rows = rows.chosen(np.flatnonzero(rows.ordinals != np.uint32(left_out)))
        rows = rows if limit is None else rows.limited(limit)
    return as_list(state, rows)


def _prepared(state: State, criterion: Criterion) -> Prepared:
    plan = state.plan(criterion)
    # If all documents are compared and do not fit into memory, they are searched in chunks.
    is_fast = plan.method != EXHAUSTIVE or not plan.page_reads
    return Prepared(criterion, plan, method_of(state, plan) if is_fast else Method())


def _as_batch(
    state: State, sketches: Sketches, criterion: Criterion, first: int, limit: int | None
) -> Rows:
    """Return what a batch of a single document finds."""
    batch = search.many.QueryBatch(Question(limit=limit), first=first)
    return search.many.match_stored(state, sketches, criterion, batch)


def _bare(bits: int) -> Sketches:
    """Return the sketch of a ready fingerprint, as a query."""
    return Sketches(
        np.array([bits], np.uint64),
        np.empty((1, 0), np.uint8),
        ONE_STATE[BARE],
        np.empty((1, 0), np.uint8),
    )


ANY_BITS = _bare(0)
