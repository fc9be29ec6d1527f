"""Judge: decides which items stand in a document, by how much of what is peculiar to them it has.

An n-gram is common if it is in many documents of the large side or in many items: a licence, a
template of instructions, a quotation.  Words in a common n-gram do not count; of the others, the
telling words of an item, a document must have a share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.decontamination.alignment import Passage, Seed, passages
from simdb.decontamination.items import Items
from simdb.decontamination.scan import Scan
from simdb.sketch.word_order import WordOrder

# An n-gram is not common in so few documents or items, however few there are in all.
COMMON_LEAST = 10
# An item with fewer telling words, and of at least so many n-grams' words, stands in a document if
# nearly all of its words do.
TELLING_LEAST = 5
WHOLE_NGRAMS = 2
WHOLE_COVERAGE = 0.9
# The words of a document that are looked at beyond its seeds, for each word of the item.
REACH = 2

Bools = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rule:
    """When an item stands in a document; see `simdb.decontaminate`."""

    coverage: float
    min_hits: int
    common: float


class Found(NamedTuple):
    """An item that stands in a document.

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


class Judge:
    """Decides by what a `Scan` has counted."""

    def __init__(self, items: Items, order: WordOrder, scan: Scan, documents: int, rule: Rule):
        """Judge documents of a large side of so many `documents`."""
        self._items, self._order, self._rule = items, order, rule
        self._frequencies = scan.frequencies
        is_template = self._is_common(items.frequencies, len(items))
        self._is_common_entry = is_template | self._is_common(scan.frequencies, documents)
        self._is_seed = ~is_template
        self._is_telling = self._telling()
        counts = np.add.reduceat(np.append(self._is_telling, False), items.offsets[:-1])
        self._telling_counts = counts if len(items) else np.empty(0, np.int64)

    def _is_common(self, frequencies: I64, count: int) -> Bools:
        share = self._rule.common
        if share >= 1:
            return np.zeros(len(frequencies), np.bool_)
        return np.asarray(frequencies > max(COMMON_LEAST, share * count), np.bool_)

    def _telling(self) -> Bools:
        """Return for each word of all items whether it is in no common n-gram."""
        items = self._items
        numbers = np.repeat(np.arange(items.entries), np.diff(items.bounds))
        is_common = self._is_common_entry[numbers]
        owners = items.owners[is_common]
        starts = items.offsets[owners] + items.starts[is_common]
        lengths = np.minimum(np.diff(items.offsets)[owners], items.n)
        changes = np.zeros(len(items.words) + 1, np.int64)
        np.add.at(changes, starts, 1)
        np.add.at(changes, starts + lengths, -1)
        return np.asarray(changes.cumsum()[:-1] == 0, np.bool_)

    def _hits(self, sequence: int, grown: Sequence[Passage]) -> tuple[int, int]:
        """Return how many n-grams that are not common lie in passages, and how many there are."""
        items = self._items
        entries = items.grams[items.firsts[sequence] : items.firsts[sequence + 1]]
        is_rare = ~self._is_common_entry[entries]
        length = min(items.size(sequence), items.n)
        is_inside = np.zeros(len(entries), np.bool_)
        for passage in grown:
            is_inside[passage.item_start : max(passage.item_stop - length + 1, 0)] = True
        return int(np.count_nonzero(is_inside & is_rare)), int(np.count_nonzero(is_rare))

    def judge(self, texts: Sequence[str | bytes], documents: I64) -> list[Found]:
        """Return the items that stand in some documents, given by their texts and positions."""
        offsets, words = self._order.words(texts, errors="replace")
        hits = self._items.table.find(offsets, words, self._items.lengths)
        hits = hits[self._is_seed[hits["entry"]]]
        found = []
        for at, sequence, entries, seeds in self._pairs(hits):
            own = words[offsets[at] : offsets[at + 1]]
            decided = self._decide(int(documents[at]), sequence, entries, seeds, own)
            if decided is not None:
                found.append(decided)
        return found

    def _pairs(self, hits: npt.NDArray[np.void]) -> Iterator[tuple[int, int, I64, list[Seed]]]:
        """Yield each document and sequence that may match: shared n-grams, seeds of passages."""
        items = self._items
        entries = hits["entry"].astype(np.int64)
        counts = np.diff(items.bounds)[entries]
        places = np.repeat(items.bounds[entries] - np.cumsum(counts) + counts, counts)
        places += np.arange(len(places))
        sequences, starts = items.owners[places], items.starts[places]
        documents = np.repeat(hits["document"].astype(np.int64), counts)
        positions = np.repeat(hits["position"].astype(np.int64), counts)
        own = np.repeat(entries, counts)
        both = documents * len(items) + sequences
        # A pair needs an n-gram that is not common, unless the item has no words of its own.
        is_enough = ~self._is_common_entry[own] | self._is_whole(sequences)
        wanted = np.isin(both, both[is_enough])
        order = np.flatnonzero(wanted)[np.argsort(both[wanted], kind="stable")]
        cuts = np.flatnonzero(np.diff(both[order], prepend=-1))
        for chosen in np.split(order, cuts[1:]) if len(order) else ():
            sequence = int(sequences[chosen[0]])
            length = min(items.size(sequence), items.n)
            pairs = zip(positions[chosen].tolist(), starts[chosen].tolist(), strict=True)
            seeds = [Seed(position, start, length) for position, start in pairs]
            yield int(documents[chosen[0]]), sequence, own[chosen], seeds

    def _is_whole(self, sequences: I64) -> Bools:
        """Return which items can only be found as a whole, because they say little else."""
        sizes = np.diff(self._items.offsets)[sequences]
        is_long = sizes >= WHOLE_NGRAMS * self._items.n
        return np.asarray(is_long & (self._telling_counts[sequences] < TELLING_LEAST), np.bool_)

    def _decide(
        self,
        document: int,
        sequence: int,
        entries: I64,
        seeds: list[Seed],
        words: npt.NDArray[np.uint64],
    ) -> Found | None:
        items, rule = self._items, self._rule
        size = items.size(sequence)
        first = max(0, min(seed.document for seed in seeds) - REACH * size)
        last = max(seed.document + seed.length for seed in seeds) + REACH * size
        near = [Seed(seed.document - first, seed.item, seed.length) for seed in seeds]
        grown = passages(words[first:last].tolist(), items.words_of(sequence), near)
        hits, rare = self._hits(sequence, grown)
        equal = np.zeros(size, np.bool_)
        equal[list(frozenset[int]().union(*(each.equal for each in grown)))] = True
        if bool(self._is_whole(np.array([sequence]))[0]):
            coverage, least = float(np.count_nonzero(equal) / size), WHOLE_COVERAGE
        else:
            is_telling = self._is_telling[items.offsets[sequence] : items.offsets[sequence + 1]]
            if hits < min(rule.min_hits, rare) or not is_telling.any():
                return None
            coverage = float(np.count_nonzero(equal & is_telling) / np.count_nonzero(is_telling))
            least = rule.coverage
        if coverage < least:
            return None
        rarest = int(np.argmin(self._frequencies[entries]))
        moved = [
            each._replace(
                document_start=each.document_start + first, document_stop=each.document_stop + first
            )
            for each in grown
        ]
        return Found(
            document, sequence, coverage, hits, moved, seeds[rarest].item,
            int(self._frequencies[entries[rarest]]),
        )  # fmt: skip
