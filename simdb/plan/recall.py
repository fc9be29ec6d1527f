"""Recall: the share of similar documents that a probing search reaches, predicted from a sample.

The search probes a table for every header that differs from the query's in a set of bits whose
costs (`volatility.costs`) sum up to at most a threshold, theta.  The **need** of a pair is the
smallest theta that finds it: the sum of the costs of its differing header bits, in the table where
that sum is smallest.  So the needs of a sample of pairs give the whole recall curve: recall(theta)
is the share of pairs whose need is at most theta.  The cost of a theta is the number of headers
that a query then probes, counted over the queries of the sample.

The next documents will differ from the sample by chance.  So `theta_for` demands a number of
sampled pairs within theta.  If the true recall were less than asked, that number would be reached
with a probability of at most 1 - `CONFIDENCE` (one-sided exact binomial bound, Clopper & Pearson
1934).  The bound takes pairs as independent, so a sample should not have many pairs of one cluster.
"""

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from simdb.core import bits, kernel
from simdb.core.arrays import Columns, sorted_unique
from simdb.core.dtypes import F64, I64, U8, U64, Array
from simdb.core.reports import Probing
from simdb.core.values import dataclass, replace
from simdb.core.vector_form import fingerprints_of, unpack
from simdb.plan import volatility

CONFIDENCE = 0.95
UNREACHABLE = 1 << 30  # need of a pair that no table reaches at any theta

# A query that needs more probes in one table is better compared with all documents.
CAP = 4096
COUNTED_QUERIES = 256  # sample size that gives the mean number of probes to a few per cent


@dataclass(frozen=True, slots=True, eq=False)
class SampledPairs(Columns):
    """A sample of pairs of similar documents: a query and a stored document each.

    `queries` uint64[n] and `levels` uint8[n, 64]: fingerprints and levels of the query side.
    `stored` uint64[n]: fingerprints of the stored side.
    """

    queries: U64
    levels: U8
    stored: U64

    @property
    def query_count(self) -> int:
        """Number of distinct queries."""
        return len(sorted_unique(self.queries))


@dataclass(frozen=True, slots=True, eq=False)
class FlipEvidence:
    """The pairs and the costs of flips from which the planner predicts recall for one criterion.

    `origin`: the source of the pairs, in words.  `is_measured`: they are a calibration's sample.
    `confidence`: the wanted certainty of the recall, if the pairs represent the matches.
    `caution`: the factor by which fewer matches must be lost than allowed.  `groups`: the positions
    of the pairs of each kind, since the share must be reached for each; () for one kind.
    `lacks_weights`: the weights of the documents in the pairs are unknown, so the weights of
    queries tell more.
    """

    pairs: SampledPairs
    distances: I64
    costs: U8
    origin: str
    is_measured: bool = False
    confidence: float = CONFIDENCE
    caution: int = 1
    groups: tuple[I64, ...] = ()
    lacks_weights: bool = False

    @property
    def kinds(self) -> tuple[I64, ...]:
        """The positions of the pairs of each kind."""
        return self.groups or (np.arange(len(self.pairs)),)


class Reach(NamedTuple):
    """The result of a probing on a sample: the mean number of `probes` of a query, and the recall.

    `recall_bound`: the certain recall of measured pairs; 0 for other pairs.
    """

    probing: Probing
    probes: float
    recall: float
    recall_bound: float


def needs(pairs: SampledPairs, costs: U8, masks: Sequence[int], header_bits: int) -> I64:
    """Return the need of each pair, int64[n]: the least theta with which some table reaches it.

    It is UNREACHABLE if no table does.  `masks`: the leading bits of each table.  `header_bits`:
    the number of highest bits of a key that the directories index.
    """
    found = np.full(len(pairs), UNREACHABLE, np.int64)
    differing = pairs.queries ^ pairs.stored
    prices = costs.astype(np.int64)
    prices[costs == volatility.NEVER] = UNREACHABLE
    for mask in masks:
        total = np.zeros(len(pairs), np.int64)
        for bit in bits.set_bits(bits.header_mask(mask, header_bits)):
            differs = (differing >> np.uint64(bit)) & np.uint64(1) == 1
            total += np.where(differs, prices[pairs.levels[:, bit]], 0)
        found = np.minimum(found, total)
    return found


def recall_at(theta: int, needs: I64) -> float:
    """Return the share of pairs that are reached with theta; 1 if there are no pairs."""
    return float(np.count_nonzero(needs <= theta)) / len(needs) if len(needs) else 1.0


