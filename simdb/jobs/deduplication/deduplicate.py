"""Deduplicate: the function `simdb.deduplicate`, for data of any kind."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from simdb import database
from simdb.core import choices, keeping
from simdb.core.arrays import object_array
from simdb.core.checks import instance, lose_of, one_of, shown
from simdb.core.clusters import Clusters
from simdb.core.decoding import UTF8, known_encoding
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import Error, FormatError, InputError, NotFoundError, OptionError
from simdb.core.fields import FieldName, checked_field, field_named
from simdb.core.foreign import answering
from simdb.core.memory import Budget, budget_of
from simdb.core.options import DOCUMENT, NO_TIMES, SEEN, AnySketch, Bits, Options, Unit
from simdb.core.progress import Progress, report_of
from simdb.core.skipped import Skipped, check_balance
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import bounded
from simdb.core.values import dataclass, replace
from simdb.database import as_list, note_unstorable
from simdb.files import Staying
from simdb.jobs.deduplication import claims, files, within
from simdb.jobs.deduplication.files import KeptDocuments
from simdb.jobs.deduplication.job import DedupJob, SecondLook, run_job
from simdb.jobs.deduplication.question import (
    DedupQuestion,
    Evidence,
    NamesAt,
    TextSource,
    check_together,
    least_of,
    refusal_of,
)
from simdb.jobs.deduplication.reference import (
    Reference,
    check_sketch,
    either,
    options_of,
    reference_of,
    unknown,
)
from simdb.jobs.deduplication.result import (
    Deduplicated,
    Given,
    InMemory,
    Parts,
    RowMatches,
    Survivors,
    found_of,
)
from simdb.jobs.deduplication.rows import (
    DataRows,
    RowHashes,
    RowTexts,
    Vectors,
    own_ids,
    readable_texts,
    rows_of,
)
from simdb.jobs.deduplication.sieve import Sieve, UnitKeys, checked_unit
from simdb.sketch import hash_bits, likely_bits

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
    rule: choices.RuleName = "similar",
    lose: int = 0,
    verify: choices.VerifyName = "exact",
    policy: choices.PolicyName = "star",
    against: Any = None,
    db: "database.Database | str | os.PathLike[str] | None" = None,
    run: str | None = None,
    unit: choices.PartName | Unit = "document",
    sketch: AnySketch | None = None,
    on_null: choices.NullName = "keep",
    max_share: float | None = None,
    encoding: str = UTF8,
    errors: choices.ErrorsName = "strict",
    on_error: choices.OnError = "raise",
    threads: int | Budget | None = None,
    progress: Progress | None = None,
) -> Deduplicated[Given]:
    """Remove the near-duplicates from data.

    Two rows match if the exact Jaccard similarity of their sets of shingles is at least
    `similarity`.

    Parameters
    ----------
    data : list, dict, frame, table, dataset, path, pattern, list of os.PathLike or array
        Texts in a list, or in a dict by their ids.  Rows in a frame of pandas or polars, a table of
        Arrow, DuckDB or datasets, or dicts.  Files.  Vectors, float[n, d].  Fingerprints, uint64[n]
        or `Fingerprints`.  Hashes, uint8[n, b], or in any form with sketch=Bits(8 * b).
    text : str or tuple, default "text"
        The field with the text: a name, a path "a.b", "a|b" (the first that exists) or a tuple
        (joined).
    id : str, tuple or list, optional
        The field with the id, or the ids themselves.  By default, positions.
    keep : str or callable, default "first"
        Which row of a group is kept: "first", "last", "longest", "shortest", "max:FIELD",
        "min:FIELD", or the row with the greatest result of a function.  With rule="contained", this
        applies only to rows with the same number of word 3-grams.
    similarity : float, optional
        The threshold.  By default 0.8, and for vectors a cosine of .889.
    distance : int, optional
        The largest number of differing bits, for fingerprints and hashes.
    recall : float, optional
        The share of matches to find; see `Database.find_clusters`.
    rule : {"similar", "contained"}, default "similar"
        "contained" removes a row only if a larger row has all but `lose` of its word 3-grams.  The
        larger row is kept even if it comes later.  It must have at most 1 / `similarity` times as
        many 3-grams.
    lose : int, default 0
        Number of word 3-grams that a removed row may lose, with rule="contained".
    verify : {"exact", "numbers", "estimate"}, default "exact"
        The measure of a match.  "exact" is the similarity of the texts, "numbers" also requires
        equal numbers in both, and "estimate" is the similarity that sketches estimate.
    policy : {"star", "connected"}, default "star"
        How matches become groups; see `Database.find_clusters`.
    against : data, Database or path, optional
        Another collection.  Rows that match one of its documents are removed.
    db : Database, str or path, optional
        A database of earlier rows, created if missing.  A row is removed if it matches a stored
        document or a kept row, or if its id and sketch are stored.  All other rows are stored in
        one transaction.  Without `id`, ids are derived from the texts.  To choose options for a new
        database, give `simdb.open(path, options=...)`.
    run : str, optional
        The name of this run.  A later call with the same name removes the same rows.  Without a
        name, calls with the same ids count as the same run.
    unit : {"document", "paragraph", "line", "sentence"} or Unit, default "document"
        Remove repeated parts of texts rather than whole texts.  A part of 5 words or more is
        removed if an earlier part has the same words or, with `similarity`, is similar enough.
        `simdb.Unit("paragraph", min_words=8)` sets another minimum.
    sketch : Simhash, Minhash or Bits, optional
        How documents are cut into shingles and sketched.
    on_null : {"keep", "drop", "error"}, default "keep"
        What to do with rows without a text.
    max_share : float, optional
        The largest share of rows that may be removed; a larger one raises OptionError.
    encoding : str, default "utf-8"
        The encoding of bytes and files; see `Database.query`.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `Database.query`.
    on_error : {"raise", "skip"} or callable, default "raise"
        What to do with a row that cannot be read; see `Database.insert_many`.
    threads : int or Budget, optional
        Number of threads; see `Database.insert_many`.  `simdb.Budget(threads=4, memory=2**30)`
        also limits the bytes held in memory.
    progress : callable or True, optional
        Called with the number of rows; see `Database.insert_many`.

    Returns
    -------
    Deduplicated
        `data` has the kept rows, in the form of the given data.  `groups` and `removed` have the
        duplicates and their matches.

    Raises
    ------
    InputError
        If data or rows cannot be read.
    OptionError
        If an argument is invalid, or does not suit the data.

    Notes
    -----
    With `db`, stored documents that are not among the rows are compared by estimate, unless the
    database stores texts or features.

    Examples
    --------
    >>> texts = ["the quick brown fox jumps", "The quick brown fox jumps!", "a page about ships"]
    >>> simdb.deduplicate(texts).data
    ['the quick brown fox jumps', 'a page about ships']
    """
    check_together(db, against, policy, run)
    one_of("on_null", on_null, choices.ON_NULL)
    given, (count, memory) = _options_of(sketch, db, data), budget_of(threads)
    more = report_of(progress), None, memory, known_encoding(encoding), Skipped(on_error)
    asked = similarity, distance, recall, verify, policy, max_share, errors, count, *more
    question = DedupQuestion(*asked, lose=lose_of(rule, lose)).of_documents(given)
    own = keeping.parse(keep), checked_unit(unit, question, keep, against, db)
    with bounded(count), reference_of(against, data, text, id, question) as other:
        question = question.of_documents(used := options_of(other, given))
        return _Call(text, id, keep, db, run, question, on_null, *own, used, other).of(data)


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of a call; see `deduplicate`.

    `rule`: the parsed `keep`.  `options`: the options of the database of a reference, otherwise the
    given ones.
    """

    text: FieldName
    id: Any
    keep: keeping.Keep
    db: "DatabaseLike | None"
    run: str | None
    question: DedupQuestion
    on_null: choices.NullName
    rule: keeping.KeepRule
    unit: Unit
    options: Options | None
    reference: Reference | None

    def of(self, data: Any) -> Deduplicated:
        """Return the result for data; errors about rows that look like hashes get a hint."""
        try:
            return self._of(data)
        except (InputError, OptionError) as error:
            has_sketch = self.question.distance is None or self.options is not None
            bits = None if has_sketch else _likely_bits(data, self.text)
            if bits is None or "simdb.Bits" in str(error):
                raise
            raise type(error)(f"{error}; for hashes, give sketch=simdb.Bits({bits})") from error

    def _of(self, data: Any) -> Deduplicated:
        """Return the result for data."""
        paths, has_parts = files.paths_of(data), self.unit.name != DOCUMENT
        are_hashes = self.question.hashes is not None
        if has_parts:
            checked_field("text", self.text, "unit=")
        if paths is not None:
            has_rows = (self.db is not None and not has_parts) or are_hashes
            return self._of_read_files(paths) if has_rows else self._of_files(paths)
        rows = rows_of(data, self.question.skipped, are_hashes=are_hashes)
        if has_parts:
            return self._without_parts(rows)
        if isinstance(rows, Vectors) and not are_hashes:
            return self._of_vectors(rows)
        return self._of_rows(rows)

    def _of_rows(self, rows: DataRows) -> Deduplicated:
        skipped = self.question.skipped
        ids = _ids_of(rows, self.id, skipped, are_stored=self.db is not None)
        if self.db is not None and ids is not None:
            note_unstorable(ids, skipped)
        texts = self._texts_of(rows)
        is_null, order = texts.checked_nulls(self.on_null), self._order(rows, texts)
        is_read = ~skipped.flags(len(rows))
        names, found = self._found(texts, order[(is_read & ~is_null)[order]], ids)
        chosen = partial(_chosen, rows, self.text, self.question.threads, self._staying)
        return self._result(found, chosen, texts.at, names, is_null, is_read, ids)

    def _of_vectors(self, rows: Vectors) -> Deduplicated[Any]:
        """Return the result for vectors, which are compared by their cosine."""
        if self.db is not None:
            raise OptionError("db= takes texts; Database.add_many_if_new stores vectors")
        if self.reference is not None or self.question.lose is not None:
            raise OptionError("against= and rule= take texts; Database.query_many compares vectors")
        ids = _ids_of(rows, self.id, self.question.skipped)
        asked = rows.asked(self.question, self.options)
        names: Sequence[Any] = range(len(rows)) if ids is None else ids
        is_read, order = ~self.question.skipped.flags(len(rows)), self._order(rows, rows)
        order, own = order[is_read[order]], partial(_named, names)
        found = found_of(within.find_alike_vectors(rows, order, self.options, asked), order, own)
        chosen = partial(_chosen, rows, rows.field, asked.threads, {})
        call = replace(self, question=asked, on_null="keep", options=self.options or rows.fitting)
        none = np.zeros(len(rows), np.bool_)
        return call._result(found, chosen, rows.no_texts, own, none, is_read, ids)

    def _of_files(self, paths: files.Paths) -> Deduplicated[Any]:
        """Return the result for the documents of files, without texts in memory."""
        with ExitStack() as held:
            read, job = self._job(paths, held)
            outcome = run_job(job)
            run, decided = outcome.run, outcome.decided
            every = KeptDocuments(read, run.lines, outcome.kept, held.pop_all())
        if outcome.parts is not None:
            self.question.skipped.named()
            return self._of_parts(every.chosen, outcome.kept, read.nulls, outcome.parts)
        assert decided is not None, "no database decides"
        found = found_of(decided, run.order, run.ids)
        return self._result(found, every.chosen, run.texts, run.ids, read.nulls)

    def _of_read_files(self, paths: files.Paths) -> Deduplicated[Any]:
        """Return the result for files that are read completely before the comparison.

        With a database, this is necessary to name the run by all ids.
        """
        with ExitStack() as held:
            read, job = self._job(paths, held)
            again = held.enter_context(SecondLook(job))
            for batch in job.batches(job.options, None):
                again.add(batch)
                again.lines.add(batch)
            every, is_stored = np.arange(read.count), self.db is not None
            if not is_stored:
                again.names.settle()
            ids, order = again.names.of(every, as_read=is_stored), again.order()
            kept = KeptDocuments(read, again.lines, every >= 0, held.pop_all())
        order = every if order is None else order
        names, found = self._found(again, order[~read.nulls[order]], ids)
        return self._result(found, kept.chosen, again.at, names, read.nulls)

    def _job(self, paths: files.Paths, held: ExitStack) -> tuple[files.Files, DedupJob]:
        """Return the documents of files, and the job for them."""
        question = self.question
        if self.rule.kind == keeping.FUNCTION:
            raise OptionError(
                "keep= is a function, which needs rows in memory; for files give a rule"
            )
        reading = files.reading_of(
            self.id, self.text, question.encoding, question.errors, self.on_null,
            fields=filter(None, [self.rule.field]), threads=question.threads,
            memory=question.memory, hashes=question.hashes,
        )  # fmt: skip
        read = files.opened(paths, reading, held, question.skipped, self._staying, question.hashes)
        db = self.db if self.unit.name != DOCUMENT else None
        return read, DedupJob(
            sources=read.sources, batches=lambda *given: read.batches(),
            documents=lambda: read.count, origins=read.origins, held=held,
            question=question.silent, rule=self.rule,
            options=Options() if self.options is None else self.options,
            unit=self.unit, text=self.text, reference=self.reference,
            database=None if db is None else lambda try_out: _opened(db, self.options),
            run=self.run, output=read.survivors(None), has_texts=True, report=question.report,
        )  # fmt: skip

    def _without_parts(self, rows: DataRows) -> Deduplicated:
        """Return the result for rows without the parts that occurred earlier."""
        question, skipped = self.question, self.question.skipped
        texts = self._texts_of(rows)
        is_null = texts.checked_nulls(self.on_null)
        skipped.named(_ids_of(rows, self.id, skipped, are_stored=True))
        with ExitStack() as held:
            stored, options = None, Options() if self.options is None else self.options
            if self.db is not None:
                opened = held.enter_context(_opened(self.db, self.options))
                options, transaction = opened.options, held.enter_context(opened.write())
                stored = UnitKeys(transaction, self.unit.name, self.run)
            sieve = Sieve(options.sketch, self.unit, question.silent, stored)
            for done in sieve.read(texts.batches()):
                question.report(done)
            dropped = sieve.decide()
            if len(dropped.changed):
                whole = zip(dropped.changed.tolist(), texts.at(dropped.changed), strict=True)
                rests = {at: sieve.rest(each, dropped.of(at)) for at, each in whole}
                rows = rows_of(rows.with_field(self.text, texts.changed(rests)))
            kept = dropped.kept & ~skipped.flags(len(rows))
            chosen = partial(_chosen, rows, self.text, question.threads, {})
            return self._of_parts(chosen, kept, is_null, sieve.parts(dropped))

    def _of_parts(
        self, survivors: Callable[[Bools], Survivors], kept: Bools, is_null: Bools, parts: Parts
    ) -> Deduplicated:
        """Return the result for documents that lost parts."""
        if self.on_null == choices.DROP:
            kept = kept & ~is_null
        none, nothing = np.empty(0, np.int64), object_array([])
        evidence = Evidence(
            removed=none, staying=none, texts=list, least=None, again=list,
            refusal=f"at() judges whole documents, and {self.unit.name}s left these",
        )  # fmt: skip
        return Deduplicated(
            survivors=survivors(kept), kept=kept, groups=Clusters(np.zeros(1, np.int64), nothing),
            null_count=int(np.count_nonzero(is_null)), on_null=self.on_null, removed_ids=nothing,
            representatives=nothing, similarities=np.empty(0, np.float32), evidence=evidence,
            parts=parts, left_out=self.question.skipped,
        )  # fmt: skip

    def _found(
        self, texts: RowTexts | SecondLook, order: I64, ids: Sequence[Any] | None
    ) -> tuple[NamesAt, RowMatches]:
        """Return the function that names rows, and the matches of a search by these names."""
        question, reference = self.question, self.reference
        if self.db is not None:
            with _opened(self.db, self.options, features=question.lose is not None) as held:
                if question.hashes is None and held.options.is_hashes:
                    raise OptionError(f"{held.path} has hashes; give sketch={held.options.sketch}")
                question.check(held.options.sketch)
                rows = claims.ClaimedRows(held, texts, order, ids, question, self.run)
                found = rows.store_new()
            return partial(_named, rows.names), found
        options = Options() if self.options is None else self.options
        question.check(options.sketch)
        own: NamesAt = partial(_named, range(len(texts)) if ids is None else ids)
        if reference is not None:
            own = partial(either, own=own, other=reference.names)
        if isinstance(texts, RowHashes):
            options = texts.fitted(options)
        decided = within.find_alike(texts, order, options, question, reference)
        return own, found_of(decided, order, own)

    def _result(
        self,
        found: RowMatches,
        survivors: Callable[[Bools], Survivors],
        texts: TextSource,
        names: NamesAt,
        is_null: Bools,
        is_read: Bools | None = None,
        ids: Sequence[Any] | None = None,
    ) -> Deduplicated[Any]:
        """Return the result; see `_GivenRows`.  `ids`: the given ids, None for positions."""
        left_out, reference = self.question.skipped.named(ids), self.reference
        if is_read is None:
            is_read = np.ones(len(is_null), np.bool_)
        texts = partial(either, own=texts, other=unknown if reference is None else reference.texts)
        rows = _GivenRows(
            survivors, texts, names, is_null, self.on_null, self.question.silent, self.options,
            left_out, is_read, reference is not None,
        )  # fmt: skip
        return rows.result(found)

    @property
    def _staying(self) -> Staying:
        """The files of a reference, which no output may replace."""
        return {} if self.reference is None else self.reference.staying

    def _texts_of(self, rows: DataRows) -> RowTexts:
        """Return the texts, or hashes, of all rows."""
        question, sketch = self.question, None if self.options is None else self.options.sketch
        values = rows.texts(checked_field("text", self.text))
        if question.hashes is not None:
            known_encoding(question.encoding, is_hashes=True)
            return RowHashes.read(values, question.hashes, question.skipped)
        how = question.skipped, sketch, question.encoding, question.errors
        return readable_texts(values, *how)

    def _order(self, rows: DataRows, texts: RowTexts | Vectors) -> I64:
        """Return the positions of all rows, the preferred first: int64[n]."""
        rule, keep = self.rule, self.keep

        def values() -> Sequence[Any]:
            if isinstance(keep, str):
                return rows.column(rule.field)
            return [keep(row) for row in rows.records()]

        return keeping.order_of(
            rule, len(texts), sizes=texts.sizes, values=values,
            where=lambda row: f"row {row} of data",
        )  # fmt: skip


