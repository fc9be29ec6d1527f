"""Items: the texts that are looked for, their n-grams, and a scan for documents that have any."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.running import kernel
from simdb.sketch.winnowing import WordOrder
from simdb.values.arrays import sorted_unique

# An item of fewer words, such as a name or a number, says nothing: every collection has it.
LEAST_WORDS = 5

Bools = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Text = str | bytes


@dataclass(frozen=True, slots=True)
class ItemPart:
    """An item, or one field of it, as it was given."""

    item: Any
    field: str
    text: Text


class Items:
    """Different sequences of words, each with the parts that have it, and their n-grams.

    `ids`: the items, in their order.  Sequence s has words[offsets[s] : offsets[s + 1]], and the
    n-grams grams[firsts[s] : firsts[s + 1]]: those of n words or, if it is shorter, itself, each as
    an entry of the table.  Entry e stands at the postings bounds[e] .. bounds[e + 1]: in sequence
    `owners`, from word `starts` on.
    """

    def __init__(self, parts: Sequence[ItemPart], order: WordOrder, n: int, errors: str) -> None:
        """Take the words of `parts`; InputError for one that is not valid Unicode."""
        self.n = n
        self.ids = list(dict.fromkeys(part.item for part in parts))
        offsets, words = order.words([part.text for part in parts], errors=errors)
        self.parts: list[list[ItemPart]] = []
        self.short = 0  # parts with too few words
        known: dict[bytes, int] = {}
        chosen = []
        for at, part in enumerate(parts):
            own = words[offsets[at] : offsets[at + 1]]
            if len(own) < LEAST_WORDS:
                self.short += 1
                continue
            number = known.setdefault(own.tobytes(), len(known))
            if number == len(self.parts):
                self.parts.append([])
                chosen.append(own)
            self.parts[number].append(part)
        self.offsets = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
        self.words = np.concatenate([np.empty(0, np.uint64), *chosen])
        self._index()

    def __len__(self) -> int:
        """Count the sequences."""
        return len(self.parts)

    def _index(self) -> None:
        """Fill the table."""
        sizes = np.diff(self.offsets)
        self.firsts = np.append(0, np.cumsum(np.maximum(sizes - self.n, 0) + 1))
        self.lengths = sorted_unique(np.minimum(sizes, self.n)).tolist()
        hashes, owners, starts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], []
        starts.append(np.empty(0, np.int64))
        for length in self.lengths:
            bounds, grams = kernel.ngrams(self.offsets, self.words, length)
            counts = np.diff(bounds)
            counts[(sizes != length) & (length < self.n)] = 0
            own = np.repeat(np.arange(len(sizes)), counts)
            inside = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
            hashes.append(grams[bounds[own] + inside])
            owners.append(own)
            starts.append(inside)
        together = np.concatenate(hashes)
        ascending = np.argsort(together, kind="stable")
        distinct, firsts = np.unique(together[ascending], return_index=True)
        self.bounds = np.append(firsts, len(together)).astype(np.int64)
        self.owners = np.concatenate(owners)[ascending]
        self.starts = np.concatenate(starts)[ascending]
        self.table = kernel.Ngrams(distinct)
        self.grams = np.empty(len(together), np.int64)
        self.grams[self.firsts[self.owners] + self.starts] = np.repeat(
            np.arange(len(distinct)), np.diff(self.bounds)
        )

    @property
    def entries(self) -> int:
        """Count the different n-grams."""
        return len(self.bounds) - 1

    @cached_property
    def frequencies(self) -> I64:
        """In how many sequences each n-gram is: int64[entries]."""
        numbers = np.repeat(np.arange(self.entries), np.diff(self.bounds))
        # The postings of an n-gram ascend by sequence, since the sort is stable.
        is_new = np.diff(self.owners, prepend=-1) != 0
        is_new[self.bounds[:-1]] = True
        return np.bincount(numbers[is_new], minlength=self.entries)

    def size(self, sequence: int) -> int:
        """Count the words of a sequence."""
        return int(self.offsets[sequence + 1] - self.offsets[sequence])


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
