"""Explanations by signatures: why two documents match or do not, down to the bands that agree."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from simdb.engine.explain.fingerprints import differences
from simdb.engine.search.methods.register import method_of
from simdb.engine.search.question import Question
from simdb.engine.state.documents import known_ordinals, stored_sketches
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.index.bands import Bands, bands_of
from simdb.plan.problem import Criterion
from simdb.results.plans import Plan
from simdb.results.reports import Explanation
from simdb.running import kernel
from simdb.sketch.minhash_sketcher import MinHashSketcher
from simdb.values.arrays import EMPTY, Id, Sketches
from simdb.values.features import NamedFeatures
from simdb.values.signatures import differing, estimates


@dataclass(frozen=True, slots=True)
class SignatureSide:
    """One of the two documents: its packed signature uint8[width], and its features if known."""

    id: Id | None
    vector: npt.NDArray[np.uint8]
    is_empty: bool
    features: NamedFeatures | None = None


def explain_stored(
    store: Store,
    state: State,
    id: Id,
    other_id: Id | None,
    document: Any,
    question: Question,
    errors: str,
    *,
    home: State | None = None,
) -> Explanation:
    """Return why the stored `id` matches the stored `other_id`, or a document, or does not.

    `home`: the state in which `id` is stored, if that is another database.
    """
    left = stored_signature(home or state, id)
    if other_id is not None:
        right = stored_signature(state, other_id)
    else:
        right = given_signature(cast(MinHashSketcher, store.sketcher), document, errors)
    criterion = question.criterion(store.options, is_weighted=True, is_stored=other_id is not None)
    plan = state.plan(criterion)
    bands = bands_of(store.options)
    is_compared = method_of(state, plan).compares(state, plan, 0)
    return explain(left, right, bands, criterion, plan=plan, is_compared=is_compared)


def explain_given(
    store: Store, documents: list[Any], question: Question, errors: str
) -> Explanation:
    """Return why two given documents match, or do not."""
    sketcher = cast(MinHashSketcher, store.sketcher)
    left, right = (given_signature(sketcher, document, errors) for document in documents)
    criterion = question.criterion(store.options, is_weighted=True)
    return explain(left, right, bands_of(store.options), criterion)


def stored_signature(state: State, id: Id) -> SignatureSide:
    """Return a stored document; NotFoundError if the id is unknown."""
    return _side(id, stored_sketches(state, known_ordinals(state, [id])), None)


def given_signature(sketcher: MinHashSketcher, document: Any, errors: str) -> SignatureSide:
    """Return a given document, as it would be stored."""
    sketches = sketcher.sketch([document], errors=errors)
    return _side(None, sketches, sketcher.features(document, errors=errors))


def explain(
    left: SignatureSide,
    right: SignatureSide,
    bands: Bands,
    criterion: Criterion,
    *,
    plan: Plan | None = None,
    is_compared: bool = True,
) -> Explanation:
    """Return why the two documents match by `criterion`, or do not.

    `plan`: how a query would be answered; `is_compared`: whether it compares all documents.
    """
    sketch = bands.sketch
    minima = bands.minima_of(left.vector[None]), bands.minima_of(right.vector[None])
    is_empty = left.is_empty or right.is_empty
    agreeing = 0 if is_empty else int(kernel.agreements(*minima)[0])
    similarity = np.float32(0) if is_empty else estimates([agreeing], sketch)[0]
    same = bands.agreeing(left.vector[None], right.vector[None])[0]
    tables = () if is_empty else tuple(np.flatnonzero(same).tolist())
    is_match = not is_empty and bool(similarity >= np.float32(criterion.similarity))
    is_reached = is_compared or bool(tables)
    features, shared_count = differences(left.features, right.features)
    return Explanation(
        left=left.id,
        right=right.id,
        distance=int(differing(np.array([similarity]), sketch)[0]),
        similarity=float(similarity),
        bits=(),
        probability=None,
        tables=tables,
        table_count=bands.table_count,
        flips=0,
        is_match=is_match,
        is_found=is_match and is_reached,
        plan=plan,
        probe=None,
        reason=_reason(
            left, right, agreeing, float(similarity), tables, bands, criterion, plan, is_reached
        ),
        features=features,
        shared_count=shared_count,
        agreeing=agreeing,
        permutations=sketch.permutations,
    )


def _side(id: Id | None, sketches: Sketches, features: NamedFeatures | None) -> SignatureSide:
    return SignatureSide(id, sketches.vectors[0], bool(sketches.states[0] == EMPTY), features)


def _reason(
    left: SignatureSide,
    right: SignatureSide,
    agreeing: int,
    similarity: float,
    tables: tuple[int, ...],
    bands: Bands,
    criterion: Criterion,
    plan: Plan | None,
    is_reached: bool,
) -> str:
    empty = [name for name, side in (("left", left), ("right", right)) if side.is_empty]
    if empty:
        faults = (f"the {name} document has no features, so it matches nothing" for name in empty)
        return f"no match: {'; '.join(faults)}"
    counts = f"{agreeing} of {bands.sketch.permutations} minima agree, similarity {similarity:.3f}"
    shared = f"{len(tables)} of {bands.table_count} bands agree"
    if similarity < np.float32(criterion.similarity):
        return f"no match: {counts} is less than {criterion.similarity:g}; {shared}"
    reason = f"a match: {counts} is at least {criterion.similarity:g}; {shared}"
    if plan is None:
        return reason
    if is_reached:
        return f"{reason}; a query ({plan.method}) finds it"
    return f"{reason}; a query ({plan.method}) misses it, as {1 - plan.recall:.2g} of all matches"
