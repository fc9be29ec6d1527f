"""Stars: leader clustering of the documents of one run, from buckets of candidates.

Documents are taken in order of preference.  A document is kept if it matches no kept document;
otherwise it is removed, and the first kept document that it matches becomes its leader.  Documents
are compared only with kept ones, so near copies of a page add little to the cost.

Two kinds of rounds process many documents at once, with the same result as one by one.  In a round
of *heads*, each document that is the first in all its buckets is kept, and its matches are removed.
That settles families of copies.  Most of the remaining documents share a bucket by chance or
through boilerplate, and will be kept.  A round of a *window* therefore compares the next documents
in the order with each other, and then the kept ones with all later documents.

`sizes` puts larger documents before smaller ones.  Only the sizes of documents in buckets are
requested.

A reference can provide the first documents.  All of them are kept: they are compared with the
documents of the run before those are decided, and never with each other.

Connected groups are found in the same buckets; the first document of each group is kept.
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

# Rounds of heads continue while each decides at least this share of the undecided documents.
HEADS_SHARE = 0.125
# The first window has `WINDOW_FIRST` documents, and a later one `WINDOW_GROWTH` for each document
# that the previous window kept.
WINDOW_FIRST, WINDOW_GROWTH = 1 << 6, 8
# Approximate limit on the pairs of a window, and pairs per comparison.
WINDOW_PAIRS = 1 << 22
# Approximate number of bucket members in a part.
PART_MEMBERS = 1 << 22

NONE = np.empty(0, np.uint32)
Item = TypeVar("Item")
# Maps pairs of documents, left[i] and right[i], to their similarities.  A pair that certainly does
# not match may get any value below the threshold.
Compare = Callable[[U32, U32], F32]


@dataclass(frozen=True, slots=True)
class Stars:
    """The removed documents, the kept document that each one matches, and their similarities.

    `removed` (ascending) and `leaders` uint32[k], `similarities` float32[k].
    """

    removed: U32
    leaders: U32
    similarities: F32


def find_stars(
    bands: Iterable[BandBuckets], count: int, least: float, compare: Compare, *, leading: int = 0,
    sizes: Callable[[U32], F64] | None = None,
) -> Stars:  # fmt: skip
    """Decide which of `count` documents are kept; pairs in a bucket match at `least` or more.

    The first `leading` documents are always kept.  A later document that matches any of them is
    removed, and the first of its matches is its leader.  `sizes`: prefer the larger of the later
    documents; equal ones keep their order.
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
    """Keep the first document of each connected group; a pair matches at `least` or more.

    The similarity of a removed document is NaN if it was not compared with the kept one, because
    other documents connect the two.
    """
    forest = kernel.Forest(count)
    part = _joined([*_distinct(bands)])
    numbers = part.of_members(np.arange(len(part.sizes), dtype=np.uint32))
    waiting = connecting.Buckets(part.members, numbers)
    # Refused pairs are remembered, since a later bucket may contain them as well.
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
    """Some buckets of two or more documents: `members` uint32[e], `sizes` uint32[k]."""

    members: U32
    sizes: U32

    @classmethod
    def of_pairs(cls, pairs: U64) -> "_BucketPart":
        """Return buckets of two documents each."""
        members = np.stack(_halves(pairs), axis=1).ravel()
        return cls(members, np.full(len(pairs), 2, np.uint32))

    @property
    def firsts(self) -> I64:
        """The place in `members` where each bucket begins: int64[k]."""
        return np.cumsum(self.sizes, dtype=np.int64) - self.sizes

    def of_members(self, values: Array) -> Array:
        """Return the value of its bucket for each member; `values` has one for each bucket."""
        return np.repeat(values, self.sizes)

    def counts(self, is_counted: Bools) -> I64:
        """Count the members of each bucket that have a flag: int64[k]."""
        firsts = self.firsts
        return np.add.reduceat(is_counted, firsts, dtype=np.int64) if len(firsts) else firsts

    def renumbered(self, numbers: U32) -> "_BucketPart":
        """Return the buckets with new numbers for the documents."""
        words = _pairs(self.of_members(np.arange(len(self.sizes))), numbers[self.members])
        kernel.sort(words)
        return _BucketPart(words.astype(np.uint32), self.sizes)

    def without(self, is_gone: Bools) -> "_BucketPart":
        """Return the buckets without flagged documents, omitting buckets of one document."""
        is_in = ~is_gone[self.members]
        sizes = self.counts(is_in)
        is_left = sizes > 1
        is_in &= self.of_members(is_left)
        return _BucketPart(self.members[is_in], sizes[is_left].astype(np.uint32))


