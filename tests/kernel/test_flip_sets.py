"""The sets that a probe flips in order are those that the heap of VOSH gives first."""

from itertools import islice

import numpy as np
import probe_oracle as probes
import search_oracle as oracle
from over import over

from simdb.core import kernel
from simdb.core.bits import ALL_BITS

NO_ENTRIES = oracle.pair([])
FEW = 8  # queries, from which on sets are chosen among candidates


def every_header(search, width, step=1):
    """Make a table that has every header of `width` bits, or one of `step`, once, by ordinal."""
    headers = np.arange(0, 1 << width, step, dtype=np.uint64)
    keys = headers << np.uint64(64 - width)
    directory = np.searchsorted(headers, np.arange((1 << width) + 1)).astype(np.uint32)
    table = (keys, headers.astype(np.uint32), directory)
    return search.Tables([ALL_BITS], [[table]], NO_ENTRIES, None)


def first_headers(levels, costs, width, cap, distance):
    """Return the headers of the first `cap` sets that the heap gives, ascending."""
    price = [int(costs[levels[63 - at]]) for at in range(width)]
    ranked = sorted((at for at in range(width) if price[at] != probes.NEVER), key=price.__getitem__)
    sets = kernel.FlipSets(np.array([price[at] for at in ranked], np.int64), distance)
    chosen = [(), *islice(sets, cap - 1)]
    return sorted(sum(1 << (width - 1 - ranked[rank]) for rank in ranks) for ranks in chosen)


def flipped(tables, levels, costs, cap, distance):
    """Return the headers that queries of 0 ask for, ascending, for each."""
    offsets, ordinals, _ = tables.probe(
        np.zeros(len(levels), np.uint64), levels,
        costs=costs, theta=None, cap=cap, distance=distance, first=False, after=None, tables=None,
    )  # fmt: skip
    return [sorted(part.tolist()) for part in np.split(ordinals, offsets[1:-1])]


KINDS = {
    "distinct": np.arange(256),
    "tied": np.arange(256) // 40,
    "equal": np.full(256, 3),
    "free": np.zeros(256),
    "free, then dear": (np.arange(256) > 99) * 200,
    "dear": 120 + np.arange(256) % 135,
    "dear beyond some": np.arange(256) % 9 * 31,
    "few": np.where(np.arange(256) < 30, np.arange(256), probes.NEVER),
    "none": np.full(256, probes.NEVER),
}


@over("kind", KINDS)
@over(("width", "distance"), [(12, 3), (12, 64), (9, 2), (7, 1), (5, 0), (3, 3), (1, 2), (0, 3)])
def test_the_first_sets_are_those_of_the_heap(search, kind, width, distance):
    tables, costs = every_header(search, width), KINDS[kind].astype(np.uint8)
    levels = np.random.default_rng(width).integers(0, 256, (FEW + 1, 64)).astype(np.uint8)

    for cap in (1, 2, 5, 12, 20, 31, 33, 200, 5000):
        expected = [first_headers(row, costs, width, cap, distance) for row in levels]
        assert flipped(tables, levels, costs, cap, distance) == expected
        assert flipped(tables, levels[:3], costs, cap, distance) == expected[:3]


@over("distance", [1, 2, 3, 4, 64])
@over("kind", ["tied", "free", "free, then dear", "dear beyond some"])
def test_however_many_sets_are_few_they_are_those_of_the_heap(search, kind, distance):
    tables, costs = every_header(search, 10), KINDS[kind].astype(np.uint8)
    levels = np.random.default_rng(distance).integers(0, 256, (2 * FEW, 64)).astype(np.uint8)

    for cap in range(1, 36):
        expected = [first_headers(row, costs, 10, cap, distance) for row in levels]
        assert flipped(tables, levels, costs, cap, distance) == expected


@over("cap", [1, 3, 8, 15, 20, 22, 23, 31, 40, 47, 70, 300])
def test_the_first_sets_of_likely_costs_are_those_of_the_heap(search, cap):
    tables = every_header(search, 14)
    levels = probes.random_levels(cap, 150)
    costs = probes.cost_table(cap, 90)

    expected = [first_headers(row, costs, 14, cap, 3) for row in levels]
    assert flipped(tables, levels, costs, cap, 3) == expected


@over("cap", [2, 5, 15, 22, 23, 31, 32, 60])
def test_the_first_match_is_the_same_whatever_the_variant(search, cap):
    tables, costs = every_header(search, 14, step=3), probes.cost_table(cap, 90)
    levels = probes.random_levels(cap, 150)

    def found():
        offsets, ordinals, _ = tables.probe(
            np.full(len(levels), 1 << 50, np.uint64), levels, costs=costs, theta=None, cap=cap,
            distance=3, first=True, after=None, tables=None,
        )  # fmt: skip
        return offsets.tolist(), ordinals.tolist()

    answer, variant = found(), search.select("scalar")
    expected = found()
    search.select(variant)
    assert answer == expected
    assert len(answer[1]) > 0
