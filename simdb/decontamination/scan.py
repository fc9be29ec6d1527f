"""Scan: reads the large side once, and counts in how many documents each n-gram of an item is."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.decontamination.items import Items
from simdb.sketch.word_order import WordOrder
from simdb.values.arrays import sorted_unique

Bools = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


class SeenGrams(NamedTuple):
    """What some documents have: bool[n], whether any n-gram; the n-grams and in how many each."""

    has_any: Bools
    entries: U32
    counts: I64


class Scan:
    """The documents of the large side so far, by what they share with the items."""

    def __init__(self, items: Items, order: WordOrder, errors: str) -> None:
        """Cut documents by `order`; see `WordOrder.words` for `errors`."""
        self._items, self._order, self._errors = items, order, errors
        self.frequencies = np.zeros(items.entries, np.int64)
        self.words = 0
        self._has_any: list[Bools] = []

    def look(self, texts: Sequence[str | bytes], start: int = 0) -> tuple[SeenGrams, int]:
        """Return what some documents have, and their number of words.  Threads may call this."""
        offsets, words = self._order.words(texts, errors=self._errors, start=start)
        hits = self._items.table.find(offsets, words, self._items.lengths)
        has_any = np.zeros(len(offsets) - 1, np.bool_)
        has_any[hits["document"]] = True
        both = hits["document"].astype(np.uint64) << np.uint64(32) | hits["entry"]
        entries, counts = np.unique(sorted_unique(both).astype(np.uint32), return_counts=True)
        return SeenGrams(has_any, entries, counts), len(words)

    def add(self, found: tuple[SeenGrams, int]) -> None:
        """Count what `look` returned, in the order of the documents."""
        seen, words = found
        self.frequencies[seen.entries] += seen.counts
        self._has_any.append(seen.has_any)
        self.words += words

    @property
    def has_any(self) -> Bools:
        """Which documents share an n-gram with an item: bool[n]."""
        return np.concatenate([np.empty(0, np.bool_), *self._has_any])
