"""Reach of probing: how many headers a search probes, and which share of sample pairs they find."""

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.ground import bits
from simdb.plan import recall, volatility
from simdb.plan.calibration import FlipEvidence
from simdb.results.plans import Probing

# A query that needs more probes than this in one table is better compared with all documents.
CAP = 4096
# Enough queries for the mean number of probes, to a few per cent.
COUNTED_QUERIES = 256

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


class Reach(NamedTuple):
    """What a probing achieves on a sample: the mean number of `probes` of a query, and recall."""

    probing: Probing
    probes: float
    recall: float
    recall_bound: float


@lru_cache(256)
def reach(
    known: FlipEvidence, masks: tuple[int, ...], *, header_bits: int, limit: int, wanted: float
) -> Reach | None:
    """Return the cheapest probing of these tables that finds the share `wanted`; None if none does.

    Pairs beyond the distance `limit` are never found.  The share must be found of each kind of
    pairs.
    """
    every = recall.needs(known.pairs, known.costs, masks, header_bits)
    every[known.distances > limit] = recall.UNREACHABLE
    needs = [every[kind] for kind in known.kinds]
    counts = [known.pairs.taken(kind).query_count for kind in known.kinds]
    theta = 0
    for own, independent in zip(needs, counts, strict=True):
        least = recall.theta_for(wanted, own, independent)
        if least is None:
            return None
        theta = max(theta, least)
    levels = known.pairs.levels[:COUNTED_QUERIES]
    probes = sum(
        count_sets(levels, known.costs, bits.header_mask(mask, header_bits), theta)
        for mask in masks
    )
    # A query beyond the cap finds less than the sample predicts.
    if np.mean(probes > CAP * len(masks)) > 1.0 - wanted:
        return None
    return Reach(
        Probing(len(masks), header_bits, theta, CAP, known.costs),
        float(np.mean(probes)),
        min(recall.recall_at(theta, own) for own in needs),
        min(map(partial(recall.recall_bound, theta), needs, counts)),
    )


@lru_cache(64)
def recall_of(
    known: FlipEvidence, masks: tuple[int, ...], *, header_bits: int, limit: int, attempts: int
) -> float:
    """Return the share of pairs found by the `attempts` likeliest headers of each table.

    Of the sample, a number of pairs spread over all of it are taken.  Of headers with equal costs,
    of which only some are looked up, each is as likely the right one.
    """
    step = max(1, len(known.pairs) // COUNTED_QUERIES)
    pairs = known.pairs.taken(slice(None, None, step))
    is_near = known.distances[::step] <= limit
    missed = np.ones(len(pairs))
    for mask in masks:
        header = bits.header_mask(mask, header_bits)
        needs = recall.needs(pairs, known.costs, (mask,), header_bits)
        for row in np.flatnonzero(is_near & (missed > 0) & (needs < recall.UNREACHABLE)):
            need = int(needs[row])
            ways = _ways(pairs.levels[row : row + 1], known.costs, header, need, limit)[0]
            before = float(ways[:need].sum())
            missed[row] *= 1.0 - min(max((attempts + 1 - before) / ways[need], 0.0), 1.0)
    return float((1.0 - missed).mean()) if len(missed) else 0.0


@lru_cache(256)
def mean_count(
    known: FlipEvidence, masks: tuple[int, ...], *, header_bits: int, theta: int
) -> float:
    """Return how many headers of these tables cost a query of the sample at most `theta`."""
    levels = known.pairs.levels[:COUNTED_QUERIES]
    headers = [bits.header_mask(mask, header_bits) for mask in masks]
    return float(sum(count_sets(levels, known.costs, each, theta).mean() for each in headers))


def count_sets(levels: U8, costs: U8, header: int, theta: int) -> I64:
    """Return how many sets of `header` bits cost at most `theta`, for each row of `levels`."""
    ways = _ways(levels, costs, header, theta)
    found: I64 = np.minimum(ways.sum(axis=1), 2.0**40).astype(np.int64)
    return found


def _ways(levels: U8, costs: U8, header: int, theta: int, most: int | None = None) -> F64:
    """Return how many sets of `header` bits have each cost up to `theta`: float64[n, theta + 1].

    `most`: count only sets of at most so many bits.
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
