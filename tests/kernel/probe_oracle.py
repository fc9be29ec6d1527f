"""What `Tables.probe` promises, by trying every set of bits, and cases to try it on."""

from itertools import chain, combinations

import numpy as np
import search_oracle as oracle

NEVER = 255


def order_of(mask):
    """Which bit of a fingerprint each bit of a key is, the highest first."""
    bits = range(63, -1, -1)
    return [b for b in bits if mask >> b & 1] + [b for b in bits if not mask >> b & 1]


def header_costs(levels, costs, mask, width):
    """What it costs to flip each bit of the header, the highest first."""
    return [int(costs[levels[bit]]) for bit in order_of(mask)[:width]]


def sums_of_all_sets(bit_costs):
    """What every set of bits costs that has none that never flips."""
    usable = [cost for cost in bit_costs if cost != NEVER]
    sets = chain.from_iterable(combinations(usable, size) for size in range(len(usable) + 1))
    return [sum(chosen) for chosen in sets]


def lowered(bit_costs, theta, cap):
    """The largest theta up to the given one that at most `cap` sets meet; -1 if none does."""
    sums = np.sort(sums_of_all_sets(bit_costs))
    theta = min(theta, int(sums[-1]))
    while theta >= 0 and np.searchsorted(sums, theta, side="right") > cap:
        theta -= 1
    return theta


def is_reached(query, fingerprint, bit_costs, mask, limit):
    """Whether the header of one differs from the other's in bits that cost at most `limit`."""
    difference = oracle.permute(query, mask) ^ oracle.permute(fingerprint, mask)
    flipped = [cost for at, cost in enumerate(bit_costs) if difference >> (63 - at) & 1]
    return not flipped or (NEVER not in flipped and sum(flipped) <= limit)


def matches(
    query, levels, runs, loose, masks, *, costs, theta, cap, distance_max, dead=(), after=-1
):
    """(ordinal, distance) of what a probe must return; `runs` are (header bits, entries)."""
    found = []
    for header_bits, entries in [*runs, (None, loose)]:
        ways = []
        for mask in masks if header_bits is not None else []:
            bit_costs = header_costs(levels, costs, mask, header_bits)
            ways.append((bit_costs, mask, lowered(bit_costs, theta, cap)))
        for fingerprint, ordinal in entries:
            measured = oracle.distance(query, fingerprint)
            if measured > distance_max or ordinal in dead or ordinal <= after:
                continue
            if header_bits is None or any(is_reached(query, fingerprint, *way) for way in ways):
                found.append((measured, ordinal))
    return [(ordinal, measured) for measured, ordinal in sorted(found)]


def cost_table(seed, scale):
    """Costs that rise with the level, up to those that never flip."""
    generator = np.random.default_rng(seed)
    costs = np.sort(generator.integers(0, scale, 256)).astype(np.uint8)
    costs[200:] = NEVER
    return costs


def random_levels(seed, count):
    """Levels of which many are low."""
    generator = np.random.default_rng(seed)
    return np.minimum(generator.exponential(60, (count, 64)), 255).astype(np.uint8)
