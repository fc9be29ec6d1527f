"""Judge: the decision whether a document has an item, and the passages that both share.

The kernel judges all pairs of a portion of documents in one call.
"""

from typing import NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import offsets_of, ranges, sorted_unique, sums_of
from simdb.core.arrow import Texts
from simdb.core.dtypes import I64, U32, Bools
from simdb.jobs.decontamination.items import ANY, EXACT_WORDS, WEIGHT, Hits, Items, LeakRule, Scan
from simdb.sketch import WordOrder

# An item with `WHOLE_WORDS` or more words, but fewer than `TELLING_LEAST` telling ones (outside
# common n-grams), is found if the document has the share `WHOLE_COVERAGE` of all its words.
TELLING_LEAST = 5
WHOLE_WORDS = 10
WHOLE_COVERAGE = 0.8
# Other numbers make another item if they are 1 / `OTHER_NUMBERS` or more of its words.
OTHER_NUMBERS = 25


class Passage(NamedTuple):
    """A passage that a document and an item share, with changes, in half-open ranges of words.

    `runs`: runs of equal words: position in the document, position in the item, number of words.
    """

    document_start: int
    document_stop: int
    item_start: int
    item_stop: int
    runs: list[list[int]]

    @property
    def gaps(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The ranges of differing words: start and stop in the document, and in the item."""
        ends = [(at + size, own + size) for at, own, size in self.runs]
        return [
            ((end, start), (own_end, own_start))
            for (end, own_end), (start, own_start, _) in zip(ends, self.runs[1:], strict=False)
            if (end, own_end) != (start, own_start)
        ]


class Seeds(NamedTuple):
    """The n-grams that documents and items share; see `kernel.Postings.seeds`."""

    pairs: I64
    bounds: I64
    entries: U32
    runs: I64


class FoundItem(NamedTuple):
    """An item that is in a document.

    `document`: the position of the document.  `sequence`: the item, by its sequence in `Items`.
    `coverage`: the share of the weight of its telling words.  `hits`: the number of its n-grams in
    the passages that are not common.  `rarest`: the position in the item of the shared n-gram that
    is in the fewest documents, and `rarest_count` their number.
    """

    document: int
    sequence: int
    coverage: float
    hits: int
    rarest: int
    rarest_count: int
    passages: list[Passage]


class LeakJudge:
    """The decision whether documents have items, with the n-gram counts of a `Scan`."""

    def __init__(self, items: Items, order: WordOrder, scan: Scan, documents: int, rule: LeakRule):
        """Judge some of the `documents` (their number) that `scan` has read."""
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
        """Return the items in some documents; `documents` int64[n]: their positions."""
        items, (offsets, words) = self._items, self._order.words(texts, errors="replace")
        hits = items.table.find(offsets, words, [items.n])
        # Pairs with enough n-grams near one another that are not common.
        seeds = Seeds(
            *items.postings.seeds(hits, items.n, *self._near, self._is_seed_rare, self._is_whole)
        )
        sequences = seeds.pairs[:, 1]
        # The kernel gets a slightly lower threshold, so that rounding loses no pair.
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
        """Return whether the document of each pair has the item: bool[k]."""
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
        """Count the n-grams in the passages of each pair that are not common: int64[k]."""
        items = self._items
        own = passages[np.isin(passages["pair"], pairs)]
        own = own[np.lexsort((own["item_start"], own["pair"]))]
        rank = np.searchsorted(pairs, own["pair"])
        step = int(items.sizes.max(initial=0)) + 1
        starts = rank * step + own["item_start"]
        stops = rank * step + np.maximum(own["item_start"], own["item_stop"] - items.n + 1)
        # N-grams that an earlier passage has are not counted again.
        known = np.append(0, np.maximum.accumulate(stops)[:-1])[: len(stops)]
        firsts = items.firsts[seeds.pairs[own["pair"], 1]] - rank * step
        counts = self._rare_counts
        starts = np.minimum(np.maximum(starts, known), stops)
        each = counts[firsts + stops] - counts[firsts + starts]
        return np.bincount(rank, each, minlength=len(pairs)).astype(np.int64)

    def _rarest(self, seeds: Seeds, pairs: I64) -> tuple[I64, I64]:
        """Return the position in the item of each pair's rarest n-gram, and its document count.

        Both are int64[k].
        """
        if not len(pairs):
            return pairs, pairs
        sizes = np.diff(seeds.bounds)[pairs]
        own = ranges(seeds.bounds[pairs], sizes)
        # Count and position form one number, since positions are below 2^32.
        both = self._frequencies[seeds.entries[own]] << 32 | seeds.runs[own, 1]
        least = np.minimum.reduceat(both, offsets_of(sizes)[:-1])
        return least & 0xFFFFFFFF, least >> 32
