"""Exact pairs: the exact comparison of many pairs of documents whose texts are stored elsewhere.

`ExactPairs` compares pairs in parallel parts, whose texts have a bounded size.  In a part, each
text is read and its features are counted only once.  If each document is in many pairs, as pages
from a few templates are, a part has all pairs of some left and some right documents.  So a text is
read once for hundreds of its pairs.

`RecurringPairs` is for documents that recur in many calls, and holds their features.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from simdb.core.arrays import PackedFeatures, flags_at, offsets_of
from simdb.core.arrow import TextColumn
from simdb.core.decoding import as_texts
from simdb.core.dtypes import F32, F64, I64, U32, U64, Bools
from simdb.core.threads import mapped
from simdb.core.values import dataclass
from simdb.sketch.exact_similarity import (
    COMMON_PAIRS,
    COUNTED_PAIRS,
    Bodies,
    ExactSimilarity,
    Stored,
    common_features,
)

PART_BYTES = 1 << 23  # approximate size of the texts of a part
PART_PAIRS_FIRST, PART_PAIRS_MOST = 1 << 8, 1 << 11
SIDE_DOCUMENTS = 1 << 9  # the largest number of documents on one side of a part
DENSE = 8  # least mean pairs of a document for which parts have sides

HELD_FEATURES = 1 << 23  # the largest number of held features of recurring documents


# Functions from ascending numbers of documents to their texts, and to their packed features.
Read = Callable[[U32], Sequence[Any]]
ReadFeatures = Callable[[U32], PackedFeatures]


class ExactPairs:
    """A comparer of pairs of documents, given by their numbers; `read` returns their texts.

    `read` takes ascending numbers and returns None for an unknown text.
    """

    def __init__(self, exact: ExactSimilarity, *, is_read_anywhere: bool = False) -> None:
        """Compare by `exact`; `is_read_anywhere`: any thread may read, not just the caller's."""
        self.exact = exact
        self._is_read_anywhere = is_read_anywhere
        self._count = PART_PAIRS_FIRST  # pairs of the next part, if no document is in two of them

    def ordered(self, left: U32, right: U32) -> I64:
        """Return the positions of pairs in the order in which comparing them costs least."""
        return np.lexsort((right, left))

    def parts(
        self,
        read: Read,
        left: U32,
        right: U32,
        order: I64,
        threads: int,
        features: ReadFeatures | None = None,
    ) -> Iterator[tuple[I64, F32]]:
        """Yield positions of pairs with their similarities, part by part; NaN if a text is unknown.

        `order`: the positions to compare; pairs of one left document should be adjacent.
        `features`: reads packed features in place of unknown texts; a document without any stays
        unknown.
        """

        def measure(part: "_Part") -> tuple[I64, F32]:
            values = self.exact.of_pairs(part.texts, part.left, part.right, part.stored)
            values[part.is_unknown[part.left] | part.is_unknown[part.right]] = np.nan
            return part.chosen, values

        portions = _portions(left, right, order, min(SIDE_DOCUMENTS, self._count))
        if not self._is_read_anywhere:
            cut = (each for one in portions for each in self._cut(read, left, right, one, features))
            yield from mapped(measure, cut, threads)
            return
        for found in mapped(
            lambda one: list(map(measure, self._cut(read, left, right, one, features))),
            portions, threads,
        ):  # fmt: skip
            yield from found

    def _cut(
        self, read: Read, left: U32, right: U32, order: I64, features: ReadFeatures | None = None
    ) -> Iterator["_Part"]:
        """Yield the pairs at `order` with their texts, in several parts if the texts are large.

        The size of the texts of a part decides the number of pairs of the next part.
        """
        start, chosen = 0, order
        while start < len(order):
            numbers, positions = numbered(np.concatenate([left[chosen], right[chosen]]))
            if len(chosen) > self._count and len(numbers) > 2 * self._count:
                chosen = order[start : start + self._count]
                continue
            texts, is_unknown = _complete(read(numbers), len(numbers))
            stored, size = None, _size_bytes(texts)
            if features is not None and is_unknown.any():
                stored = _stored(numbers, is_unknown, features)
                is_unknown[stored.positions] = False
                size += len(stored.features.values)
            yield _Part(
                chosen, texts, is_unknown, positions[: len(chosen)], positions[len(chosen) :],
                stored,
            )  # fmt: skip
            start += len(chosen)
            suggested = PART_BYTES * len(numbers) // (2 * max(size, 1))
            self._count = max(1, min(PART_PAIRS_MOST, 2 * self._count, suggested))
            chosen = order[start : start + self._count]


