"""Items: the texts that are looked for, their n-grams, and which of them are in documents.

`Scan` finds the documents that have n-grams of items, and `LeakJudge` decides by how much of what
is peculiar to an item a document has.  An n-gram is common if it is in many documents of the large
side or in many items: a licence, a template of instructions, a quotation.  Words in a common n-gram
do not count; of the others, the telling words of an item, a document must have a share.

A pair of a document and an item that share n-grams has runs of equal words, which the kernel grows
into passages.  All pairs of a portion of documents are decided at once, in arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.core import kernel
from simdb.core.arrays import ranges, sorted_unique, sums_of
from simdb.core.arrow import Texts
from simdb.core.checks import share, whole
from simdb.core.cold import MadeOnce
from simdb.core.dtypes import F64, I64, U32, Bools
from simdb.sketch import WordOrder

NGRAM_LEAST, NGRAM_MOST = 2, 32  # words
# An item of fewer words, such as a name or a number, says nothing: every collection has it.
LEAST_WORDS = 5

# An n-gram is not common in so few documents or items, however few there are in all.
COMMON_LEAST = 10
# An item with fewer telling words, and of at least so many n-grams' words, is in a document if
# nearly all of its words are.
TELLING_LEAST = 5
WHOLE_NGRAMS = 2
WHOLE_COVERAGE = 0.9

Hits = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class ItemPart:
    """An item, or one field of it, as it was given."""

    item: Any
    field: str
    text: str


class Items:
    """Different sequences of words, each with the parts that have it, and their n-grams.

    `ids`: the items, in their order.  Sequence s has words[offsets[s] : offsets[s + 1]], and the
    n-grams grams[firsts[s] : firsts[s + 1]]: those of n words or, if it is shorter, itself, each as
    an entry of the table.  Entry e stands at the postings bounds[e] .. bounds[e + 1]: in sequence
    `owners`, from word `starts` on; `some` of the postings are enough where it overlaps itself.
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
        numbers = np.repeat(np.arange(len(distinct)), np.diff(self.bounds))
        self.grams = np.empty(len(together), np.int64)
        self.grams[self.firsts[self.owners] + self.starts] = numbers
        some = _places(numbers * len(sizes) + self.owners, self.starts, self.n)[1]
        self.some = np.flatnonzero(some)
        self.some_bounds = np.searchsorted(numbers[some], np.arange(len(distinct) + 1))

    @property
    def entries(self) -> int:
        """Count the different n-grams."""
        return len(self.bounds) - 1

    @MadeOnce
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

    def look(self, start: int, texts: Texts) -> tuple[SeenGrams, int]:
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


@dataclass(frozen=True, slots=True)
class LeakRule:
    """When an item is in a document; see `simdb.decontaminate`."""

    ngram: int
    coverage: float
    min_hits: int
    common: float

    def __post_init__(self) -> None:
        """Raise OptionError for a number out of its range."""
        whole("ngram", self.ngram, NGRAM_LEAST, NGRAM_MOST)
        share("coverage", self.coverage)
        whole("min_hits", self.min_hits, 1, 1 << 20)
        share("common", self.common)


class Passage(NamedTuple):
    """Words of a document that are, but for changes, words of an item; stops are not in it."""

    document_start: int
    document_stop: int
    item_start: int
    item_stop: int


class FoundItem(NamedTuple):
    """An item that is in a document.

    `document`: its position; `sequence`: of `Items`; `coverage`: the share of its telling words;
    `hits`: its n-grams in the passages that are not common.  `rarest`: the position in the item of
    the shared n-gram that is in the fewest documents, and in how many.
    """

    document: int
    sequence: int
    coverage: float
    hits: int
    passages: list[Passage]
    rarest: int
    rarest_count: int


class _Pairs(NamedTuple):
    """Documents and items that share n-grams: pair p has the seeds bounds[p] .. bounds[p + 1].

    A seed is an n-gram of both: its `entries`, and its `positions` in the document and `starts` in
    the item, in the order in which neighbours are one run.
    """

    documents: I64
    sequences: I64
    bounds: I64
    entries: I64
    positions: I64
    starts: I64


