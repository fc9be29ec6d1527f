"""Exact pairs: the exact similarities of many pairs, of documents whose texts are read for it.

Pairs are compared in parts whose texts have a bounded size, side by side.  A text is read, and its
features are counted, once in a part.  Where documents are in many pairs each, as pages of a few
templates are, a part has all pairs of some left with some right documents: so a text is read once
for hundreds of its pairs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import TextColumn, text_column
from simdb.running.threads import mapped
from simdb.sketch.exact_similarity import ExactSimilarity, Stored
from simdb.values.arrays import PackedFeatures

# A part has texts of about this size, and at most this number of pairs, or of documents on a side.
PART_BYTES = 1 << 23
PART_PAIRS_FIRST, PART_PAIRS_MOST = 1 << 8, 1 << 11
SIDE_DOCUMENTS = 1 << 9
# From so many pairs for each document on, parts have sides.
DENSE = 8

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]
# From ascending numbers of documents to their texts, and to their packed features.
Read = Callable[[U32], Sequence[Any]]
ReadFeatures = Callable[[U32], PackedFeatures]


class ExactPairs:
    """Compares pairs of documents, which are given by numbers, and whose texts `read` returns.

    `read` takes ascending numbers, and returns None for a text that is not known.
    """

    def __init__(self, exact: ExactSimilarity, *, is_read_anywhere: bool = False) -> None:
        """Compare by `exact`; `is_read_anywhere`: any thread may read, not only the caller's."""
        self.exact = exact
        self._is_read_anywhere = is_read_anywhere
        self._count = PART_PAIRS_FIRST  # the pairs of the next part, if no document is in two

    def parts(
        self,
        read: Read,
        left: U32,
        right: U32,
        order: I64,
        threads: int,
        features: ReadFeatures | None = None,
    ) -> Iterator[tuple[I64, F32]]:
        """Yield positions of some pairs, and their similarities, NaN if a text is not known.

        `order`: the positions to compare.  Pairs of one left document are best one after the other.
        `features`: reads what decides in place of texts that are not known; a document of which it
        has nothing stays unknown.
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
        self,
        read: Read,
        left: U32,
        right: U32,
        order: I64,
        features: ReadFeatures | None = None,
    ) -> Iterator["_Part"]:
        """Yield some pairs with their texts, in parts if these are large.

        The number of pairs of a part follows from the size of the texts of the part before it.
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
                size += len(stored.features.content)
            yield _Part(
                chosen, texts, is_unknown, positions[: len(chosen)], positions[len(chosen) :],
                stored,
            )  # fmt: skip
            start += len(chosen)
            suggested = PART_BYTES * len(numbers) // (2 * max(size, 1))
            self._count = max(1, min(PART_PAIRS_MOST, 2 * self._count, suggested))
            chosen = order[start : start + self._count]


def _portions(left: U32, right: U32, order: I64, side: int) -> Iterator[I64]:
    """Yield positions of pairs that are compared together, at least a part.

    In dense ones all pairs of at most `side` left with as many right documents stay together.
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
            # Small squares are together as large as other portions, and large ones alone.
            is_far = np.diff(ends // PART_PAIRS_MOST, prepend=0) > 0
            stops = ends[is_far | np.append(is_far[1:], True)[: len(ends)]]
    yield from np.split(order, stops)


def numbered(values: U32) -> tuple[U32, I64]:
    """Return the distinct values, ascending, and the place of each value among them."""
    least = int(values.min(initial=0))
    span = int(values.max(initial=0)) - least + 1
    if span > 4 * len(values):
        return np.unique(values, return_inverse=True)
    is_there = np.zeros(span, np.bool_)
    is_there[values - np.uint32(least)] = True
    places = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there).astype(np.uint32) + np.uint32(least), places[values - least]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some pairs: their positions among all pairs, and the positions of their texts."""

    chosen: I64
    texts: Sequence[Any]
    is_unknown: Bools
    left: I64
    right: I64
    stored: Stored | None


def _stored(numbers: U32, is_unknown: Bools, features: ReadFeatures) -> Stored:
    """Return the packed features of documents whose texts are not known, as far as they are."""
    places = np.flatnonzero(is_unknown)
    found = features(numbers[places])
    known = np.flatnonzero(np.diff(found.offsets))
    return Stored(places[known], found.taken(known))


def _complete(texts: Any, count: int) -> tuple[Sequence[Any], Bools]:
    """Return texts that are all known, empty ones for unknown texts, and which were unknown."""
    column = text_column(texts)
    if column is not None:
        return column.filled(), column.lengths < 0
    is_unknown = np.fromiter((text is None for text in texts), np.bool_, count)
    if not is_unknown.any():
        return texts, is_unknown
    return ["" if text is None else text for text in texts], is_unknown


def _size_bytes(texts: Sequence[Any]) -> int:
    if isinstance(texts, TextColumn):
        return int(texts.lengths.sum())
    return sum(map(len, texts))
