"""Stars: clusters in which every member matches the representative, made of pairs of ids."""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.deduplication.stars import decided_in_order
from simdb.ground.errors import InputError

I64 = npt.NDArray[np.int64]


def stars(left: I64, right: I64, places: npt.NDArray[Any] | None = None) -> tuple[I64, I64]:
    """Return the stars of all matching pairs of some components, left[i] and right[i], int64[k].

    Ids are taken in order; each joins the first representative before it that it matches, or
    becomes a representative.  So no member is there by a chain of others.  The pairs of a component
    must all be given; several components can be given at once, in any order.

    `places`: two places of each pair, [k, 2], of its left and right id in the order; None takes ids
    in their own order.  The result has all ids of the pairs, ascending, and the representative of
    each, itself for a representative.
    """
    pairs = np.stack([np.asarray(left, np.int64), np.asarray(right, np.int64)], axis=1)
    ids, positions = np.unique(pairs, return_inverse=True)
    positions = positions.reshape(pairs.shape)
    ranks = np.arange(len(ids))
    if places is not None:
        ranks = _ranks(positions, np.asarray(places), len(ids))
    first = ranks[positions].min(axis=1)
    second = ranks[positions].max(axis=1)
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    chosen = decided_in_order(first, second)
    owners = np.arange(len(ids))
    owners[second[chosen]] = first[chosen]
    by_rank = np.empty(len(ids), np.int64)
    by_rank[ranks] = np.arange(len(ids))
    return ids, ids[by_rank[owners[ranks]]]


def _ranks(positions: I64, places: npt.NDArray[Any], count: int) -> I64:
    """Return the rank of each id by its place, of equal places the lower id first."""
    if places.shape != positions.shape:
        raise InputError(
            f"places must be an array of shape {positions.shape}, got one of {places.shape}"
        )
    of_ids = np.empty(count, places.dtype)
    of_ids[positions.ravel()] = places.ravel()
    if (of_ids[positions] != places).any():
        raise InputError("an id has two different places; give it the same in all pairs")
    ranks = np.empty(count, np.int64)
    ranks[np.argsort(of_ids, kind="stable")] = np.arange(count)
    return ranks