class LeakJudge:
    """Decides by what a `Scan` has counted."""

    def __init__(self, items: Items, order: WordOrder, scan: Scan, documents: int, rule: LeakRule):
        """Judge documents of a large side of so many `documents`."""
        self._items, self._order, self._rule = items, order, rule
        self._frequencies = scan.frequencies
        is_template = self._is_common(items.frequencies, len(items))
        is_common = is_template | self._is_common(scan.frequencies, documents)
        self._is_rare, self._is_seed = ~is_common, ~is_template
        self._is_telling = self._telling(is_common)
        sizes, telling = np.diff(items.offsets), sums_of(self._is_telling, items.offsets)
        self._is_whole = (sizes >= WHOLE_NGRAMS * items.n) & (telling < TELLING_LEAST)

    def _is_common(self, frequencies: I64, count: int) -> Bools:
        share = self._rule.common
        if share >= 1:
            return np.zeros(len(frequencies), np.bool_)
        return np.asarray(frequencies > max(COMMON_LEAST, share * count), np.bool_)

    def _telling(self, is_common: Bools) -> Bools:
        """Return for each word of all items whether it is in no common n-gram."""
        items = self._items
        sizes = np.diff(items.offsets)
        owners = np.repeat(np.arange(len(items)), np.diff(items.firsts))
        at = np.flatnonzero(is_common[items.grams])
        starts = items.offsets[owners[at]] + at - items.firsts[owners[at]]
        stops = starts + np.minimum(sizes, items.n)[owners[at]]
        return ~_is_inside(starts, stops, len(items.words))

    def judge(self, texts: Texts, documents: I64) -> list[FoundItem]:
        """Return the items that are in some documents, given by their texts and positions."""
        items, (offsets, words) = self._items, self._order.words(texts, errors="replace")
        hits = items.table.find(offsets, words, items.lengths)
        pairs = self._pairs(hits[self._is_seed[hits["entry"]]])
        bounds, runs = self._runs(pairs)
        both = np.stack([pairs.documents, pairs.sequences], axis=1)
        grown = kernel.align((offsets, words), (items.offsets, items.words), both, bounds, runs)
        passages = grown[0]
        counts = self._hits(pairs.sequences, passages)
        coverage, is_found = self._decide(pairs.sequences, *grown[1:], *counts)
        firsts = np.searchsorted(passages["pair"], np.arange(len(both) + 1))
        return [
            self._found(
                pairs, pair, documents, float(coverage[pair]), int(counts[0][pair]),
                passages[firsts[pair] : firsts[pair + 1]],
            )
            for pair in np.flatnonzero(is_found).tolist()
        ]  # fmt: skip

    def _pairs(self, hits: Hits) -> _Pairs:
        """Return the documents and items that may match, by document and item."""
        items = self._items
        groups = hits["document"].astype(np.uint64) << np.uint64(32) | hits["entry"]
        hits = hits[np.lexsort((hits["position"], groups))]
        is_end, is_enough = _places(np.sort(groups), hits["position"], items.n)
        ends, inside = hits[is_end], hits[is_enough & ~is_end]
        every, counts = _postings(items.bounds, ends["entry"])
        some, few = _postings(items.some_bounds, inside["entry"])
        places = np.concatenate([every, items.some[some]])
        hits = np.repeat(np.concatenate([ends, inside]), np.concatenate([counts, few]))
        sequences, starts = items.owners[places], items.starts[places]
        documents, positions, entries = (
            hits[name].astype(np.int64) for name in ("document", "position", "entry")
        )
        pairs = documents * len(items) + sequences
        # A pair needs an n-gram that is not common, unless the item has no words of its own.
        is_enough = self._is_rare[entries] | self._is_whole[sequences]
        order = np.lexsort((starts, positions - starts, pairs))
        order = order[np.isin(pairs[order], pairs[is_enough])]
        firsts = np.flatnonzero(np.diff(pairs[order], prepend=-1))
        return _Pairs(
            documents[order[firsts]], sequences[order[firsts]], np.append(firsts, len(order)),
            entries[order], positions[order], starts[order],
        )  # fmt: skip

    def _runs(self, pairs: _Pairs) -> tuple[I64, I64]:
        """Return the runs of each pair by their places in the item: bounds, and int64[r, 3].

        A run is as long as possible: seeds that overlap or touch at the same distance are one.
        """
        numbers = np.repeat(np.arange(len(pairs.sequences)), np.diff(pairs.bounds))
        sizes = np.diff(self._items.offsets)[pairs.sequences]
        lengths = np.minimum(sizes, self._items.n)[numbers]
        shifts = pairs.positions - pairs.starts
        is_first = np.diff(numbers, prepend=-1) != 0
        is_first |= np.diff(shifts, prepend=0) != 0
        is_first |= np.diff(pairs.starts, prepend=0) > lengths
        firsts = np.flatnonzero(is_first)
        lasts = np.append(firsts[1:], len(numbers))[: len(firsts)] - 1
        items, documents = pairs.starts[firsts], pairs.positions[firsts]
        runs = np.stack([documents, items, pairs.starts[lasts] + lengths[lasts] - items], axis=1)
        order = np.lexsort((documents, items, numbers[firsts]))
        bounds = np.searchsorted(numbers[firsts], np.arange(len(pairs.sequences) + 1))
        return bounds, runs[order]

    def _hits(self, sequences: I64, passages: Hits) -> tuple[I64, I64]:
        """Return how many rare n-grams of each pair's item lie in passages, and how many it has."""
        items = self._items
        grams, offsets = _taken(items.firsts, sequences)
        of_each = sequences[passages["pair"]]
        lengths = np.minimum(np.diff(items.offsets)[of_each], items.n)
        starts = offsets[passages["pair"]] + passages["item_start"]
        stops = np.maximum(starts, offsets[passages["pair"]] + passages["item_stop"] - lengths + 1)
        is_rare = self._is_rare[items.grams[grams]]
        is_hit = is_rare & _is_inside(starts, stops, len(grams))
        return sums_of(is_hit, offsets), sums_of(is_rare, offsets)

    def _decide(
        self, sequences: I64, offsets: I64, equal: Bools, hits: I64, rare: I64
    ) -> tuple[F64, Bools]:
        """Return the coverage of each pair, and whether the item is in the document.

        `equal`: which words of the item the document has, from offsets[pair] on.
        """
        is_whole, rule = self._is_whole[sequences], self._rule
        words, _ = _taken(self._items.offsets, sequences)
        is_telling = self._is_telling[words]
        telling = np.where(is_whole, np.diff(offsets), sums_of(is_telling, offsets))
        shared = np.where(is_whole, sums_of(equal, offsets), sums_of(equal & is_telling, offsets))
        coverage = shared / np.maximum(telling, 1)
        is_enough = coverage >= np.where(is_whole, WHOLE_COVERAGE, rule.coverage)
        has_hits = hits >= np.minimum(rule.min_hits, rare)
        return coverage, is_enough & (is_whole | has_hits) & (telling > 0)

    def _found(
        self, pairs: _Pairs, pair: int, documents: I64, coverage: float, hits: int, passages: Hits
    ) -> FoundItem:
        seeds = slice(int(pairs.bounds[pair]), int(pairs.bounds[pair + 1]))
        counts = self._frequencies[pairs.entries[seeds]]
        rarest = np.lexsort((pairs.starts[seeds], counts))[0]
        return FoundItem(
            document=int(documents[pairs.documents[pair]]),
            sequence=int(pairs.sequences[pair]),
            coverage=coverage,
            hits=hits,
            passages=[Passage(*each[1:]) for each in passages.tolist()],
            rarest=int(pairs.starts[seeds][rarest]),
            rarest_count=int(counts[rarest]),
        )


