"""VOSH, volatility ordered set heap: the sets of bits to flip, the most probable set first.

Sood & Loguinov 2011, Algorithm 2.  Bits are ranked by their probability p_j to differ in a similar
document, the most volatile bit first.  A set S of ranks has the probability

    p(u, S) = product of p_i for i in S  *  product of 1 - p_j for j not in S        (6)

The sets of one size form a tree, whose root has the first ranks.  A child has one rank of its
parent moved to the next rank (Algorithm 2), so it is not more probable (Lemma 1).  Every set except
the root has one parent, so no set is listed twice:

    (1,2) - (1,3) - (1,4) - (1,5) ..
                  \\ (2,3) - (2,4) - (2,5) ..
                                  \\ (3,4) ..

A heap has the root of each tree and the children of every set that was removed.  Removing a set
adds at most two sets, so k sets cost Theta(k log k) time and Theta(k) space.

The kernel keeps the heap (`FlipSets`); a search with a fixed number of attempts takes its headers
from the same heap.  Sets are ordered by their sum over S of log((1 - p) / p), smallest first, which
gives the order of (6).  The terms are whole numbers of 2^-33, so the sums are exact.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from simdb.core import kernel
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import is_whole
from simdb.core.errors import InputError, OptionError

COST_PARTS = 1 << 33  # whole costs are natural logarithms times this
# A certain bit outweighs all other bits of a set, which cost at most 745 each.
CERTAIN = 1 << 49


def vosh(
    probabilities: Sequence[float] | npt.NDArray[np.floating], distance: int
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of bits to flip, the most probable set first.

    Parameters
    ----------
    probabilities : sequence or array of float
        The probability that each bit differs in a similar document, for up to 64 bits.
    distance : int
        The largest number of bits of a set.

    Yields
    ------
    tuple of int
        A set: positions in `probabilities`, the most volatile bit first.

    Raises
    ------
    InputError
        If `probabilities` is not a one-dimensional array of at most 64 numbers from 0 to 1.
    OptionError
        If `distance` is not a whole number, 0 or more.

    Notes
    -----
    This is Algorithm 2 of Sood & Loguinov 2011.  The empty set precedes all others, as the paper
    looks up the query itself before it uses its heap.  It is the most probable set if no
    probability exceeds one half.  All other sets follow, each once, by p(u, S) of equation (6).

    If sets have equal p(u, S), smaller sets precede larger ones, then sets of more volatile bits.
    If bits have equal probabilities, the first counts as more volatile.  Impossible sets
    (p(u, S) = 0) come last.

    The first k sets take Theta(k log k) time and Theta(k) memory.  A search with attempts=k probes
    the first k sets after the empty set.

    Examples
    --------
    >>> list(simdb.vosh([0.4, 0.1, 0.2], 2))
    [(), (0,), (2,), (0, 2), (1,), (0, 1), (2, 1)]
    """
    chances = _checked(probabilities)
    if not is_whole(distance, 0):
        raise OptionError(f"distance must be a whole number of bits, 0 or more, not {distance!r}")
    return _flip_sets(chances, min(int(distance), len(chances)))


def _flip_sets(chances: list[float], distance: int) -> Iterator[tuple[int, ...]]:
    """Yield the empty set, then the sets of 1 to `distance` bits by their cost."""
    yield ()
    order = sorted(range(len(chances)), key=lambda bit: (-chances[bit], bit))
    costs = np.array([_cost(chances[bit]) for bit in order], np.int64)
    # Rounding must not change the order of the ranks.
    for ranks in kernel.FlipSets(np.maximum.accumulate(costs), distance):
        yield tuple(order[rank] for rank in ranks)


def _cost(chance: float) -> int:
    """Return the cost of flipping one bit.

    A bit that never differs sorts last, and a bit that always differs sorts first.
    """
    if chance in (0.0, 1.0):
        return CERTAIN if chance == 0.0 else -CERTAIN
    # log1p keeps the order of probabilities near 1.
    return round(COST_PARTS * (math.log1p(-chance) - math.log(chance)))


def _checked(probabilities: Sequence[float] | npt.NDArray[np.floating]) -> list[float]:
    """Return the probabilities as plain floats; raise InputError if they are not probabilities."""
    try:
        array = np.asarray(probabilities, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("probabilities must be a sequence of numbers, one a bit") from error
    if array.ndim != 1:
        raise InputError(f"probabilities must have one dimension, not the shape {array.shape}")
    if len(array) > FINGERPRINT_BITS:
        raise InputError(
            f"there are probabilities of {len(array)} bits, but a fingerprint has at most"
            f" {FINGERPRINT_BITS}; give only bits that may flip"
        )
    wrong = np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))
    if len(wrong):
        raise InputError(
            f"the probability of bit {wrong[0]} is {array[wrong[0]]:g}; it must be 0 to 1"
        )
    listed: list[float] = array.tolist()
    return listed
