"""Buckets: documents with one key, compared until all that match are connected.

A bucket of m near copies has m^2 / 2 pairs, but one of the copies connects all.  So one document of
the largest component in each bucket is compared with the other components, then two, four, and so
on.  Documents that are already connected are never compared.  Every other pair of a bucket is
compared once, so the components are the same as if all pairs were compared.

A member of a group of m similar documents meets the others in every table, so all members together
take m^2 steps.  So the members of a large group, a crowd, are postponed.  Tables without the crowd
are made once, by reading all tables, and its members are looked up there at the end.

Of equal documents the first represents all, so that copies are never paired.  Equal means equal
fingerprints and, for a search by similarity, equal volatility vectors.  (Equal vectors have equal
fingerprints, as their signs are the bits.)
"""

from collections.abc import Iterator
from math import isqrt
from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches, flags_at, is_first, ranges, sorted_unique
from simdb.core.bits import ALL_BITS
from simdb.core.dtypes import I64, U8, U32, Bools
from simdb.core.threads import mapped, parts_of
from simdb.storage import Sorting, Table

# Number of pairs of buckets that are compared before pairs that are then connected are dropped.
# The pairs of one document are not divided.
COMPARED_PAIRS = 1 << 16

# Among n documents, a crowd has at least CROWD_MIN and at least CROWD_ROOTS * sqrt(n) members.
# Passing over an entry takes as long as copying one, and the tables of n documents are copied.
CROWD_MIN = 1024
CROWD_ROOTS = 2
# Counting reads all labels, so it waits for this number of pairs, and for half the members of a
# crowd.
COUNTED_PAIRS = 512
# Number of labels that are compared in one step; they fit into the cache.
LABELLED_AT_ONCE = 1 << 18


class Buckets(NamedTuple):
    """Documents in buckets of two or more: their ordinals, and ascending numbers of buckets.

    Both arrays are uint32[n].
    """

    ordinals: U32
    numbers: U32

    def chosen(self, which: Bools | I64) -> "Buckets":
        """Return the documents that `which`, a mask or positions, selects."""
        return Buckets(self.ordinals[which], self.numbers[which])


def buckets_of(table: Table) -> Buckets:
    """Return the buckets of the keys of a sorted table."""
    is_equal = table.keys[1:] == table.keys[:-1]
    begins = np.append(True, ~is_equal)[: len(table.keys)]
    is_alone = begins & np.append(begins[1:], True)[: len(begins)]
    numbers = np.cumsum(begins[~is_alone], dtype=np.uint32)
    return Buckets(table.ordinals[~is_alone], numbers)


def unconnected_pairs(buckets: Buckets, forest: kernel.Forest) -> Iterator[tuple[U32, U32]]:
    """Yield pairs of documents of one bucket, until all pairs were yielded or are connected.

    The caller joins matching pairs in `forest` before it takes the next pairs.
    """
    most = 1
    while True:
        buckets = _divided(buckets, forest)
        if not len(buckets.ordinals):
            return
        ordered = _by_component(buckets, forest)
        is_pivot = ordered.pivots(most)
        yield from ordered.pairs(np.flatnonzero(is_pivot), forest)
        buckets, most = ordered.buckets.chosen(~is_pivot), 2 * most


def roots_of(forest: kernel.Forest, ordinals: U32) -> U32:
    """Return the smallest member of the component of each of `ordinals`."""
    parents: U32 = forest.parents
    roots = parents[ordinals]
    while (roots != (above := parents[roots])).any():
        roots = above
    return roots


def not_labels(labels: U32, threads: int = 1) -> U32:
    """Return the numbers that are not their own label, ascending: uint32[k]."""

    def others(part: slice) -> U32:
        numbers = np.arange(part.start, part.start + len(labels[part]), dtype=np.uint32)
        return numbers[np.flatnonzero(labels[part] != numbers)]

    parts = parts_of(len(labels), threads, most=LABELLED_AT_ONCE, least=LABELLED_AT_ONCE)
    return np.concatenate(list(mapped(others, parts, threads)))


