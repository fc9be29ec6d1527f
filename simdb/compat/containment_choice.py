"""Containment choice: how datasketch's LSH Ensemble chooses bands and partitions.

The containment of a query of q values in a set of x values is t = |both| / q.  Then their Jaccard
similarity is t / (1 + x / q - t), so a threshold of containment means other bands b of r rows for
each ratio x / q (Zhu, Nargesian, Pu & Miller 2016).  The sets are partitioned by size, and every
set of a partition is treated as if it had the partition's greatest size.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

# The natural logarithms of the least and greatest ratio x / q, and the number of ratios.
LOGARITHM, RATIOS = 5, 10
# Places of the quadrature; datasketch's own has an error of 1e-8.
PLACES = 256

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def ratios() -> F64:
    """Return the ratios x / q for which bands are chosen, ascending."""
    return np.exp(np.linspace(-LOGARITHM, LOGARITHM, RATIOS))


@lru_cache(maxsize=256)
def choose_for_ratio(
    threshold: float, num_perm: int, rows_most: int, ratio: float, weights: tuple[float, float]
) -> tuple[int, int]:
    """Return the b and r with the least error; at equal error, the fewest bands, then rows.

    The error is the weighted sum of two areas: below the threshold the probability that a set is
    found, above it the probability that it is not found.  No containment is greater than `ratio`.
    """
    most = min(ratio, 1.0)
    below, below_shares = _points(0.0, min(threshold, ratio), ratio)
    above, above_shares = _points(threshold, max(most, threshold), ratio)
    least, chosen = np.inf, (0, 0)
    for bands in range(1, num_perm + 1):
        rows = np.arange(1, min(rows_most, num_perm // bands) + 1)[:, None]
        found = (1 - (1 - below**rows) ** bands) @ below_shares
        missed = (1 - above**rows) ** bands @ above_shares
        errors = found * weights[0] + missed * weights[1]
        best = int(errors.argmin())
        if errors[best] < least:
            least, chosen = float(errors[best]), (bands, best + 1)
    return chosen


def choose_partitions(sizes: I64, counts: I64, number: int) -> list[tuple[int, int]]:
    """Return the first and last size of at most `number` partitions of sizes, in order.

    `sizes` ascend, and `counts` sets have each of them.  The last partition is the best one: with
    the others it has the least expected number of false positives, which are counts (u - x) / u for
    sets of size x in a partition up to size u.  The others are those of datasketch, which goes back
    from there by the costs of one partition more than are left; so they are good, not always best.
    """
    if number < 2:
        return [(int(sizes[0]), int(sizes[-1]))]
    if number >= len(sizes):
        return [(size, size) for size in sizes.tolist()]
    costs = _costs(sizes, counts)
    totals = _totals(costs, number)
    starts, stop = [len(sizes)], len(sizes)
    steps = [(number - 1, number - 2), *((left, left - 2) for left in range(number - 1, 1, -1))]
    for partition, least in steps:
        ends = np.arange(least, stop - 1)
        stop = int(ends[(totals[partition][ends] + costs[ends + 1, stop - 1]).argmin()]) + 1
        starts.append(stop)
    bounds = [0, *reversed(starts)]
    return [(int(sizes[start]), int(sizes[stop - 1])) for start, stop in pairwise(bounds)]


def _totals(costs: F64, number: int) -> list[F64]:
    """Return the least cost of sizes 0 .. u in p partitions: [p][u], 0 if u is less than p - 1."""
    count = len(costs)
    totals = [np.zeros(count), costs[0]]
    is_before = np.arange(count - 1)[:, None] < np.arange(count)
    for partition in range(2, number):
        # By the end of the partition before, and the end of this one.
        cuts = np.where(is_before, totals[-1][:-1, None] + costs[1:], np.inf)
        cuts[: partition - 2] = np.inf
        totals.append(np.where(np.arange(count) < partition - 1, 0, cuts.min(axis=0)))
    return totals


def _costs(sizes: I64, counts: I64) -> F64:
    """Return the expected false positives of a partition from one size to another: [first, last].

    The sums are made in whole numbers, so that equal costs are equal.
    """
    sets = np.concatenate([[0], np.cumsum(counts)])
    values = np.concatenate([[0], np.cumsum(sizes * counts)])
    many = sets[None, 1:] - sets[:-1, None]
    held = values[None, 1:] - values[:-1, None]
    return np.asarray((sizes * many - held) / sizes, np.float64)


def _points(start: float, stop: float, ratio: float) -> tuple[F64, F64]:
    """Return the Jaccard similarities and the shares of containments from `start` to `stop`."""
    places, shares = np.polynomial.legendre.leggauss(PLACES)
    half = (stop - start) / 2
    containments = start + half * (places + 1)
    return containments / (1 + ratio - containments), shares * half
