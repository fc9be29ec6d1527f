"""Forest: clusters of links between ids, which come piece by piece and from anywhere.

`LinkForest` and `components` connect what links connect; `stars` makes clusters without chains.

A forest needs memory for each id that has a link, not for each link.  Forests of several tasks are
joined by their own links, of which each has fewer than ids.
"""

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import describe
from simdb.core.dtypes import I64, Array
from simdb.core.errors import InputError
from simdb.jobs import decided_in_order

# Links are put in order when there are so many, and as many as ids.
PENDING_LEAST = 1 << 16
IDS_MAX = 2**32 - 1


class LinkForest:
    """A forest over any int64 ids.  The representative of a component is its least id."""

    def __init__(self) -> None:
        """Begin without any link."""
        self._ids = np.empty(0, np.int64)
        self._representatives = np.empty(0, np.int64)
        self._pending: list[tuple[I64, I64]] = []
        self._pending_count = 0

    def join(self, left: I64, right: I64) -> None:
        """Put left[i] and right[i], int64[k], into one component, for every i."""
        left, right = _checked(left, "left"), _checked(right, "right")
        if len(left) != len(right):
            raise InputError(f"{len(left)} ids on the left have {len(right)} on the right")
        self._pending.append((left, right))
        self._pending_count += len(left)
        if self._pending_count >= max(PENDING_LEAST, len(self._ids)):
            self._join_pending()

    def merge(self, other: "LinkForest") -> None:
        """Join all that another forest joins."""
        self.join(*other.links())

    def links(self) -> tuple[I64, I64]:
        """Return fewer links than ids, which join the same: (ids, representatives), int64[k]."""
        ids, representatives = self.components()
        is_other = ids != representatives
        return ids[is_other], representatives[is_other]

    def components(self) -> tuple[I64, I64]:
        """Return all ids that have a link, ascending, and the least id of the component of each."""
        self._join_pending()
        return self._ids, self._representatives

    def _join_pending(self) -> None:
        if not self._pending:
            return
        left = np.concatenate([self._ids, *(each for each, _ in self._pending)])
        right = np.concatenate([self._representatives, *(each for _, each in self._pending)])
        self._pending, self._pending_count = [], 0
        ids, positions = np.unique(np.concatenate([left, right]), return_inverse=True)
        if len(ids) > IDS_MAX:
            raise InputError(
                f"a forest holds at most {IDS_MAX:,} ids, and these are {len(ids):,}; join them in"
                " several forests, by ranges of ids"
            )
        places = positions.astype(np.uint32)
        forest = kernel.Forest(len(ids))
        forest.join(places[: len(left)].copy(), places[len(left) :].copy())
        self._ids, self._representatives = ids, ids[forest.labels()]


def components(left: I64, right: I64) -> tuple[I64, I64]:
    """Return the connected components of links left[i], right[i], int64[k].

    The result has the ids that have a link, ascending, and for each the least id of its component.
    """
    forest = LinkForest()
    forest.join(left, right)
    return forest.components()


def stars(left: I64, right: I64, places: Array | None = None) -> tuple[I64, I64]:
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


def _checked(ids: I64, name: str) -> I64:
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise InputError(f"{name} must be an int64 array of one dimension, got {describe(ids)}")
    if ids.dtype == np.uint64 and len(ids) and ids.max() > np.uint64(2**63 - 1):
        raise InputError(f"{name} has ids above 2**63 - 1; view them as int64")
    return ids.astype(np.int64)


def _ranks(positions: I64, places: Array, count: int) -> I64:
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
