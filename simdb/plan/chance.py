"""Chances: probabilities of distances, and the shares of documents that block tables reach.

Each bit of two documents differs with probability angle / pi (Charikar 2002); bits are taken as
independent.  Each bit of unrelated documents differs with probability 1/2.

A sign is *firm* if its weight is not of the least size to which weights are rounded.  Others differ
nearly as often between similar documents as between unlike ones, and as often if a few features
rule a text and cancel out in these weights.  So candidates that are to be measured are judged by
the firm signs of the query alone, or by all if nearly all are firm.  So it is where a text has
three, five or seven features, whose weights are odd numbers and never 0.
"""

import math
from functools import cache, lru_cache

import numpy as np

from simdb.core import bits
from simdb.core.dtypes import F64

# Inside a transaction every insertion leads to a new plan, mostly of the same probabilities.
REMEMBERED = 4096
# Weights below it, in standard deviations, are of the least size (`QUANTISE_STEP` in the kernel).
FIRM_LEAST = 0.335
# Where weights are not normal more firm signs differ; hardly any unlike documents differ in so few.
FIRM_DISTANCE_LEAST = 3
# Where one of n features of the same weight is replaced, this share, over the root of n, of all
# signs differs and is firm: the others sum up to -1, for an even n with probability .8 / sqrt(n),
# and with the new feature to 0, which counts as positive, but with the old one to -2.
REPLACED_SHARE = 0.2
# Where one of an odd number n of such features is left out, the others sum up to 0 with probability
# 1/2 for n = 3, and half of these signs differ: at most this share, over the root of n, of all.
LEFT_OUT_SHARE = math.sqrt(3.0) / 4.0
# Integrals over the weights of a query, in standard deviations, and the search for a share; a tail
# begins so many standard deviations from the mean.
NODES, WEIGHT_MOST = 129, 6.0
SHARE_STEPS, NEWTON_STEPS, NEARLY, TAIL_LEAST = 18, 60, 1e-7, 0.01
EQUAL = 1e-12  # one less the square of the similarity, at least
# Above this similarity few signs differ, and of small weights alone, which rounding changes most.
ALIKE = 0.98


@lru_cache(REMEMBERED)
def reach(similarity: float, blocks: int, leading: int, flips: int) -> float:
    """Return the share of documents at `similarity` that some table reaches with `flips` flips.

    A table reaches a document if at most `flips` of its leading bits differ from the query's, so
    some table does if they differ so little in the `leading` best blocks.  The sum runs over how
    many blocks differ in 0, 1, .. `flips` bits; blocks that differ in more bits cannot be used.
    """
    differs = math.acos(similarity) / math.pi
    ways = {(0,) * (flips + 1): 1.0}
    for mask in bits.block_masks(blocks):
        below = _binomials(mask.bit_count(), differs, flips)
        updated: dict[tuple[int, ...], float] = {}
        for counts, share in ways.items():
            updated[counts] = updated.get(counts, 0.0) + share * max(0.0, 1.0 - sum(below))
            for errors, chance in enumerate(below):
                # More blocks than lead a table help no more.
                raised = min(counts[errors] + 1, leading)
                changed = (*counts[:errors], raised, *counts[errors + 1 :])
                updated[changed] = updated.get(changed, 0.0) + share * chance
        ways = updated
    return sum(share for counts, share in ways.items() if _fewest(counts, leading) <= flips)


@lru_cache(REMEMBERED)
def filter_distance(similarity: float, loss: float, sign_count: int = bits.FINGERPRINT_BITS) -> int:
    """Return the least distance that at most the share `loss` of similar documents exceeds.

    The distance is counted over `sign_count` of the sign bits.
    """
    return _least_exceeded(math.acos(similarity) / math.pi, loss, sign_count, 0)


@lru_cache(REMEMBERED)
def odd_distance(similarity: float, loss: float, sign_count: int = bits.FINGERPRINT_BITS) -> int:
    """Return the same for queries whose signs are nearly all firm: sums of a few features.

    In a similar document one of n is missing, n is odd, and 1 / (1 - `similarity`**2).
    """
    differs = LEFT_OUT_SHARE * math.sqrt(1.0 - similarity * similarity)
    least = filter_distance(similarity, loss, sign_count)
    return _least_exceeded(differs, loss, sign_count, least)


def odd_share(similarity: float, distance: int, sign_count: int) -> float:
    """Return the most of a query's weights that so many signs of a few features have.

    All differ where the weights are 1, and the mean size is sqrt(2 n / pi).  With one feature more
    or less n is at least `similarity`**2 / (1 - `similarity`**2).
    """
    least = similarity * similarity / max(1.0 - similarity * similarity, EQUAL)
    return distance / sign_count / max(1.0, math.sqrt(2.0 * least / math.pi))


