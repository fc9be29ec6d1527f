"""Why two documents of a database match: by fingerprints or signatures, whichever it keeps."""

from typing import Any

from simdb.engine.explain.fingerprints import explain, given_side, stored_side
from simdb.engine.explain.signatures import given_signature, resemblance, stored_signature
from simdb.engine.search.lookup import Asked, make_criterion
from simdb.engine.state.store import Store
from simdb.engine.state.view import View
from simdb.index.bands import Bands
from simdb.reports import Explanation
from simdb.sketch.minhash_sketcher import SignatureSketcher
from simdb.sketch.sketcher import Sketcher
from simdb.storage.runs.run import Source
from simdb.values import Id


def explain_stored(
    store: Store,
    view: View,
    source: Source,
    id: Id,
    other_id: Id | None,
    document: Any,
    errors: str,
    asked: Asked,
) -> Explanation:
    """Why the stored `id` and either the stored `other_id` or a document match, or do not."""
    is_stored = other_id is not None
    sketcher = store.sketcher
    if isinstance(view.keying, Bands):
        assert isinstance(sketcher, SignatureSketcher)
        signed = stored_signature(view, source, id)
        if other_id is not None:
            other = stored_signature(view, source, other_id)
        else:
            other = given_signature(sketcher, document, errors)
        criterion = make_criterion(store.options, asked, is_weighted=True, is_stored=is_stored)
        return resemblance(signed, other, view.keying, criterion, view.plan(criterion, source))
    assert isinstance(sketcher, Sketcher)
    left = stored_side(view, source, id)
    if other_id is not None:
        right = stored_side(view, source, other_id)
    else:
        right = given_side(sketcher, document, errors)
    is_weighted = left.has_weights and right.has_weights
    criterion = make_criterion(store.options, asked, is_weighted=is_weighted, is_stored=is_stored)
    plan = view.plan(criterion, source)
    return explain(left, right, options=store.options, criterion=criterion, plan=plan)
