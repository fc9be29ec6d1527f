"""One query at a time, where microseconds count: the shortest ways through the kernel.

They make objects of all that they find, so a query with many matches goes the way of a batch.
"""

import numpy as np

from simdb.bits import is_set
from simdb.engine.search.lookup import Asked, as_list, bare_rows, make_criterion, search
from simdb.engine.search.measure import levels_of
from simdb.engine.state.view import View
from simdb.options import Options
from simdb.plan.question import Criterion
from simdb.reports import Plan
from simdb.signatures import COUNTED_MAX
from simdb.storage.runs.run import Source
from simdb.values import WEIGHTED, Match, Sketches

# More matches of one query than this are taken as arrays.
MANY = 512


def plan_bits(view: View, options: Options, asked: Asked, source: Source) -> Plan:
    """The plan for a query by a ready fingerprint."""
    criterion = make_criterion(options, asked, is_weighted=False)
    return view.plan(criterion, source)


def search_bits(
    view: View, source: Source, bits: int, plan: Plan, first: bool, limit: int | None
) -> list[Match]:
    """The matches of one ready fingerprint, best first, at most `limit`."""
    if plan.method != "exhaustive":
        found = view.tables(source).lookup_one(bits, plan.distance, plan.flips, first, MANY)
        if found is not None:
            return [Match(view.id_of(at, source), distance) for at, distance in found[:limit]]
    rows = bare_rows(view, source, np.array([bits], np.uint64), plan, first=first)
    if limit is not None:
        rows = rows.limited(limit)
    if len(rows.ordinals) > MANY:
        return as_list(view, source, rows)
    found = zip(rows.ordinals.tolist(), rows.distances.tolist(), strict=True)
    return [Match(view.id_of(at, source), distance) for at, distance in found]


def can_probe(sketches: Sketches, plan: Plan) -> bool:
    """Whether `probe` answers for these sketches: one document, by the weights that it has."""
    is_alone = len(sketches) == 1 and bool(sketches.states[0] == WEIGHTED)
    return is_alone and plan.probing is not None


def probe(
    view: View,
    source: Source,
    sketches: Sketches,
    criterion: Criterion,
    plan: Plan,
    first: bool,
    limit: int | None,
) -> list[Match]:
    """The matches of one document with weights, best first, at most `limit`."""
    probing, is_measured = plan.probing, criterion.similarity is not None
    assert probing is not None
    tables = view.covered_tables(source) if plan.compared else view.tables(source)
    found = tables.probe_one(
        int(sketches.bits[0]),
        levels_of(sketches)[0],
        probing.costs,
        probing.theta,
        probing.cap,
        plan.distance,
        first and not is_measured,
        probing.tables,
        probing.header_bits,
        MANY,
    )
    if found is None:
        return _searched(view, source, sketches, criterion, plan, first, limit)
    if not found:
        return []
    if plan.compared:
        found = list(dict.fromkeys(found))  # one may be probed and compared
    similarities = _similarities(view, source, sketches, [ordinal for ordinal, _ in found])
    rows = [(*each, similarity) for each, similarity in zip(found, similarities, strict=True)]
    if is_measured:
        least = float(np.float32(criterion.similarity))
        rows = [row for row in rows if row[2] is not None and row[2] >= least]
        rows.sort(key=lambda row: (-row[2], row[0]))
    rows = rows[: 1 if first else limit]
    return [Match(view.id_of(ordinal, source), *measured) for ordinal, *measured in rows]


def can_band(sketches: Sketches, plan: Plan) -> bool:
    """Whether `band` answers for these sketches: the signature of one document, by bands."""
    is_alone = len(sketches) == 1 and bool(sketches.states[0] == WEIGHTED)
    return is_alone and plan.method == "banding"


def band(
    view: View,
    source: Source,
    sketches: Sketches,
    criterion: Criterion,
    plan: Plan,
    first: bool,
    limit: int | None,
) -> list[Match]:
    """The matches of one signature, best first, at most `limit`."""
    ordinals = view.band_tables(source).candidates_of(sketches.vectors, MANY)
    if ordinals is None:
        return _searched(view, source, sketches, criterion, plan, first, limit)
    if not len(ordinals):
        return []
    agreeing, similarities = view.signed(source, ordinals).of_one(sketches.vectors, ordinals)
    chosen = np.flatnonzero(similarities >= np.float32(criterion.similarity))
    if len(chosen) > 1:
        chosen = chosen[np.argsort(-agreeing[chosen].astype(np.int64), kind="stable")]
    permutations = view.bands.sketch.permutations
    return [
        Match(
            view.id_of(int(ordinals[at]), source),
            min(permutations - int(agreeing[at]), COUNTED_MAX),
            float(similarities[at]),
        )
        for at in chosen[: 1 if first else limit].tolist()
    ]


def _searched(
    view: View,
    source: Source,
    sketches: Sketches,
    criterion: Criterion,
    plan: Plan,
    first: bool,
    limit: int | None,
) -> list[Match]:
    """The matches of one document that has many: as arrays, until it is known which are wanted."""
    rows = search(view, source, sketches, criterion, limit=limit, first=first, plan=plan)
    return as_list(view, source, rows)


def _similarities(
    view: View, source: Source, sketches: Sketches, ordinals: list[int]
) -> list[float | None]:
    """Of one document with some stored ones, None for those without weights."""
    if not source.width:
        return [None] * len(ordinals)
    listed = np.array(ordinals, np.uint32)
    whole = np.array([0, len(ordinals)], np.int64)
    measured = view.vectors(source, listed).similarity(sketches.vectors, whole, listed).tolist()
    lacking = is_set(view.unweighted(source), listed).tolist()
    return [None if no else value for no, value in zip(lacking, measured, strict=True)]
