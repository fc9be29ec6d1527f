"""Explanations of stored documents: by fingerprints or signatures, as the database has them."""

from collections.abc import Callable
from typing import Any

from simdb.engine.explain import fingerprints, signatures
from simdb.engine.search.question import Question
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.engine.state.view import FINGERPRINTS, SIGNATURES
from simdb.reports import Explanation
from simdb.values import Id

Explainer = Callable[[Store, State, Id, Id | None, Any, Question, str], Explanation]
EXPLAINERS: dict[str, Explainer] = {
    FINGERPRINTS: fingerprints.explain_stored,
    SIGNATURES: signatures.explain_stored,
}


def explain_stored(
    store: Store,
    state: State,
    id: Id,
    other_id: Id | None,
    document: Any,
    question: Question,
    errors: str,
) -> Explanation:
    """Return why the stored `id` matches the stored `other_id`, or a document, or does not."""
    return EXPLAINERS[state.kind.stores](store, state, id, other_id, document, question, errors)