def _likely_bits(data: Any, text: FieldName) -> int | None:
    """Return the bits of the first row if it looks like a hash; None otherwise, and for files."""
    with suppress(Error, LookupError, TypeError):
        if files.paths_of(data) is None:
            return likely_bits(rows_of(data, are_hashes=True).texts(text)[0])
    return None


def _ids_of(
    rows: DataRows, id: Any, skipped: Skipped, *, are_stored: bool = False
) -> Sequence[Any] | None:
    """Return the ids of all rows, by the argument `id`; None without ids.

    Raises InputError if an id repeats, unless `are_stored`: then rows with equal ids and texts are
    one document.  `skipped` takes rows with invalid ids, if it is allowed; otherwise InputError.
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
                f"the id {each!r} of row {row} is that of an earlier row; give each row its own id,"
                " or omit id="
            )
        else:
            seen.add(each)
    return ids


def _has_fields(rows: DataRows, names: Sequence[Any]) -> bool:
    """Return whether a tuple names fields of rows; otherwise it contains their ids."""
    named: Any = dict.fromkeys(rows.names, True)
    first: Any = named or next(rows.records(), None)
    is_field = all(isinstance(name, str) for name in names) and isinstance(first, Mapping)
    return is_field and not field_named(tuple(names)).lacking(first)


def _options_of(sketch: AnySketch | None, db: Any, data: Any) -> Options | None:
    """Return the options for `sketch`, with times if there is a database `db`; None without one.

    Without a sketch, returns the options of a database of hashes, or options for an array of
    hashes.
    """
    if sketch is None:
        if isinstance(db, database.Database) and db.options.is_hashes:
            return db.options
        bits = hash_bits(data)
        if bits is None:
            return None
        sketch = Bits(bits)
    instance("sketch", sketch, TextSketch, "simdb.Simhash(), simdb.Minhash() or Bits(256)")
    return Options(sketch=sketch, keep_times=NO_TIMES if db is None else SEEN)


@contextmanager
def _opened(db: Any, own: Options | None, *, features: bool = False) -> Iterator[database.Database]:
    """Yield the database `db`; a path is opened or created, and closed afterwards.

    `features`: whether a database that is created without options stores features.
    """
    if isinstance(db, database.Database):
        check_sketch(db, own)
        yield db
        return
    try:
        held = database.open(db, "w")
    except (NotFoundError, FormatError):
        # An interrupted call can leave a directory without contents, which mode "c" accepts; it
        # refuses anything else that is not a database.  `SEEN` stores times, so that documents can
        # be dropped later by age.
        made = Options(keep_times=SEEN, features=features) if own is None else own
        held = database.open(db, "c", options=made)
    with held:
        check_sketch(held, own)
        yield held


def _chosen(
    rows: DataRows, text: FieldName, threads: int | None, staying: Staying, kept: Bools
) -> Survivors:
    """Return the kept rows; `text`: the field of the texts."""
    return InMemory(rows.chosen(kept), text, threads, staying)


def _named(names: Sequence[Any], rows: I64) -> list[Any]:
    """Return the names of rows."""
    return [names[row] for row in rows.tolist()]


@dataclass(frozen=True, slots=True)
class _GivenRows:
    """The rows of a call, from which results are made.

    `survivors` returns the rows with a flag.  `texts` returns the texts of rows, or of documents of
    a reference below 0, and `names` returns ids or positions of rows.  `is_null` bool[n]: whether
    each row has no text; see `on_null`.  `question`, `options`: the settings of the search.
    `left_out`: the rows that could not be read; `is_read` bool[n]: whether each row was read.
    `is_led`: whether there is a reference.
    """

    survivors: Callable[[Bools], Survivors]
    texts: TextSource
    names: NamesAt
    is_null: Bools
    on_null: str
    question: DedupQuestion
    options: Options | None
    left_out: Skipped
    is_read: Bools
    is_led: bool

    def result(self, found: RowMatches) -> Deduplicated:
        """Return the result for the matches of a search."""
        kept = self.is_read.copy()
        kept[found.removed] = False
        staying = self._staying(found, kept) if found.leaders is None else found.leaders
        if self.on_null == choices.DROP:
            kept &= ~self.is_null
        dropped = int(np.count_nonzero(self.is_null)) if self.on_null == choices.DROP else 0
        check_balance(
            len(kept), kept=int(np.count_nonzero(kept)), removed=len(found.removed),
            dropped=dropped, skipped=int(np.count_nonzero(~self.is_read)),
        )  # fmt: skip
        options = within.by_rule(self.options or Options(), self.question)
        # With a database, the rule "contained" allows no loss, so all numbers are 0.
        none_lost = None if self.question.lose is None else np.zeros(len(found.removed), np.int64)
        # A database has its own threshold, which is not known here.
        usual = None if found.leaders is None else options.similarity
        measure = found.groups.measure if found.leaders is None else options.measure
        return Deduplicated(
            survivors=self.survivors(kept), kept=kept, left_out=self.left_out,
            groups=replace(found.groups, measure=measure), on_null=self.on_null,
            null_count=int(np.count_nonzero(self.is_null)),
            removed_ids=object_array(list(self.names(found.removed))),
            representatives=object_array(found.representatives),
            similarities=found.similarities,
            distances=found.distances if options.is_hashes else None,
            lost=none_lost if found.lost is None else found.lost,
            evidence=Evidence(
                found.removed, staying, self.texts,
                least_of(self.question, found.groups.verification, usual),
                partial(self._again, found),
                refusal_of(self.question.policy, has_database=found.leaders is None),
                None if self.options is None else self.options.sketch,
            ),
            verification=found.groups.verification,
            is_reference=staying < 0 if self.is_led else None,
        )  # fmt: skip

    def _again(self, found: RowMatches, is_chosen: Bools) -> Deduplicated:
        """Return a result that removes only the flagged duplicates."""
        return self.result(found.chosen(is_chosen, self.names))

    def _staying(self, found: RowMatches, kept: Bools) -> I64:
        """Return the kept row with the id of each representative, -1 if there is none: int64[k]."""
        rows = np.flatnonzero(kept)
        row_of = dict(zip(self.names(rows), rows.tolist(), strict=True))
        return np.array([row_of.get(id, -1) for id in found.representatives], np.int64)