class RecurringPairs:
    """A comparer of pairs of documents that recur in many calls, with the methods of `ExactPairs`.

    The features of a document are made or read once, and held.  If they become too many, only the
    features of the documents of the current call are held.  If these are too many, or if numbers
    count as well, `ExactPairs` compares the pairs.
    """

    def __init__(self, exact: ExactSimilarity) -> None:
        """Compare by `exact`."""
        self._exact, self._plain = exact, ExactPairs(exact)
        self._has_room = not exact.compares_numbers
        self._count = PART_PAIRS_FIRST  # the largest number of documents of the next read
        self._places = np.zeros(0, np.uint32)  # the place of each number, plus 1; 0 if not held
        self._numbers: list[U32] = []
        self._is_unknown: Bools = np.zeros(0, np.bool_)
        self._is_stored: Bools = np.zeros(0, np.bool_)
        self._whole, self._short = _Held(exact), _Held(exact)

    def sizes(self, read: Read, numbers: U32, threads: int) -> F64:
        """Return the sizes of documents; their features are held if there is room."""
        if self._hold(numbers, read, None, threads):
            self._whole.begin(0)
            return self._whole.sizes[self._places[numbers] - 1]
        self._has_room = False

        def count(start: int) -> F64:
            some = numbers[start : start + SIDE_DOCUMENTS]
            return self._exact.sizes(self._exact.bodies(_complete(read(some), len(some))[0]))

        return np.concatenate([*mapped(count, range(0, len(numbers), SIDE_DOCUMENTS), threads)])

    def ordered(self, left: U32, right: U32) -> I64:
        """Return the positions of pairs in the order in which comparing them costs least."""
        return np.arange(len(left)) if self._has_room else self._plain.ordered(left, right)

    def parts(
        self,
        read: Read,
        left: U32,
        right: U32,
        order: I64,
        threads: int,
        features: ReadFeatures | None = None,
    ) -> Iterator[tuple[I64, F32]]:
        """Yield positions of pairs with their similarities; see `ExactPairs.parts`."""
        if self._has_room and len(order):
            numbers, _ = numbered(np.concatenate([left[order], right[order]]))
            if not self._hold(numbers, read, features, threads):
                self._forget()
                self._has_room = self._hold(numbers, read, features, threads)
        if not self._has_room:
            self._forget()
            yield from self._plain.parts(read, left, right, order, threads, features)
            return
        for held in (self._whole, self._short):
            held.begin(len(order))

        def measure(start: int) -> tuple[I64, F32]:
            chosen = order[start : start + COUNTED_PAIRS]
            one, other = (self._places[side[chosen]].astype(np.int64) - 1 for side in (left, right))
            values = np.full(len(chosen), np.nan, np.float32)
            is_known = ~(self._is_unknown[one] | self._is_unknown[other])
            is_short = self._is_stored[one] | self._is_stored[other]
            for held, is_here in ((self._whole, ~is_short), (self._short, is_short)):
                some = np.flatnonzero(is_known & is_here)
                if len(some):
                    values[some] = held.similarities(one[some], other[some])
            return chosen, values

        yield from mapped(measure, range(0, len(order), COUNTED_PAIRS), threads)

    def _hold(self, numbers: U32, read: Read, features: ReadFeatures | None, threads: int) -> bool:
        """Hold the features of documents; return whether there is room."""
        most = int(numbers[-1]) + 1
        if most > len(self._places):
            larger = np.zeros(max(most, 2 * len(self._places)), np.uint32)
            larger[: len(self._places)] = self._places
            self._places = larger
        new = numbers[self._places[numbers] == 0]

        def bodies(texts: tuple[Sequence[Any], Stored | None]) -> tuple[Bodies, Bodies | None]:
            whole = self._exact.bodies(texts[0])
            return whole, None if texts[1] is None else self._exact.shortened(whole, texts[1])

        start = 0
        while start < len(new):
            some = new[start : start + self._count]
            texts, is_unknown = _complete(read(some), len(some))
            is_stored, parts = np.zeros(len(some), np.bool_), []
            for first in range(0, len(some), SIDE_DOCUMENTS):
                part, stored = slice(first, first + SIDE_DOCUMENTS), None
                if features is not None:
                    stored = _stored(some[part], is_unknown[part], features)
                    is_stored[part][stored.positions] = True
                parts.append((texts[part], stored))
            for whole, short in mapped(bodies, parts, threads):
                self._whole.add(whole)
                if short is not None:
                    self._short.add(short)
            self._places[some] = np.arange(len(some)) + len(self._is_unknown) + 1
            self._is_unknown = np.append(self._is_unknown, is_unknown & ~is_stored)
            self._is_stored = np.append(self._is_stored, is_stored)
            start += len(some)
            suggested = PART_BYTES * threads * len(some) // max(_size_bytes(texts), 1)
            self._count = max(1, min(SIDE_DOCUMENTS * threads, 2 * self._count, suggested))
            self._numbers.append(some)
            if self._whole.size + self._short.size > HELD_FEATURES:
                return False
        return True

    def _forget(self) -> None:
        """Drop the features of all documents."""
        for numbers in self._numbers:
            self._places[numbers] = 0
        self._numbers = []
        self._is_unknown = self._is_stored = np.zeros(0, np.bool_)
        self._whole, self._short = _Held(self._exact), _Held(self._exact)


