"""Items: the texts to look for, their n-grams, and the search for documents that may have them.

`Scan` finds the documents that have several n-grams of an item near one another.  `LeakJudge` in
`judge` then decides how much of an item a document has.  An n-gram in many items is a template and
is ignored.  An n-gram in many documents, such as a licence or a quotation, is common, and words
that are only in common n-grams do not count.  The more items have a word with the same neighbours,
the less it weighs: if items differ only in a name, the name tells them apart.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.core import kernel
from simdb.core.arrays import is_first, offsets_of, sorted_unique
from simdb.core.arrow import Texts
from simdb.core.checks import one_of, share, whole
from simdb.core.dtypes import F64, I64, U32, U64, Bools
from simdb.core.values import dataclass
from simdb.sketch import WordOrder

NGRAM_LEAST, NGRAM_MOST = 2, 32  # words
# The longest n-gram that survives a change of every sixth word; it is selective enough.
NGRAM = 5
# Shorter items, such as names and numbers, are not looked for: any collection has them.
LEAST_WORDS = 5
# A document must have all words of a shorter item.
EXACT_WORDS = 8

# An n-gram is never common in this number of documents or items, or fewer.
COMMON_LEAST = 10
# Only the first places of an n-gram in an item are looked for, so that repeated words are cheap.
PLACES_MOST = 4
# A word is shared by the items that have one of its n-grams of this length.
FAMILY_WORDS = 3
# `LeakRule.coverage` suffices for items of `LONG_WORDS` or more telling words.  For fewer, the
# threshold rises, up to `MORE_COVERAGE` at `SHORT_WORDS`.
LONG_WORDS, SHORT_WORDS, MORE_COVERAGE = 30, 8, 0.3
# Least words of three classes of items, and the distinct n-grams of such an item that a document
# must have.
NEAR_WORDS, NEAR_NGRAMS = (0, 12, 30), (1, 2, 3)
# These n-grams must lie within twice the words of the item, plus this number.
NEAR_MORE = 32
# The weight of a word in one item.  Weights are whole numbers, which are added exactly.
WEIGHT = 1 << 30
NUMBERS = SAME, ANY = ("same", "any")

Hits = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class LeakRule:
    """The conditions for an item in a document; see `simdb.decontaminate`."""

    ngram: int = NGRAM
    coverage: float = 0.5
    common: float = 1e-4
    numbers: str = SAME

    def __post_init__(self) -> None:
        """Raise OptionError for a value out of its range."""
        whole("ngram", self.ngram, NGRAM_LEAST, NGRAM_MOST)
        share("coverage", self.coverage)
        share("common", self.common)
        one_of("numbers", self.numbers, NUMBERS)

    def most(self, count: int) -> float:
        """Return the largest number, of `count` documents or items, that may have an n-gram."""
        return np.inf if self.common >= 1 else max(COMMON_LEAST, self.common * count)

    def least_coverage(self, lengths: F64) -> F64:
        """Return the share of telling words that a document must have; `lengths`: their number."""
        missing = (LONG_WORDS - lengths) / (LONG_WORDS - SHORT_WORDS)
        return np.minimum(self.coverage + MORE_COVERAGE * np.clip(missing, 0, 1), 1)


@dataclass(frozen=True, slots=True)
class ItemPart:
    """The text of an item, or of one of its fields."""

    item: Any
    field: str
    text: str


class Items:
    """The distinct sequences of words of all parts, and their n-grams.

    `ids`: the items, in their order.  `parts`: the parts with each sequence.  Sequence s has
    words[offsets[s] : offsets[s + 1]], with their `weights`.  Its n-grams are
    grams[firsts[s] : firsts[s + 1]]: entries of `table`, or -1 for a template.  `postings`: the
    first places of each entry in the sequences.
    """

    def __init__(
        self, parts: Sequence[ItemPart], order: WordOrder, rule: "LeakRule", errors: str
    ) -> None:
        """Take the words of `parts`; raise InputError for a part that is not valid Unicode."""
        self.n = rule.ngram
        self.ids = list(dict.fromkeys(part.item for part in parts))
        offsets, words = order.words([part.text for part in parts], errors=errors)
        self.parts: list[list[ItemPart]] = []
        self.short = 0  # parts with too few words
        known: dict[bytes, int] = {}
        chosen = []
        bounds, least = offsets.tolist(), max(LEAST_WORDS, self.n)
        for part, first, stop in zip(parts, bounds[:-1], bounds[1:], strict=True):
            if stop - first < least:
                self.short += 1
                continue
            own = words[first:stop]
            number = known.setdefault(own.tobytes(), len(known))
            if number == len(self.parts):
                self.parts.append([])
                chosen.append(own)
            self.parts[number].append(part)
        self.offsets = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
        self.words = np.concatenate([np.empty(0, np.uint64), *chosen])
        self.sizes = np.diff(self.offsets)
        positions = {item: at for at, item in enumerate(self.ids)}
        self._items = np.array([positions[each[0].item] for each in self.parts], np.int64)
        self._index(rule.most(len(self.ids)))
        # The weight falls with the square of the number of items that share the word.
        self.weights = WEIGHT // self._families() ** 2
        self.common = sum(len(self.parts[s]) for s in np.flatnonzero(self.entry_counts == 0))

    def __len__(self) -> int:
        """Count the sequences."""
        return len(self.parts)

    def _index(self, most: float) -> None:
        """Fill the table with the n-grams that at most `most` items have."""
        self.firsts, grams = kernel.ngrams(self.offsets, self.words, self.n)
        keys, ascending, own, counts = self._counted(self.firsts, grams)
        is_entry, is_new = counts <= most, is_first(keys)
        self.table = kernel.Ngrams(keys[is_new & is_entry])
        self.entries = int(np.count_nonzero(is_new & is_entry))
        entries = np.where(is_entry, np.cumsum(is_new & is_entry) - 1, -1)
        self.grams = np.empty(len(grams), np.int64)
        self.grams[ascending] = entries
        is_new |= is_first(own)
        place = np.arange(len(own))
        rank = place - np.maximum.accumulate(np.where(is_new, place, 0))
        is_posting = (rank < PLACES_MOST) & (entries >= 0)
        owners, is_new = own[is_posting], is_new[is_posting]
        starts = ascending[is_posting] - self.firsts[owners]
        bounds = offsets_of(np.bincount(entries[is_posting], minlength=self.entries))
        self.postings = kernel.Postings(bounds, owners, starts, is_new, len(self))
        self.entry_counts = np.bincount(owners[is_new], minlength=len(self))
        is_told = np.empty(len(grams), np.bool_)
        is_told[ascending] = rank < PLACES_MOST
        self.is_told = self.words_under(is_told)

    def words_under(self, is_gram: Bools) -> Bools:
        """Return whether each word is in a flagged n-gram: bool[k]; `is_gram`: a flag for each."""
        begins = self._begins(self.n)
        begins[begins] = is_gram
        found = begins.copy()
        for shift in range(1, self.n):
            found[shift:] |= begins[: len(begins) - shift]
        return found

    def _begins(self, n: int) -> Bools:
        """Return whether an n-gram begins at each word: bool[k].

        None begins at the last n - 1 words of a sequence.
        """
        begins = np.ones(len(self.words), np.bool_)
        for shift in range(1, n):
            begins[self.offsets[1:] - shift] = False
        return begins

    def _counted(self, bounds: I64, grams: U64) -> tuple[U64, I64, I64, I64]:
        """Return ascending n-grams, their places, their sequences, and the number of items of each.

        The sort is stable: equal n-grams are sorted by sequence, then by place.
        """
        keys, places = grams.copy(), np.arange(len(grams), dtype=np.uint32)
        kernel.sort(keys, places)
        ascending = places.astype(np.int64)
        own = np.repeat(np.arange(len(self)), np.diff(bounds))[ascending]
        numbers = np.cumsum(is_first(keys)) - 1
        both = sorted_unique(numbers * len(self.ids) + self._items[own])
        return keys, ascending, own, np.bincount(both // max(len(self.ids), 1))[numbers]

    def _families(self) -> I64:
        """Return the number of items that share each word and its neighbours: int64[k].

        That is the largest number of items for any of its n-grams of `FAMILY_WORDS` words.
        """
        bounds, grams = kernel.ngrams(self.offsets, self.words, FAMILY_WORDS)
        _, ascending, _, item_counts = self._counted(bounds, grams)
        by_gram = np.empty(len(grams), np.int64)
        by_gram[ascending] = item_counts
        counts = np.zeros(len(self.words), np.int64)
        counts[self._begins(FAMILY_WORDS)] = by_gram
        most = counts.copy()
        for shift in range(1, FAMILY_WORDS):
            np.maximum(most[shift:], counts[: len(counts) - shift], out=most[shift:])
        return most

    def near(self, entry_counts: I64) -> tuple[npt.NDArray[np.int32], I64]:
        """Return the number of n-grams that must be near one another, and within how many words.

        Both are for each sequence.  `entry_counts`: the number of its n-grams; half always suffice.
        """
        kinds = np.searchsorted(NEAR_WORDS, self.sizes, "right") - 1
        least = np.minimum(np.array(NEAR_NGRAMS)[kinds], np.maximum(entry_counts // 2, 1))
        return least.astype(np.int32), 2 * self.sizes + NEAR_MORE


class SeenGrams(NamedTuple):
    """The result of a scan of documents.

    `has_any` bool[n]: whether each may have an item.  `entries`: the n-grams of all documents, each
    once for each document.
    """

    has_any: Bools
    entries: U32


class Scan:
    """The documents so far, by the n-grams that they share with items."""

    def __init__(self, items: Items, order: WordOrder, errors: str) -> None:
        """Cut documents into words by `order`; `errors`: see `WordOrder.words`."""
        self._items, self._order, self._errors = items, order, errors
        self.frequencies = np.zeros(items.entries, np.int64)
        self.words = 0
        self._has_any: list[Bools] = []

    def look(self, start: int, texts: Texts) -> tuple[SeenGrams, int]:
        """Scan some documents; also return their number of words.  Threads may call this."""
        items = self._items
        offsets, words = self._order.words(texts, errors=self._errors, start=start)
        hits = items.table.find(offsets, words, [items.n])
        seen = items.postings.screen(hits, len(offsets) - 1, *items.near(items.entry_counts))
        return SeenGrams(*seen), len(words)

    def add(self, found: tuple[SeenGrams, int]) -> None:
        """Add a result of `look`; results must come in the order of the documents."""
        seen, words = found
        np.add.at(self.frequencies, seen.entries, 1)
        self._has_any.append(seen.has_any)
        self.words += words

    @property
    def has_any(self) -> Bools:
        """Whether each document may have an item: bool[n]."""
        return np.concatenate([np.empty(0, np.bool_), *self._has_any])