def combined(one: FlipEvidence, other: FlipEvidence, origin: str) -> FlipEvidence:
    """Join two sets of pairs, in each of which the share must be reached, at the costs of `one`."""
    count = len(one.pairs)
    return replace(
        one,
        pairs=SampledPairs.joined([one.pairs, other.pairs]),
        distances=np.concatenate([one.distances, other.distances]),
        origin=origin,
        is_measured=False,
        caution=max(one.caution, other.caution),
        groups=(*one.kinds, *(each + count for each in other.kinds)),
    )


def recall_bound(theta: int, needs: I64, independent: int) -> float:
    """Return a lower bound of the recall at theta that holds with `CONFIDENCE`.

    `independent`: see `theta_for`.
    """
    return lower_bound(math.floor(recall_at(theta, needs) * independent), independent)


def theta_for(
    recall: float, needs: I64, independent: int, *, confidence: float = CONFIDENCE
) -> int | None:
    """Return the smallest theta whose recall is at least `recall` with `confidence`, or None.

    `independent`: the number of independent pairs, such as of distinct queries.  If it is too small
    for certainty (59 for .95, 299 for .99), every pair must be reached; `recall_bound` gives the
    recall that is then certain.  Returns None if no theta is enough, for an empty sample, and for a
    recall of 1, which no sample can guarantee.
    """
    if recall >= 1.0 or len(needs) == 0:
        return None
    share = min(least_reached(recall, independent, confidence), independent) / independent
    wanted = math.ceil(share * len(needs))
    theta = int(np.partition(needs, wanted - 1)[wanted - 1])
    return theta if theta < UNREACHABLE else None


def least_reached(recall: float, count: int, confidence: float = CONFIDENCE) -> int:
    """Return the number of `count` pairs that must be reached to be sure of `recall`.

    `count` + 1 means that even all pairs are not enough.
    """
    return 1 + int(np.count_nonzero(_at_least(count, recall)[1:] > 1.0 - confidence))


def lower_bound(reached: int, count: int) -> float:
    """Return the lower bound of a share, with `CONFIDENCE`, from `reached` of `count` trials."""
    if reached == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(40):  # to 1e-12
        middle = (low + high) / 2
        if _at_least(count, middle)[reached] > 1.0 - CONFIDENCE:
            high = middle
        else:
            low = middle
    return low


def distances(pairs: SampledPairs) -> I64:
    """Return the Hamming distance of each pair: int64[n]."""
    return np.asarray(np.bitwise_count(pairs.queries ^ pairs.stored), np.int64)


def changed_copies(
    weights: Array,
    cosines: F64,
    *,
    least: int,
    distance: int,
    generator: "np.random.Generator",
    is_stored: bool = False,
) -> SampledPairs:
    """Return pairs of changed copies and their documents, `least` to `distance` bits apart.

    `weights` real[n, d].  For each of the `cosines` c, a document W becomes c W + sqrt(1 - c^2) Z,
    where Z is normal with the root mean square of W; see `volatility.prior`.  `is_stored`: the
    copies are stored documents, with rounded weights.
    """
    weights = np.asarray(weights, np.float32)
    scales = np.sqrt((weights**2).mean(axis=1, keepdims=True))
    parts = []
    for cosine in cosines:
        noise = generator.standard_normal(weights.shape, np.float32) * scales
        copies = float(cosine) * weights + math.sqrt(1 - cosine**2) * noise
        pairs = sampled_pairs(stored_weights(copies) if is_stored else copies, weights)
        differing = distances(pairs)
        parts.append(pairs.taken((differing >= least) & (differing <= distance)))
    return SampledPairs.joined(parts)


def sampled_pairs(left: Array, right: Array) -> SampledPairs:
    """Return pairs from weights, real[n, 64 .. 256] for each side; the left side is the query."""
    return SampledPairs(fingerprints_of(left), volatility.levels(left), fingerprints_of(right))


def stored_weights(weights: Array) -> F64:
    """Round weights, real[n, 64 .. 256], as a database stores them: odd numbers from -15 to 15."""
    _, vectors = kernel.quantise(np.ascontiguousarray(weights, np.float32))
    return unpack(vectors).astype(np.float64)