class _Held:
    """The held features of documents, in the order in which they were added."""

    def __init__(self, exact: ExactSimilarity) -> None:
        """Begin without documents."""
        self._exact = exact
        self._parts: list[Bodies] = []
        self._common: U64 | None = None
        self.sizes = np.empty(0, np.float64)
        self._tried = self._asked = 0  # documents when bits were last made, and pairs so far
        self.size = 0

    def add(self, bodies: Bodies) -> None:
        """Append the features of more documents."""
        self._parts.append(bodies)
        self.size += len(bodies[1])

    def begin(self, pairs: int) -> None:
        """Prepare for comparing `pairs` more pairs."""
        if len(self._parts) > 1:
            offsets = [np.diff(part[0]) for part in self._parts]
            weights = [part[2] for part in self._parts if part[2] is not None]
            hashes = np.concatenate([part[1] for part in self._parts])
            joined = np.concatenate(weights) if weights else None
            self._parts = [(offsets_of(np.concatenate(offsets)), hashes, joined)]
        if self._parts and len(self.sizes) < len(self._parts[0][0]) - 1:
            self.sizes = self._exact.sizes(self._parts[0])
        self._asked += pairs
        if self._parts and self._parts[0][2] is None:
            count = len(self._parts[0][0]) - 1
            if 4 * count >= 5 * self._tried and self._asked >= COMMON_PAIRS * count:
                self._common, self._tried = common_features(*self._parts[0][:2]), count

    def similarities(self, left: I64, right: I64) -> F32:
        """Return the similarities of documents left[i] and right[i]."""
        (bodies,) = self._parts
        bits_stop = 0 if self._common is None else self._common.shape[1]
        has_bits = np.maximum(left, right) < bits_stop
        found = np.empty(len(left), np.float32)
        rest = np.flatnonzero(~has_bits)
        rest = rest[np.argsort(left[rest], kind="stable")]  # each left document gets one table
        for some, common in ((np.flatnonzero(has_bits), self._common), (rest, None)):
            if len(some):
                found[some] = self._exact.of_bodies(
                    bodies, self.sizes, left[some], right[some], common
                )
        return found


def _portions(left: U32, right: U32, order: I64, side: int) -> Iterator[I64]:
    """Yield groups of positions of pairs that are compared together, in one or more parts.

    If each document is in many pairs, a group has all pairs of up to `side` documents on each side.
    """
    stops = np.arange(PART_PAIRS_MOST, len(order), PART_PAIRS_MOST)
    if len(order) > PART_PAIRS_MOST:
        numbers, places = numbered(np.concatenate([left[order], right[order]]))
        if len(order) >= DENSE * len(numbers):
            sides = places // side
            squares = sides[: len(order)] * (1 + len(numbers) // side) + sides[len(order) :]
            by_square = np.argsort(squares, kind="stable")
            order, squares = order[by_square], squares[by_square]
            ends = np.flatnonzero(np.diff(squares)) + 1
            # Small squares are joined up to the usual size; large squares are groups of their own.
            is_far = np.diff(ends // PART_PAIRS_MOST, prepend=0) > 0
            stops = ends[is_far | np.append(is_far[1:], True)[: len(ends)]]
    yield from np.split(order, stops)


def numbered(values: U32) -> tuple[U32, I64]:
    """Return the distinct values, ascending, and the position of each value among them."""
    least = int(values.min(initial=0))
    span = int(values.max(initial=0)) - least + 1
    if span > 4 * len(values):
        return np.unique(values, return_inverse=True)
    is_there = flags_at(values - np.uint32(least), span)
    places = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there).astype(np.uint32) + np.uint32(least), places[values - least]


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the pairs: their positions among all pairs, and the positions of their texts."""

    chosen: I64
    texts: Sequence[Any]
    is_unknown: Bools
    left: I64
    right: I64
    stored: Stored | None


def _stored(numbers: U32, is_unknown: Bools, features: ReadFeatures) -> Stored:
    """Return the stored packed features of documents whose texts are unknown."""
    places = np.flatnonzero(is_unknown)
    found = features(numbers[places])
    known = np.flatnonzero(np.diff(found.offsets))
    return Stored(places[known], found.taken(known))


def _complete(texts: Any, count: int) -> tuple[Sequence[Any], Bools]:
    """Return texts with empty ones in place of unknown texts, and flags of the unknown ones."""
    texts = as_texts(texts, errors="replace")
    if isinstance(texts, TextColumn):
        return texts.filled(), texts.lengths < 0
    is_unknown = np.fromiter((text is None for text in texts), np.bool_, count)
    if not is_unknown.any():
        return texts, is_unknown
    return ["" if text is None else text for text in texts], is_unknown


def _size_bytes(texts: Sequence[Any]) -> int:
    if isinstance(texts, TextColumn):
        return int(texts.lengths.sum())
    return sum(map(len, texts))
