"""Chances: probabilities of distances, and the shares of documents that block tables reach.

Each bit of two documents differs with probability angle / pi (Charikar 2002); bits are taken as
independent.  Each bit of unrelated documents differs with probability 1/2.

A sign is *firm* unless its weight is rounded to the least size.  Signs that are not firm differ
between similar documents nearly as often as between unrelated ones.  If a few features dominate a
text and cancel out in a weight, its sign differs just as often.  So candidates are filtered by the
firm signs of the query alone, or by all signs if nearly all are firm.  Nearly all are firm if a
text has three, five or seven features, since sums of an odd number of them are never 0.
"""

import math
from functools import cache, lru_cache

import numpy as np

from simdb.core import bits
from simdb.core.dtypes import F64

# Inside a transaction, every insertion leads to a new plan, mostly with the same probabilities.
REMEMBERED = 4096
# Weights below this, in standard deviations, have the least size (`QUANTISE_STEP` in the kernel).
FIRM_LEAST = 0.335
# If weights are not normal, more firm signs differ; few unrelated documents differ in only 3.
FIRM_DISTANCE_LEAST = 3
# If one of n equal features is replaced, a share REPLACED_SHARE / sqrt(n) of all signs differs and
# is firm.  For an even n, all other features sum to -1 with probability .8 / sqrt(n).  The new
# feature then gives 0, which counts as positive, and the old one -2.
REPLACED_SHARE = 0.2
# If one of n equal features is missing and n is odd, at most a share LEFT_OUT_SHARE / sqrt(n) of
# all signs differs.  For n = 3, the rest sum to 0 with probability 1/2, and half of these signs
# differ.
LEFT_OUT_SHARE = math.sqrt(3.0) / 4.0
# Integrals over the weights of a query: number of nodes, and limit in standard deviations.
NODES, WEIGHT_MOST = 129, 6.0
# The search for a share; a tail begins TAIL_LEAST standard deviations from the mean.
SHARE_STEPS, NEWTON_STEPS, NEARLY, TAIL_LEAST = 18, 60, 1e-7, 0.01
EQUAL = 1e-12  # the least value of 1 - similarity**2
# Above this similarity, only few signs differ, of small weights, which rounding changes most.
ALIKE = 0.98


@lru_cache(REMEMBERED)
def reach(similarity: float, blocks: int, leading: int, flips: int) -> float:
    """Return the share of documents at `similarity` that some table reaches with `flips` flips.

    A table reaches a document if at most `flips` of its leading bits differ from the query's.  Some
    table does if the `leading` best blocks differ in at most `flips` bits together.  The sum runs
    over the numbers of blocks that differ in 0, 1, .. `flips` bits; no other block is usable.
    """
    differs = math.acos(similarity) / math.pi
    ways = {(0,) * (flips + 1): 1.0}
    for mask in bits.block_masks(blocks):
        below = _binomials(mask.bit_count(), differs, flips)
        updated: dict[tuple[int, ...], float] = {}
        for counts, share in ways.items():
            updated[counts] = updated.get(counts, 0.0) + share * max(0.0, 1.0 - sum(below))
            for errors, chance in enumerate(below):
                # Blocks beyond the number that lead a table do not help.
                raised = min(counts[errors] + 1, leading)
                changed = (*counts[:errors], raised, *counts[errors + 1 :])
                updated[changed] = updated.get(changed, 0.0) + share * chance
        ways = updated
    return sum(share for counts, share in ways.items() if _fewest(counts, leading) <= flips)


@lru_cache(REMEMBERED)
def filter_distance(similarity: float, loss: float, sign_count: int = bits.FINGERPRINT_BITS) -> int:
    """Return the least distance that at most the share `loss` of similar documents exceeds.

    The distance counts `sign_count` of the sign bits.
    """
    return _least_exceeded(math.acos(similarity) / math.pi, loss, sign_count, 0)