class _Rounds:
    """The decisions so far, and the buckets of undecided documents."""

    def __init__(
        self, bands: Iterable[BandBuckets], count: int, least: float, compare: Compare
    ) -> None:
        self._parts = _gathered(_distinct(bands))
        self._is_decided = np.zeros(count, np.bool_)
        # Removed documents, their leaders, and the similarity of each to its leader.
        self._claimed: list[tuple[U32, U32, F32]] = [(NONE, NONE, NONE.astype(np.float32))]
        self._least = np.float32(least)
        self._compare = compare
        self._before = np.arange(count, dtype=np.uint32)  # the original number of each document

    def prefer_larger(self, sizes: Callable[[U32], F64], leading: int) -> None:
        """Renumber the documents in buckets by descending size, after the `leading` ones."""
        waiting = self._waiting().astype(np.uint32)
        far = -sizes(waiting)
        far[waiting < leading] = -np.inf
        before, compare = self._before, self._compare
        before[waiting] = waiting[np.argsort(far, kind="stable")]
        numbers = np.argsort(before).astype(np.uint32)
        self._parts = [part.renumbered(numbers) for part in _taken(self._parts)]
        self._compare = lambda left, right: compare(before[left], before[right])

    def stars(self) -> Stars:
        """Return the decisions, with the original numbers."""
        removed, leaders, similarities = map(np.concatenate, zip(*self._claimed, strict=True))
        removed, leaders = self._before[removed], self._before[leaders]
        order = np.argsort(removed)
        return Stars(removed[order], leaders[order], similarities[order])

    @property
    def member_count(self) -> int:
        """The number of members of all buckets."""
        return sum(len(part.members) for part in self._parts)

    def decide_led(self, leading: int) -> None:
        """Keep the first `leading` documents, and remove all later documents that match them."""
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
        """Keep the documents that are the first in all their buckets; remove their matches."""
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
        """Decide the next documents, at most `size`; return how many of them are kept."""
        window = self._waiting()[:size]
        # The sizes of the buckets of a document bound the number of its pairs.
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
        # Compare the kept documents with all later documents in their buckets.
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
        """Return the pairs that match, in the given order."""
        left, right = _halves(pairs)
        found = self._compare(left, right)
        is_match = found >= self._least
        return left[is_match], right[is_match], found[is_match]

    def _claim_matching(self, found: list[U64]) -> None:
        """Compare pairs, whose left documents are kept, and remove the right ones that match."""
        pairs = _once(found)
        for start in range(0, len(pairs), WINDOW_PAIRS):
            some = pairs[start : start + WINDOW_PAIRS]
            # Pairs ascend, so a document that an earlier batch removed has its first leader.
            self._claim(*self._matching(some[~self._is_decided[some.astype(np.uint32)]]))

    def _claim(self, left: U32, right: U32, similarities: F32) -> U32:
        """Remove the `right` documents; the leader of each is the first of its `left` ones.

        Returns the removed documents, each once.
        """
        claimed, first = np.unique(right, return_index=True)
        self._claimed.append((claimed, left[first], similarities[first]))
        self._is_decided[claimed] = True
        return claimed

    def _settle(self, left: U32, right: U32, similarities: F32) -> U32:
        """Decide documents by the pairs that match, in order; return the removed documents."""
        chosen = decided_in_order(left, right)
        return self._claim(left[chosen], right[chosen], similarities[chosen])

    def _drop_decided(self) -> None:
        """Remove decided documents from the buckets, and then all buckets of one document."""
        self._parts = _gathered(part.without(self._is_decided) for part in _taken(self._parts))


def _distinct(bands: Iterable[BandBuckets]) -> Iterator[_BucketPart]:
    """Yield the distinct buckets of all bands; copies share most of their buckets."""
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
    """Return the buckets in parts of at least `PART_MEMBERS` members, except the last."""
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
    """Return the buckets of all parts as one part."""
    if len(parts) == 1:
        return parts[0]
    return _BucketPart(
        np.concatenate([NONE, *(part.members for part in parts)]),
        np.concatenate([NONE, *(part.sizes for part in parts)]),
    )


def _taken(items: list[Item]) -> Iterator[Item]:
    """Yield all items of a list and remove them from it, so that each can be freed."""
    items.reverse()
    while items:
        yield items.pop()


def _bounded(waiting: I64, weights: Array) -> I64:
    """Return the first documents of `waiting`, at least one, with up to `WINDOW_PAIRS` pairs."""
    return waiting[: max(1, int(np.searchsorted(weights.cumsum(), WINDOW_PAIRS)))]


def decided_in_order(left: U32 | I64, right: U32 | I64) -> list[int]:
    """Return the places of the pairs whose `left` is kept and whose `right` is not yet removed.

    The pairs match, ascend, and have the lesser document on the left.
    """
    gone: set[int] = set()
    chosen = []
    for at, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        # Every possible leader of `one` precedes it, so `one` is decided by now.
        if one not in gone and other not in gone:
            gone.add(other)
            chosen.append(at)
    return chosen


def _pairs(left: U32, right: U32) -> U64:
    """Return each pair as one word."""
    return left.astype(np.uint64) << np.uint64(32) | right


def _once(found: list[U64]) -> U64:
    """Return the distinct pairs, ascending."""
    pairs = np.concatenate([np.empty(0, np.uint64), *found])
    kernel.sort(pairs)
    return pairs[is_first(pairs)]


def _halves(pairs: U64) -> tuple[U32, U32]:
    """Return the left and the right documents of pairs."""
    return (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)


def _known(left: U32, right: U32, pairs: U64, similarities: F32) -> F32:
    """Return the similarities of documents left[i] and right[i] in `pairs`; NaN if absent."""
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
    # Each member is paired with all later members of its bucket.
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
