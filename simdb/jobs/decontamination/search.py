"""Search: the way from documents to leaks, for data of any kind.

The documents are read once to count which n-grams of the items they have.  The few that have any
are read again, and judged by what the counts have shown to be common.  `DecontaminationRun` does
that for documents in files, of which no text stays in memory: what is needed again is read again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from simdb.core.arrow import Texts
from simdb.core.dtypes import I64, Bools
from simdb.core.fields import FieldName, field_named
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import mapped
from simdb.database import numbered
from simdb.files import Batch, LinesAgain, Names, Origins, Row, SurvivorOutput, TextsAgain
from simdb.jobs.decontamination.items import ItemPart, Items, LeakJudge, LeakRule, Scan
from simdb.jobs.decontamination.result import Leak, leaks_of, marks, without
from simdb.sketch import WordOrder

# So many documents are judged by one thread at a time.
JUDGED_DOCUMENTS = 256

ACTIONS = DROP, CUT, MARK = ("drop", "cut", "mark")
MARKS_FIELD = "leaks"  # which a marked record has


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
        for found in mapped(lambda some: self._scan.look(*some), numbered(batches), self._threads):
            self._scan.add(found)
            self.documents += len(found[0].has_any)
            yield self.documents

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


class DecontaminationRun(ExitStack):
    """The documents of one run, by their positions in the input; `with` frees them."""

    def __init__(self, search: ItemSearch, origins: Origins, output: SurvivorOutput | None) -> None:
        """Look for what `search` looks for.

        `origins`: where lines can be read again.  `output`: what documents will be written to, None
        if none will.
        """
        super().__init__()
        self._search, self._output = search, output
        self.names = self.enter_context(Names())
        self._texts = self.enter_context(TextsAgain(origins))
        self.lines = self.enter_context(LinesAgain(origins, output))

    def read(self, batches: Iterable[Batch]) -> Iterator[int]:
        """Take all batches; yield the number of documents so far."""
        return self._search.read(self._each(batches))

    def leaks(self) -> list[Leak]:
        """Return the leaks by document, the id of each is the position of its document."""
        return self._search.leaks(lambda places: self._texts.texts(places.astype(np.uint32)))

    def named(self, leaks: list[Leak]) -> list[Leak]:
        """Return leaks with the ids of their documents, as these were read."""
        places = np.array([leak.id for leak in leaks], np.int64)
        ids = self.names.of(places, as_read=True)
        return [replace(leak, id=id) for leak, id in zip(leaks, ids, strict=True)]

    def kept(
        self, leaks: Iterable[Leak], action: str, sources: Sequence[str], text: FieldName
    ) -> Bools:
        """Return which documents stay, bool[n]; change the records that `action` changes.

        `text`: the field with the text.
        """
        own = by_document(leaks)
        positions = np.array(sorted(own), np.int64)
        is_kept = np.ones(self._search.documents, np.bool_)
        if action == DROP:
            is_kept[positions] = False
            return is_kept

        wanted = field_named(text)

        def changed(position: int, row: Row) -> Row:
            if action == MARK:
                return {**row, MARKS_FIELD: marks(own[position])}
            rest = without(wanted.of(row), own[position])
            is_kept[position] = bool(rest.strip())
            return wanted.replaced(row, rest)

        if self._output is not None:
            self.lines.change(positions, sources, changed)
        return is_kept

    def _each(self, batches: Iterable[Batch]) -> Iterator[Any]:
        """Note what is needed later of each batch, and yield its texts."""
        for batch in batches:
            self.names.add(batch)
            self.lines.add(batch)
            self._texts.add(batch)
            yield batch.texts


def by_document(leaks: Iterable[Leak]) -> dict[Any, list[Leak]]:
    """Return the leaks of each document."""
    found: dict[Any, list[Leak]] = defaultdict(list)
    for leak in leaks:
        found[leak.id].append(leak)
    return dict(found)
