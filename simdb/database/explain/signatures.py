"""Explanations by signatures: why two documents match or do not, down to the bands that agree."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import EMPTY, Id, Sketches
from simdb.core.documents import NamedFeatures, differing, estimates
from simdb.core.dtypes import U8
from simdb.core.reports import Explanation, Plan
from simdb.database.explain.fingerprints import differences
from simdb.database.search.lookup import method_of
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.state import State
from simdb.plan import Bands, Criterion, bands_of
from simdb.sketch import MinHashSketcher


@dataclass(frozen=True, slots=True)
class SignatureSide:
    """One of the two documents: its packed signature uint8[width], and its features if known."""

    id: Id | None
    vector: U8
    is_empty: bool
    features: NamedFeatures | None = None

    @property
    def has_weights(self) -> bool:
        """True: a similarity can be measured."""
        return True


def stored_side(state: State, id: Id) -> SignatureSide:
    """Return a stored document; NotFoundError if the id is unknown."""
    return _side(id, stored_sketches(state, known_ordinals(state, [id])), None)


def given_side(
    sketcher: MinHashSketcher, document: Any, errors: str, *, is_rounded: bool
) -> SignatureSide:
    """Return a given document, as it would be stored: signatures have no weights to round."""
    sketches = sketcher.sketch([document], errors=errors)
    return _side(None, sketches, sketcher.features(document, errors=errors))


def explain(
    left: SignatureSide,
    right: SignatureSide,
    *,
    state: State,
    criterion: Criterion,
    plan: Plan | None,
) -> Explanation:
    """Return why the two documents match by `criterion`, or do not.

    `plan`: how a query is answered; None if both documents are given.
    """
    bands = bands_of(state.store.options)
    is_compared = plan is None or method_of(state, plan).compares(state, plan, 0)
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
