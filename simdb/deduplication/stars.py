"""Stars: which documents of one run stay, and which of them stands for each of the others.

Documents are taken in order of preference: one that matches none of those that stay, stays.  So a
document is compared with those that stay, never with those that go, and a page with any number of
near copies costs what the pages that stay cost.

Two kinds of rounds decide them, and neither changes the answer.  A round of *heads*: the document
that is the first of all its buckets stays, and what matches it goes.  That decides families and
floods of copies.  What is left are documents that share a bucket by chance or boilerplate, and most
of them stay, so a round of a *window* takes the next documents in the order and compares them with
each other: those that stay are then compared with all that come later.

The first documents can be those of a reference, which all stay: they are compared with all others
before these are, some at a time, and never with each other.

Connected groups are decided from the same buckets: of each, the first document stays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.deduplication.minima import BandBuckets, SortedKeys
from simdb.engine.search import buckets as connecting
from simdb.ground.dtypes import F32, I64, U32, U64, Bools
from simdb.running import kernel
from simdb.values.arrays import is_first, ranges

# Rounds of heads go on while each decides this share of what is left.
HEADS_SHARE = 0.125
# A window has so many documents at first; then so many for each one of the last that stayed.
WINDOW_FIRST, WINDOW_GROWTH = 1 << 6, 8
# They are in at most about so many pairs.
WINDOW_PAIRS = 1 << 22

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
    buckets: BandBuckets, count: int, least: float, compare: Compare, *, leading: int = 0
) -> Stars:
    """Decide `count` documents, by the pairs in `buckets` that have the similarity `least`.

    The `leading` first ones stay in any case; another that one of them matches goes for the first
    of these.
    """
    rounds = _Rounds(buckets, count, least, compare)
    del buckets  # the rounds need less of them
    if leading:
        rounds.decide_led(leading)
    before = len(rounds.members)
    while before:
        rounds.decide_heads()
        left = len(rounds.members)
        if left > (1 - HEADS_SHARE) * before:
            break
        before = left
    size = WINDOW_FIRST
    while len(rounds.members):
        size = max(WINDOW_FIRST, WINDOW_GROWTH * rounds.decide_window(size))
    removed = np.flatnonzero(rounds.owners != np.arange(count, dtype=np.uint32)).astype(np.uint32)
    return Stars(removed, rounds.owners[removed], rounds.similarities[removed])


def find_connected(buckets: BandBuckets, count: int, least: float, compare: Compare) -> Stars:
    """Decide `count` documents, of which pairs in `buckets` that have `least` make groups.

    The first document of each group stays.  The similarity of one that goes is NaN if it was not
    compared with that: other documents connect the two.
    """
    forest = kernel.Forest(count)
    numbers = np.repeat(np.arange(len(buckets.offsets) - 1), np.diff(buckets.offsets))
    waiting = connecting.Buckets(buckets.members, numbers.astype(np.uint32))
    # Pairs that do not match, and may be in a later bucket, too; and those that do.
    refused, matching, found = SortedKeys(), [np.empty(0, np.uint64)], [np.empty(0, np.float32)]
    for one, other in connecting.unconnected_pairs(waiting, forest):
        pairs = _pairs(np.minimum(one, other), np.maximum(one, other))
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


class _Rounds:
    """The decisions so far, and the buckets with the documents that are undecided.

    `owners` uint32[n]: what stands for each document, itself if it stays.
    """

    def __init__(self, buckets: BandBuckets, count: int, least: float, compare: Compare) -> None:
        self.members = buckets.members
        self.owners = np.arange(count, dtype=np.uint32)
        self.similarities = np.zeros(count, np.float32)
        self._sizes = np.diff(buckets.offsets).astype(np.uint32)
        self._number()
        # The band of each bucket.
        bands = np.arange(len(buckets.bands) - 1, dtype=np.uint16)
        self._bands = np.repeat(bands, np.diff(buckets.bands))
        self._is_decided = np.zeros(count, np.bool_)
        self._least = np.float32(least)
        self._compare = compare

    def decide_led(self, leading: int) -> None:
        """Let the `leading` first documents stay, and all others go that one of them matches."""
        size = WINDOW_FIRST
        while True:
            is_led = self.members >= leading
            others = self._counts(is_led)
            weights = np.bincount(self.members[~is_led], others[self._buckets[~is_led]], leading)
            waiting = np.flatnonzero(weights)
            if not len(waiting):
                break
            window = _bounded(waiting[:size], weights)
            is_window = self.members <= window[-1]
            leaders = self._counts(is_window)
            pairs = _across(self.members[is_window], leaders, self.members[is_led], others)
            self._claim(*self._matching(pairs))
            self._is_decided[: window[-1] + 1] = True
            self._drop_decided()
            size *= WINDOW_GROWTH
        self._is_decided[:leading] = True
        self._drop_decided()

    def decide_heads(self) -> None:
        """Let the documents stay that are the first of all their buckets."""
        firsts = self._firsts()
        heads = self.members[firsts]
        is_other = np.ones(len(self.members), np.bool_)
        is_other[firsts] = False
        is_leader = np.zeros(len(self.owners), np.bool_)
        is_leader[heads] = True
        is_leader[self.members[is_other]] = False
        is_other &= is_leader[heads][self._buckets]
        led, others = self._buckets[is_other], self.members[is_other]
        leaders = heads[led]
        is_new = self._is_new(leaders, others, self._bands[led])
        self._claim(*self._matching(_pairs(leaders[is_new], others[is_new])))
        self._is_decided |= is_leader
        self._drop_decided()

    def decide_window(self, size: int) -> int:
        """Decide the next documents, about `size` of them; return how many of them stay."""
        # A document is in at most as many pairs as its buckets have members.
        weights = np.bincount(self.members, self._sizes[self._buckets])
        window = _bounded(np.flatnonzero(weights)[:size], weights)
        end = window[-1] + 1
        is_inside = self.members < end
        inside = self._counts(is_inside)
        self._settle(*self._matching(_among(self.members[is_inside], inside)))
        stays = self.owners[window] == window
        self._is_decided[window] = True
        # Those that stay, with all later documents in their buckets.
        is_leader = np.zeros(len(self.owners), np.bool_)
        is_leader[window[stays]] = True
        leading = is_inside & is_leader[self.members]
        leaders = self._counts(leading)
        later = self._sizes - inside
        pairs = _across(self.members[leading], leaders, self.members[~is_inside], later)
        self._claim(*self._matching(pairs))
        self._drop_decided()
        return int(np.count_nonzero(stays))

    def _firsts(self) -> I64:
        """Return where each bucket begins."""
        return np.cumsum(self._sizes, dtype=np.int64) - self._sizes

    def _counts(self, is_counted: Bools) -> I64:
        """Return how many of some members are in each bucket."""
        return np.bincount(self._buckets[is_counted], minlength=len(self._sizes))

    def _is_new(self, leaders: U32, others: U32, bands: npt.NDArray[np.uint16]) -> Bools:
        """Tell which pairs differ from those in the bands before: most are the same in all bands.

        A document is in one bucket of a band.
        """
        latest = self.owners.copy()  # what a document was paired with last
        is_new = np.zeros(len(leaders), np.bool_)
        edges = np.searchsorted(bands, np.arange(int(bands[-1]) + 2) if len(bands) else [0])
        for start, stop in pairwise(edges.tolist()):
            part = slice(start, stop)
            is_new[part] = latest[others[part]] != leaders[part]
            latest[others[part]] = leaders[part]
        return is_new

    def _matching(self, pairs: U64) -> tuple[U32, U32, F32]:
        """Return the pairs that match, in the order of their left documents."""
        left, right = _halves(pairs)
        found = self._compare(left, right)
        is_match = found >= self._least
        return left[is_match], right[is_match], found[is_match]

    def _claim(self, left: U32, right: U32, similarities: F32) -> None:
        """Let the first of the `left`, which stay, that matches a document stand for it."""
        claimed, first = np.unique(right, return_index=True)
        self.owners[claimed] = left[first]
        self.similarities[claimed] = similarities[first]
        self._is_decided[claimed] = True

    def _settle(self, left: U32, right: U32, similarities: F32) -> None:
        """Decide documents that match each other, in their order."""
        chosen = decided_in_order(left, right)
        self._claim(left[chosen], right[chosen], similarities[chosen])

    def _drop_decided(self) -> None:
        """Leave decided documents out of the buckets, and then buckets of one document."""
        is_in = ~self._is_decided[self.members]
        firsts = self._firsts()
        sizes = np.add.reduceat(is_in, firsts, dtype=np.uint32) if len(firsts) else self._sizes
        is_in &= (sizes > 1)[self._buckets]
        self.members, self._bands = self.members[is_in], self._bands[sizes > 1]
        self._sizes = sizes[sizes > 1]
        self._number()

    def _number(self) -> None:
        """Note in which bucket each member is."""
        self._buckets = np.repeat(np.arange(len(self._sizes), dtype=np.uint32), self._sizes)


def _bounded(waiting: I64, weights: npt.NDArray[Any]) -> I64:
    """Return the first of the documents `waiting`, at least one, in pairs of a bounded number."""
    return waiting[: max(1, int(np.searchsorted(weights[waiting].cumsum(), WINDOW_PAIRS)))]


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
    """Return each pair once, in ascending order, as one word."""
    pairs = left.astype(np.uint64) << np.uint64(32) | right
    pairs.sort()
    return pairs[is_first(pairs)]


def _halves(pairs: U64) -> tuple[U32, U32]:
    """Return the left and the right documents of pairs."""
    return (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)


def _known(left: U32, right: U32, pairs: U64, similarities: F32) -> F32:
    """Return the similarities of documents left[i] and right[i], NaN if `pairs` have them not."""
    found = np.full(len(left), np.nan, np.float32)
    if len(pairs):
        order = np.argsort(pairs)
        asked = left.astype(np.uint64) << np.uint64(32) | right
        places = order[np.minimum(np.searchsorted(pairs, asked, sorter=order), len(pairs) - 1)]
        is_known = pairs[places] == asked
        found[is_known] = similarities[places[is_known]]
    return found


def _among(members: U32, sizes: I64) -> U64:
    """Return all pairs within the buckets, which have `sizes`, each pair once."""
    # Each member is paired with those after it in its bucket.
    ends = np.repeat(np.cumsum(sizes), sizes)
    after = ends - np.arange(len(members)) - 1
    left = np.repeat(members, after)
    return _pairs(left, members[ranges(np.arange(1, len(members) + 1), after)])


def _across(left: U32, left_sizes: I64, right: U32, right_sizes: I64) -> U64:
    """Return all pairs of a left and a right member of the same bucket, each pair once."""
    each = np.repeat(right_sizes, left_sizes)
    starts = np.repeat(np.cumsum(right_sizes) - right_sizes, left_sizes)
    return _pairs(np.repeat(left, each), right[ranges(starts, each)])
