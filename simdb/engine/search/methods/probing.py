"""Probing by volatility (PSM, multi-probe): looks up the likeliest headers first.

Documents that the calibration of a plan does not cover are compared one by one, in the same call
of the kernel.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.bits import header_mask, set_bits
from simdb.engine.search.measure import Candidates, by_candidates, levels_of, matches_of_one
from simdb.engine.search.method import Asked, Method
from simdb.engine.search.methods.exhaustive import links_among
from simdb.engine.search.rows import MANY
from simdb.engine.state.state import State
from simdb.matches import Match
from simdb.plan.probing import count_sets
from simdb.plan.problem import Criterion
from simdb.plan.recall import UNREACHABLE, SampledPairs, needs
from simdb.plans import Plan, Probe, Probing
from simdb.storage.runs.run import Run
from simdb.storage.runs.table import Table
from simdb.values import Sketches

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]


def search_one(
    state: State,
    sketches: Sketches,
    criterion: Criterion,
    plan: Plan,
    first: int,
    limit: int | None,
) -> list[Match] | None:
    """Return the matches of one document with weights, best first; None if there are many."""
    probing, is_measured = plan.probing, criterion.similarity is not None
    assert probing is not None
    tables = state.covered_tables() if plan.compared else state.tables()
    found = tables.probe_one(
        int(sketches.bits[0]),
        levels_of(sketches)[0],
        probing.costs,
        probing.theta,
        probing.cap,
        plan.distance,
        first == 1 and not is_measured,
        probing.tables,
        probing.header_bits,
        MANY,
    )
    if found is None:
        return None
    if plan.compared:
        found = list(dict.fromkeys(found))  # a document can be both probed and compared
    return matches_of_one(state, sketches, criterion, found, 1 if first == 1 else limit)


def tables(state: State, plan: Plan, run: Run) -> Iterator[Table]:
    """Yield the tables that a plan probes."""
    return (run.table(number, state.source) for number in range(plan.tables))


def compares(state: State, plan: Plan, ordinal: int) -> bool:
    """Return whether a plan compares a document because the calibration does not cover it."""
    return plan.compared > 0 and ordinal >= state.uncovered_from


def find_probe(
    state: State, criterion: Criterion, plan: Plan, query: Asked, stored: Asked
) -> Probe | None:
    """Return the first probe that reaches a stored document, with its rank in the table."""
    if query.levels is None or plan.probing is None:
        return None
    return probe_of(plan.probing, query.bits, stored.bits, query.levels, state.kind.masks)


def probe_of(
    probing: Probing, query: int, stored: int, levels: U8, masks: Sequence[int]
) -> Probe | None:
    """Return the first probe of a fingerprint with these `levels` that reaches a stored one.

    `masks`: the leading bits of each table.
    """
    pair = SampledPairs(
        np.array([query], np.uint64), levels[None, :], np.array([stored], np.uint64)
    )
    for table, mask in enumerate(masks[: probing.tables]):
        need = int(needs(pair, probing.costs, [mask], probing.header_bits)[0])
        if need > probing.theta or need >= UNREACHABLE:
            continue
        header = header_mask(mask, probing.header_bits)
        flipped = tuple(set_bits((query ^ stored) & header))
        rank = _count(probing, levels, header, need)
        if flipped and rank > probing.cap:
            continue
        return Probe(table, flipped, _count(probing, levels, header, need - 1) + 1)
    return None


def _candidates(
    state: State, sketches: Sketches, plan: Plan, first: int, after: U32 | None
) -> Candidates:
    if plan.compared:
        return _covered_candidates(state, sketches, plan, first == 1, after)
    return _probed(state.tables(), sketches, plan, first == 1, after)


def _covered_candidates(
    state: State, sketches: Sketches, plan: Plan, first: int, after: U32 | None
) -> Candidates:
    """Return each candidate once, of tables that compare what the calibration does not cover."""
    tables = state.covered_tables()
    offsets, ordinals, distances = _probed(tables, sketches, plan, first, after)
    # A document that was both probed and compared is there twice in a row.
    again = np.flatnonzero(ordinals[1:] == ordinals[:-1]) + 1
    again = again[~np.isin(again, offsets)]
    if not len(again):
        return offsets, ordinals, distances
    fewer = np.searchsorted(again, offsets)
    return offsets - fewer, np.delete(ordinals, again), np.delete(distances, again)


def _probed(
    tables: Any, sketches: Sketches, plan: Plan, first: int, after: U32 | None
) -> Candidates:
    probing = plan.probing
    assert probing is not None
    found: Candidates = tables.probe(
        sketches.bits,
        levels_of(sketches),
        costs=probing.costs,
        theta=probing.theta,
        cap=probing.cap,
        distance=plan.distance,
        first=first,
        after=after,
        tables=probing.tables,
        header_bits=probing.header_bits,
    )
    return found


def _count(probing: Probing, levels: U8, header: int, theta: int) -> int:
    """Return the number of headers whose flipped bits cost at most `theta`."""
    if theta < 0:
        return 0
    return int(count_sets(levels[None, :], probing.costs, header, theta)[0])


METHOD: Method = Method(
    search=by_candidates(_candidates),
    search_one=search_one,
    links_among=links_among,
    tables=tables,
    compares=compares,
    find_probe=find_probe,
)
