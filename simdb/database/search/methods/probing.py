"""Probing by volatility (PSM, multi-probe): looks up the likeliest headers first."""

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches
from simdb.core.bits import FINGERPRINT_BITS, header_mask, key_order, set_bits
from simdb.core.dtypes import U8
from simdb.core.matches import Match
from simdb.core.reports import Plan, Probe, Probing
from simdb.database.search.method import (
    After,
    Candidates,
    Limit,
    Method,
    PairMember,
    by_candidates,
    levels_of,
    matches_of_one,
)
from simdb.database.search.methods.exhaustive import links_among
from simdb.database.search.rows import MANY
from simdb.database.state.state import State
from simdb.plan import NEVER, Criterion, count_sets


def search_one(
    state: State, sketches: Sketches, criterion: Criterion, plan: Plan, first: int, limit: Limit
) -> list[Match] | None:
    """Return the matches of one document with weights, best first; None if there are many."""
    probing, is_measured = plan.probing, criterion.similarity is not None
    assert probing is not None
    found = state.tables().probe_one(
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
    return matches_of_one(state, sketches, criterion, found, 1 if first == 1 else limit)


def find_probe(
    state: State, criterion: Criterion, plan: Plan, query: PairMember, stored: PairMember
) -> Probe | None:
    """Return the first probe that reaches a stored document, with its rank in the table."""
    if query.levels is None or plan.probing is None:
        return None
    return probe_of(
        plan.probing, query.bits, stored.bits, query.levels, state.kind.masks, plan.distance
    )


def probe_of(
    probing: Probing,
    query: int,
    stored: int,
    levels: U8,
    masks: Sequence[int],
    distance: int = FINGERPRINT_BITS,
) -> Probe | None:
    """Return the first probe of a fingerprint with these `levels` that reaches a stored one.

    `masks`: the leading bits of each table.  `distance`: limit on the bits that a probe in the
    order of VOSH flips.
    """
    for table, mask in enumerate(masks[: probing.tables]):
        header = header_mask(mask, probing.header_bits)
        flipped = tuple(set_bits((query ^ stored) & header))
        if probing.theta is None:
            order = key_order(mask)[: probing.header_bits]
            rank = _rank_in_order(probing, levels, order, flipped, distance)
        else:
            rank = _rank_by_cost(probing, levels, header, flipped, probing.theta)
        if rank is not None:
            return Probe(table, flipped, rank)
    return None


def _candidates(
    state: State, sketches: Sketches, plan: Plan, first: int, after: After
) -> Candidates:
    probing = plan.probing
    assert probing is not None
    found: Candidates = state.tables().probe(
        sketches.bits,
        levels_of(sketches),
        costs=probing.costs,
        theta=probing.theta,
        cap=probing.cap,
        distance=plan.distance,
        first=first == 1,
        after=after,
        tables=probing.tables,
        header_bits=probing.header_bits,
    )
    return found


def _rank_in_order(
    probing: Probing, levels: U8, order: list[int], flipped: tuple[int, ...], distance: int
) -> int | None:
    """Return the rank of a set of bits among the sets tried in order; None if it is not tried.

    `order`: the bits of the header, in its order.
    """
    price = {bit: int(probing.costs[levels[bit]]) for bit in order}
    ranked = sorted((bit for bit in order if price[bit] != NEVER), key=price.__getitem__)
    costs = np.array([price[bit] for bit in ranked], np.int64)
    tried = chain([()], islice(kernel.FlipSets(costs, distance), probing.cap - 1))
    for rank, places in enumerate(tried, 1):
        if tuple(sorted(ranked[place] for place in places)) == flipped:
            return rank
    return None


def _rank_by_cost(
    probing: Probing, levels: U8, header: int, flipped: tuple[int, ...], theta: int
) -> int | None:
    """Return the rank of a set of bits by its cost; None if it costs too much to be tried."""
    costs = [int(probing.costs[levels[bit]]) for bit in flipped]
    if not flipped:
        return 1
    need = sum(costs)
    if NEVER in costs or need > theta or _count(probing, levels, header, need) > probing.cap:
        return None
    return _count(probing, levels, header, need - 1) + 1


def _count(probing: Probing, levels: U8, header: int, theta: int) -> int:
    """Return the number of headers whose flipped bits cost at most `theta`."""
    if theta < 0:
        return 0
    return int(count_sets(levels[None, :], probing.costs, header, theta)[0])


METHOD: Method = Method(
    search=by_candidates(_candidates),
    search_one=search_one,
    links_among=links_among,
    find_probe=find_probe,
)
