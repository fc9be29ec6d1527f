"""Probing in the order of VOSH reaches exactly the first headers of a sort of all sets."""

from functools import cache
from itertools import combinations

import numpy as np
import probe_oracle as probes
import search_oracle as oracle
from over import over

from simdb.core.bits import leading_masks

WIDTHS = (8, 5, 5, 0)
NEAR = 5


def first_sets(costs, cap, distance):
    """Return the first sets of header bits by sorting all: by cost, size, then the ranks."""
    usable = [at for at, cost in enumerate(costs) if cost != probes.NEVER]
    ranked = sorted(usable, key=lambda at: (costs[at], at))
    sets = [
        (sum(costs[ranked[rank]] for rank in ranks), size, ranks)
        for size in range(1, min(distance, len(ranked)) + 1)
        for ranks in combinations(range(len(ranked)), size)
    ]
    chosen = [(), *(ranks for *_, ranks in sorted(sets)[: cap - 1])]
    return {sum(1 << (len(costs) - 1 - ranked[rank]) for rank in ranks) for ranks in chosen}


def expected_of(query, levels, runs, delta, masks, *, costs, cap):
    """Return (ordinal, distance) of each match by the sets of each run and table."""
    found = {(oracle.distance(query, each), ordinal) for each, ordinal in delta}
    for width, entries in runs:
        for mask in masks:
            prices = probes.header_costs(levels, costs, mask, width)
            sets = first_sets(prices, cap, NEAR)
            header = oracle.permute(query, mask) >> (64 - width)
            found |= {
                (oracle.distance(query, each), ordinal)
                for each, ordinal in entries
                if header ^ (oracle.permute(each, mask) >> (64 - width)) in sets
            }
    return [(ordinal, measured) for measured, ordinal in sorted(found) if measured <= NEAR]


@cache
def case(blocks, leading, cap):
    """Return what a search is given, and what it should find."""
    generator = np.random.default_rng(blocks * 100 + cap)
    masks = leading_masks(blocks, leading)
    entries = list(zip(oracle.neighbourhood(blocks, 200, 4, 6), range(200), strict=True))
    bounds = [0, 90, 130, 160, 180]
    runs = [
        (width, entries[start:stop])
        for width, start, stop in zip(WIDTHS, bounds, bounds[1:], strict=False)
    ]
    delta = entries[180:]
    queries = oracle.neighbourhood(blocks, 12, 4, 3)
    levels = generator.integers(0, 256, (len(queries), 64)).astype(np.uint8)
    costs = probes.cost_table(7, 6)  # few costs, so that many sets are equally dear
    expected = [
        expected_of(query, row, runs, delta, masks, costs=costs, cap=cap)
        for query, row in zip(queries, levels, strict=True)
    ]
    return masks, runs, delta, queries, levels, costs, expected


@over(("blocks", "leading"), [(1, 1), (4, 1), (5, 2)])
@over("cap", [1, 2, 17, 65536])
def test_probing_in_order_reaches_the_first_sets_and_no_others(search, blocks, leading, cap):
    masks, runs, delta, queries, levels, costs, expected = case(blocks, leading, cap)
    columns = [[oracle.column(part, mask, width) for mask in masks] for width, part in runs]
    tables = search.Tables(masks, columns, oracle.pair(delta), None)
    given = {"costs": costs, "theta": None, "cap": cap, "distance": NEAR, "tables": None}
    asked = np.array(queries, np.uint64)

    found = tables.probe(asked, levels, **given, first=False, after=None)
    single = [
        tables.probe_one(query, row, costs, None, cap, NEAR, False)
        for query, row in zip(queries, levels, strict=True)
    ]
    many, few = (
        oracle.rows(tables.probe(asked[:count], levels[:count], **given, first=True, after=None))
        for count in (12, 3)
    )

    assert oracle.rows(found) == expected
    assert single == expected
    assert [len(row) for row in many] == [min(len(row), 1) for row in expected]
    assert all(set(row) <= set(every) for row, every in zip(many, expected, strict=True))
    assert [len(row) for row in few] == [len(row) for row in many[:3]]
