"""Decontaminate: whether the test is in the training data, in one call, for data of any kind."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from numbers import Number
from typing import Any

import numpy as np

from simdb.core import keeping
from simdb.core.arrow import ByteColumn, id_text
from simdb.core.checks import instance, one_of, share, whole
from simdb.core.choices import (
    DROP as DROP_NULLS,
    KEEP,
    ON_NULL,
    ActionName,
    ErrorsName,
    NullName,
    OnError,
)
from simdb.core.decoding import UTF8, as_text, known_encoding
from simdb.core.dtypes import Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import FieldName, checked_field, field_named, value_text
from simdb.core.memory import check_memory
from simdb.core.options import Minhash, Simhash
from simdb.core.progress import Progress, Report, report_of
from simdb.core.skipped import Skipped
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import thread_count
from simdb.files import SourceOptions, Staying, expanded
from simdb.jobs.decontamination.items import ItemPart, LeakRule
from simdb.jobs.decontamination.result import Decontaminated, Leak, marks, without
from simdb.jobs.decontamination.search import (
    ACTIONS,
    CUT,
    DROP,
    MARK,
    MARKS_FIELD,
    DecontaminationRun,
    ItemSearch,
    by_document,
)
from simdb.jobs.deduplication.files import KeptDocuments, opened, paths_of, reading_of, records_of
from simdb.jobs.deduplication.references import ids_in
from simdb.jobs.deduplication.result import InMemory, Survivors
from simdb.jobs.deduplication.rows import DataRows, Records, Values, own_ids, rows_of
from simdb.jobs.deduplication.texts import RowTexts, readable_texts

NGRAM_LEAST, NGRAM_MOST = 2, 32  # words


def decontaminate(
    data: Any,
    *,
    against: Any = None,
    text: FieldName = "text",
    id: FieldName | None = None,
    fields: str | Sequence[FieldName] | None = None,
    ngram: int = 13,
    coverage: float = 0.5,
    min_hits: int = 8,
    common: float = 1e-4,
    action: ActionName = "drop",
    sketch: Simhash | Minhash | None = None,
    on_null: NullName = "keep",
    memory: int | None = None,
    encoding: str = UTF8,
    errors: ErrorsName = "strict",
    on_error: OnError = "raise",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Decontaminated:
    """Find the items of `against`, such as a test set, in `data`, and remove what has them.

    `data`, `against`: texts, rows or paths, as `simdb.deduplicate` takes them; `against` has to fit
    in memory, of `data` in files no text stays there.  `text`, `id`: the fields with texts and ids;
    without `id`, ids are positions, of files "id" or FILE:LINE.  Texts without fields have
    positions in any case, those of a dict its keys.  `fields`: the fields of an item to look for,
    each by itself (["question", "answer"]) or joined ([("question", "answer")]); `text` if not
    given.  A field can be a list of texts; numbers are texts, too.

    An item and a document are compared if they share a run of `ngram` words, or all words of a
    shorter item; every such run is found.  From these runs, passages grow over up to three changed
    words in a row.  An n-gram is common if more than 10 and more than the share `common` of the
    documents, or of the items, have it.  A document has an item if its passages have at least the
    share `coverage` of the item's words that are in no common n-gram, and span `min_hits` n-grams
    of the item that are not common (or all, if there are fewer).  An item of which nearly all is
    common must be there nearly whole.  Items of fewer than five words are not looked for.

    `action`: "drop" leaves out documents that have an item; "cut" takes the shared passages out of
    their texts, and leaves out what is empty then; "mark" adds the field "leaks".  `sketch`: how
    texts are cut and cleaned.  Others: see `deduplicate`; a warning tells of items left out.
    """
    rule = checked_rule(ngram, coverage, min_hits, common)
    one_of("action", action, ACTIONS)
    one_of("on_null", on_null, ON_NULL)
    check_memory("memory", memory)
    cutting = Simhash() if sketch is None else sketch
    instance("sketch", cutting, TextSketch, "simdb.Simhash()")
    text = checked_field("text", text, "action='cut'" * (action == CUT))
    skipped, how = Skipped(on_error), (known_encoding(encoding), errors)
    parts = parts_of(against, text, id, fields, *how, skipped.other())
    report, count = report_of(progress), thread_count(threads)
    search = ItemSearch(parts, cutting, rule, ngram=ngram, errors=errors, threads=count)
    staying = {"in against=": expanded(paths_of(against) or ())}
    if (paths := paths_of(data)) is not None:
        reading = reading_of(id, text, *how, on_null, threads=threads, memory=memory)
        return _of_files(paths, reading, search, action, on_null, report, staying, skipped)
    rows = rows_of(data, skipped)
    texts = readable_texts(rows.texts(text), skipped, cutting, *how)
    return _of_rows(rows, texts, text, id, search, action, on_null, report, staying, skipped)


def checked_rule(ngram: int, coverage: float, min_hits: int, common: float) -> LeakRule:
    """Return the rule that the arguments mean; OptionError for a wrong one."""
    whole("ngram", ngram, NGRAM_LEAST, NGRAM_MOST)
    share("coverage", coverage)
    whole("min_hits", min_hits, 1, 1 << 20)
    share("common", common)
    return LeakRule(coverage, min_hits, common)


def parts_of(
    against: Any,
    text: FieldName,
    id: FieldName | None,
    fields: str | Sequence[FieldName] | None,
    encoding: str,
    errors: str,
    skipped: Skipped,
) -> list[ItemPart]:
    """Return the items that are looked for, by their fields; InputError if there are none."""
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
        reading = reading_of(id, text, encoding, errors, KEEP)
        parts = parts_of_files(paths, names, reading, skipped)
    else:
        parts = _parts_of_rows(rows_of(against, skipped), names, id, encoding, errors, skipped)
    skipped.warn("against")
    return parts


def parts_of_files(
    paths: Sequence[str], names: Sequence[FieldName], reading: SourceOptions, skipped: Skipped
) -> list[ItemPart]:
    """Return the items in files, by the fields `names`; InputError for what cannot be read.

    `skipped` takes the records that cannot be read, if it is allowed.
    """
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
    """Yield a part for a text or a number, none for a null, and one for each text of a list."""
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


def _of_rows(
    rows: DataRows,
    texts: RowTexts,
    text: FieldName,
    id: FieldName | None,
    search: ItemSearch,
    action: str,
    on_null: str,
    report: Report | None,
    staying: Staying,
    skipped: Skipped,
) -> Decontaminated:
    is_null = texts.checked_nulls(on_null)
    if action == MARK and isinstance(rows, Values):
        raise OptionError("action='mark' adds a field, and texts have none; give rows with fields")
    ids = own_ids(rows) if id is None or isinstance(rows, Values) else rows.column(id)

    for done in search.read(texts.batches()):
        if report is not None:
            report(done)
    leaks = search.leaks(texts.filled)
    kept = ~skipped.flags(len(texts))
    if on_null == DROP_NULLS:
        kept &= ~is_null
    own = by_document(leaks)
    data = _changed_rows(rows, texts, text, own, action, kept)
    named = leaks if ids is None else [replace(leak, id=ids[leak.id]) for leak in leaks]
    held = InMemory(data, text, staying=staying)
    return result(held, kept, named, search, skipped.named(ids))


def _changed_rows(
    rows: DataRows,
    texts: RowTexts,
    text: FieldName,
    own: dict[Any, list[Leak]],
    action: str,
    kept: Bools,
) -> Any:
    """Return what stays of rows, and take what does not out of `kept`."""
    if action == DROP:
        kept[list(own)] = False
        return rows.chosen(kept)
    if action == MARK:
        if not isinstance(rows, Records):
            own = _of_one_type(own)
        found = [marks(own[at]) if at in own else None for at in range(len(rows))]
        return rows_of(rows.with_field(MARKS_FIELD, found)).chosen(kept)
    whole = zip(own.items(), texts.at(np.array([*own], np.int64)), strict=True)
    rests = {at: without(each, leaks) for (at, leaks), each in whole}
    kept[[at for at, rest in rests.items() if not rest.strip()]] = False
    return rows_of(rows.with_field(text, texts.changed(rests))).chosen(kept)


def _of_one_type(own: dict[Any, list[Leak]]) -> dict[Any, list[Leak]]:
    """Return the leaks of each row; if the ids of their items are of several types, as text."""
    if len({type(leak.item) for leaks in own.values() for leak in leaks}) < 2:
        return own
    return {
        at: [replace(leak, item=id_text(leak.item)) for leak in leaks] for at, leaks in own.items()
    }


def _of_files(
    paths: Sequence[str],
    reading: SourceOptions,
    search: ItemSearch,
    action: str,
    on_null: str,
    report: Report | None,
    staying: Staying,
    skipped: Skipped,
) -> Decontaminated:
    with ExitStack() as held:
        files = opened(paths, reading, held, skipped, staying)
        run = held.enter_context(DecontaminationRun(search, files.origins, files.survivors(None)))
        for done in run.read(files.batches()):
            if report is not None:
                report(done)
        leaks = run.leaks()
        kept = run.kept(leaks, action, list(files.sources), reading.text_field)
        if on_null == DROP_NULLS:
            kept &= ~files.nulls
        survivors = KeptDocuments(files, run.lines, kept, held.pop_all())
        return result(survivors, kept, run.named(leaks), search, skipped.named())


def result(
    survivors: Survivors, kept: Bools, leaks: Sequence[Leak], search: ItemSearch, left_out: Skipped
) -> Decontaminated:
    """Return the result of a search, given what stays and the leaks by ids."""
    found = {leak.item for leak in leaks}
    items = search.items
    leaked = [item for item in items.ids if item in found]
    return Decontaminated(
        survivors=survivors, kept=kept, found=leaks, items=len(items.ids), leaked=leaked,
        short=items.short, words=search.words, left_out=left_out,
    )  # fmt: skip
