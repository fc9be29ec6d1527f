"""Labels: connected components as arrays, and which documents are equal.

Of equal documents the first represents all, so that copies are never paired.  Equal means equal
fingerprints and, for a search by similarity, equal volatility vectors.  (Equal vectors have equal
fingerprints, as their signs are the bits.)
"""

import numpy as np
import numpy.typing as npt

from simdb.storage.membership import Membership
from simdb.values.arrays import Sketches, offsets_of, sorted_unique

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]


def grouped(labels: U32, places: U32 | None = None) -> tuple[npt.NDArray[np.int64], U32]:
    """Return offsets int64[c + 1] and members uint32[k] of components of two or more members.

    `labels`: one member of the component of each number.  `places`: the place of each number in
    some order; None orders by number.  Members are in that order, and components in the order of
    their first members.
    """
    joined = np.flatnonzero(labels != np.arange(len(labels), dtype=np.uint32)).astype(np.uint32)
    named = sorted_unique(labels[joined])
    members = np.concatenate([named, joined])
    group = np.searchsorted(named, np.concatenate([named, labels[joined]]))
    ranks = members if places is None else places[members]
    leading = np.full(len(named), len(labels), np.uint32)
    np.minimum.at(leading, group, ranks)
    members = members[np.lexsort((ranks, leading[group]))]
    sizes = np.bincount(group, minlength=len(named))[np.argsort(leading)]
    return offsets_of(sizes), members


def maintained_labels(membership: Membership, count: int) -> U32:
    """Return the least member of the maintained cluster of each ordinal: uint32[count]."""
    return labels_of(membership.whole(count)[0])


def labels_of(numbers: U32) -> U32:
    """Return for each ordinal the least one with the same number, itself for 0: uint32[n]."""
    members = np.flatnonzero(numbers)
    _, firsts, group = np.unique(numbers[members], return_index=True, return_inverse=True)
    labels = np.arange(len(numbers), dtype=np.uint32)
    labels[members] = members[firsts[group]]
    return labels


def first_equal(sketches: Sketches, *, is_measured: bool) -> I64:
    """Return for each sketch the position of the first sketch equal to it: int64[n]."""
    _, firsts, group = np.unique(sketches.bits, return_index=True, return_inverse=True)
    found: I64 = firsts[group].astype(np.int64)
    if is_measured and len(found):
        sharing = np.flatnonzero(np.bincount(group)[group] > 1)
        found[sharing] = sharing[first_equal_rows(sketches.vectors[sharing])]
    return found


def first_equal_rows(vectors: npt.NDArray[np.uint8]) -> I64:
    """Return for each row of uint8[n, width] the position of the first equal row: int64[n]."""
    if not len(vectors):
        return np.empty(0, np.int64)
    rows = np.ascontiguousarray(vectors)
    whole = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
    _, firsts, group = np.unique(whole, return_index=True, return_inverse=True)
    found: I64 = firsts[group].astype(np.int64)
    return found
