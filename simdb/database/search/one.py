"""One query: finds the matches of a single document in a few microseconds.

The plan for a question is remembered with the view, for each state that a document can have.  The
fast form of each method (`Method.search_one`, `Method.search_bits`) makes an object of every match,
so a query with many matches is searched like a batch instead.
"""

from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrays import BARE, EMPTY, ONE_STATE, WEIGHTED, Id, Sketches, check_bits
from simdb.core.bits import ALL_BITS
from simdb.core.choices import MeasureName
from simdb.core.dtypes import I64
from simdb.core.errors import InputError
from simdb.core.matches import Match
from simdb.core.options import EXHAUSTIVE, Search, SearchLike
from simdb.core.reports import Plan
from simdb.core.values import astuple, dataclass
from simdb.database import search
from simdb.database.search.filters import kept_matches
from simdb.database.search.lookup import as_list, method_of
from simdb.database.search.method import Method
from simdb.database.search.question import Question, criterion_of
from simdb.database.search.rows import Rows
from simdb.database.search.searcher import Searcher, best_first, parts_by_ids
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.state import Origin, State
from simdb.plan import Criterion

# The criterion of a question: its first four fields.
Given = tuple[float | None, int | None, float | None, SearchLike | None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The remembered planning of a question: its criterion, the plan, and the method of the plan.

    `saving`: see `State.saving`.  `measure`: the measure of similarities, see `Match`.
    """

    criterion: Criterion
    plan: Plan
    method: Method
    saving: float
    measure: MeasureName


class OneQuery(NamedTuple):
    """One document as a query: its sketches, or its `bits` if it needs none.

    `store` and `ordinal`: where it is stored; None if it is not.
    """

    sketches: Sketches
    bits: int | None = None
    store: Origin | None = None
    ordinal: int | None = None


def find_plain(
    searcher: Searcher, document: Any, id: Id | None, given: Given, errors: str, first: bool,
    limit: int | None = None,
) -> list[Match]:  # fmt: skip
    """Run `find` for a question that has a criterion and perhaps a limit."""
    if id is not None or document is None or not isinstance(searcher, State):
        return find(searcher, document, id, Question(*given, limit), errors, first)
    if type(document) is int and searcher.store.takes_bits:
        if not 0 <= document <= ALL_BITS:
            check_bits(document)
        prepared = prepare(searcher, given, ANY_BITS, BARE)
        return _search_bits(searcher, document, prepared, first, limit)
    sketches = searcher.store.sketcher.sketch([document], errors=errors, is_query=True)
    return _find(searcher, searcher.checked(sketches), given, limit, first)


def find(
    searcher: Searcher,
    document: Any,
    id: Id | None,
    question: Question,
    errors: str,
    first: bool = False,
) -> list[Match]:
    """Return the matches of `document`, or of the stored document `id` except itself.

    Returns at most `question.limit` matches, best first.  With `first`, returns any one match.
    """
    is_alone = isinstance(searcher, State) and question.where is None
    if is_alone and (document is None) != (id is None):
        state: State = searcher  # type: ignore[assignment]
        given, limit = question[:4], question.limit
        if id is None:
            return find_plain(state, document, None, given, errors, first, limit)
        ordinals = known_ordinals(state, [id])
        sketches, own = stored_sketches(state, ordinals), int(ordinals[0])
        return _find(state, sketches, given, limit, first, own)
    query = _query_of(searcher, document, id, errors)
    criterion = criterion_of(searcher.store.options, query.sketches, question)

    def ask(state: State, _: I64) -> list[Match]:
        return _find_satisfying(query, question, first, state)

    answers = searcher.routed((query.sketches, criterion), ask, in_turn=first)
    if first:
        return next((found for *_, found in answers if found), [])
    found = [each for *_, each in answers]
    if isinstance(searcher, State):
        return found[0]
    return best_first(found, by_similarity=criterion.similarity is not None)[: question.limit]


def _query_of(searcher: Searcher, document: Any, id: Id | None, errors: str) -> OneQuery:
    """Return the query of a document, or of the stored document `id`."""
    if id is not None:
        if document is not None:
            raise InputError("query takes a document or the id= of a stored document, not both")
        ((_, _, query),) = parts_by_ids(searcher, [id], _stored_query)
        return query
    if document is None:
        raise InputError("query needs a document, or the id= of a stored document")
    store = searcher.store
    if type(document) is int and store.takes_bits:
        check_bits(document)
        return OneQuery(_bare(document), document)
    return OneQuery(store.sketcher.sketch([document], errors=errors, is_query=True))


def _stored_query(state: State, ids: list[Id]) -> OneQuery:
    ordinals = known_ordinals(state, ids)
    return OneQuery(stored_sketches(state, ordinals), None, state.store, int(ordinals[0]))


def _find_satisfying(query: OneQuery, question: Question, first: bool, state: State) -> list[Match]:
    """Return the matches of a query in one state that satisfy `question.where`, if it is given."""
    where, limit = question.where, question.limit
    asked, any_one = question, first
    if where is not None:
        asked, any_one = question._replace(limit=None), False
    if query.bits is not None:
        prepared = prepare(state, asked[:4], ANY_BITS, BARE)
        found = _search_bits(state, query.bits, prepared, any_one, asked.limit)
    else:
        own = query.ordinal if query.store is state.store else None
        sketches = state.checked(query.sketches) if query.ordinal is None else query.sketches
        found = _find(state, sketches, asked[:4], asked.limit, any_one, own)
    return found if where is None else kept_matches(state, found, where, 1 if first else limit)


def _find(
    state: State, sketches: Sketches, given: Given, limit: int | None, first: bool,
    left_out: int | None = None,
) -> list[Match]:  # fmt: skip
    """Return the matches of a document in one state, except `left_out`, best first."""
    document_state = int(sketches.states[0])
    prepared = prepare(state, given, sketches, document_state)
    if document_state == EMPTY:
        return []
    most = 1 if first else limit
    # Any one match of a stored document could be the document itself.
    any_one = first and left_out is None
    return _carry_out(state, sketches, prepared, any_one, most, left_out)


def prepare(state: State, given: Given, sketches: Sketches, document_state: int) -> Prepared:
    """Return the planning of a question about one document; equal questions share it.

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
    if known is None or (known.saving and state.plan_of(known.criterion, 1) is not known.plan):
        content, question = state.counts.content, Question(*given)
        known = _prepared(state, criterion_of(state.store.options, sketches, question, content))
        state.view.plans.prepare(key, known)
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
        matches, measure = [], prepared.measure
        for ordinal, distance in found:  # for one match, faster than a comprehension
            matches.append(Match(state.id_of(ordinal), distance, None, measure))
        return matches
    if found is None:
        found = _as_batch(state, _bare(bits), prepared.criterion, first, limit)
    return as_list(state, found if limit is None else found.limited(limit))


def best_match(
    state: State, sketches: Sketches, criterion: Criterion, *, among: int
) -> Match | None:
    """Return the best match of the single document in `sketches`; None if nothing matches.

    If there are more than `among` matches, return the best of `among` of them.
    """
    document_state = int(sketches.states[0])
    if document_state == EMPTY:
        return None
    prepared = _prepared(state, criterion)
    if document_state == BARE and criterion.similarity is None:
        found = _search_bits(state, int(sketches.bits[0]), prepared, among, 1)
    else:
        found = _carry_out(state, sketches, prepared, among, 1)
    return found[0] if found else None


def _carry_out(
    state: State, sketches: Sketches, prepared: Prepared, first: int, limit: int | None,
    left_out: int | None = None,
) -> list[Match]:  # fmt: skip
    """Return the matches of a document with features, at most `limit`, except `left_out`."""
    criterion, plan, method = prepared.criterion, prepared.plan, prepared.method
    # A stored document also finds itself.
    more = limit if limit is None or left_out is None else limit + 1
    rows: Rows | None = None
    if method.search_one is not None and int(sketches.states[0]) == WEIGHTED:
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
    method = method_of(state, plan) if is_fast else Method()
    return Prepared(criterion, plan, method, state.saving(criterion), state.scale.measure)


def _as_batch(
    state: State, sketches: Sketches, criterion: Criterion, first: int, limit: int | None
) -> Rows:
    """Return the matches of a single document, searched as a batch."""
    batch = search.many.QueryBatch(Question(limit=limit), first=first)
    return search.many.match_stored(state, sketches, criterion, batch)


def _bare(bits: int) -> Sketches:
    """Return the sketch of a ready fingerprint, as a query."""
    nothing = np.empty((1, 0), np.uint8)
    return Sketches(np.array([bits], np.uint64), nothing, ONE_STATE[BARE], nothing)


ANY_BITS = _bare(0)