def _places(groups: npt.NDArray[Any], places: npt.NDArray[Any], n: int) -> tuple[Bools, Bools]:
    """Return which places of n-grams are the first or last of a row, and which are enough.

    `groups`: which n-gram in which text; both ascend.  In a row, such as zeros, an n-gram overlaps
    itself, and a passage that begins at one place grows over others: first places of half an n-gram
    each are enough.
    """
    is_first = np.ones(len(groups), np.bool_)
    is_first[1:] = (groups[1:] != groups[:-1]) | (np.diff(places.astype(np.int64)) >= n)
    parts = (places - places[is_first][np.cumsum(is_first) - 1]) // ((n + 1) // 2)
    is_end = is_first.copy()
    is_end[:-1] |= is_first[1:]
    is_end[-1:] = True
    is_enough = is_end.copy()
    is_enough[1:] |= parts[1:] != parts[:-1]
    return is_end, is_enough


def _postings(bounds: I64, entries: npt.NDArray[Any]) -> tuple[I64, I64]:
    """Return the postings of each of some entries, one after the other, and how many they are."""
    counts = np.diff(bounds)[entries]
    return ranges(bounds[entries], counts), counts


def _taken(offsets: I64, chosen: I64) -> tuple[I64, I64]:
    """Return the positions of what some chosen ranges of `offsets` have, and offsets of these."""
    sizes = np.diff(offsets)[chosen]
    own = np.append(0, np.cumsum(sizes))
    return np.arange(own[-1]) + np.repeat(offsets[chosen] - own[:-1], sizes), own


def _is_inside(starts: I64, stops: I64, count: int) -> Bools:
    """Return for each of `count` positions whether it is in a range from a start to a stop."""
    changes = np.bincount(starts, minlength=count + 1)[: count + 1]
    changes -= np.bincount(stops, minlength=count + 1)[: count + 1]
    return np.asarray(changes.cumsum()[:-1] > 0, np.bool_)
