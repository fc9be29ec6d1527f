"""Look-up: finds the stored documents that match given sketches.

A batch is searched in parts, so that memory grows only with the number of matches and threads can
share the work.  The method of the plan finds the matches of each part.  `METHODS` registers the
methods by kind of database and by their name in a plan.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import EMPTY, WEIGHTED, Sketches
from simdb.core.dtypes import U32
from simdb.core.errors import InputError
from simdb.core.matches import Match, Matches, Verification, known
from simdb.core.options import BANDING, BPHS, EXHAUSTIVE, MULTIPROBE, POLYTOPE, PSM, ROTATION
from simdb.core.reports import Plan
from simdb.core.threads import mapped, parts_of
from simdb.database.search import methods
from simdb.database.search.method import Method, Nearest, estimates
from simdb.database.search.rows import Rows, gathered, joined
from simdb.database.state.state import State
from simdb.database.state.view import FINGERPRINTS, HASHES, SIGNATURES
from simdb.plan import Criterion

PART_QUERIES = 1 << 17
# Smaller if similarities are measured: all candidates of a part, a few dozen a query, are in
# memory.
PART_MEASURED = 1 << 14

# A method is loaded when it is first asked for.
METHODS: dict[str, dict[str, Callable[[], Method]]] = {
    FINGERPRINTS: {
        EXHAUSTIVE: lambda: methods.exhaustive.METHOD,
        BPHS: lambda: methods.permuted.BPHS_METHOD,
        PSM: lambda: methods.probing.METHOD,
        MULTIPROBE: lambda: methods.probing.METHOD,
        POLYTOPE: lambda: methods.polytopes.METHOD,
        ROTATION: lambda: methods.permuted.ROTATION_METHOD,
    },
    SIGNATURES: {
        BANDING: lambda: methods.bands.BANDING_METHOD,
        EXHAUSTIVE: lambda: methods.bands.EXHAUSTIVE_METHOD,
    },
    HASHES: {
        BPHS: lambda: methods.hashes.PARTS_METHOD,
        EXHAUSTIVE: lambda: methods.hashes.EXHAUSTIVE_METHOD,
    },
}


def search(
    state: State,
    sketches: Sketches,
    criterion: Criterion,
    *,
    limit: int | None = None,
    first: int = 0,
    after: U32 | None = None,
    plan: Plan | None = None,
    most: int = PART_QUERIES,
    least: int | None = None,
) -> Rows:
    """Return the matches of every sketch, best first; documents without features match nothing.

    `first`: number of matches of each query that suffice, any of them; 0 for all.  `after`: only
    ordinals greater than after[i] for query i.  `plan`: the plan to follow; None lets the planner
    choose.  `most` and `least`: limits on the queries that one thread searches at a time; None for
    the usual `least`.
    """
    plan = plan or state.plan_of(criterion, len(sketches), sketches)
    is_measured = criterion.similarity is not None
    size = PART_MEASURED if is_measured else PART_QUERIES
    # The kernel stops at the first candidate only if candidates are not measured.
    limited = limit if first != 1 else 1 if is_measured else None
    parts = parts_of(len(sketches), state.threads, most=min(size, most), least=least)

    find = method_of(state, plan).search
    assert find is not None, f"{plan.method} finds all pairs only"

    def search_full(chosen: Sketches, later: U32 | None) -> Rows:
        if is_measured and (chosen.states != WEIGHTED).any():
            raise InputError(
                "similarity= needs a query with weights, got a fingerprint without weights; give"
                " its weights, or use distance="
            )
        rows = find(state, chosen, criterion, plan, first, later)
        if limited is not None:
            rows = rows.limited(limited)
        if not is_measured:
            rows.similarities = estimates(state, chosen, rows.offsets, rows.ordinals)
        return rows

    def search_part(part: slice) -> Rows:
        chosen = sketches if len(parts) == 1 else sketches.taken(part)
        later = None if after is None else after[part]
        full = np.flatnonzero(chosen.states != EMPTY)
        if len(full) == len(chosen):
            return search_full(chosen, later)
        rows = search_full(chosen.taken(full), None if later is None else later[full])
        return gathered(len(chosen), [(full, rows)])

    return joined(list(mapped(search_part, parts, state.threads)))


def as_matches(state: State, rows: Rows, *, verification: Verification | None = None) -> Matches:
    """Return `rows` as the user gets them: ids are copied now and decoded when first used.

    `verification`: counts of decisions by texts.  With it, the similarities are exact, not stored
    estimates.
    """
    is_exact, scale = verification is not None, state.scale
    identifiers = state.identifiers(rows.ordinals)
    offsets, content = identifiers.gather(rows.ordinals)
    return Matches(
        rows.offsets,
        rows.ordinals,
        rows.distances,
        rows.similarities if is_exact else scale.shown(rows.similarities),
        partial(kernel.decode_ids, offsets, content),
        verification,
        measure=scale.measure,
    )


def as_list(state: State, rows: Rows) -> list[Match]:
    """Return the matches in `rows`, which belong to one query, as objects."""
    ids = state.identifiers(rows.ordinals).decode(rows.ordinals)
    scale = state.scale
    similarities = scale.shown(rows.similarities)
    return [
        Match(id, int(distance), known(similarity), scale.measure)
        for id, distance, similarity in zip(ids, rows.distances, similarities, strict=True)
    ]


def nearest_by_scan(state: State) -> Nearest:
    """Return the function that finds the best documents by comparing all documents."""
    found = METHODS[state.kind.stores][EXHAUSTIVE]().nearest
    assert found is not None
    return found


def method_of(state: State, plan: Plan) -> Method:
    """Return the method that carries out a plan."""
    return METHODS[state.kind.stores][plan.method]()
