"""Run: the documents of files on their way from reading to what stays of them.

Documents come in batches and are read once.  What is needed a second time is read again where it
is, or waits in temporary files: in memory are some bytes of each document, and no text.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from simdb.core import keeping
from simdb.core.arrow import TextColumn
from simdb.core.dtypes import I64, Bools
from simdb.core.options import Options
from simdb.files import (
    Batch,
    LinesAgain,
    Names,
    Origins,
    SurvivorOutput,
    TextsAgain,
    expected_documents,
)
from simdb.jobs.deduplication.question import Decided, DedupQuestion
from simdb.jobs.deduplication.reference import Reference, either
from simdb.jobs.deduplication.within import within
from simdb.sketch import AnySketcher

# From what readers call the sources of documents to the numbers of the sources.


class DedupRun(ExitStack):
    """The documents of one run, by their positions in the input; `with` frees them."""

    def __init__(
        self,
        options: Options,
        question: DedupQuestion,
        rule: keeping.KeepRule,
        origins: Origins,
        *,
        has_texts: bool = False,
        output: SurvivorOutput | None = None,
        reference: Reference | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """Decide by `question`, and keep of each group the document that `rule` prefers.

        `origins`: where lines can be read again.  `has_texts`: texts will be asked for, though none
        decide.  `output`: what documents will be written to, None if none will.  `reference`: what
        documents are compared with, too.  `note` takes lines about ids.
        """
        super().__init__()
        self.reference = reference
        self.order: I64 | None = None
        with ExitStack() as held:
            self._documents = within(options, question, reference)
            held.push(self._documents)
            has_texts = has_texts or self._documents.needs_texts
            self._again = SecondLook(
                rule, origins, output, note, has_texts=has_texts, memory=question.memory
            )
            self.push(held.pop_all())
        self.push(self._again)
        self.names = self._again.names

    @property
    def sketcher(self) -> AnySketcher:
        """What reads the texts."""
        return self._documents.sketcher

    @property
    def way(self) -> str:
        """How candidates are found, in words."""
        return self._documents.way

    @property
    def empty_count(self) -> int:
        """How many documents have no features, and are like nothing."""
        return self._documents.empty_count

    def read(self, batches: Iterable[Batch], sources: Collection[str]) -> Iterator[int]:
        """Take all batches, which are read from `sources`; yield the number of documents."""
        return self._documents.add_all(
            self._each(batches), lambda: expected_documents(sources), errors="strict"
        )

    def decide(self) -> Decided:
        """Return what becomes of the documents, each of which has an id of its own then."""
        self.names.settle()
        self.order = self._again.order()
        return self._documents.decide(self.order, self.texts)

    def texts(self, positions: I64) -> Any:
        """Return the texts at some positions, or of leaders; InputError if a file was changed."""
        if self.reference is None:
            return self._again.texts(positions)
        return either(positions, self._again.texts, self.reference.texts)

    def ids(self, positions: I64) -> Sequence[Any]:
        """Return the ids of documents at some positions, or of leaders."""
        if self.reference is None:
            return self.names.of(positions)
        return either(positions, self.names.of, self.reference.names)

    def write(self, is_kept: Bools, survivors: SurvivorOutput) -> None:
        """Write the documents that stay: bool[n]; InputError if a file was changed since."""
        self._again.write(is_kept, survivors)

    def _each(self, batches: Iterable[Batch]) -> Iterator[Any]:
        """Note what is needed later of each batch, and yield its texts."""
        for batch in batches:
            self._again.add(batch)
            self._again.lines.add(batch)
            yield batch.texts


class SecondLook(ExitStack):
    """The documents of a run by their positions: ids, texts and lines, and which are preferred.

    `with` removes the files in which that waits.
    """

    def __init__(
        self,
        rule: keeping.KeepRule,
        origins: Origins,
        output: SurvivorOutput | None,
        note: Callable[[str], None] | None = None,
        *,
        has_texts: bool = True,
        memory: int | None = None,
    ) -> None:
        """Prefer by `rule`, which is no function; `has_texts`: texts will be asked for.

        `origins`, `output`, `note`: see `DedupRun`; `memory`: see `Names`.
        """
        super().__init__()
        self.names = self.enter_context(Names(note, memory))
        self.lines = self.enter_context(LinesAgain(origins, output))
        self._texts = self.enter_context(TextsAgain(origins)) if has_texts else None
        self._rule, self._note = rule, note
        self._sizes: list[I64] = []
        self._values: list[Any] = []
        self._is_valued = False  # what is not compared has a value of the field
        self._count = 0

    def pass_by(self, batch: Batch) -> None:
        """Note whether documents, some of which may not be compared, have what the rule names."""
        if self._rule.field and not self._is_valued:
            self._is_valued = not all(map(keeping.is_missing, self._values_of(batch)))

    def add(self, batch: Batch, renamed: Mapping[int, Any] | None = None) -> None:
        """Take documents, without their lines; `renamed`: see `Names.add`."""
        self.names.add(batch, renamed)
        self._count += len(batch)
        if self._texts is not None:
            self._texts.add(batch)
        if self._rule.kind in keeping.BY_SIZE:
            texts = batch.texts
            lengths = texts.lengths if isinstance(texts, TextColumn) else map(len, batch.contents())
            self._sizes.append(np.fromiter(lengths, np.int64, len(batch)))
        elif self._rule.field:
            self._values += self._values_of(batch)

    def texts(self, positions: I64) -> Any:
        """Return the texts at some positions; InputError if a file was changed since."""
        assert self._texts is not None, "texts were announced"
        return self._texts.texts(positions.astype(np.uint32))

    def write(self, is_kept: Bools, survivors: SurvivorOutput) -> None:
        """Write the lines that stay: bool[n]; InputError if a file was changed since."""
        self.lines.copy(is_kept, survivors)

    def order(self) -> I64 | None:
        """Return the positions of all documents, those to be preferred first: int64[n].

        None for the order of the input.
        """
        rule = self._rule
        if rule.kind == keeping.FIRST:
            return None
        is_valued = self._is_valued or not all(map(keeping.is_missing, self._values))
        if rule.field and self._count and not is_valued:
            raise keeping.no_value(rule)
        return keeping.order_of(
            rule, self._count,
            sizes=lambda: np.concatenate([np.empty(0, np.int64), *self._sizes]),
            values=lambda: self._values, where=self.names.where, note=self._note,
        )  # fmt: skip

    def _values_of(self, batch: Batch) -> list[Any]:
        fields = batch.fields or [None] * len(batch)
        return [(each or {}).get(self._rule.field) for each in fields]
