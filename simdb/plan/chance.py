"""Chances: how far similar and unrelated fingerprints are apart, and what tables reach of them.

Bits of documents at an angle differ with probability angle / pi (Charikar 2002) and are taken as
independent; those of unrelated documents differ as coins fall.
"""

import math
from functools import lru_cache

from simdb import bits

# In a transaction every insertion is followed by a new plan, mostly of the same probabilities.
REMEMBERED = 4096


@lru_cache(REMEMBERED)
def reach(similarity: float, blocks: int, leading: int, flips: int) -> float:
    """Share of documents at `similarity` whose header some table reaches with `flips` flips.

    Each bit differs with probability angle / pi (Charikar 2002), taken as independent.
    """
    differs = math.acos(similarity) / math.pi
    widths = [mask.bit_count() for mask in bits.block_masks(blocks)]
    if leading == 1:
        missed = 1.0
        for width in widths:
            missed *= 1.0 - binomial_below(width, differs, flips)
        return 1.0 - missed
    return _reach_of_combinations(widths, leading, differs, flips)


@lru_cache(REMEMBERED)
def filter_distance(similarity: float, loss: float) -> int:
    """The distance beyond which a share of at most `loss` of the documents at `similarity` lies."""
    differs = math.acos(similarity) / math.pi
    for distance in range(bits.FINGERPRINT_BITS + 1):
        if 1.0 - binomial_below(bits.FINGERPRINT_BITS, differs, distance) <= loss:
            return distance
    return bits.FINGERPRINT_BITS


@lru_cache(REMEMBERED)
def share_of_reached(header_bits: int, flips: int, distance: int) -> float:
    """Share of unrelated fingerprints within `distance`, of those that the probes reach.

    They are nearer than others: at most `flips` of their header bits differ.
    """
    others = bits.FINGERPRINT_BITS - header_bits
    ways = [math.comb(header_bits, count) for count in range(min(flips, header_bits) + 1)]
    near = sum(
        way * binomial_below(others, 0.5, distance - count) for count, way in enumerate(ways)
    )
    return near / sum(ways)


def share_within(similarity: float | None, distance: int | None, limit: int) -> float:
    """Share of the matches that lie within the distance `limit`, where only similarity is asked.

    All where `distance` is asked, since then `limit` is that distance.
    """
    if distance is not None or similarity is None:
        return 1.0
    return binomial_below(bits.FINGERPRINT_BITS, math.acos(similarity) / math.pi, limit)


@lru_cache(REMEMBERED)
def binomial_below(trials: int, probability: float, most: int) -> float:
    """P(X <= `most`) for X binomial."""
    total = 0.0
    for count in range(min(most, trials) + 1):
        total += (
            math.comb(trials, count) * probability**count * (1 - probability) ** (trials - count)
        )
    return min(total, 1.0)


def _reach_of_combinations(widths: list[int], leading: int, differs: float, flips: int) -> float:
    """P(the `leading` blocks with fewest differing bits hold at most `flips` of them).

    Summed over how many blocks differ in 0, 1, .. `flips` bits, more being all alike.
    """
    ways = {(0,) * (flips + 1): 1.0}
    for width in widths:
        below = [
            math.comb(width, count) * differs**count * (1 - differs) ** (width - count)
            for count in range(min(flips, width) + 1)
        ]
        updated: dict[tuple[int, ...], float] = {}
        for counts, share in ways.items():
            updated[counts] = updated.get(counts, 0.0) + share * max(0.0, 1.0 - sum(below))
            for errors, chance in enumerate(below):
                raised = (*counts[:errors], counts[errors] + 1, *counts[errors + 1 :])
                updated[raised] = updated.get(raised, 0.0) + share * chance
        ways = updated
    return sum(share for counts, share in ways.items() if _fewest(counts, leading) <= flips)


def _fewest(counts: tuple[int, ...], leading: int) -> int:
    """Differing bits of the `leading` best blocks; more than can be flipped if too few are good."""
    total = 0
    for errors, blocks in enumerate(counts):
        taken = min(blocks, leading)
        total += taken * errors
        leading -= taken
    return total if leading == 0 else len(counts)