@lru_cache(REMEMBERED)
def odd_distance(similarity: float, loss: float, sign_count: int = bits.FINGERPRINT_BITS) -> int:
    """Return the `filter_distance` for queries of few features, whose signs are nearly all firm.

    A similar document lacks one of n equal features; n is odd and 1 / (1 - `similarity`**2).
    """
    differs = LEFT_OUT_SHARE * math.sqrt(1.0 - similarity * similarity)
    least = filter_distance(similarity, loss, sign_count)
    return _least_exceeded(differs, loss, sign_count, least)


def odd_share(similarity: float, distance: int, sign_count: int) -> float:
    """Return the largest share of a query's weights that `distance` differing signs can have.

    This is for queries of few features.  The weights of differing signs are 1, and the mean size of
    a weight is sqrt(2 n / pi).  With one feature more or less, n is at least
    `similarity`**2 / (1 - `similarity`**2).
    """
    least = similarity * similarity / max(1.0 - similarity * similarity, EQUAL)
    return distance / sign_count / max(1.0, math.sqrt(2.0 * least / math.pi))


@lru_cache(REMEMBERED)
def firm_distance(similarity: float, loss: float, sign_count: int = bits.FINGERPRINT_BITS) -> int:
    """Return the `filter_distance` over the firm signs of all other queries.

    The weights of similar documents are either jointly normal, with correlation `similarity`, or
    sums of n = 1 / (1 - `similarity`) equal features, one of which is replaced.  The distance is at
    least `FIRM_DISTANCE_LEAST`.
    """
    differs = max(_firm_differing(similarity), REPLACED_SHARE * math.sqrt(1.0 - similarity))
    return _least_exceeded(differs, loss, sign_count, FIRM_DISTANCE_LEAST)


def _least_exceeded(differs: float, loss: float, sign_count: int, least: int) -> int:
    """Return the smallest distance, `least` or more, that at most a share `loss` exceeds.

    Each of `sign_count` signs differs with probability `differs`.
    """
    distances = range(least, sign_count)
    able = (at for at in distances if 1.0 - binomial_below(sign_count, differs, at) <= loss)
    return next(able, sign_count)


def firm_within(similarity: float, distance: int, sign_count: int = bits.FINGERPRINT_BITS) -> float:
    """Return the share of documents at `similarity` that differ in at most `distance` firm signs.

    Unrelated documents have similarity 0.
    """
    return binomial_below(sign_count, _firm_differing(similarity), distance)


def _firm_differing(similarity: float) -> float:
    """Return the share of signs that are firm and differ, for normal weights at `similarity`."""
    weights, chances = _weights()
    return float((chances * _differing(similarity))[weights > 0.0].sum())


@lru_cache(REMEMBERED)
def flipped_share(similarity: float, loss: float, sign_count: int) -> float:
    """Return the flipped share of weights that at most `loss` of similar documents exceed.

    The flipped share is a ratio of two sums of absolute firm weights of the query: of weights whose
    signs differ in the document, and of all.  Both are over `sign_count` signs.  The weights of
    both documents are normal with correlation `similarity`.  So the sign of a weight a differs with
    a probability p(a), which is small for large a.  Let d be 1 for a differing sign, 0 otherwise;
    the flipped share exceeds t if the sum of a (d - t) is positive.  The terms are independent and
    identically distributed, so the saddlepoint approximation gives the probability of that
    (Lugannani & Rice 1980, Adv. Appl. Probab. 12, section 3).
    """
    if similarity > ALIKE:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(SHARE_STEPS):
        middle = (low + high) / 2
        if _exceeding(middle, similarity, sign_count) > loss:
            low = middle
        else:
            high = middle
    return high


