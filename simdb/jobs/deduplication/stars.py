"""Stars: which documents of one run stay, and which of them stands for each of the others.

Documents are taken in order of preference: one that matches none of those that stay, stays.  So a
document is compared with those that stay, never with those that go, and a page with any number of
near copies costs what the pages that stay cost.

Two kinds of rounds decide them, and neither changes the answer.  A round of *heads*: the document
that is the first of all its buckets stays, and what matches it goes.  That decides families and
floods of copies.  What is left are documents that share a bucket by chance or boilerplate, and most
of them stay, so a round of a *window* takes the next documents in the order and compares them with
each other: those that stay are then compared with all that come later.

The larger documents can come first, whatever the order says of others.  Only the sizes of those in
buckets are asked for.

The first documents can be those of a reference, which all stay: they are compared with all others
before these are, some at a time, and never with each other.

Connected groups are decided from the same buckets: of each, the first document stays.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import flags_at, is_first, ranges
from simdb.core.dtypes import F32, F64, I64, U32, U64, Array, Bools
from simdb.core.values import dataclass
from simdb.database import buckets as connecting
from simdb.jobs.deduplication.minima import BandBuckets, SortedKeys

# Rounds of heads go on while each decides this share of what is left.
HEADS_SHARE = 0.125
# A window has so many documents at first; then so many for each one of the last that stayed.
WINDOW_FIRST, WINDOW_GROWTH = 1 << 6, 8
# They are in at most about so many pairs; and so many are compared at a time.
WINDOW_PAIRS = 1 << 22
# So many members of buckets are looked at at a time.
PART_MEMBERS = 1 << 22

NONE = np.empty(0, np.uint32)
Item = TypeVar("Item")
# From pairs of documents, left[i] and right[i], to their similarities; less than any match for a
# pair that surely does not match.
Compare = Callable[[U32, U32], F32]


@dataclass(frozen=True, slots=True)
class Stars:
    """What became of n documents: those that go, ascending, what stays for each, how similar.

    `removed` and `leaders` uint32[k], `similarities` float32[k].
    """

    removed: U32
    leaders: U32
    similarities: F32


def find_stars(
    bands: Iterable[BandBuckets], count: int, least: float, compare: Compare, *, leading: int = 0,
    sizes: Callable[[U32], F64] | None = None,
) -> Stars:  # fmt: skip
    """Decide `count` documents, by the pairs in buckets that have the similarity `least`.

    The `leading` first documents stay in any case; another that one of them matches goes for the
    first of these.  `sizes`: the larger of the others come first, and equal ones in their order.
    """
    rounds = _Rounds(bands, count, least, compare)
    if sizes is not None and rounds.member_count:
        rounds.prefer_larger(sizes, leading)
    if leading:
        rounds.decide_led(leading)
    before = rounds.member_count
    while before:
        rounds.decide_heads()
        left = rounds.member_count
        if left > (1 - HEADS_SHARE) * before:
            break
        before = left
    size = WINDOW_FIRST
    while rounds.member_count:
        size = max(WINDOW_FIRST, WINDOW_GROWTH * rounds.decide_window(size))
    return rounds.stars()


def find_connected(
    bands: Iterable[BandBuckets], count: int, least: float, compare: Compare
) -> Stars:
    """Decide `count` documents, of which pairs in buckets that have `least` make groups.

    The first document of each group stays.  The similarity of one that goes is NaN if it was not
    compared with that: other documents connect the two.
    """
    forest = kernel.Forest(count)
    part = _joined([*_distinct(bands)])
    numbers = part.of_members(np.arange(len(part.sizes), dtype=np.uint32))
    waiting = connecting.Buckets(part.members, numbers)
    # Pairs that do not match, and may be in a later bucket, too; and those that do.
    refused, matching, found = SortedKeys(), [np.empty(0, np.uint64)], [np.empty(0, np.float32)]
    for one, other in connecting.unconnected_pairs(waiting, forest):
        pairs = _once([_pairs(np.minimum(one, other), np.maximum(one, other))])
        pairs = pairs[~refused.holds(pairs)]
        left, right = _halves(pairs)
        similarities = compare(left, right)
        is_match = similarities >= np.float32(least)
        forest.join(left[is_match], right[is_match])
        refused.append(pairs[~is_match & (similarities > 0)])
        matching.append(pairs[is_match])
        found.append(similarities[is_match])
    owners = forest.labels()
    removed = np.flatnonzero(owners != np.arange(count, dtype=np.uint32)).astype(np.uint32)
    known = np.concatenate(matching), np.concatenate(found)
    return Stars(removed, owners[removed], _known(owners[removed], removed, *known))


@dataclass(frozen=True, slots=True)
class _BucketPart:
    """Some buckets: members uint32[e], and the sizes uint32[k], each of at least two members."""

    members: U32
    sizes: U32

    @classmethod
    def of_pairs(cls, pairs: U64) -> "_BucketPart":
        """Return buckets of two documents each."""
        members = np.stack(_halves(pairs), axis=1).ravel()
        return cls(members, np.full(len(pairs), 2, np.uint32))

    @property
    def firsts(self) -> I64:
        """Where each bucket begins."""
        return np.cumsum(self.sizes, dtype=np.int64) - self.sizes

    def of_members(self, values: Array) -> Array:
        """Return for each member the value of its bucket."""
        return np.repeat(values, self.sizes)

    def counts(self, is_counted: Bools) -> I64:
        """Return how many of some members are in each bucket."""
        firsts = self.firsts
        return np.add.reduceat(is_counted, firsts, dtype=np.int64) if len(firsts) else firsts

    def renumbered(self, numbers: U32) -> "_BucketPart":
        """Give each document another number."""
        words = _pairs(self.of_members(np.arange(len(self.sizes))), numbers[self.members])
        kernel.sort(words)
        return _BucketPart(words.astype(np.uint32), self.sizes)

    def without(self, is_gone: Bools) -> "_BucketPart":
        """Leave documents out of the buckets, and then buckets of one document."""
        is_in = ~is_gone[self.members]
        sizes = self.counts(is_in)
        is_left = sizes > 1
        is_in &= self.of_members(is_left)
        return _BucketPart(self.members[is_in], sizes[is_left].astype(np.uint32))


class _Rounds:
    """The decisions so far, and the buckets with the documents that are undecided."""

    def __init__(
        self, bands: Iterable[BandBuckets], count: int, least: float, compare: Compare
    ) -> None:
        self._parts = _gathered(_distinct(bands))
        self._is_decided = np.zeros(count, np.bool_)
        # Those that go, what stays for each, and how similar it is.
        self._claimed: list[tuple[U32, U32, F32]] = [(NONE, NONE, NONE.astype(np.float32))]
        self._least = np.float32(least)
        self._compare = compare
        self._before = np.arange(count, dtype=np.uint32)  # the number that each document had

    def prefer_larger(self, sizes: Callable[[U32], F64], leading: int) -> None:
        """Renumber the documents in buckets, the larger first; the `leading` ones stay first."""
        waiting = self._waiting().astype(np.uint32)
        far = -sizes(waiting)
        far[waiting < leading] = -np.inf
        before, compare = self._before, self._compare
        before[waiting] = waiting[np.argsort(far, kind="stable")]
        numbers = np.argsort(before).astype(np.uint32)
        self._parts = [part.renumbered(numbers) for part in _taken(self._parts)]
        self._compare = lambda left, right: compare(before[left], before[right])

    def stars(self) -> Stars:
        """Return what was decided."""
        removed, leaders, similarities = map(np.concatenate, zip(*self._claimed, strict=True))
        removed, leaders = self._before[removed], self._before[leaders]
        order = np.argsort(removed)
        return Stars(removed[order], leaders[order], similarities[order])

    @property
    def member_count(self) -> int:
        """How many members all buckets have."""
        return sum(len(part.members) for part in self._parts)

    def decide_led(self, leading: int) -> None:
        """Let the `leading` first documents stay, and all others go that one of them matches."""
        size = WINDOW_FIRST
        while True:
            weights = np.zeros(leading)
            for part in self._parts:
                is_led = part.members >= leading
                others = part.of_members(part.counts(is_led))[~is_led]
                weights += np.bincount(part.members[~is_led], others, leading)
            waiting = np.flatnonzero(weights)
            if not len(waiting):
                break
            window = _bounded(waiting[:size], weights[waiting[:size]])
            self._claim_matching([
                _across(part, part.members <= window[-1], part.members >= leading)
                for part in self._parts
            ])  # fmt: skip
            self._is_decided[: window[-1] + 1] = True
            self._drop_decided()
            size *= WINDOW_GROWTH
        self._is_decided[:leading] = True
        self._drop_decided()

    def decide_heads(self) -> None:
        """Let the documents stay that are the first of all their buckets."""
        is_leader = np.zeros(len(self._is_decided), np.bool_)
        for part in self._parts:
            is_leader[part.members[part.firsts]] = True
        for part in self._parts:
            is_leader[np.delete(part.members, part.firsts)] = False
        pairs = []
        for part in self._parts:
            firsts = part.firsts
            heads = part.members[firsts]
            is_led = part.of_members(is_leader[heads])
            is_led[firsts] = False
            pairs.append(_pairs(part.of_members(heads)[is_led], part.members[is_led]))
        self._claim_matching(pairs)
        self._is_decided |= is_leader
        self._drop_decided()

    def decide_window(self, size: int) -> int:
        """Decide the next documents, about `size` of them; return how many of them stay."""
        window = self._waiting()[:size]
        # A document is in at most as many pairs as its buckets have members.
        weights = np.zeros(len(window))
        for part in self._parts:
            is_in = part.members <= window[-1]
            places = np.searchsorted(window, part.members[is_in])
            weights += np.bincount(places, part.of_members(part.sizes)[is_in], len(window))
        window = _bounded(window, weights)
        end = window[-1] + 1
        inside = [_among(part, part.members < end) for part in self._parts]
        gone = self._settle(*self._matching(_once(inside)))
        self._is_decided[window] = True
        # Those that stay, with all later documents in their buckets.
        is_leader = flags_at(window, len(self._is_decided))
        is_leader[gone] = False
        self._claim_matching([
            _across(part, is_leader[part.members], part.members >= end) for part in self._parts
        ])  # fmt: skip
        self._drop_decided()
        return len(window) - len(gone)

    def _waiting(self) -> I64:
        """Return the documents in buckets, ascending."""
        is_waiting = np.zeros(len(self._is_decided), np.bool_)
        for part in self._parts:
            is_waiting[part.members] = True
        return np.flatnonzero(is_waiting)

    def _matching(self, pairs: U64) -> tuple[U32, U32, F32]:
        """Return the pairs that match, in the order of their left documents."""
        left, right = _halves(pairs)
        found = self._compare(left, right)
        is_match = found >= self._least
        return left[is_match], right[is_match], found[is_match]

    def _claim_matching(self, found: list[U64]) -> None:
        """Compare pairs, and let the first of the left, which stay, stand for each that matches."""
        pairs = _once(found)
        for start in range(0, len(pairs), WINDOW_PAIRS):
            some = pairs[start : start + WINDOW_PAIRS]
            # What was claimed just now was claimed by one that comes before.
            self._claim(*self._matching(some[~self._is_decided[some.astype(np.uint32)]]))

    def _claim(self, left: U32, right: U32, similarities: F32) -> U32:
        """Let the first of the `left`, which stay, that matches a document stand for it.

        Returns the documents that go, each once.
        """
        claimed, first = np.unique(right, return_index=True)
        self._claimed.append((claimed, left[first], similarities[first]))
        self._is_decided[claimed] = True
        return claimed

    def _settle(self, left: U32, right: U32, similarities: F32) -> U32:
        """Decide documents that match each other, in their order; return those that go."""
        chosen = decided_in_order(left, right)
        return self._claim(left[chosen], right[chosen], similarities[chosen])

    def _drop_decided(self) -> None:
        """Leave decided documents out of the buckets, and then buckets of one document."""
        self._parts = _gathered(part.without(self._is_decided) for part in _taken(self._parts))


def _distinct(bands: Iterable[BandBuckets]) -> Iterator[_BucketPart]:
    """Yield the buckets of all bands, of equal ones the first: copies share most of their bands."""
    pairs, known, larger = SortedKeys(), SortedKeys(), []
    for band in bands:
        pairs.append(band.pairs)
        is_new = known.add(band.marks)
        members = band.members[np.repeat(is_new, band.sizes)]
        larger.append(_BucketPart(members, band.sizes[is_new]))
    del known
    yield from _taken(larger)
    every = pairs.all()
    for start in range(0, len(every), PART_MEMBERS):
        yield _BucketPart.of_pairs(every[start : start + PART_MEMBERS])


def _gathered(parts: Iterable[_BucketPart]) -> list[_BucketPart]:
    """Return the buckets in parts of about `PART_MEMBERS` members; none is empty."""
    gathered: list[_BucketPart] = []
    waiting: list[_BucketPart] = []
    for part in parts:
        waiting.append(part)
        if sum(len(each.members) for each in waiting) >= PART_MEMBERS:
            gathered.append(_joined(waiting))
            waiting = []
    rest = _joined(waiting)
    return [*gathered, rest] if len(rest.members) else gathered


def _joined(parts: Sequence[_BucketPart]) -> _BucketPart:
    """Return the buckets of all parts."""
    if len(parts) == 1:
        return parts[0]
    return _BucketPart(
        np.concatenate([NONE, *(part.members for part in parts)]),
        np.concatenate([NONE, *(part.sizes for part in parts)]),
    )


def _taken(items: list[Item]) -> Iterator[Item]:
    """Yield all items of a list and take them out of it, so that each can be freed."""
    items.reverse()
    while items:
        yield items.pop()


def _bounded(waiting: I64, weights: Array) -> I64:
    """Return the first of the documents `waiting`, at least one, in pairs of a bounded number."""
    return waiting[: max(1, int(np.searchsorted(weights.cumsum(), WINDOW_PAIRS)))]


def decided_in_order(left: U32 | I64, right: U32 | I64) -> list[int]:
    """Return which pairs decide: those whose `left` stays, each the first that names its `right`.

    The pairs match, are in ascending order, and have the lesser document on the left.
    """
    gone: set[int] = set()
    chosen = []
    for at, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        # All that could stand for `one` come before it, so it is decided by now.
        if one not in gone and other not in gone:
            gone.add(other)
            chosen.append(at)
    return chosen


def _pairs(left: U32, right: U32) -> U64:
    """Return each pair as one word."""
    return left.astype(np.uint64) << np.uint64(32) | right


def _once(found: list[U64]) -> U64:
    """Return each of the pairs once, in ascending order."""
    pairs = np.concatenate([np.empty(0, np.uint64), *found])
    kernel.sort(pairs)
    return pairs[is_first(pairs)]


def _halves(pairs: U64) -> tuple[U32, U32]:
    """Return the left and the right documents of pairs."""
    return (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)


def _known(left: U32, right: U32, pairs: U64, similarities: F32) -> F32:
    """Return the similarities of documents left[i] and right[i], NaN if `pairs` have them not."""
    found = np.full(len(left), np.nan, np.float32)
    if len(pairs):
        order = np.argsort(pairs)
        asked = _pairs(left, right)
        places = order[np.minimum(np.searchsorted(pairs, asked, sorter=order), len(pairs) - 1)]
        is_known = pairs[places] == asked
        found[is_known] = similarities[places[is_known]]
    return found


def _among(part: _BucketPart, is_chosen: Bools) -> U64:
    """Return all pairs of chosen members of the same bucket."""
    members, sizes = part.members[is_chosen], part.counts(is_chosen)
    # Each member is paired with those after it in its bucket.
    ends = np.repeat(np.cumsum(sizes), sizes)
    after = ends - np.arange(len(members)) - 1
    left = np.repeat(members, after)
    return _pairs(left, members[ranges(np.arange(1, len(members) + 1), after)])


def _across(part: _BucketPart, is_left: Bools, is_right: Bools) -> U64:
    """Return all pairs of a left and a right member of the same bucket."""
    left, right = part.members[is_left], part.members[is_right]
    left_sizes, right_sizes = part.counts(is_left), part.counts(is_right)
    each = np.repeat(right_sizes, left_sizes)
    starts = np.repeat(np.cumsum(right_sizes) - right_sizes, left_sizes)
    return _pairs(np.repeat(left, each), right[ranges(starts, each)])
