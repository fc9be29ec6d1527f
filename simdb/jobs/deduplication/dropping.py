"""Dropping: what is left of data of any kind without the parts that occurred before."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrays import object_array
from simdb.core.choices import DROP
from simdb.core.clusters import Clusters
from simdb.core.dtypes import I64, Bools
from simdb.core.fields import FieldName, checked_field, field_named
from simdb.core.options import Simhash
from simdb.core.text_sketch import TextSketch
from simdb.files import Batch, LinesAgain, Names, Origins, Row, SurvivorOutput
from simdb.jobs.deduplication.files import KeptDocuments, opened, reading_of
from simdb.jobs.deduplication.question import DedupQuestion, Evidence
from simdb.jobs.deduplication.result import Deduplicated, InMemory, Survivors
from simdb.jobs.deduplication.rows import DataRows, rows_of
from simdb.jobs.deduplication.sieve import Dropped, Sieve, UnitKeys
from simdb.jobs.deduplication.texts import RowTexts


class PartsRun(ExitStack):
    """The documents of one run, by their positions in the input; `with` frees them."""

    def __init__(
        self,
        sieve: Sieve,
        origins: Origins,
        output: SurvivorOutput | None,
        names: Names | None = None,
    ) -> None:
        """Drop what `sieve` drops.

        `origins`: where lines can be read again.  `output`: what documents will be written to, None
        if none will.  `names` takes the ids.
        """
        super().__init__()
        self._sieve, self._names = sieve, names
        self._lines = self.enter_context(LinesAgain(origins, output))

    def read(self, batches: Iterable[Batch]) -> Iterator[int]:
        """Take all batches; yield the number of documents so far."""
        return self._sieve.read(self._each(batches))

    def change(self, dropped: Dropped, sources: Sequence[str], text: FieldName) -> None:
        """Take what is dropped out of the field `text` of records; InputError like `write`."""

        wanted = field_named(text)

        def changed(position: int, row: Row) -> Row:
            return wanted.replaced(row, self._sieve.rest(wanted.of(row), dropped.of(position)))

        self._lines.change(dropped.changed, sources, changed)

    def write(self, is_kept: Bools, survivors: SurvivorOutput) -> None:
        """Write the documents that stay: bool[n]; InputError if a file was changed since."""
        self._lines.copy(is_kept, survivors)

    def _each(self, batches: Iterable[Batch]) -> Iterator[Any]:
        """Note where the documents of each batch lie, and yield its texts."""
        for batch in batches:
            if self._names is not None:
                self._names.add(batch)
            self._lines.add(batch)
            yield batch.texts


class Dropping(NamedTuple):
    """Which parts are dropped, and how texts are read; see `simdb.deduplicate`."""

    unit: str
    min_words: int
    on_null: str
    question: DedupQuestion

    def sieve(self, sketch: TextSketch | None, stored: UnitKeys | None) -> Sieve:
        """Return what finds the parts; for the arguments see `Sieve`."""
        asked = self.question
        return Sieve(
            Simhash() if sketch is None else sketch, self.unit, self.min_words,
            errors=asked.errors, threads=asked.threads, stored=stored,
            alike=None if asked.similarity is None else asked.silent,
        )  # fmt: skip


def drop_from_rows(
    rows: DataRows,
    text: FieldName,
    texts: RowTexts,
    dropping: Dropping,
    sketch: TextSketch | None,
    stored: UnitKeys | None,
) -> Deduplicated:
    """Return what is left of rows; `stored`: the keys of a database."""
    text = checked_field("text", text, "unit=")
    sieve = dropping.sieve(sketch, stored)

    for done in sieve.read(texts.batches()):
        dropping.question.report(done)
    dropped = sieve.decide()
    if len(dropped.changed):
        whole = zip(dropped.changed.tolist(), texts.at(dropped.changed), strict=True)
        rests = {at: sieve.rest(each, dropped.of(at)) for at, each in whole}
        rows = rows_of(rows.with_field(text, texts.changed(rests)))
    kept = _without(dropped.kept, texts.is_null, dropping)
    kept &= ~dropping.question.skipped.flags(len(kept))
    survivors = InMemory(rows.chosen(kept), text, dropping.question.threads)
    return _result(survivors, kept, texts.is_null, sieve, dropped, dropping)


def drop_from_files(
    paths: Sequence[str],
    text: FieldName,
    id: Any,
    dropping: Dropping,
    sketch: TextSketch | None,
    stored: UnitKeys | None,
) -> Deduplicated:
    """Return what is left of the documents in files and folders; `stored` as for rows."""
    text = checked_field("text", text, "unit=")
    asked = dropping.question
    reading = reading_of(
        id,
        text,
        asked.encoding,
        asked.errors,
        dropping.on_null,
        threads=asked.threads,
        memory=asked.memory,
    )
    sieve = dropping.sieve(sketch, stored)
    with ExitStack() as held:
        files = opened(paths, reading, held, asked.skipped)
        run = held.enter_context(PartsRun(sieve, files.origins, files.survivors(None)))
        for done in run.read(files.batches()):
            asked.report(done)
        dropped = sieve.decide()
        run.change(dropped, files.sources, text)
        kept = _without(dropped.kept, files.nulls, dropping)
        survivors = KeptDocuments(files, run, kept, held.pop_all())
    asked.skipped.named()
    return _result(survivors, kept, files.nulls, sieve, dropped, dropping)


def _without(kept: Bools, nulls: Bools, dropping: Dropping) -> Bools:
    return kept & ~nulls if dropping.on_null == DROP else kept


def _nothing(rows: I64 | Bools) -> list[Any]:
    """Return the texts of no rows."""
    return []


def _result(
    survivors: Survivors,
    kept: Bools,
    nulls: Bools,
    sieve: Sieve,
    dropped: Dropped,
    dropping: Dropping,
) -> Deduplicated:
    nothing = object_array([])
    none = np.empty(0, np.int64)
    evidence = Evidence(
        removed=none, staying=none, texts=_nothing, least=None, again=_nothing,
        refusal=f"at() judges whole documents, and {dropping.unit}s left these",
    )  # fmt: skip
    return Deduplicated(
        survivors=survivors, kept=kept, groups=Clusters(np.zeros(1, np.int64), nothing),
        null_count=int(np.count_nonzero(nulls)), on_null=dropping.on_null,
        removed_ids=nothing, representatives=nothing, similarities=np.empty(0, np.float32),
        evidence=evidence,
        parts=sieve.parts(dropped), left_out=dropping.question.skipped,
    )  # fmt: skip
