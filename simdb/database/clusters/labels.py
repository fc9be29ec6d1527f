"""Labels: connected components as arrays, and which documents are equal.

Of equal documents the first represents all, so that copies are never paired.  Equal means equal
fingerprints and, for a search by similarity, equal volatility vectors.  (Equal vectors have equal
fingerprints, as their signs are the bits.)
"""

import numpy as np

from simdb.core.arrays import Sketches, is_first
from simdb.core.bits import ALL_BITS
from simdb.core.dtypes import I64, U8, U32
from simdb.database.search.buckets import not_labels
from simdb.storage import Sorting


def grouped(labels: U32, places: U32 | None = None, *, threads: int = 1) -> tuple[I64, U32]:
    """Return offsets int64[c + 1] and members uint32[k] of components of two or more members.

    `labels`: one member of the component of each number.  `places`: the place of each number in
    some order; None orders by number.  Members are in that order, and components in the order of
    their first members.
    """
    joined = not_labels(labels, threads)
    of_joined = labels[joined]
    is_named = np.zeros(len(labels), np.bool_)
    is_named[of_joined] = True
    named = np.flatnonzero(is_named).astype(np.uint32)
    members, of_members = np.concatenate([named, joined]), np.concatenate([named, of_joined])
    ranks = members if places is None else places[members]
    first_ranks = of_members
    if places is not None or (of_joined > joined).any():
        leading = np.full(len(labels), len(labels), np.uint32)
        np.minimum.at(leading, of_members, ranks)
        first_ranks = leading[of_members]
    keys = first_ranks.astype(np.uint64) << np.uint64(32) | ranks
    ordered, sorting = np.empty_like(members), Sorting(keys, members, [ALL_BITS], threads)
    sorted_keys = np.empty_like(keys)
    sorting.write(0, sorted_keys, ordered)
    starts = np.flatnonzero(is_first(sorted_keys >> np.uint64(32)))
    return np.append(starts, len(members)), ordered


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


def first_equal_rows(vectors: U8) -> I64:
    """Return for each row of uint8[n, width] the position of the first equal row: int64[n]."""
    if not len(vectors):
        return np.empty(0, np.int64)
    rows = np.ascontiguousarray(vectors)
    whole = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
    _, firsts, group = np.unique(whole, return_index=True, return_inverse=True)
    found: I64 = firsts[group].astype(np.int64)
    return found
