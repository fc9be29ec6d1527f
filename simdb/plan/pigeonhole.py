"""Pigeonhole: the choice of tables, and of the header bits that each flips, to miss no match.

However the differing bits of a match are spread over the blocks, few of them are among the leading
bits of some table.  Tables may need different numbers of flips.  With one leading block, a match
within distance h is certain to be found if the sum of r + 1 over all tables exceeds h.  Here, r is
the number of flips of a table, and -1 leaves the table unread (the general pigeonhole principle,
Qin et al. 2018).  With more leading blocks, the tables overlap, so all spreads of the differing
bits over the blocks are tried.

A search for all pairs of an array makes its own tables.  For any number of blocks G, the
C(G, G - d) tables find every pair within distance d.  So do G tables of one block each, if enough
header bits are flipped.  The plan is chosen by time alone: more tables mean more sorting, and
longer headers mean fewer comparisons.  A sample predicts the comparisons, since headers of real
fingerprints are far from equally frequent.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from simdb.core import bits
from simdb.core.checks import whole
from simdb.core.dtypes import I8, U64
from simdb.core.errors import OptionError

NOT_READ = -1
REMEMBERED = 1024
# Costs are rounded to powers of the fourth root of 2, so that more choices are found in the cache.
STEPS_OF_DOUBLING = 4
SUMS_MAX = 400_000  # spreads times tables; beyond, every table gets the same flips
LEAST_COST = 1e-9  # of flips beyond the header bits of a table, which really cost nothing
BLOCKS_MAX = 64
TABLES_MAX = 64  # sorting more tables never pays
SAMPLE = 4096
# Seconds on one fast machine: to permute, sort and visit one entry; to compare two fingerprints.
ENTRY = 16e-9
COMPARE = 0.12e-9
# Visiting the group of a flipped header for one document, without comparing its entries.
VISITED_SECONDS = 12e-9
FLIPS_MAX = 4
FLIPPED_BLOCKS_MAX = 8
# Shorter searches do not consider flips, since choosing flips takes a few milliseconds.
WORTH_COMPARING = 20e-3

Flips = tuple[int, ...]


def cheapest_flips(
    blocks: int,
    leading: int,
    distance: int,
    *,
    widths: Sequence[int],
    probe_costs: Sequence[float],
    table_cost: float,
) -> Flips | None:
    """Return the flips of each table that find all matches within `distance` at the least cost.

    `widths`: the header bits of each table, all of which can be flipped.  A table costs
    `table_cost`, and its `probe_costs` for every header that is looked up.  None if `FLIPS_MAX`
    flips in every table are not enough.
    """
    unit = min(probe_costs)
    relative = tuple(_rounded(cost / unit) for cost in probe_costs)
    table = _rounded(table_cost / unit)
    return _cheapest(blocks, leading, distance, tuple(widths), relative, table)


@lru_cache(REMEMBERED)
def tables_read(
    masks: tuple[int, ...], flips: Flips, *, distance: int, directory_bits: int
) -> tuple[int, ...]:
    """Return the tables that a look-up with these flips reads from a run, as `lookup.c` does.

    Tables without flips whose headers have the same bits of a fingerprint have the same buckets, so
    only the first is read.  `masks`: the leading bits of each table.
    """
    found, known = [], set()
    for table, (mask, most) in enumerate(zip(masks, flips, strict=True)):
        if most == 0 and (distance == 0 or mask.bit_count() >= directory_bits):
            header = bits.header_mask(mask, directory_bits)
            if header in known:
                continue
            known.add(header)
        if most != NOT_READ:
            found.append(table)
    return tuple(found)


@lru_cache(64)
def sums_of_spreads(blocks: int, leading: int, distance: int) -> I8:
    """Return the number of differing leading bits of each table: int8[spreads, tables].

    A spread has the number of differing bits in each block, `distance` in total.  Smaller totals
    need no spreads: a table that reaches a match also reaches matches with fewer differing bits.
    """
    # A spread is a row of `distance` stars with a bar between any two blocks.
    places = distance + blocks - 1
    bars = np.array(list(combinations(range(places), blocks - 1)), np.int16)
    ends = np.full((len(bars), 1), places, np.int16)
    spreads = np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1
    tables = list(combinations(range(blocks), leading))
    return np.stack([spreads[:, chosen].sum(axis=1) for chosen in tables], axis=1).astype(np.int8)


@lru_cache(REMEMBERED)
def _cheapest(
    blocks: int,
    leading: int,
    distance: int,
    widths: tuple[int, ...],
    probe_costs: tuple[float, ...],
    table_cost: float,
) -> Flips | None:
    costs = _costs(widths, probe_costs, table_cost)
    if leading == 1:
        return _of_disjoint(distance, costs)
    even = _even(blocks, leading, distance)
    spreads = math.comb(distance + blocks - 1, blocks - 1)
    if even is None or spreads * len(widths) > SUMS_MAX:
        return even
    sums = sums_of_spreads(blocks, leading, distance)
    found = [_trimmed(flips, sums, costs) for flips in (_covering(sums, costs), even)]
    return min(found, key=lambda flips: _cost(flips, costs))


def _rounded(ratio: float) -> float:
    """Return a ratio of costs, rounded; 0 stays 0."""
    if ratio <= 0:
        return 0.0
    return float(2.0 ** (round(math.log2(ratio) * STEPS_OF_DOUBLING) / STEPS_OF_DOUBLING))


def _even(blocks: int, leading: int, distance: int) -> Flips | None:
    """Return the fewest flips, equal in all tables, that serve a distance; None if none do."""
    tables = math.comb(blocks, leading)
    for flips in range(FLIPS_MAX + 1):
        if bits.distance_served(blocks, leading, flips) >= distance:
            return (flips,) * tables
    return None


def _of_disjoint(distance: int, costs: list[list[float]]) -> Flips | None:
    """Return the cheapest flips of tables with one leading block each; None if there are none.

    At equal cost, the first tables get the flips.
    """
    # The best cost and flips of the last tables, by their sum of flips + 1, up to distance + 1.
    best: dict[int, tuple[float, Flips]] = {0: (0.0, ())}
    for of_table in reversed(costs):
        updated: dict[int, tuple[float, Flips]] = {}
        for total, (spent, chosen) in best.items():
            for flips, cost in enumerate((0.0, *of_table), NOT_READ):
                reached = min(total + flips + 1, distance + 1)
                known = updated.get(reached)
                if known is None or spent + cost < known[0]:
                    updated[reached] = (spent + cost, (flips, *chosen))
        best = updated
    return best[distance + 1][1] if distance + 1 in best else None


def _covering(sums: I8, costs: list[list[float]]) -> Flips:
    """Return flips that serve every spread, chosen greedily by newly served spreads per cost.

    `costs` must have enough flips to serve every spread.
    """
    tables = len(costs)
    flips = [NOT_READ] * tables
    unserved = sums
    while len(unserved):
        best, best_rate = (0, 0), -1.0
        for table in range(tables):
            served = np.cumsum(np.bincount(unserved[:, table]))
            before = 0.0 if flips[table] == NOT_READ else costs[table][flips[table]]
            for more in range(flips[table] + 1, len(costs[table])):
                dearer = max(costs[table][more] - before, LEAST_COST)
                rate = float(served[min(more, len(served) - 1)]) / dearer
                if rate > best_rate:
                    best, best_rate = (table, more), rate
        table, more = best
        flips[table] = more
        unserved = unserved[unserved[:, table] > more]
    return tuple(flips)


def _trimmed(flips: Flips, sums: I8, costs: list[list[float]]) -> Flips:
    """Return the flips that some spread needs, dropping the dearest unneeded flips first."""
    left = np.array(flips, np.int8)
    counts = (sums <= left).sum(axis=1)
    order = sorted(range(len(costs)), key=lambda table: -costs[table][max(flips[table], 0)])
    for table in order:
        while left[table] > NOT_READ:
            lost = sums[:, table] == left[table]
            if (counts[lost] < 2).any():
                break
            counts[lost] -= 1
            left[table] -= 1
    return tuple(left.tolist())


def _costs(
    widths: Sequence[int], probe_costs: Sequence[float], table_cost: float
) -> list[list[float]]:
    """Return the cost of each table with 0 to `FLIPS_MAX` flips."""
    return [
        [table_cost + each * bits.flip_count(width, flips) for flips in range(FLIPS_MAX + 1)]
        for width, each in zip(widths, probe_costs, strict=True)
    ]


def _cost(flips: Flips, costs: list[list[float]]) -> float:
    """Return the cost of all tables that are read."""
    return sum(
        of_table[most] for most, of_table in zip(flips, costs, strict=True) if most != NOT_READ
    )


class Arrangement(NamedTuple):
    """For each table, the mask of its leading bits, and how many of them may differ in a pair.

    Flips of -1 mean that the table is not made.
    """

    masks: list[int]
    flips: Flips


def check_arrangement(blocks: int, distance: int) -> None:
    """Raise OptionError unless 64 >= `blocks` > `distance` >= 0."""
    whole("blocks", blocks, 1, BLOCKS_MAX)
    whole("distance", distance, 0, BLOCKS_MAX - 1)
    if blocks <= distance:
        raise OptionError(
            f"blocks ({blocks}) must be greater than distance ({distance}), because a pair is found"
            f" by a block in which no bit differs; use blocks={distance + 1} or more"
        )


def choose_tables(fingerprints: U64, *, blocks: int, distance: int) -> Arrangement:
    """Return the tables that find all pairs soonest.

    The tables cut a fingerprint into `blocks` blocks or fewer.  The masks [0] mean one table
    without leading bits, in which all fingerprints are compared with each other.
    """
    count = len(fingerprints)
    sample = np.ascontiguousarray(fingerprints[:: max(1, count // SAMPLE)])
    scale = (count / len(sample)) ** 2 if count else 0.0
    best, best_seconds = Arrangement([0], (0,)), COMPARE * count * count / 2
    for width in range(distance + 1, blocks + 1):
        tables = math.comb(width, distance)
        if tables > TABLES_MAX or tables * ENTRY * count >= best_seconds:
            continue
        masks = bits.leading_masks(width, width - distance)
        compared = sum(_count_alike(sample, mask) for mask in masks) * scale
        seconds = tables * ENTRY * count + COMPARE * compared
        if seconds < best_seconds:
            best, best_seconds = Arrangement(masks, (0,) * tables), seconds
    most = FLIPPED_BLOCKS_MAX if best_seconds > WORTH_COMPARING else 0
    for width in range(2, min(blocks, most) + 1):
        flipped = _with_flips(sample, scale, count, width, distance)
        if flipped is not None and flipped[1] < best_seconds:
            best, best_seconds = flipped
    return best


def _with_flips(
    sample: U64, scale: float, count: int, blocks: int, distance: int
) -> tuple[Arrangement, float] | None:
    """Return the best flips with one table for each block, and their seconds; None if none do."""
    masks = bits.block_masks(blocks)
    widths = [min(mask.bit_count(), max(count.bit_length() - 1, 1)) for mask in masks]
    headers = [bits.header_mask(mask, width) for mask, width in zip(masks, widths, strict=True)]
    compared = [_count_alike(sample, header) * scale for header in headers]
    probe_costs = [VISITED_SECONDS * count / 2 + COMPARE * each for each in compared]
    flips = cheapest_flips(
        blocks, 1, distance,
        widths=widths, probe_costs=probe_costs, table_cost=ENTRY * count,
    )  # fmt: skip
    if flips is None:
        return None
    seconds = _cost(flips, _costs(widths, probe_costs, ENTRY * count))
    return Arrangement(masks, flips), seconds


def _count_alike(sample: U64, mask: int) -> int:
    """Count the pairs of the sample that agree in all bits of `mask`."""
    headers = np.sort(sample & np.uint64(mask))
    sizes = np.diff(np.flatnonzero(headers[1:] != headers[:-1]), prepend=-1, append=len(sample) - 1)
    return int((sizes * (sizes - 1) // 2).sum())
