"""Resemblance: why two documents match by their signatures or not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.explain.fingerprints import differences
from simdb.engine.state.documents import known_ordinals, stored_sketches
from simdb.engine.state.view import View
from simdb.index.bands import Bands
from simdb.plan.question import Criterion
from simdb.reports import Explanation, Plan
from simdb.signatures import differing, estimates
from simdb.sketch.minhash_sketcher import SignatureSketcher
from simdb.storage.runs.run import Source
from simdb.values import EMPTY, Id, NamedFeatures, Sketches


@dataclass(frozen=True, slots=True)
class SignedSide:
    """One of the two documents: its packed signature uint8[width], and its features if known."""

    id: Id | None
    vector: npt.NDArray[np.uint8]
    is_empty: bool
    features: NamedFeatures | None = None


def stored_signature(view: View, source: Source, id: Id) -> SignedSide:
    """A stored document; NotFoundError when there is none."""
    return _side(id, stored_sketches(view, source, known_ordinals(view, source, [id])), None)


def given_signature(sketcher: SignatureSketcher, document: Any, errors: str) -> SignedSide:
    """A document at hand, as it would be stored."""
    sketches = sketcher.sketch([document], errors=errors)
    return _side(None, sketches, sketcher.features(document, errors=errors))


def resemblance(
    left: SignedSide, right: SignedSide, bands: Bands, criterion: Criterion, plan: Plan | None
) -> Explanation:
    """Why the two match by `criterion`, or do not; `plan`: how a query would be answered."""
    sketch = bands.sketch
    minima = bands.minima_of(left.vector[None]), bands.minima_of(right.vector[None])
    is_empty = left.is_empty or right.is_empty
    agreeing = 0 if is_empty else int(kernel.agreements(*minima)[0])
    similarity = np.float32(0) if is_empty else estimates([agreeing], sketch)[0]
    same = bands.agreeing(left.vector[None], right.vector[None])[0]
    tables = () if is_empty else tuple(np.flatnonzero(same).tolist())
    is_match = not is_empty and bool(similarity >= np.float32(criterion.similarity))
    is_reached = plan is None or plan.method == "exhaustive" or bool(tables)
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
        reason=_reason(left, right, agreeing, float(similarity), tables, bands, criterion, plan),
        features=features,
        shared_count=shared_count,
        agreeing=agreeing,
        permutations=sketch.permutations,
    )


def _side(id: Id | None, sketches: Sketches, features: NamedFeatures | None) -> SignedSide:
    return SignedSide(id, sketches.vectors[0], bool(sketches.states[0] == EMPTY), features)


def _reason(
    left: SignedSide,
    right: SignedSide,
    agreeing: int,
    similarity: float,
    tables: tuple[int, ...],
    bands: Bands,
    criterion: Criterion,
    plan: Plan | None,
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
    if tables or plan.method == "exhaustive":
        return f"{reason}; a query ({plan.method}) finds it"
    return f"{reason}; a query ({plan.method}) misses it, as {1 - plan.recall:.2g} of all matches"
