"""Deduplicate: the main job in one call, for data of any kind."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from simdb import database
from simdb.core import keeping
from simdb.core.arrays import object_array
from simdb.core.checks import instance, one_of, shown
from simdb.core.choices import (
    DROP,
    KEEP,
    ON_NULL,
    ErrorsName,
    NullName,
    OnError,
    PartName,
    PolicyName,
    VerifyName,
)
from simdb.core.decoding import UTF8, known_encoding
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import FormatError, InputError, NotFoundError, OptionError
from simdb.core.fields import FieldName, checked_field, field_named
from simdb.core.foreign import answering
from simdb.core.options import NO_TIMES, SEEN, Minhash, Options, Simhash
from simdb.core.progress import Progress, report_of
from simdb.core.skipped import Skipped, check_balance
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import bounded, thread_count
from simdb.database import EXACT, STAR, as_list, note_unstorable
from simdb.files import Staying
from simdb.jobs.deduplication import claims, files, within
from simdb.jobs.deduplication.dropping import Dropping, drop_from_files, drop_from_rows
from simdb.jobs.deduplication.question import DedupQuestion, Evidence, least_of, refusal_of
from simdb.jobs.deduplication.reference import Named, Reference, either, unknown
from simdb.jobs.deduplication.references import check_sketch, options_of, reference_of
from simdb.jobs.deduplication.repeat import checked_name
from simdb.jobs.deduplication.result import (
    Deduplicated,
    Given,
    InMemory,
    RowMatches,
    Survivors,
)
from simdb.jobs.deduplication.rows import DataRows, own_ids, rows_of
from simdb.jobs.deduplication.sieve import DOCUMENT, UnitKeys, checked_unit
from simdb.jobs.deduplication.texts import RowTexts, Vectors, readable_texts

DatabaseLike: TypeAlias = "database.Database | str | os.PathLike[str]"


@answering
def deduplicate(
    data: Given,
    *,
    text: FieldName = "text",
    id: Any = None,
    keep: keeping.Keep = "first",
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName = "exact",
    policy: PolicyName = "star",
    against: Any = None,
    db: "database.Database | str | os.PathLike[str] | None" = None,
    run: str | None = None,
    unit: PartName = "document",
    min_words: int | None = None,
    sketch: Simhash | Minhash | None = None,
    options: Options | None = None,
    on_null: NullName = "keep",
    max_share: float | None = None,
    memory: int | None = None,
    encoding: str = UTF8,
    errors: ErrorsName = "strict",
    on_error: OnError = "raise",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Deduplicated[Given]:
    """Remove the near-duplicates from `data`; returns the survivors and what became of the rest.

    `data`: texts in a list or a dict by ids, a frame or Series of pandas or polars, tables of
    Arrow, DuckDB or datasets, an iterable of dicts; a file, folder or pattern, or a list of
    `os.PathLike`, not all in memory; vectors, float[n, d], of a cosine of .95, or ready
    fingerprints, uint64[n] or `Fingerprints`, compared by `distance`.  `text`, `id`: a field, a
    path "a.b", "a|b" (the first) or a tuple (joined); `id` can be a list; else "id" or positions.
    Rows are alike if the exact Jaccard similarity of their shingles is at least `similarity` (0.8).
    verify="numbers": so must be their numbers; "estimate": sketches decide, by `similarity` or
    `distance`.  `policy`, `recall`: see `Database.find_clusters`.  `keep` of a group: the "first",
    "last", "longest", "shortest", by a field ("max:FIELD", "min:FIELD") or a function.

    `against`: like `data`, or a `Database` or its path: rows that match some of it go.  `db`: a
    `Database`, or its path, created if missing.  A row is removed if it matches a stored document
    or a row kept before, or has the id and sketch of a stored one; others are stored, all or none.
    Estimates decide about documents that are no rows.  Without `id`, texts make the ids.  `run`
    names the call: a later call of this name, or without names of the same ids, removes the same.
    `unit`: with "paragraph", "line" or "sentence", parts of at least `min_words` (5) words leave
    the texts if an earlier part has the same words or is alike.  `on_null`: rows without a text are
    kept, or "drop", "error".  `max_share`: if more go, nothing is removed.  `memory`: bytes to
    hold.  Others: see `Database.query_many`.
    """
    rule = _checked_rule(keep, on_null, run, policy, db, against)
    given, count = _options_of(sketch, options, db), thread_count(threads)
    asked = similarity, distance, recall, verify, policy, max_share, errors, count
    more = report_of(progress), None, memory, known_encoding(encoding), Skipped(on_error)
    question = DedupQuestion(*asked, *more)
    if unit != DOCUMENT or min_words is not None:
        least = checked_unit(unit, min_words, _of_documents(question, keep, against, db))
        dropping = Dropping(unit, least, on_null, question)
        return _without_parts(data, text, id, dropping, db, run, given)
    with bounded(count), reference_of(against, data, text, id, question) as reference:
        return _Dedup(text, id, keep, rule, db, run, given, question, on_null, reference).of(data)


def _of_documents(
    question: DedupQuestion, keep: keeping.Keep, against: object, db: object
) -> dict[str, bool]:
    """Return whether each argument is given that has a meaning only for whole documents."""
    return {
        "similarity= with db=": question.similarity is not None and db is not None,
        "distance=": question.distance is not None,
        "recall=": question.recall is not None,
        "max_share=": question.max_share is not None,
        "verify=": question.verify != EXACT,
        "policy=": question.policy != STAR,
        "keep=": keep != keeping.FIRST,
        "against=": against is not None,
    }


def _without_parts(
    data: Any,
    text: FieldName,
    id: Any,
    dropping: Dropping,
    db: "DatabaseLike | None",
    run: str | None,
    given: Options | None,
) -> Deduplicated:
    """Return what is left of data without the parts that occurred before."""
    with bounded(dropping.question.threads), ExitStack() as held:
        stored = None
        if db is not None:
            opened = held.enter_context(_opened(db, given))
            given, transaction = opened.options, held.enter_context(opened.write())
            stored = UnitKeys(transaction, dropping.unit, run)
        sketch = None if given is None else given.sketch
        if (paths := files.paths_of(data)) is not None:
            return drop_from_files(paths, text, id, dropping, sketch, stored)
        rows = rows_of(data, dropping.question.skipped)
        texts = _texts_of(rows, text, dropping.question, sketch)
        texts.checked_nulls(dropping.on_null)
        skipped = dropping.question.skipped
        skipped.named(_ids_of(rows, id, skipped, are_stored=True))
        return drop_from_rows(rows, text, texts, dropping, sketch, stored)


@dataclass(frozen=True, slots=True)
class _Dedup:
    """The arguments of a call, see `deduplicate`; `rule`: what `keep` says."""

    text: FieldName
    id: Any
    keep: keeping.Keep
    rule: keeping.KeepRule
    db: "DatabaseLike | None"
    run: str | None
    own_options: Options | None
    question: DedupQuestion
    on_null: NullName
    reference: Reference | None

    @property
    def given(self) -> Options | None:
        """The options of the database of a reference, or those that were given."""
        return options_of(self.reference, self.own_options)

    @property
    def staying(self) -> Staying:
        """The files of a reference, which no output replaces."""
        return {} if self.reference is None else self.reference.staying

    def of(self, data: Any) -> Deduplicated:
        """Return what becomes of data."""
        question, reference = self.question, self.reference
        if (paths := files.paths_of(data)) is not None:
            given = files.GivenFiles(
                paths, self.text, self.id, self.keep, self.on_null, self.staying
            )
            if self.db is not None:
                return self._of_files(files.FileRows(given, question))
            options = Options() if self.given is None else self.given
            return files.deduplicate_files(given, options, question, reference)
        rows = rows_of(data, question.skipped)
        if isinstance(rows, Vectors):
            return self._of_vectors(rows)
        ids = _ids_of(rows, self.id, question.skipped, are_stored=self.db is not None)
        if self.db is not None and ids is not None:
            note_unstorable(ids, question.skipped)
        sketch = None if self.given is None else self.given.sketch
        texts = _texts_of(rows, self.text, question, sketch)
        is_null, order = texts.checked_nulls(self.on_null), self._order(rows, texts)
        is_read = ~question.skipped.flags(len(rows))
        names, found = self._found(texts, order[(is_read & ~is_null)[order]], ids)
        kept = partial(_chosen, rows, self.text, question.threads, self.staying)
        left_out = question.skipped.named(ids)
        asked = self.on_null, question.silent, self.given, left_out, is_read, reference
        return _GivenRows(kept, texts, names, is_null, *asked).result(found)

    def _of_files(self, rows: files.FileRows) -> Deduplicated[Any]:
        """Return what becomes of the documents of files beside a database."""
        order = rows.order[~rows.is_null[rows.order]]
        names, found = self._found(rows, order, rows.ids)
        question, is_read = self.question, np.ones(len(rows), np.bool_)
        asked = self.on_null, question.silent, self.given, question.skipped.named(), is_read
        return _GivenRows(rows.survivors, rows, names, rows.is_null, *asked).result(found)

    def _of_vectors(self, rows: Vectors) -> Deduplicated[Any]:
        """Return what becomes of vectors, which are compared by their cosine."""
        if self.db is not None:
            raise OptionError("db= takes texts; Database.add_many_if_new stores vectors")
        if self.reference is not None:
            raise OptionError("against= takes texts; Database.query_many compares vectors")
        ids = _ids_of(rows, self.id, self.question.skipped)
        asked = rows.asked(self.question, self.given)
        names = range(len(rows)) if ids is None else ids
        is_read, order = ~self.question.skipped.flags(len(rows)), self._order(rows, rows)
        found = within.find_alike_vectors(rows, order[is_read[order]], self.given, asked)
        none = np.zeros(len(rows), np.bool_)
        kept = partial(_chosen, rows, rows.field, asked.threads, {})
        left_out = self.question.skipped.named(ids)
        given = _GivenRows(
            kept, rows, names, none, KEEP, asked.silent, self.given, left_out, is_read
        )
        return given.result(found.renamed(names))

    def _found(
        self, texts: RowTexts | files.FileRows, order: I64, ids: Sequence[Any] | None
    ) -> tuple[Sequence[Any], RowMatches]:
        """Return the id of each row, and what a search has found out, by these ids."""
        question, reference = self.question, self.reference
        if self.db is not None:
            with _opened(self.db, self.given) as held:
                question.check(held.options.sketch)
                return claims.find_new(held, texts, order, ids, question, self.run)
        options = Options() if self.given is None else self.given
        question.check(options.sketch)
        names: Sequence[Any] = range(len(texts)) if ids is None else ids
        found = within.find_alike(texts, order, options, question, reference)
        if reference is not None and found.leaders is not None:
            names = Named(names, reference, found.leaders)
        return names, found.renamed(names)

    def _order(self, rows: DataRows, texts: RowTexts | Vectors) -> I64:
        """Return the positions of all rows, those to be preferred first: int64[n]."""
        rule, keep = self.rule, self.keep

        def values() -> Sequence[Any]:
            if isinstance(keep, str):
                return rows.column(rule.field)
            return [keep(row) for row in rows.records()]

        return keeping.order_of(
            rule, len(texts), sizes=texts.sizes, values=values,
            where=lambda row: f"row {row} of data",
        )  # fmt: skip


def _checked_rule(
    keep: keeping.Keep, on_null: str, run: object, policy: str, db: object, against: object
) -> keeping.KeepRule:
    """Return what `keep` says; OptionError for a wrong word, or one that does not go with others.

    `db`, `against`: None if they are not given.
    """
    one_of("on_null", on_null, ON_NULL)
    if db is not None and against is not None:
        raise OptionError(
            "against= compares with a reference and stores nothing, and db= stores what is new;"
            " give one of the two"
        )
    for name, value in {"db": db, "against": against}.items():
        if value is not None and policy != STAR:
            raise OptionError(
                f"policy={policy!r} works only without {name}=, where rows are grouped; with it, a"
                " row is removed if it matches one that stays"
            )
    if run is not None:
        if db is None:
            raise OptionError("run= names a run for db=; give both, or neither")
        checked_name(run, "run=")
    return keeping.parse(keep)


def _texts_of(
    rows: DataRows, text: FieldName, question: DedupQuestion, sketch: Simhash | Minhash | None
) -> RowTexts:
    """Return the texts of all rows; none have no fields."""
    how = question.skipped, sketch, question.encoding, question.errors
    return readable_texts(rows.texts(checked_field("text", text)), *how)


def _ids_of(
    rows: DataRows, id: Any, skipped: Skipped, *, are_stored: bool = False
) -> Sequence[Any] | None:
    """Return the ids of all rows, by the argument `id`; None if they have none.

    InputError for an id of two rows, unless they `are_stored`: then equal texts are one document.
    `skipped` takes rows whose ids are no ids, if it is allowed; otherwise they are an InputError.
    """
    if id is None:
        return own_ids(rows)
    is_named = isinstance(id, str) or (isinstance(id, tuple) and _has_fields(rows, id))
    ids = rows.column(id) if is_named else as_list(id, "id")
    if len(ids) != len(rows):
        raise InputError(f"there are {len(rows)} rows but {len(ids)} ids in id=")
    seen: set[Any] = set()
    for row, each in enumerate(() if are_stored else ids):
        if isinstance(each, list | dict | set | np.ndarray):
            reason = f"has the id {shown(each)} ({type(each).__name__}), not str, bytes or int"
            if not skipped.is_allowed:
                raise InputError(f"row {row} {reason}")
            skipped.add(row, each, reason)
        elif each in seen and not keeping.is_missing(each):
            raise InputError(
                f"the id {each!r} of row {row} is that of an earlier row; give each row an id of"
                " its own, or leave out id="
            )
        else:
            seen.add(each)
    return ids


def _has_fields(rows: DataRows, names: Sequence[Any]) -> bool:
    """Return whether a tuple names fields of rows; otherwise it has their ids."""
    named: Any = dict.fromkeys(rows.names, True)
    first: Any = named or next(rows.records(), None)
    is_field = all(isinstance(name, str) for name in names) and isinstance(first, Mapping)
    return is_field and not field_named(tuple(names)).lacking(first)


def _options_of(
    sketch: Simhash | Minhash | None, options: Options | None, db: object
) -> Options | None:
    """Return the options that the two arguments mean, in a database `db`; None for neither."""
    if sketch is not None:
        instance("sketch", sketch, TextSketch, "simdb.Simhash() or simdb.Minhash()")
        if options is not None:
            raise OptionError("give sketch= or options=, not both; options have a sketch")
        return Options(sketch=sketch, keep_times=NO_TIMES if db is None else SEEN)
    if options is not None:
        instance("options", options, Options, "simdb.Options()")
    return options


@contextmanager
def _opened(db: "DatabaseLike", given: Options | None) -> Iterator[database.Database]:
    """Yield the database `db`, opened or created if it is a path, and closed afterwards."""
    if isinstance(db, database.Database):
        check_sketch(db, given)
        yield db
        return
    try:
        held = database.open(db, "w")
    except (NotFoundError, FormatError):
        # A call that was interrupted while it created the database left a directory without
        # contents.  Mode "c" takes that, and refuses all else that is no database.
        # Documents that were not seen for long can be dropped later without foresight.
        made = Options(keep_times=SEEN) if given is None else given
        held = database.open(db, "c", options=made)
    with held:
        check_sketch(held, given)
        yield held


def _chosen(
    rows: DataRows, text: FieldName, threads: int | None, staying: Staying, kept: Bools
) -> Survivors:
    """Return the rows that stay; `text`: the field of the texts."""
    return InMemory(rows.chosen(kept), text, threads, staying)


@dataclass(frozen=True, slots=True)
class _GivenRows:
    """Some rows with their texts and their names, which are ids or positions.

    `left_out`: what could not be read; `is_read` bool[n]: the rows that are not among it.
    `survivors` returns the rows that stay; `is_null` bool[n]: the rows without a text, see
    `on_null`; `question`, `options`: what a search was asked, and the options given; `reference`:
    what they were compared with, None for nothing.
    """

    survivors: Callable[[Bools], Survivors]
    texts: RowTexts | files.FileRows | Vectors
    names: Sequence[Any]
    is_null: Bools
    on_null: str
    question: DedupQuestion
    options: Options | None
    left_out: Skipped
    is_read: Bools
    reference: Reference | None = None

    def result(self, found: RowMatches) -> Deduplicated:
        """Return what becomes of the rows."""
        kept = self.is_read.copy()
        kept[found.removed] = False
        staying = self._staying(found, kept) if found.leaders is None else found.leaders
        if self.on_null == DROP:
            kept &= ~self.is_null
        dropped = int(np.count_nonzero(self.is_null)) if self.on_null == DROP else 0
        check_balance(
            len(kept), kept=int(np.count_nonzero(kept)), removed=len(found.removed),
            dropped=dropped, skipped=int(np.count_nonzero(~self.is_read)),
        )  # fmt: skip
        return Deduplicated(
            survivors=self.survivors(kept),
            kept=kept,
            left_out=self.left_out,
            groups=found.groups,
            null_count=int(np.count_nonzero(self.is_null)),
            on_null=self.on_null,
            removed_ids=object_array([self.names[row] for row in found.removed.tolist()]),
            representatives=object_array(found.representatives),
            similarities=found.similarities,
            evidence=Evidence(
                found.removed, staying, self._texts_at, self._least(found),
                partial(self._again, found),
                refusal_of(self.question.policy, has_database=found.leaders is None),
                None if self.options is None else self.options.sketch,
            ),
            verification=found.groups.verification,
            is_reference=None if self.reference is None else staying < 0,
        )  # fmt: skip

    def _again(self, found: RowMatches, is_chosen: Bools) -> Deduplicated:
        """Return the same result with only some of the duplicates removed."""
        return self.result(found.chosen(is_chosen, self.names))

    def _texts_at(self, rows: I64) -> Any:
        """Return the texts of rows, and of what is in the reference; None for stored documents."""
        other = unknown if self.reference is None else self.reference.texts
        return either(rows, self.texts.at, other)

    def _least(self, found: RowMatches) -> float | None:
        """Return the least similarity of rows that match; see `Evidence`."""
        options = Options() if self.options is None else self.options
        # A database has options of its own.
        usual = None if found.leaders is None else options.similarity
        return least_of(self.question, found.groups.verification, usual)

    def _staying(self, found: RowMatches, kept: Bools) -> I64:
        """Return the row with the id of each representative, -1 if no row that stays has it."""
        row_of = {self.names[row]: row for row in np.flatnonzero(kept).tolist()}
        rows = [row_of.get(id, -1) for id in found.representatives]
        return np.array(rows, np.int64)
