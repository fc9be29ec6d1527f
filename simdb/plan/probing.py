"""Plans that ask for headers in the order in which they are likely: PSM and volatility multi-probe.

PSM (Probabilistic Simhash Matching, Sood & Loguinov 2011, section 4) asks one table; volatility
multi-probe asks several in the same way, so that fewer flips reach as many documents.  Both ask
for every header whose flipped bits cost no more than theta together; theta is the least that
reaches the wanted share of a sample of matching pairs (`recall.theta_for`).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from simdb import bits
from simdb.plan import recall, volatility
from simdb.plan.calibration import Evidence
from simdb.values import Probing

# A query that would have to ask for more headers than this in one table is better off comparing.
CAP = 4096
# Enough queries to tell the mean number of probes to a few per cent.
COUNTED_QUERIES = 256

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a probing achieves on the evidence: mean `probes` of a query, and recall."""

    probing: Probing
    probes: float
    recall: float
    recall_bound: float


@lru_cache(256)
def reach(
    evidence: Evidence, masks: tuple[int, ...], *, header_bits: int, limit: int, wanted: float
) -> Reach | None:
    """The cheapest probing of these tables that reaches a share `wanted`; None where none does.

    Pairs beyond the distance `limit` are lost whatever is asked.
    """
    needs = recall.needs(evidence.pairs, evidence.costs, masks, header_bits)
    needs[evidence.distances > limit] = recall.UNREACHABLE
    independent = evidence.pairs.query_count
    theta = recall.theta_for(wanted, needs, independent)
    if theta is None:
        return None
    levels = evidence.pairs.levels[:COUNTED_QUERIES]
    counts = sum(
        count_sets(levels, evidence.costs, bits.header_mask(mask, header_bits), theta)
        for mask in masks
    )
    # What is cut off by the cap does not reach what the sample says.
    if np.mean(counts > CAP * len(masks)) > 1.0 - wanted:
        return None
    return Reach(
        Probing(len(masks), header_bits, theta, CAP, evidence.costs),
        float(np.mean(counts)),
        recall.recall_at(theta, needs),
        recall.recall_bound(theta, needs, independent),
    )


def count_sets(levels: U8, costs: U8, header: int, theta: int) -> I64:
    """How many sets of bits of `header` cost at most `theta` together, for each row of levels."""
    ways = np.zeros((len(levels), theta + 1))
    ways[:, 0] = 1.0
    rows = np.arange(len(levels))[:, None]
    sums = np.arange(theta + 1)[None, :]
    for bit in bits.set_bits(header):
        price = costs[levels[:, bit]].astype(np.int64)
        before = sums - price[:, None]
        usable = (before >= 0) & (price != volatility.NEVER)[:, None]
        ways = ways + np.where(usable, ways[rows, np.maximum(before, 0)], 0.0)
    found: I64 = np.minimum(ways.sum(axis=1), 2.0**40).astype(np.int64)
    return found
