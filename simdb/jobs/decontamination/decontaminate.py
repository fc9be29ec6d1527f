"""Decontaminate: the function `simdb.decontaminate`, for data of any kind."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from simdb import files
from simdb.core import choices, keeping
from simdb.core.arrow import ByteColumn, Texts, id_text
from simdb.core.checks import one_of
from simdb.core.choices import DROP as DROP_NULLS
from simdb.core.decoding import UTF8, as_text, known_encoding
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import Field, FieldName, checked_field, field_named, value_text
from simdb.core.foreign import answering
from simdb.core.memory import Budget, budget_of
from simdb.core.options import Minhash, Simhash
from simdb.core.progress import Progress, Report, report_of
from simdb.core.skipped import Skipped
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import mapped
from simdb.database import numbered
from simdb.jobs.decontamination.items import NGRAM, ItemPart, Items, LeakRule, Scan
from simdb.jobs.decontamination.judge import LeakJudge
from simdb.jobs.decontamination.result import (
    Decontaminated,
    FoundLeak,
    Leak,
    leaks_of,
    marks,
    without,
)
from simdb.jobs.deduplication.files import KeptDocuments, opened, paths_of, reading_of, records_of
from simdb.jobs.deduplication.reference import ids_in, naming
from simdb.jobs.deduplication.result import Given, InMemory, Survivors
from simdb.jobs.deduplication.rows import (
    DataRows,
    Records,
    RowTexts,
    Values,
    own_ids,
    readable_texts,
    rows_of,
)
from simdb.sketch import WordOrder, sketch_of_texts

JUDGED_DOCUMENTS = 256
ACTIONS = DROP, CUT, MARK = ("drop", "cut", "mark")
MARKS_FIELD = "leaks"  # of a marked record


@answering
def decontaminate(
    data: Given,
    *,
    against: Any = None,
    text: FieldName = "text",
    id: FieldName | None = None,
    fields: str | Sequence[FieldName] | None = None,
    coverage: float = 0.5,
    ngram: int = NGRAM,
    common: float = 1e-4,
    numbers: choices.NumbersName = "same",
    action: choices.ActionName = "drop",
    sketch: Simhash | Minhash | None = None,
    on_null: choices.NullName = "keep",
    encoding: str = UTF8,
    errors: choices.ErrorsName = "strict",
    on_error: choices.OnError = "raise",
    threads: int | Budget | None = None,
    progress: Progress | None = None,
) -> Decontaminated[Given]:
    """Remove the documents that contain items of a reference, such as a test set.

    Parameters
    ----------
    data : list, dict, frame, table, dataset, path, pattern or list of os.PathLike
        Texts, rows or files; see `simdb.deduplicate`.  Texts of files are not held in memory.
    against : list, dict, frame, table, dataset, path or pattern
        The reference; it must fit in memory.
    text : str or tuple, default "text"
        The field with the text; see `simdb.deduplicate`.  In items, a field can also be a number or
        a list of texts.
    id : str or tuple, optional
        The field with the id.  By default, the position of the text, or its key in a dict.  In
        files, the field "id", or FILE:LINE without one.
    fields : str or list, optional
        The fields of an item to look for: separately, as in ["question", "answer"], or joined, as
        in [("question", "answer")].  By default, `text`.
    coverage : float, default 0.5
        The share of an item's words that must be in passages near one another in a document.
        Items under 30 words need up to .3 more, and items of 5-7 words need all their words.
    ngram : int, default 5
        Number of consecutive equal words that start a passage.  The passage extends over changed
        words.
    common : float, default 0.0001
        A share that limits how frequent an n-gram may be.  Words count only if they are in an
        n-gram that at most 10 documents, or at most this share of them, have.  N-grams in more than
        10 items, and in more than this share of them, are ignored.
    numbers : {"same", "any"}, default "same"
        With "same", a document with other numbers in place of the item's numbers does not match.
    action : {"drop", "cut", "mark"}, default "drop"
        "drop" removes documents that have an item.  "cut" removes the shared passages, and texts
        that are then empty.  "mark" adds the field "leaks".
    sketch : Simhash or Minhash, optional
        How texts are cleaned and cut into words.
    on_null : {"keep", "drop", "error"}, default "keep"
        What to do with rows without a text.
    encoding : str, default "utf-8"
        The encoding of bytes and files; see `Database.query`.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `Database.query`.
    on_error : {"raise", "skip"} or callable, default "raise"
        What to do with a row that cannot be read; see `Database.insert_many`.
    threads : int or Budget, optional
        Number of threads, and limit on memory; see `simdb.deduplicate`.
    progress : callable or True, optional
        Called with the number of documents; see `Database.insert_many`.

    Returns
    -------
    Decontaminated
        `data` has the kept documents, and `found` a `Leak` for each item in each document.

    Raises
    ------
    InputError
        If data or rows cannot be read, or the reference has no items.
    OptionError
        If an argument is invalid, or does not suit the data.

    Warns
    -----
    RuntimeWarning
        If items were not looked for, because they have fewer than 5 or fewer than `ngram` words, or
        because all their n-grams are ignored.

    Notes
    -----
    Markup (tags, entities, commands of LaTeX) does not count as words.  A word that f items have
    with the same neighbours has the weight 1 / f^2.

    Examples
    --------
    >>> item = "which of these four rivers flows through the capital of the neighbouring country"
    >>> documents = ["A quiz asks: " + item + "?", "a page about ships and their harbours"]
    >>> simdb.decontaminate(documents, against=[item]).data
    ['a page about ships and their harbours']
    """
    rule = LeakRule(ngram, coverage, common, numbers)
    one_of("action", action, ACTIONS)
    one_of("on_null", on_null, choices.ON_NULL)
    count, memory = budget_of(threads)
    cutting = sketch_of_texts("decontaminate", sketch, data, against)
    text = checked_field("text", text, "action='cut'" * (action == CUT))
    skipped, how = Skipped(on_error), (known_encoding(encoding), errors)
    parts = parts_of(against, text, id, fields, *how, skipped.other())
    search = ItemSearch(parts, cutting, rule, errors=errors, threads=count)
    staying = {"in against=": files.expanded(paths_of(against) or ())}
    call = _CleaningCall(search, text, id, action, on_null, report_of(progress), staying, skipped)
    if (paths := paths_of(data)) is not None:
        reading = reading_of(id, text, *how, on_null, threads=count, memory=memory)
        return call.of_files(paths, reading)
    rows = rows_of(data, skipped)
    texts = readable_texts(rows.texts(text), skipped, cutting, *how)
    return call.of_rows(rows, texts)


class ItemSearch:
    """The items, and the documents so far that may have them."""

    def __init__(
        self,
        parts: Sequence[ItemPart],
        sketch: TextSketch,
        rule: LeakRule,
        *,
        errors: str,
        threads: int,
    ) -> None:
        """Look for `parts`.

        Raises OptionError for a sketch without words, InputError for a bad part.
        """
        self._order = WordOrder(sketch, marked=True)
        self.items = Items(parts, self._order, rule, errors)
        self._rule, self._threads = rule, threads
        self._scan = Scan(self.items, self._order, errors)
        self.documents = 0

    @property
    def words(self) -> int:
        """The number of words of the documents."""
        return self._scan.words

    def read(self, batches: Iterable[Texts]) -> Iterator[int]:
        """Add all documents; yield the number of documents so far."""
        for found in mapped(lambda some: self._scan.look(*some), numbered(batches), self._threads):
            self._scan.add(found)
            self.documents += len(found[0].has_any)
            yield self.documents

    def leaks(
        self, texts: Callable[[I64], Texts], ids: Callable[[I64], Sequence[Any]]
    ) -> dict[int, list[Leak]]:
        """Return the leaks of each document, by the positions of documents.

        `texts` and `ids` return the texts and the ids at given positions.
        """
        judge = LeakJudge(self.items, self._order, self._scan, self.documents, self._rule)
        positions = np.flatnonzero(self._scan.has_any)
        cuts = range(0, len(positions), JUDGED_DOCUMENTS)
        parts = (positions[at : at + JUDGED_DOCUMENTS] for at in cuts)
        found: list[FoundLeak] = []
        for some in mapped(
            lambda some: self._judged(judge, *some),
            ((part, texts(part)) for part in parts),
            self._threads,
        ):
            found += some
        leaks: dict[int, list[Leak]] = defaultdict(list)
        places = [position for position, _ in found]
        for (position, make), id in zip(found, ids(np.array(places, np.int64)), strict=True):
            leaks[position].append(make(id=id))
        return dict(leaks)

    def _judged(self, judge: LeakJudge, positions: I64, texts: Texts) -> list[FoundLeak]:
        found = judge.judge(texts, positions)
        places = {position: at for at, position in enumerate(positions.tolist())}
        leaking = {each.document: texts[places[each.document]] for each in found}
        return leaks_of(found, leaking, self.items, self._order)


class DecontaminationRun(ExitStack):
    """The documents of one run, by their positions in the input; `with` frees them."""

    def __init__(
        self, search: ItemSearch, origins: files.Origins, output: files.SurvivorOutput | None
    ) -> None:
        """Look for the items of `search`.

        `origins`: the places of lines that can be read again.  `output`: where documents will be
        written, None for nowhere.
        """
        super().__init__()
        self._search, self._output = search, output
        self.names = self.enter_context(files.Names())
        self._texts = self.enter_context(files.TextsAgain(origins))
        self.lines = self.enter_context(files.LinesAgain(origins, output))

    def clean(
        self,
        batches: Iterable[files.Batch],
        action: str,
        sources: Sequence[str],
        text: FieldName,
        *,
        report: Callable[[int], object] | None = None,
        begin: Callable[[str], object] | None = None,
    ) -> Bools:
        """Read all documents, and return whether each is kept: bool[n].

        Cuts or marks records as `action` says.  `sources`: the files of the documents.  `text`: the
        field with the text.  `report` is called with the number of documents so far, and `begin`
        with the name of the second stage.
        """
        for done in self._search.read(map(self._noted, batches)):
            if report is not None:
                report(done)
        if begin is not None:
            begin("comparing documents with items")
        self._own = self._search.leaks(
            lambda places: self._texts.texts(places.astype(np.uint32)),
            lambda places: self.names.of(places, as_read=True),
        )
        return self._kept(action, sources, field_named(text))

    def result(self, survivors: Survivors, kept: Bools, left_out: Skipped) -> Decontaminated:
        """Return the result, with the kept documents."""
        return _result(survivors, kept, self._own, self._search, left_out)

    def _kept(self, action: str, sources: Sequence[str], wanted: Field) -> Bools:
        own, positions = self._own, np.array(sorted(self._own), np.int64)
        is_kept = np.ones(self._search.documents, np.bool_)
        if action == DROP:
            is_kept[positions] = False
            return is_kept

        def changed(position: int, row: files.Row) -> files.Row:
            if action == MARK:
                return {**row, MARKS_FIELD: marks(own[position])}
            rest = without(wanted.of(row), own[position])
            is_kept[position] = bool(rest.strip())
            return wanted.replaced(row, rest)

        if self._output is not None:
            self.lines.change(positions, sources, changed)
        return is_kept

    def _noted(self, batch: files.Batch) -> Texts:
        """Note how to read a batch again, and return its texts."""
        for each in (self.names, self.lines, self._texts):
            each.add(batch)
        return batch.texts


def parts_of(
    against: Any,
    text: FieldName,
    id: FieldName | None,
    fields: str | Sequence[FieldName] | None,
    encoding: str,
    errors: str,
    skipped: Skipped,
) -> list[ItemPart]:
    """Return the items to look for, in parts by their fields.

    Raises InputError if there are none.
    """
    if against is None:
        raise OptionError(
            "decontaminate needs against=, the items to look for in data, such as a test set:"
            " texts, rows, a frame or paths"
        )
    several = fields if isinstance(fields, list | tuple) else [text if fields is None else fields]
    if not several:
        raise OptionError("fields must be the name of a field, or a list of names, got none")
    names = [checked_field("fields", name) for name in several]
    if (paths := paths_of(against)) is not None:
        reading = reading_of(id, text, encoding, errors, choices.KEEP)
        parts = parts_of_files(paths, names, reading, skipped)
    else:
        with naming():
            parts = _parts_of_rows(rows_of(against, skipped), names, id, encoding, errors, skipped)
    skipped.warn("against")
    return parts


def parts_of_files(
    paths: Sequence[str], names: Sequence[FieldName], reading: files.SourceOptions, skipped: Skipped
) -> list[ItemPart]:
    """Return the items in files, in parts by the fields `names`.

    `skipped` takes unreadable records, if it is allowed; otherwise they raise InputError.
    """
    names = [field_named(name).label for name in names]  # their names in records
    records, id = records_of(paths, names, reading, skipped), field_named(reading.id_field).label
    if not records and len(skipped):
        raise InputError(skipped.first)
    how = reading.encoding, reading.errors, skipped
    return _parts_of_rows(Records(records), names, id, *how)


def _parts_of_rows(
    rows: DataRows,
    names: Sequence[FieldName],
    id: FieldName | None,
    encoding: str,
    errors: str,
    skipped: Skipped,
) -> list[ItemPart]:
    if not len(rows):
        raise InputError("against has no items")
    ids = ids_in(rows, id)
    parts: list[ItemPart] = []
    for name in names:
        values = rows.texts(name) if isinstance(rows, Values) else rows.column(name)
        if isinstance(values, ByteColumn):
            values = readable_texts(values, skipped, None, encoding, errors).every()
        label = field_named(name).label
        for row, (item, value) in enumerate(zip(ids, values, strict=True)):
            try:
                parts += list(_parts(item, label, value, encoding, errors))
            except InputError as error:
                if not skipped.is_allowed:
                    raise
                skipped.add(row, item, error)
    if not parts and len(skipped):
        raise InputError(skipped.first)
    return parts


def _parts(item: Any, name: str, value: Any, encoding: str, errors: str) -> Iterator[ItemPart]:
    """Yield a part for a text or number, one for each text of a list, and none for a null."""
    if isinstance(value, str) and errors == "strict":
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"item {item!r} has a lone surrogate in the field {name!r}; use errors='replace'"
            ) from error
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    value = as_text(value, encoding, errors, f"item {item!r}")
    if isinstance(value, str):
        yield ItemPart(item, name, value)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _parts(item, name, each, encoding, errors)
    elif isinstance(value, Number) and not keeping.is_missing(value):
        is_json = isinstance(value, int | float)
        yield ItemPart(item, name, value_text(value) if is_json else str(value))
    elif not keeping.is_missing(value):
        raise InputError(
            f"item {item!r} has {type(value).__name__} {value!r:.50} in the field {name!r}, where"
            " a text should be; fields= names the fields with texts"
        )


class _CleaningCall(NamedTuple):
    """The arguments of a call; see `decontaminate`.

    `staying`: the files that no output may replace.
    """

    search: ItemSearch
    text: FieldName
    id: FieldName | None
    action: str
    on_null: str
    report: Report | None
    staying: files.Staying
    skipped: Skipped

    def of_rows(self, rows: DataRows, texts: RowTexts) -> Decontaminated:
        """Return the result for rows."""
        is_null, search = texts.checked_nulls(self.on_null), self.search
        if self.action == MARK and isinstance(rows, Values):
            raise OptionError(
                "action='mark' adds a field, and texts have none; give rows with fields"
            )
        id = None if isinstance(rows, Values) else self.id
        ids = own_ids(rows) if id is None else rows.column(id)
        for done in search.read(texts.batches()):
            if self.report is not None:
                self.report(done)
        leaks = search.leaks(
            texts.filled,
            lambda places: places.tolist() if ids is None else [ids[at] for at in places.tolist()],
        )
        kept = ~self.skipped.flags(len(texts))
        if self.on_null == DROP_NULLS:
            kept &= ~is_null
        data = self._changed(rows, texts, leaks, kept)
        held = InMemory(data, self.text, staying=self.staying)
        return _result(held, kept, leaks, search, self.skipped.named(ids))

    def of_files(self, paths: Sequence[str], reading: files.SourceOptions) -> Decontaminated:
        """Return the result for the documents in files."""
        with ExitStack() as held:
            read = opened(paths, reading, held, self.skipped, self.staying)
            run = DecontaminationRun(self.search, read.origins, read.survivors(None))
            held.push(run)
            text, batches = reading.text_field, read.batches()
            kept = run.clean(batches, self.action, read.sources, text, report=self.report)
            if self.on_null == DROP_NULLS:
                kept &= ~read.nulls
            survivors = KeptDocuments(read, run.lines, kept, held.pop_all())
            return run.result(survivors, kept, self.skipped.named())

    def _changed(
        self, rows: DataRows, texts: RowTexts, own: dict[Any, list[Leak]], kept: Bools
    ) -> Any:
        """Return the data of the result, and clear the flags of removed rows in `kept`."""
        if self.action == DROP:
            kept[list(own)] = False
            return rows.chosen(kept)
        if self.action == MARK:
            if not isinstance(rows, Records):
                own = _of_one_type(own)
            found = [marks(own[at]) if at in own else None for at in range(len(rows))]
            return rows_of(rows.with_field(MARKS_FIELD, found)).chosen(kept)
        whole = zip(own.items(), texts.at(np.array([*own], np.int64)), strict=True)
        rests = {at: without(each, leaks) for (at, leaks), each in whole}
        kept[[at for at, rest in rests.items() if not rest.strip()]] = False
        return rows_of(rows.with_field(self.text, texts.changed(rests))).chosen(kept)


def _of_one_type(own: dict[Any, list[Leak]]) -> dict[Any, list[Leak]]:
    """Return the leaks of each row, with items as text if their ids have several types."""
    if len({type(leak.item) for leaks in own.values() for leak in leaks}) < 2:
        return own
    return {
        at: [replace(leak, item=id_text(leak.item)) for leak in leaks] for at, leaks in own.items()
    }


def _result(
    survivors: Survivors,
    kept: Bools,
    leaks: dict[int, list[Leak]],
    search: ItemSearch,
    left_out: Skipped,
) -> Decontaminated:
    """Return the result of a search, with the kept documents and the leaks of each document."""
    every = [leak for own in leaks.values() for leak in own]
    found = {leak.item for leak in every}
    items = search.items
    leaked = [item for item in items.ids if item in found]
    return Decontaminated(
        survivors=survivors, kept=kept, found=every, items=len(items.ids), leaked=leaked,
        short=items.short, common=items.common, words=search.words, left_out=left_out,
    )  # fmt: skip
