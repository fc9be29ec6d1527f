"""VOSH, volatility ordered set heap: lists the sets of bits to flip, the most probable set first.

Sood & Loguinov 2011, Algorithm 2.  Bits are ranked by their probability p_j to differ in a similar
document, the most volatile bit first.  A set S of ranks has the probability

    p(u, S) = product of p_i for i in S  *  product of 1 - p_j for j not in S        (6)

The sets of one size form a tree.  Its root has the first ranks.  A child has one rank of its
parent moved to the next rank (Algorithm 2), so it is not more probable (Lemma 1).  Every other set
has one parent, so no set comes twice:

    (1,2) - (1,3) - (1,4) - (1,5) ..
                  \\ (2,3) - (2,4) - (2,5) ..
                                  \\ (3,4) ..

A heap has the root of each tree and the children of every set that was taken out.  A set that is
taken out puts at most two sets in, so k sets cost Theta(k log k) time and Theta(k) space.

Sets are compared by their sum over S of log((1 - p) / p), the smallest first, which gives the order
of (6).  Sums do not underflow, and a sum that is rounded only once keeps Lemma 1.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from simdb.errors import InputError, OptionError

Ranks = tuple[int, ...]
# How many bits of a set contradict a certainty, then the sum of log((1 - p) / p) over the others.
Cost = tuple[int, float]


def vosh(
    probabilities: Sequence[float] | npt.NDArray[np.floating], distance: int
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of up to `distance` bits to flip, the most probable set first.

    `probabilities`: how likely each bit differs in a similar document, for any number of bits.  A
    set is a tuple of positions in `probabilities`, the most volatile bit first.

    The empty set comes first, as the paper looks up the query itself before it uses its heap; if
    no probability is above one half, no set is more probable.  All other sets follow, each once,
    by p(u, S) of equation (6).  Of sets with equal p(u, S), smaller sets come first, then sets of
    more volatile bits.  Impossible sets (p(u, S) = 0) come last.  The first k sets take
    Theta(k log k) time and Theta(k) memory.

    The search itself probes the same sets, the cheapest ones, in another order that is quicker to
    make.
    """
    chances = _checked(probabilities)
    if isinstance(distance, bool) or not isinstance(distance, int | np.integer) or distance < 0:
        raise OptionError(f"distance must be a whole number of bits, 0 or more, not {distance!r}")
    return _flip_sets(chances, int(distance))


def children(parent: Ranks, count: int) -> list[Ranks]:
    """Return the children of `parent` in the tree of sets of ranks 0 .. `count` - 1: Algorithm 2.

    The left child has the last rank moved on by one.  For the right child, go through the ranks
    from the last to the first until two of them are not neighbours.  If exactly one rank lies
    between the two, the lower one moves to it; if more lie between, there is no right child,
    because that set has another parent.
    """
    found = []
    if parent[-1] + 1 < count:
        found.append((*parent[:-1], parent[-1] + 1))
    for at in range(len(parent) - 2, -1, -1):
        gap = parent[at + 1] - parent[at]
        if gap == 2:
            found.append((*parent[:at], parent[at] + 1, *parent[at + 1 :]))
        if gap >= 2:
            break
    return found


def _flip_sets(chances: list[float], distance: int) -> Iterator[tuple[int, ...]]:
    """Yield the empty set, then the sets of 1 to `distance` bits by their cost."""
    yield ()
    count = len(chances)
    order = sorted(range(count), key=lambda bit: (-chances[bit], bit))
    costs = [_cost(chances[bit]) for bit in order]
    roots = [tuple(range(size)) for size in range(1, min(distance, count) + 1)]
    heap = [(_total(costs, root), len(root), root) for root in roots]
    heapify(heap)
    while heap:
        _, size, ranks = heappop(heap)
        yield tuple(order[rank] for rank in ranks)
        for child in children(ranks, count):
            heappush(heap, (_total(costs, child), size, child))


def _cost(chance: float) -> Cost:
    """Return the cost of flipping one bit, as a sortable pair.

    A bit that never differs sorts last, and a bit that always differs sorts first.
    """
    if chance == 0.0:
        return (1, 0.0)
    if chance == 1.0:
        return (-1, 0.0)
    # With log1p, probabilities near 1 keep their order, too.
    return (0, math.log1p(-chance) - math.log(chance))


def _total(costs: list[Cost], ranks: Ranks) -> Cost:
    """Return the sum of costs, rounded once, so that a larger sum never comes out as smaller."""
    return (sum(costs[rank][0] for rank in ranks), math.fsum(costs[rank][1] for rank in ranks))


def _checked(probabilities: Sequence[float] | npt.NDArray[np.floating]) -> list[float]:
    """Return the probabilities as plain floats; InputError if they are not probabilities."""
    try:
        array = np.asarray(probabilities, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("probabilities must be a sequence of numbers, one a bit") from error
    if array.ndim != 1:
        raise InputError(f"probabilities must have one dimension, not the shape {array.shape}")
    wrong = np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))
    if len(wrong):
        raise InputError(
            f"the probability of bit {wrong[0]} is {array[wrong[0]]:g}; it must be 0 to 1"
        )
    listed: list[float] = array.tolist()
    return listed
