"""Search: the way from documents to leaks, for data of any kind.

The documents are read once to count which n-grams of the items they have.  The few that have any
are read again, and judged by what the counts have shown to be common.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.decontamination.items import ItemPart, Items
from simdb.decontamination.judge import LeakJudge, LeakRule
from simdb.decontamination.leaks import Leak, leaks_of
from simdb.decontamination.scan import Scan
from simdb.running.threads import mapped
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.word_order import WordOrder

# So many documents are judged by one thread at a time.
JUDGED_DOCUMENTS = 256

I64 = npt.NDArray[np.int64]
Texts = Sequence[Any]  # str, or UTF-8 in bytes


class ItemSearch:
    """The items, and what was found of them in the documents so far."""

    def __init__(
        self,
        parts: Sequence[ItemPart],
        sketch: TextSketch,
        rule: LeakRule,
        *,
        ngram: int,
        errors: str,
        threads: int,
    ) -> None:
        """Look for `parts`; OptionError for a sketch without words, InputError for a part."""
        self._order = WordOrder(sketch)
        self.items = Items(parts, self._order, ngram, errors)
        self._rule, self._threads = rule, threads
        self._scan = Scan(self.items, self._order, errors)
        self.documents = 0

    @property
    def words(self) -> int:
        """How many words the documents have."""
        return self._scan.words

    def read(self, batches: Iterable[Texts]) -> Iterator[int]:
        """Take all documents; yield how many were taken."""
        for found in mapped(
            lambda some: self._scan.look(*some), self._numbered(batches), self._threads
        ):
            self._scan.add(found)
            self.documents += len(found[0].has_any)
            yield self.documents

    def _numbered(self, batches: Iterable[Texts]) -> Iterator[tuple[Texts, int]]:
        start = 0
        for batch in batches:
            yield batch, start
            start += len(batch)

    def leaks(self, texts: Callable[[I64], Texts]) -> list[Leak]:
        """Return the leaks by document, the id of each is the position of its document.

        `texts` returns the texts at some positions.
        """
        judge = LeakJudge(self.items, self._order, self._scan, self.documents, self._rule)
        positions = np.flatnonzero(self._scan.has_any)
        cuts = range(0, len(positions), JUDGED_DOCUMENTS)
        parts = (positions[at : at + JUDGED_DOCUMENTS] for at in cuts)
        leaks: list[Leak] = []
        for found in mapped(
            lambda some: self._judged(judge, *some),
            ((part, texts(part)) for part in parts),
            self._threads,
        ):
            leaks += found
        return leaks

    def _judged(self, judge: LeakJudge, positions: I64, texts: Texts) -> list[Leak]:
        found = judge.judge(texts, positions)
        places = {position: at for at, position in enumerate(positions.tolist())}
        return [
            leak
            for document, own in groupby(found, key=lambda each: each.document)
            for leak in leaks_of(own, texts[places[document]], self.items, self._order)
        ]