@lru_cache(256)
def reach(
    known: FlipEvidence, masks: tuple[int, ...], *, header_bits: int, limit: int, wanted: float
) -> Reach | None:
    """Return the cheapest probing of these tables that finds the share `wanted`; None if none does.

    The share must be found of each kind of pairs.  Pairs beyond the distance `limit` are never
    found.
    """
    every = needs(known.pairs, known.costs, masks, header_bits)
    every[known.distances > limit] = UNREACHABLE
    each = [every[kind] for kind in known.kinds]
    counts = [known.pairs.taken(kind).query_count for kind in known.kinds]
    theta = 0
    for own, independent in zip(each, counts, strict=True):
        least = theta_for(wanted, own, independent, confidence=known.confidence)
        if least is None:
            return None
        theta = max(theta, least)
    probes = counts_of(known, masks, header_bits=header_bits, theta=theta)
    # A query beyond the cap finds less than the sample predicts.
    if np.mean(probes > CAP * len(masks)) > 1.0 - wanted:
        return None
    return Reach(
        Probing(len(masks), header_bits, theta, CAP, known.costs),
        float(np.mean(probes)),
        min(recall_at(theta, own) for own in each),
        min(map(partial(recall_bound, theta), each, counts)) if known.is_measured else 0.0,
    )


@lru_cache(64)
def recall_of(
    known: FlipEvidence, masks: tuple[int, ...], *, header_bits: int, limit: int, attempts: int
) -> float:
    """Return the share of pairs found by the `attempts` likeliest headers of each table.

    About `COUNTED_QUERIES` pairs, spread over the sample, are counted.  If only some headers of
    equal cost are looked up, each is equally likely to be the right one.
    """
    step = max(1, len(known.pairs) // COUNTED_QUERIES)
    pairs = known.pairs.taken(slice(None, None, step))
    is_near = known.distances[::step] <= limit
    missed = np.ones(len(pairs))
    for mask in masks:
        header = bits.header_mask(mask, header_bits)
        own = needs(pairs, known.costs, (mask,), header_bits)
        for row in np.flatnonzero(is_near & (missed > 0) & (own < UNREACHABLE)):
            need = int(own[row])
            ways = _ways(pairs.levels[row : row + 1], known.costs, header, need, limit)[0]
            before = float(ways[:need].sum())
            missed[row] *= 1.0 - min(max((attempts + 1 - before) / ways[need], 0.0), 1.0)
    return float((1.0 - missed).mean()) if len(missed) else 0.0


@lru_cache(256)
def counts_of(known: FlipEvidence, masks: tuple[int, ...], *, header_bits: int, theta: int) -> I64:
    """Return the number of headers that cost at most `theta`, for each sampled query: int64[n].

    The sample is the first `COUNTED_QUERIES` queries of `known`.  The counts of all tables
    (`masks`) are added.
    """
    levels = known.pairs.levels[:COUNTED_QUERIES]
    headers = [bits.header_mask(mask, header_bits) for mask in masks]
    counts = [count_sets(levels, known.costs, each, theta) for each in headers]
    return np.asarray(np.sum(counts, axis=0), np.int64)


def count_sets(levels: U8, costs: U8, header: int, theta: int) -> I64:
    """Count the sets of `header` bits that cost at most `theta`, for each row of `levels`."""
    ways = _ways(levels, costs, header, theta)
    found: I64 = np.minimum(ways.sum(axis=1), 2.0**40).astype(np.int64)
    return found


def _at_least(count: int, share: float) -> F64:
    """Return P(X >= r) for r = 0 .. `count`, X binomial of `count` trials with chance `share`."""
    if share in (0.0, 1.0):
        certain = np.full(count + 1, share)
        certain[0] = 1.0
        return certain
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    ways = logarithms[-1] - logarithms - logarithms[::-1]
    reached = np.arange(count + 1)
    chances = np.exp(ways + reached * math.log(share) + (count - reached) * math.log1p(-share))
    return np.cumsum(chances[::-1])[::-1]


def _ways(levels: U8, costs: U8, header: int, theta: int, most: int | None = None) -> F64:
    """Count the sets of `header` bits for each cost up to `theta`: float64[n, theta + 1].

    `most`: the largest number of bits of a set; None for any.
    """
    sizes = 1 if most is None else min(most, header.bit_count()) + 1
    ways = np.zeros((sizes, len(levels), theta + 1))
    ways[0, :, 0] = 1.0
    rows = np.arange(len(levels))[:, None]
    sums = np.arange(theta + 1)[None, :]
    for bit in bits.set_bits(header):
        price = costs[levels[:, bit]].astype(np.int64)
        before = sums - price[:, None]
        usable = (before >= 0) & (price != volatility.NEVER)[:, None]
        added = np.where(usable, ways[:, rows, np.maximum(before, 0)], 0.0)
        if most is None:
            ways += added
        else:
            ways[1:] += added[:-1]
    found: F64 = ways.sum(axis=0)
    return found
