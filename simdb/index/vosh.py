"""VOSH, volatility ordered set heap: which bits to flip, the likeliest set first.

Sood & Loguinov 2011, Algorithm 2.  Bits are ranked by their probability p_j to differ in a similar
document, the most volatile first, and a set S of ranks has the probability

    p(u, S) = product of p_i for i in S  *  product of 1 - p_j for j not in S        (6)

The sets of one size form a tree.  Its root is the first ranks, and a child has one rank of its
parent moved to the next (Algorithm 2), so it is no likelier (Lemma 1).  Every set has one parent,
so none comes twice:

    (1,2) - (1,3) - (1,4) - (1,5) ..
                  \\ (2,3) - (2,4) - (2,5) ..
                                  \\ (3,4) ..

A heap holds, of the tree of every size, the sets whose parent was taken.  Each set taken puts at
most two there, so k sets cost Theta(k log k) time and Theta(k) space.

The order of (6) is that of the sum over S of log((1 - p) / p), the least first, which is what is
compared: sums do not underflow, and a sum that is rounded once keeps Lemma 1.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from simdb.errors import InputError, OptionError

Ranks = tuple[int, ...]
# How often a set goes against a certainty, then the sum of log((1 - p) / p) over its other bits.
Cost = tuple[int, float]


def vosh(
    probabilities: Sequence[float] | npt.NDArray[np.floating], distance: int
) -> Iterator[tuple[int, ...]]:
    """Sets of up to `distance` bits to flip, the most probable first.

    The search asks for the same sets, those of the least costs, in another order that is quicker.
    `probabilities`: of each bit, how likely it differs in a similar document; any number of bits.
    A set is a tuple of their positions there, the most volatile bit first.  The empty set is the
    first: the paper looks up the query itself before its heap, whose sets are not empty; while no
    probability is above one half no set is more probable.  Then come all others, each once, by
    p(u, S) of equation (6).  At equal p(u, S) those of fewer bits and then of more volatile ones
    come first, and sets that cannot be (p(u, S) = 0) come last.  The first k sets take
    Theta(k log k) time and Theta(k) memory, however many there are.
    """
    chances = _checked(probabilities)
    if isinstance(distance, bool) or not isinstance(distance, int | np.integer) or distance < 0:
        raise OptionError(f"distance is a whole number of bits, 0 or more, not {distance!r}")
    return _flip_sets(chances, int(distance))


def children(parent: Ranks, count: int) -> list[Ranks]:
    """The sets below `parent` in the tree, of ranks 0 .. `count` - 1: Algorithm 2.

    The left child has the last rank moved on by one.  For the right child the ranks are looked
    through from the last to the first until two are not neighbours; if just one rank is between
    them, the lower one moves to it.  If there are more, that set is reached from elsewhere.
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
    """The empty set, then those of 1 to `distance` bits by their cost."""
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
    """What flipping a bit costs; to flip what never differs, or not what always does, is absurd."""
    if chance == 0.0:
        return (1, 0.0)
    if chance == 1.0:
        return (-1, 0.0)
    # log1p, so that also the probabilities next to 1 keep their order.
    return (0, math.log1p(-chance) - math.log(chance))


def _total(costs: list[Cost], ranks: Ranks) -> Cost:
    """Exact sums, rounded once: what costs more never comes out as less."""
    return (sum(costs[rank][0] for rank in ranks), math.fsum(costs[rank][1] for rank in ranks))


def _checked(probabilities: Sequence[float] | npt.NDArray[np.floating]) -> list[float]:
    """The probabilities as plain floats, or InputError."""
    try:
        array = np.asarray(probabilities, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("probabilities are a sequence of numbers, one for each bit") from error
    if array.ndim != 1:
        raise InputError(f"probabilities have one dimension, not the shape {array.shape}")
    wrong = np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))
    if len(wrong):
        raise InputError(
            f"the probability of bit {wrong[0]} is {array[wrong[0]]:g}; it must be 0 to 1"
        )
    listed: list[float] = array.tolist()
    return listed