class Crowds:
    """The documents in crowds, some of them postponed.

    `least`: the smallest size of a crowd.  Groups grow as pairs are joined.  They are counted again
    once the number of documents looked up has doubled and enough pairs for another crowd have been
    found.
    """

    def __init__(self, forest: kernel.Forest) -> None:
        """Take the forest over ordinals in which the caller joins the pairs that it finds."""
        self._forest = forest
        count = len(forest.parents)
        self.least = max(CROWD_MIN, CROWD_ROOTS * isqrt(count))
        # A crowd that is new since the last count has joined at least this number of pairs.
        self._awaited = max(COUNTED_PAIRS, self.least // 2)
        self._seen, self._counted_at, self._pairs = 0, 0, 0
        self._is_crowded: Bools | None = None  # None without crowds
        self._waiting: list[U32] = []
        self._count()

    def put_off(self, ordinals: U32) -> U32:
        """Postpone the documents that are in crowds, and return the rest."""
        if self._seen > 2 * self._counted_at and self._pairs >= self._awaited:
            self._count()
            self._counted_at, self._pairs = self._seen, 0
        self._seen += len(ordinals)
        if self._is_crowded is None:
            return ordinals
        crowded = self._is_crowded[ordinals]
        self._waiting.append(ordinals[crowded])
        return ordinals[~crowded]

    def found(self, pairs: int) -> None:
        """Note the number of pairs found, which the caller joins."""
        self._pairs += pairs

    def groups(self) -> Iterator[tuple[U32, Bools]]:
        """Yield the postponed documents, group by group, and a mask of the members of each group.

        Call it when all other documents have been looked up.
        """
        if not self._waiting:
            return
        labels = self._forest.labels()
        waiting = np.concatenate(self._waiting)
        waiting.sort()
        of_each = labels[waiting]
        for label in sorted_unique(of_each):
            yield waiting[of_each == label], labels == label

    def _count(self) -> None:
        """Find the documents that are in crowds."""
        labels: U32 = self._forest.labels()
        # The label of a component is one of its members, so counting the others suffices.
        is_large: Bools = np.bincount(labels[not_labels(labels)]) >= self.least - 1
        if is_large.any():
            is_large = np.append(is_large, np.zeros(len(labels) - len(is_large), np.bool_))
            self._is_crowded = is_large[labels]


class _Ordered(NamedTuple):
    """Buckets by component, the largest component of each bucket first.

    For each document: where its bucket starts, where its component in the bucket ends, and where
    the bucket ends.
    """

    buckets: Buckets
    starts: I64
    component_stops: I64
    stops: I64

    def pivots(self, most: int) -> Bools:
        """Return the first `most` documents of each bucket that are not in its last component."""
        places = np.arange(len(self.starts)) - self.starts
        return np.asarray((places < most) & (self.component_stops < self.stops))

    def pairs(self, pivots: I64, forest: kernel.Forest) -> Iterator[tuple[U32, U32]]:
        """Yield pivots with the documents of later components, except pairs connected by then."""
        counts = (self.stops - self.component_stops)[pivots]
        ends = np.cumsum(counts)
        start = 0
        while start < len(pivots):
            before = ends[start] - counts[start]
            stop = max(int(np.searchsorted(ends, before + COMPARED_PAIRS, side="right")), start + 1)
            some, many = pivots[start:stop], counts[start:stop]
            ordinals, others = self.buckets.ordinals, ranges(self.component_stops[some], many)
            left, right = np.repeat(ordinals[some], many), ordinals[others]
            if start:  # earlier pairs may have connected some
                apart = roots_of(forest, left) != roots_of(forest, right)
                left, right = left[apart], right[apart]
            yield left, right
            start = stop


def _divided(buckets: Buckets, forest: kernel.Forest) -> Buckets:
    """Return the buckets that have documents of several components."""
    if not len(buckets.ordinals):
        return buckets
    roots = roots_of(forest, buckets.ordinals)
    bounds, sizes = _bounds(is_first(buckets.numbers))
    is_whole = np.minimum.reduceat(roots, bounds) == np.maximum.reduceat(roots, bounds)
    return buckets.chosen(np.repeat(~is_whole, sizes))


def _by_component(buckets: Buckets, forest: kernel.Forest) -> _Ordered:
    """Return buckets by component, the largest component of each bucket first."""
    roots = roots_of(forest, buckets.ordinals)
    order = np.argsort(buckets.numbers.astype(np.uint64) << np.uint64(32) | roots, kind="stable")
    buckets, roots = buckets.chosen(order), roots[order]
    begins = is_first(buckets.numbers)
    firsts, sizes = _bounds(begins | is_first(roots))
    by_size = np.lexsort((-sizes, buckets.numbers[firsts]))
    firsts, sizes = firsts[by_size], sizes[by_size]
    starts, lengths = _bounds(begins)
    return _Ordered(
        buckets.chosen(ranges(firsts, sizes)),
        np.repeat(starts, lengths),
        np.repeat(np.cumsum(sizes), sizes),
        np.repeat(starts + lengths, lengths),
    )


def _bounds(begins: Bools) -> tuple[I64, I64]:
    """Return the start and the length of each part; `begins` is true where a part starts."""
    firsts = np.flatnonzero(begins)
    return firsts, np.diff(firsts, append=len(begins))


def grouped(labels: U32, places: U32 | None = None, *, threads: int = 1) -> tuple[I64, U32]:
    """Return offsets int64[c + 1] and members uint32[k] of components of two or more members.

    `labels`: one member of the component of each number.  `places`: the place of each number in
    some order; None orders by number.  Members are in that order, and components in the order of
    their first members.
    """
    joined = not_labels(labels, threads)
    of_joined = labels[joined]
    is_named = flags_at(of_joined, len(labels))
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
    """Return for each ordinal the lowest one with its number, or itself if that is 0: uint32[n]."""
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
    return firsts[group].astype(np.int64)