def _exceeding(share: float, similarity: float, sign_count: int) -> float:
    """Return the probability that the sum of a (d - share) over all signs is positive.

    It is 1 if the sum is likely positive, or near its mean, where the approximation does not hold.
    """
    weights, chances = _weights()
    differs = _differing(similarity)
    mean = (chances * weights * (differs - share)).sum()
    if mean * math.sqrt(sign_count) > -TAIL_LEAST * math.sqrt((chances * weights**2).sum()):
        return 1.0
    # Newton's method for the saddlepoint, where the derivative of log E[exp(at (d - share))] is 0.
    at = 1.0
    for _ in range(NEWTON_STEPS):
        alike = chances * (1.0 - differs) * np.exp(-at * share * weights)
        other = chances * differs * np.exp(at * (1.0 - share) * weights)
        whole = (alike + other).sum()
        first = ((1.0 - share) * other - share * alike) * weights
        second = ((1.0 - share) ** 2 * other + share**2 * alike) * weights**2
        slope_there = first.sum() / whole
        bend = second.sum() / whole - slope_there**2
        before, at = at, min(max(at - slope_there / bend, at / 2.0), 4.0 * at)
        if abs(at - before) <= NEARLY * at:
            break
    depth = math.sqrt(-2.0 * sign_count * math.log(whole))
    height = at * math.sqrt(sign_count * bend)
    tail = math.exp(-depth * depth / 2.0) / math.sqrt(2.0 * math.pi)
    return math.erfc(depth / math.sqrt(2.0)) / 2.0 + tail * (1.0 / height - 1.0 / depth)


@cache
def _weights() -> tuple[F64, F64]:
    """Return absolute values of normal weights and their probabilities, for integrals.

    The last value, 0, stands for all weights below `FIRM_LEAST`.
    """
    weights = np.linspace(FIRM_LEAST, WEIGHT_MOST, NODES)
    chances = np.exp(-weights * weights / 2.0)
    chances[1:-1] *= np.tile([4.0, 2.0], NODES // 2)[:-1]  # Simpson's rule
    chances *= math.erfc(FIRM_LEAST / math.sqrt(2.0)) / chances.sum()
    return np.append(weights, 0.0), np.append(chances, 1.0 - chances.sum())


@lru_cache(REMEMBERED)
def _differing(similarity: float) -> F64:
    """Return the probability that each sign of `_weights` differs in a document at `similarity`."""
    weights, _ = _weights()
    slope = similarity / math.sqrt(2.0 * max(1.0 - similarity * similarity, EQUAL))
    return np.array([math.erfc(slope * weight) / 2.0 for weight in weights.tolist()])


@lru_cache(REMEMBERED)
def share_of_reached(header_bits: int, flips: int, distance: int) -> float:
    """Return the share of unrelated fingerprints reached by probes that is within `distance`.

    Reached fingerprints are nearer than others: at most `flips` of their header bits differ.
    """
    others = bits.FINGERPRINT_BITS - header_bits
    ways = [math.comb(header_bits, count) for count in range(min(flips, header_bits) + 1)]
    near = sum(
        way * binomial_below(others, 0.5, distance - count) for count, way in enumerate(ways)
    )
    return near / sum(ways)


def share_within(similarity: float | None, distance: int | None, limit: int) -> float:
    """Return the share of matches at `similarity` whose distance is at most `limit`.

    It is 1 if the query gives a `distance`, since `limit` is then that distance.
    """
    if distance is not None or similarity is None:
        return 1.0
    return binomial_below(bits.FINGERPRINT_BITS, math.acos(similarity) / math.pi, limit)


@lru_cache(REMEMBERED)
def binomial_below(trials: int, probability: float, most: int) -> float:
    """Return P(X <= `most`) for a binomial X."""
    return min(sum(_binomials(trials, probability, most)), 1.0)


def _binomials(trials: int, probability: float, most: int) -> list[float]:
    """Return P(X = 0) .. P(X = `most`) for a binomial X."""
    return [
        math.comb(trials, count) * probability**count * (1 - probability) ** (trials - count)
        for count in range(min(most, trials) + 1)
    ]


def _fewest(counts: tuple[int, ...], leading: int) -> int:
    """Return the number of differing bits of the `leading` best blocks.

    `counts`: the number of blocks that differ in 0, 1, .. bits.  The result is `len(counts)` if
    fewer than `leading` blocks are usable.
    """
    total = 0
    for errors, blocks in enumerate(counts):
        taken = min(blocks, leading)
        total += taken * errors
        leading -= taken
    return total if leading == 0 else len(counts)
