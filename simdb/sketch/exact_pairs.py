"""Exact pairs: the exact similarities of many pairs, of documents whose texts are read for it.

Pairs are compared in parts whose texts have a bounded size, side by side.  A text is read, and its
features are counted, once in a part.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow_texts import text_column
from simdb.columns.text_column import TextColumn
from simdb.running.threads import mapped
from simdb.sketch.exact_similarity import ExactSimilarity, Stored
from simdb.values.arrays import PackedFeatures

# A part has texts of about this size, and at most this number of pairs.
PART_BYTES = 1 << 23
PART_PAIRS_FIRST, PART_PAIRS_MOST = 1 << 8, 1 << 11

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
        self._count = PART_PAIRS_FIRST  # the pairs of the next part

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

        if not self._is_read_anywhere:
            yield from mapped(measure, self._cut(read, left, right, order, features), threads)
            return
        starts = range(0, len(order), PART_PAIRS_MOST)
        for found in mapped(
            lambda start: [
                measure(part)
                for part in self._cut(read, left, right, order[start : start + PART_PAIRS_MOST])
            ],
            starts, threads,
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
        """Yield the pairs in parts, with the texts of each part.

        The number of pairs of a part follows from the size of the texts of the part before it.
        """
        start = 0
        while start < len(order):
            chosen = order[start : start + self._count]
            both = np.concatenate([left[chosen], right[chosen]])
            numbers, positions = np.unique(both, return_inverse=True)
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
            suggested = PART_BYTES * len(chosen) // max(size, 1)
            self._count = max(1, min(PART_PAIRS_MOST, 2 * self._count, suggested))


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
