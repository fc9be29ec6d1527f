"""The contract of `Tables.probe`, by trying every set of bits, and cases to test it on."""

from itertools import chain, combinations

import numpy as np
import search_oracle as oracle

NEVER = 255


def order_of(mask):
    """Return which bit of a fingerprint each bit of a key is, the highest bit first."""
    bits = range(63, -1, -1)
    return [b for b in bits if mask >> b & 1] + [b for b in bits if not mask >> b & 1]


def header_costs(levels, costs, mask, width):
    """Return the cost of flipping each bit of the header, the highest bit first."""
    return [int(costs[levels[bit]]) for bit in order_of(mask)[:width]]


def sums_of_all_sets(bit_costs):
    """Return the cost of every set of bits without a bit that is never flipped."""
    usable = [cost for cost in bit_costs if cost != NEVER]
    sets = chain.from_iterable(combinations(usable, size) for size in range(len(usable) + 1))
    return [sum(chosen) for chosen in sets]


def lowered(bit_costs, theta, cap):
    """Return the largest theta, up to the given one, within which are at most `cap` sets, or -1."""
    sums = np.sort(sums_of_all_sets(bit_costs))
    return min(theta, *map(int, sums[-1:]), *(int(each) - 1 for each in sums[cap : cap + 1]))


def is_reached(query, fingerprint, bit_costs, mask, limit):
    """Return whether two headers differ in bits that cost at most `limit` together."""
    difference = oracle.permute(query, mask) ^ oracle.permute(fingerprint, mask)
    flipped = [cost for at, cost in enumerate(bit_costs) if difference >> (63 - at) & 1]
    return not flipped or (NEVER not in flipped and sum(flipped) <= limit)


def matches(
    query, levels, runs, delta, masks, *, costs, theta, cap, distance_max, dead=(), after=-1
):
    """Return (ordinal, distance) of each match of a probe; `runs` are (header bits, entries)."""
    found = []
    for header_bits, entries in [*runs, (None, delta)]:
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
    """Make costs that rise with the level, up to levels that are never flipped."""
    generator = np.random.default_rng(seed)
    costs = np.sort(generator.integers(0, scale, 256)).astype(np.uint8)
    costs[200:] = NEVER
    return costs


def random_levels(seed, count):
    """Make levels, many of them low."""
    generator = np.random.default_rng(seed)
    return np.minimum(generator.exponential(60, (count, 64)), 255).astype(np.uint8)
