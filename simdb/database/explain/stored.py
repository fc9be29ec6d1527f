"""Explanations by a database: of stored and given documents, by its fingerprints or signatures."""

from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from simdb.core.decoding import as_text
from simdb.core.errors import InputError
from simdb.core.reports import Explanation
from simdb.database import explain
from simdb.database.search.question import Question
from simdb.database.search.searcher import Searcher
from simdb.database.state.state import State
from simdb.database.state.view import SIGNATURES


class Both(NamedTuple):
    """The two documents of an explanation, each by its id or as it was given."""

    id: Any
    other_id: Any
    document: Any
    other_document: Any


def explained(searcher: Searcher, both: Both, question: Question, errors: str) -> Explanation:
    """Return why two documents match or do not, by the plan of the state that has the last one."""
    stored = [each for each in (both.id, both.other_id) if each is not None]
    numbers = searcher.numbers_of(stored).tolist() or searcher.numbers[:1]
    why = partial(explain_both, both=both, question=question, errors=errors)
    if numbers[0] == numbers[-1]:
        return searcher.ask(numbers[0], why)
    return searcher.ask(numbers[0], lambda home: searcher.ask(numbers[-1], partial(why, home=home)))


def explain_both(
    state: State, both: Both, question: Question, errors: str, *, home: State | None = None
) -> Explanation:
    """Return why the two documents match, or do not; InputError unless they are just two.

    `home`: the state in which the first stored document is, if that is another database.
    """
    explainer: ModuleType = (
        explain.signatures if state.kind.stores == SIGNATURES else explain.fingerprints
    )
    stored = [each for each in (both.id, both.other_id) if each is not None]
    given = [each for each in (both.document, both.other_document) if each is not None]
    if len(stored) + len(given) != 2:
        raise InputError(
            "explain needs two documents: id and other_id of stored documents, or id and document=,"
            " or document= and other_document="
        )
    is_stored = len(stored) == 2

    def given_side(document: Any) -> Any:
        is_rounded, document = bool(stored), as_text(document, errors=errors)
        return explainer.given_side(state.store.sketcher, document, errors, is_rounded=is_rounded)

    left = explainer.stored_side(home or state, stored[0]) if stored else given_side(given[0])
    right = explainer.stored_side(state, stored[1]) if is_stored else given_side(given[-1])
    options = state.store.options
    if stored:  # a query decides, which the right document is if it is not stored
        asking, has_vectors = (right, True) if given else (left, options.sketch.vector_bytes > 0)
        is_weighted = asking.has_weights and has_vectors
    else:
        is_weighted = left.has_weights and right.has_weights
    criterion = question.criterion(options, is_weighted=is_weighted, is_stored=is_stored)
    plan = state.plan(criterion) if stored else None
    found: Explanation = explainer.explain(left, right, state=state, criterion=criterion, plan=plan)
    return found
