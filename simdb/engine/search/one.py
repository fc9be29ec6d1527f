"""One query: finds the matches of a single document in a few microseconds.

The fast form of each method (`Method.search_one`, `Method.search_bits`) makes an object of every
match, so a query with many matches is searched like a batch instead.
"""

from typing import Any

import numpy as np

from simdb.engine.search.lookup import as_list, search
from simdb.engine.search.method import SearchBits
from simdb.engine.search.methods.register import method_of
from simdb.engine.search.question import Question, check_limit, criterion_of
from simdb.engine.search.rows import Rows
from simdb.engine.state.documents import known_ordinals, stored_sketches
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.errors import InputError
from simdb.options import Options
from simdb.plan.problem import Criterion
from simdb.plans import Plan
from simdb.values import BARE, EMPTY, WEIGHTED, Id, Match, Sketches, check_bits

# A plan for ready fingerprints, its criterion, and the fast form of its method if there is one.
BitPlan = tuple[Plan, Criterion, SearchBits | None]


def find(
    store: Store,
    state: State,
    document: Any,
    id: Id | None,
    question: Question,
    errors: str,
    *,
    first: bool,
) -> list[Match]:
    """Return the matches of `document`, or of the stored document `id` without itself.

    The best match comes first; at most `question.limit` are returned.  `first`: any one match.
    """
    limit = 1 if first else question.limit
    if id is None:
        if document is None:
            raise InputError("query needs a document, or the id= of a stored document")
        sketches = store.sketcher.sketch([document], errors=errors, is_query=True)
        criterion = criterion_of(store.options, sketches, question)
        return search_one(state, sketches, criterion, first, limit, None)
    if document is not None:
        raise InputError("query takes a document or the id= of a stored document, not both")
    ordinals = known_ordinals(state, [id])
    sketches = stored_sketches(state, ordinals)
    criterion = criterion_of(store.options, sketches, question)
    return search_one(state, sketches, criterion, False, limit, int(ordinals[0]))


def plan_bits(state: State, options: Options, given: Any) -> BitPlan:
    """Return the plan for a query with a ready fingerprint.

    `given`: similarity, distance, recall and method.  The plan is kept under them.
    """
    plans, key = state.view.plans, given
    # True equals 1 and 3.0 equals 3, but neither is a distance.
    if type(given[1]) is not int or given[0] is not None or given[2] is not None:
        key = (given, *map(type, given))
    try:
        kept: BitPlan | None = plans.of_bits.get(key)
    except TypeError:
        kept = None  # a value that cannot be a key is refused below
    if kept is not None:
        return kept
    criterion = Question(*given).criterion(options, is_weighted=False)
    plan = state.plan(criterion)
    made = plan, criterion, method_of(state, plan).search_bits
    plans.keep_for_bits(key, made)
    return made


def search_bits(
    state: State, bits: int, plan: BitPlan, first: bool, limit: int | None
) -> list[Match]:
    """Return the matches of one ready fingerprint, best first, at most `limit`."""
    check_bits(bits)
    check_limit(limit)
    chosen, criterion, fast_form = plan
    if fast_form is not None:
        found = fast_form(state, bits, chosen, first)
        if isinstance(found, Rows):
            return as_list(state, found if limit is None else found.limited(limit))
        if found is not None:
            return [Match(state.id_of(at), distance) for at, distance in found[:limit]]
    sketches = Sketches(
        np.array([bits], np.uint64), np.empty((1, 0), np.uint8), np.array([BARE], np.uint8)
    )
    return as_list(state, search(state, sketches, criterion, limit=limit, first=first, plan=chosen))


def best_match(state: State, sketches: Sketches, criterion: Criterion) -> Match | None:
    """Return the best match of the single document in `sketches`; None if nothing matches."""
    kind = int(sketches.states[0])
    if kind == EMPTY:
        return None
    if kind == BARE and criterion.similarity is None:
        plan = state.plan(criterion)
        bit_plan = plan, criterion, method_of(state, plan).search_bits
        found = search_bits(state, int(sketches.bits[0]), bit_plan, False, 1)
    else:
        found = search_one(state, sketches, criterion, False, 1, None)
    return found[0] if found else None


def search_one(
    state: State,
    sketches: Sketches,
    criterion: Criterion,
    first: bool,
    limit: int | None,
    left_out: int | None,
) -> list[Match]:
    """Return the matches of the single document in `sketches`, best first, at most `limit`.

    `left_out`: the ordinal of the document itself, if it is stored.
    """
    plan = state.plan(criterion)
    # A stored document also finds itself.
    more = limit if limit is None or left_out is None else limit + 1
    fast_form = method_of(state, plan).search_one
    if fast_form is not None and sketches.states[0] == WEIGHTED:
        found = fast_form(state, sketches, criterion, plan, first, more)
        if found is not None:
            if left_out is None:
                return found
            own = state.id_of(left_out)
            return [match for match in found if match.id != own][:limit]
    rows = search(state, sketches, criterion, limit=more, first=first, plan=plan)
    if left_out is not None:
        rows = rows.chosen(np.flatnonzero(rows.ordinals != np.uint32(left_out)))
        rows = rows if limit is None else rows.limited(limit)
    return as_list(state, rows)
