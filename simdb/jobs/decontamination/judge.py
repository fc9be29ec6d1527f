"""Judge: which items are in documents that share n-grams with them, and where.

All pairs of a portion of documents are judged by the kernel at once.
"""

from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import offsets_of, ranges, sorted_unique, sums_of
from simdb.core.arrow import Texts
from simdb.core.dtypes import I64, U32, Bools
from simdb.jobs.decontamination.items import ANY, EXACT_WORDS, WEIGHT, Hits, Items, LeakRule, Scan
from simdb.sketch import WordOrder

# An item with fewer telling words, and of at least so many words, is in a document if nearly all of
# its words are.
TELLING_LEAST = 5
WHOLE_WORDS = 10
WHOLE_COVERAGE = 0.8
# The item is another one if so small a share of its words are other numbers.
OTHER_NUMBERS = 25


class Passage(NamedTuple):
    """Words of a document that are, but for changes, words of an item; stops are not in it.

    `runs`: the equal words: positions in the document and in the item, number.
    """

    document_start: int
    document_stop: int
    item_start: int
    item_stop: int
    runs: list[list[int]]

    @property
    def gaps(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Where words differ: from and to which word of the document, and of the item."""
        ends = [(at + size, own + size) for at, own, size in self.runs]
        return [
            ((end, start), (own_end, own_start))
            for (end, own_end), (start, own_start, _) in zip(ends, self.runs[1:], strict=False)
            if (end, own_end) != (start, own_start)
        ]


class Seeds(NamedTuple):
    """N-grams that documents and items share; see `kernel.Postings.seeds`."""

    pairs: I64
    bounds: I64
    entries: U32
    runs: I64


class FoundItem(NamedTuple):
    """An item that is in a document.

    `document`: its position; `sequence`: of `Items`; `coverage`: the share of the weight of its
    telling words; `hits`: its n-grams in the passages that are not common.  `rarest`: the position
    in the item of the shared n-gram that is in the fewest documents, and in how many.
    """

    document: int
    sequence: int
    coverage: float
    hits: int
    rarest: int
    rarest_count: int
    passages: list[Passage]


class LeakJudge:
    """Decides by what a `Scan` has counted."""

    def __init__(self, items: Items, order: WordOrder, scan: Scan, documents: int, rule: LeakRule):
        """Judge documents of a large side of so many `documents`."""
        self._items, self._order, self._rule = items, order, rule
        self._frequencies = scan.frequencies
        is_common = np.append(scan.frequencies > rule.most(documents), False)
        self._is_rare = (items.grams >= 0) & ~is_common[items.grams]
        self._rare_counts = offsets_of(self._is_rare)
        self._is_seed_rare = ~is_common[:-1]
        is_telling = items.is_told & ~items.words_under(is_common[items.grams])
        self._is_whole = items.sizes >= WHOLE_WORDS
        self._is_whole &= sums_of(is_telling, items.offsets) < TELLING_LEAST
        is_telling |= np.repeat(self._is_whole, items.sizes)
        self._weights = np.where(is_telling, items.weights, 0)
        self._totals = sums_of(self._weights, items.offsets)
        halves = 1 + (items.words & np.uint64(kernel.SINGLE) == 0)
        lengths = sums_of(self._weights * halves, items.offsets) / (2 * WEIGHT)
        self._least = np.where(self._is_whole, WHOLE_COVERAGE, rule.least_coverage(lengths))
        self._least[items.sizes < EXACT_WORDS] = 1
        own = np.repeat(np.arange(len(items)), np.diff(items.firsts))
        rare = sorted_unique(own[self._is_rare] * items.entries + items.grams[self._is_rare])
        counts = np.bincount(rare // max(items.entries, 1), minlength=len(items))
        self._near = items.near(np.where(self._is_whole, items.entry_counts, counts))

    def judge(self, texts: Texts, documents: I64) -> list[FoundItem]:
        """Return the items that are in some documents, given by their texts and positions."""
        items, (offsets, words) = self._items, self._order.words(texts, errors="replace")
        hits = items.table.find(offsets, words, [items.n])
        # Pairs with enough n-grams that are not common near one another.
        seeds = Seeds(
            *items.postings.seeds(hits, items.n, *self._near, self._is_seed_rare, self._is_whole)
        )
        sequences = seeds.pairs[:, 1]
        # A little less is enough here, so that rounding decides nothing.
        least = np.floor(self._least * self._totals * (1 - 1e-12)).astype(np.int64)
        verdicts, passages, runs = kernel.judge_leaks(
            (offsets, words), (items.offsets, items.words), seeds.pairs, seeds.bounds,
            seeds.runs, self._weights, np.maximum(least[sequences], 1),
        )  # fmt: skip
        found = np.flatnonzero(self._decide(sequences, verdicts))
        places = np.searchsorted(passages["pair"], [found, found + 1]).T.tolist()
        sequences = sequences[found]
        coverages = verdicts["covered"][found] / self._totals[sequences]
        columns = (
            documents[seeds.pairs[found, 0]], sequences, coverages,
            self._hits(seeds, found, passages), *self._rarest(seeds, found),
        )  # fmt: skip
        shown, equal = passages.tolist(), runs.tolist()
        rows = zip(*(each.tolist() for each in columns), strict=True)
        return [
            FoundItem(
                *row,
                [
                    Passage(*spans, equal[at : at + count])  # type: ignore[call-arg]
                    for _, *spans, at, count in sorted(shown[first:last])
                ],
            )
            for row, (first, last) in zip(rows, places, strict=True)
        ]

    def _decide(self, sequences: I64, verdicts: Hits) -> Bools:
        """Return of which pairs the document has the item."""
        totals, sizes = self._totals[sequences], self._items.sizes[sequences]
        coverage = verdicts["covered"] / np.maximum(totals, 1)
        is_found = (totals > 0) & (coverage >= self._least[sequences] - 1e-9)
        is_found &= (sizes >= EXACT_WORDS) | (verdicts["equal"] == sizes)
        if self._rule.numbers == ANY:
            return np.asarray(is_found, np.bool_)
        other = verdicts["other"]
        is_other = (other > 0) & (other >= verdicts["same"]) & (OTHER_NUMBERS * other >= sizes)
        return np.asarray(is_found & ~is_other, np.bool_)

    def _hits(self, seeds: Seeds, pairs: I64, passages: Hits) -> I64:
        """Return how many n-grams that are not common the passages of some pairs have."""
        items = self._items
        own = passages[np.isin(passages["pair"], pairs)]
        own = own[np.lexsort((own["item_start"], own["pair"]))]
        rank = np.searchsorted(pairs, own["pair"])
        step = int(items.sizes.max(initial=0)) + 1
        starts = rank * step + own["item_start"]
        stops = rank * step + np.maximum(own["item_start"], own["item_stop"] - items.n + 1)
        # What passages before have is not counted again.
        known = np.append(0, np.maximum.accumulate(stops)[:-1])[: len(stops)]
        firsts = items.firsts[seeds.pairs[own["pair"], 1]] - rank * step
        counts = self._rare_counts
        starts = np.minimum(np.maximum(starts, known), stops)
        each = counts[firsts + stops] - counts[firsts + starts]
        return np.bincount(rank, each, minlength=len(pairs)).astype(np.int64)

    def _rarest(self, seeds: Seeds, pairs: I64) -> tuple[I64, I64]:
        """Return of some pairs where the n-gram begins that the fewest documents have, and how many
        have it."""
        if not len(pairs):
            return pairs, pairs
        sizes = np.diff(seeds.bounds)[pairs]
        own = ranges(seeds.bounds[pairs], sizes)
        # The least of both as one number: starts are below 2^32.
        both = self._frequencies[seeds.entries[own]] << 32 | seeds.runs[own, 1]
        least = np.minimum.reduceat(both, offsets_of(sizes)[:-1])
        return least & 0xFFFFFFFF, least >> 32