@lru_cache(REMEMBERED)
def firm_distance(similarity: float, loss: float, sign_count: int = bits.FINGERPRINT_BITS) -> int:
    """Return the same over the firm ones of `sign_count` signs of others, and a few at least.

    The weights of similar documents are jointly normal with correlation `similarity`; or they are
    sums of n features of the same weight, of which one in the other document is another, and
    n = 1 / (1 - `similarity`).
    """
    differs = max(_firm_differing(similarity), REPLACED_SHARE * math.sqrt(1.0 - similarity))
    return _least_exceeded(differs, loss, sign_count, FIRM_DISTANCE_LEAST)


def _least_exceeded(differs: float, loss: float, sign_count: int, least: int) -> int:
    """Return the distance from `least` on that at most the share `loss` of documents exceeds.

    Each of `sign_count` signs differs with the probability `differs`.
    """
    distances = range(least, sign_count)
    able = (at for at in distances if 1.0 - binomial_below(sign_count, differs, at) <= loss)
    return next(able, sign_count)


def firm_within(similarity: float, distance: int, sign_count: int = bits.FINGERPRINT_BITS) -> float:
    """Return the share of documents at `similarity` that differ in so many firm signs or fewer.

    Unrelated documents are at 0.
    """
    return binomial_below(sign_count, _firm_differing(similarity), distance)


def _firm_differing(similarity: float) -> float:
    """Return the share of signs that are firm and differ in normal weights at `similarity`."""
    weights, chances = _weights()
    return float((chances * _differing(similarity))[weights > 0.0].sum())


@lru_cache(REMEMBERED)
def flipped_share(similarity: float, loss: float, sign_count: int) -> float:
    """Return the share of a query's weights that at most the share `loss` of similar ones exceeds.

    Weights of the size `FIRM_LEAST` or more whose signs differ in a similar document are added up
    by their absolute values, and divided by the sum of all such weights of `sign_count`.  Weights a
    of the query are normal, and those of the document, too, with correlation `similarity`; so the
    sign of a differs with probability p(a), and seldom where a is large.  With d = 1 where it does,
    the share exceeds t if the sum of a (d - t) is positive.  These are independent and alike, and
    the saddlepoint approximation says how probable that is (Lugannani & Rice 1980, Adv. Appl.
    Probab. 12, section 3).
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

    1 where the sum is likely to be, and near its mean, where the approximation does not hold.
    """
    weights, chances = _weights()
    differs = _differing(similarity)
    mean = (chances * weights * (differs - share)).sum()
    if mean * math.sqrt(sign_count) > -TAIL_LEAST * math.sqrt((chances * weights**2).sum()):
        return 1.0
    # Newton's method for the saddlepoint: where the derivative of log E[exp(at (d - share))] is 0.
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
    """Return absolute values of normal weights, and their probabilities, for integrals.

    Those below `FIRM_LEAST` are together the last one, 0.
    """
    weights = np.linspace(FIRM_LEAST, WEIGHT_MOST, NODES)
    chances = np.exp(-weights * weights / 2.0)
    chances[1:-1] *= np.tile([4.0, 2.0], NODES // 2)[:-1]  # Simpson's rule
    chances *= math.erfc(FIRM_LEAST / math.sqrt(2.0)) / chances.sum()
    return np.append(weights, 0.0), np.append(chances, 1.0 - chances.sum())


@lru_cache(REMEMBERED)
def _differing(similarity: float) -> F64:
    """Return how probably the sign of each of `_weights` differs in a document at `similarity`."""
    weights, _ = _weights()
    slope = similarity / math.sqrt(2.0 * max(1.0 - similarity * similarity, EQUAL))
    return np.array([math.erfc(slope * weight) / 2.0 for weight in weights.tolist()])


@lru_cache(REMEMBERED)
def share_of_reached(header_bits: int, flips: int, distance: int) -> float:
    """Return which share of the unrelated fingerprints that probes reach is within `distance`.

    Fingerprints that probes reach are nearer than others: at most `flips` of their header bits
    differ.
    """
    others = bits.FINGERPRINT_BITS - header_bits
    ways = [math.comb(header_bits, count) for count in range(min(flips, header_bits) + 1)]
    near = sum(
        way * binomial_below(others, 0.5, distance - count) for count, way in enumerate(ways)
    )
    return near / sum(ways)


def share_within(similarity: float | None, distance: int | None, limit: int) -> float:
    """Return the share of matches at `similarity` whose distance is at most `limit`.

    It is 1 if the query gives a `distance`, because `limit` is then that distance.
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
    """Return the differing bits of the `leading` best blocks, or too many if too few are usable.

    `counts`: how many blocks differ in 0, 1, .. bits.
    """
    total = 0
    for errors, blocks in enumerate(counts):
        taken = min(blocks, leading)
        total += taken * errors
        leading -= taken
    return total if leading == 0 else len(counts)
