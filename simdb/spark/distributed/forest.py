"""Forest: clusters from links between ids, which arrive in pieces and in any order.

`LinkForest` and `components` find connected components; `stars` makes clusters without chains.

The memory of a forest grows with the ids that have a link, not with the links.  A forest can be
reduced to fewer links than ids, and by these links the forests of several tasks are merged.
"""

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import describe
from simdb.core.dtypes import I64, Array
from simdb.core.errors import InputError
from simdb.jobs import decided_in_order

# Pending links are joined when they reach this number and the number of known ids.
PENDING_LEAST = 1 << 16
IDS_MAX = 2**32 - 1


class LinkForest:
    """A union-find forest over int64 ids: each component is represented by its least id.

    Its size grows with the ids that have a link.  Forests of several tasks can be merged.
    """

    def __init__(self) -> None:
        """Start without links."""
        self._ids = np.empty(0, np.int64)
        self._representatives = np.empty(0, np.int64)
        self._pending: list[tuple[I64, I64]] = []
        self._pending_count = 0

    def join(self, left: I64, right: I64) -> None:
        """Join left[i] and right[i] into one component, for every i.

        Parameters
        ----------
        left, right : ndarray of int64, shape (k,)
            The two ids of each link.

        Raises
        ------
        InputError
            If the arrays differ in length or are not int64 arrays, or the forest is full.
        """
        left, right = _checked(left, "left"), _checked(right, "right")
        if len(left) != len(right):
            raise InputError(f"left has {len(left)} ids and right {len(right)}")
        self._pending.append((left, right))
        self._pending_count += len(left)
        if self._pending_count >= max(PENDING_LEAST, len(self._ids)):
            self._join_pending()

    def merge(self, other: "LinkForest") -> None:
        """Add the links of another forest to this one.

        Parameters
        ----------
        other : LinkForest
            The other forest; it is not changed.

        Raises
        ------
        InputError
            If the forest is full.
        """
        self.join(*other.links())

    def links(self) -> tuple[I64, I64]:
        """Return a minimal set of links that gives the same components.

        Returns
        -------
        ids, representatives : ndarray of int64, shape (k,)
            Every id that is not its own representative, and the representative.

        Raises
        ------
        InputError
            If the forest is full.
        """
        ids, representatives = self.components()
        is_other = ids != representatives
        return ids[is_other], representatives[is_other]

    def components(self) -> tuple[I64, I64]:
        """Return every id that has a link, with its component.

        Returns
        -------
        ids : ndarray of int64, shape (n,)
            The ids, ascending.
        representatives : ndarray of int64, shape (n,)
            For each id, the least id of its component.

        Raises
        ------
        InputError
            If the forest is full.
        """
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
    """Return the connected components of links.

    Parameters
    ----------
    left, right : ndarray of int64, shape (k,)
        The two ids of each link.

    Returns
    -------
    ids : ndarray of int64, shape (n,)
        The ids that have a link, ascending.
    representatives : ndarray of int64, shape (n,)
        For each id, the least id of its component.

    Raises
    ------
    InputError
        If the arrays differ in length or are not int64 arrays, or there are too many ids.
    """
    forest = LinkForest()
    forest.join(left, right)
    return forest.components()


def stars(left: I64, right: I64, places: Array | None = None) -> tuple[I64, I64]:
    """Return the star clusters of matching pairs (leader clustering).

    Ids are taken in order.  Each joins the first earlier representative that it matches, or becomes
    a representative.  So every member matches its representative directly.

    Parameters
    ----------
    left, right : ndarray of int64, shape (k,)
        The two ids of each pair.  Give all pairs of a component together; several components can be
        given at once, in any order.
    places : ndarray, shape (k, 2), optional
        The place in the order of the left and the right id of each pair; by default ids are taken
        in ascending order.

    Returns
    -------
    ids : ndarray of int64, shape (n,)
        All ids of the pairs, ascending.
    representatives : ndarray of int64, shape (n,)
        The representative of each id; a representative has itself.

    Raises
    ------
    InputError
        If `places` has another shape, or two places for one id.
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
    """Return the rank of each id by its place; at equal places, the lower id has the lower rank."""
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
