"""Job: one run of a deduplication of files and folders, from reading to writing.

`simdb.deduplicate` and `simdb dedup` both describe the run in a `DedupJob`.  `run_job` reads
documents in batches, decides, stores and writes.  Texts and lines that are needed a second time are
read again from their source, or wait in temporary files.  Memory holds some bytes of each document,
but no text.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import pairwise
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from simdb import files, jobs
from simdb.core import keeping
from simdb.core.arrays import object_array
from simdb.core.arrow import TextColumn, Texts
from simdb.core.dtypes import I64, Bools
from simdb.core.fields import FieldName, field_named
from simdb.core.matches import Verification
from simdb.core.options import DOCUMENT, Options, Unit
from simdb.core.previews import counted
from simdb.core.skipped import check_balance
from simdb.core.text_sketch import TextSketch
from simdb.core.values import dataclass, field
from simdb.jobs import report
from simdb.jobs.deduplication.question import Decided, DedupQuestion, texts_at
from simdb.jobs.deduplication.reference import Reference, either
from simdb.jobs.deduplication.result import Parts
from simdb.jobs.deduplication.within import within
from simdb.sketch import AnySketcher

if TYPE_CHECKING:
    from simdb.database import Database, WriteTransaction
    from simdb.jobs.deduplication.repeat import Left
    from simdb.jobs.deduplication.sieve import Dropped, Sieve, UnitKeys
    from simdb.jobs.report.page import TextPair

# Documents per batch when their ids are read.
NAMED_DOCUMENTS = 1 << 14
# Digits of a similarity in a row.
DIGITS = 6
LARGEST_SHOWN = 3
# Smaller groups are not mentioned.
LARGE_DOCUMENTS = 10

# Opens or creates a database, for a `with` statement.  Before anything is read, its argument is
# called with the database, or with an empty one of the same options.
OpenedDatabase: TypeAlias = (
    "Callable[[Callable[[Database], object]], AbstractContextManager[Database]]"
)


def _ignored(*given: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupJob:
    """The settings of a run.

    `batches` yields the documents of `sources`, given options and a sketcher; `documents` returns
    how many were yielded.  `origins`: the places of lines that can be read again.  `held` frees the
    temporary files of the result.  `rule`: which document of a group is kept; not a function.
    `unit`: the kind of parts to drop.  `text`: the field with the texts.

    `reference`: more texts to compare with.  `database` opens the database that stores new
    documents, `begin_write` begins a transaction there, and `run` is the name of the run.  `known`
    returns a source of the texts of stored documents, None without one.  `beginnings` takes texts
    for the page.

    `output`: where documents are written; if it has no target, they are written later.  It is one
    of the `outputs`, which get their names at the end.  `has_texts`: the result needs texts, even
    if the decision does not.

    `note` is called with remarks about ids, `report` with the number of documents so far, `begin`
    with the name of each stage and the method of the previous stage.  `found` is called with the
    decisions, before anything is stored or written.
    """

    sources: Sequence[str]
    batches: "Callable[[Options, AnySketcher | None], Iterable[files.Batch]]"
    documents: Callable[[], int]
    origins: files.Origins
    held: ExitStack
    question: DedupQuestion
    options: Options
    rule: keeping.KeepRule
    unit: Unit
    text: FieldName
    reference: Reference | None = None
    database: "OpenedDatabase | None" = None
    begin_write: "Callable[[Database], WriteTransaction]" = methodcaller("write")
    run: str | None = None
    known: "Callable[[Database], jobs.claims.KnownTexts | None]" = _ignored
    beginnings: Any = None
    output: files.SurvivorOutput | None = None
    outputs: files.Outputs = field(default_factory=files.Outputs)
    has_texts: bool = False
    note: Callable[[str], None] | None = None
    report: Callable[[int], None] = _ignored
    begin: Callable[..., None] = _ignored
    found: "Callable[[Outcome], None]" = _ignored

    def sieve(self, sketch: TextSketch, stored: "UnitKeys | None" = None) -> "Sieve":
        """Return a sieve of parts.

        Raises OptionError for a sketch that does not cut texts into words.
        """
        return jobs.sieve.Sieve(sketch, self.unit, self.question, stored)

    def decided(self, outcome: "Outcome") -> None:
        """Report the decisions; raise OptionError if too many documents are duplicates."""
        if outcome.parts is None:
            count, largest = self.documents(), outcome.largest_note()
            self.question.check_share(outcome.duplicates, count, largest or "")
        self.found(outcome)

    def write(self, lines: files.LinesAgain, outcome: "Outcome", what: str, **places: int) -> None:
        """Write the kept documents; `places`: the numbers of all others, by their states."""
        output = None if self.output is None or self.output.target is None else self.output
        if output is not None:
            self.begin(f"writing what is {what}")
            lines.copy(outcome.kept, output)
        kept = int(np.count_nonzero(outcome.kept))
        check_balance(self.documents(), kept=kept, **places)
        if output is not None:
            check_balance(kept, written=output.target.rows)


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows that are made anew for each reading.

    `make` yields them; its optional argument returns the excerpt of a text for a row.
    """

    make: Callable[..., Iterator[files.Row]]

    def __iter__(self) -> Iterator[files.Row]:
        """Yield the rows, without texts."""
        return self.make()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The result of a run.

    `kept` bool[n]: whether each document is kept; `stored`: the number of kept ones that are new.
    `duplicates`: the number of removed documents, or of dropped parts if there are `parts`.
    `groups`: the number of groups.  `largest`: size and representative of the largest groups, in
    descending order.  `led`: the number of duplicates that match a reference, None without one.
    `verification`: the decisions of texts, None if estimates decided.

    `earlier`: the number of documents that match a document of an earlier run.  `renamed`, `empty`,
    `seen`, `again`: the numbers of documents with a changed id, without features, stored by another
    run, and stored by this run on an earlier occasion.  `rows`: a row for each group, or for each
    document that is removed or loses parts.  `decided` and `run`, without a database: the decisions
    by position, and the documents.
    """

    rows: FoundRows
    duplicates: int
    kept: Bools = field(default_factory=lambda: np.empty(0, np.bool_))
    stored: int = 0
    groups: int = 0
    largest: Sequence[tuple[int, str]] = ()
    led: int | None = None
    verification: Verification | None = None
    earlier: int = 0
    renamed: int = 0
    empty: int = 0
    seen: int = 0
    again: int = 0
    parts: Parts | None = None
    pairs: "Callable[[], list[TextPair]]" = list
    decided: Decided | None = None
    run: Any = None

    def page(self, documents: int, similarity: float | None) -> str:
        """Return a page with each removed text next to the text that is kept in its place.

        `documents`: the number of documents read.  `similarity`: the threshold of the call.
        """
        counts, measure, least = self.verification, None, similarity
        if counts is not None:
            measure, least = counts.measure, counts.least
        rule = report.page.rule_in_words(measure, least)
        return report.page.render_removed(documents, self.duplicates, rule, self.pairs())

    def largest_note(self) -> str | None:
        """Return a line about the largest groups; None if all groups are small."""
        large = [each for each in self.largest if each[0] >= LARGE_DOCUMENTS]
        shown = ", ".join(f"{name} ({counted(size, 'document')})" for size, name in large)
        return f"largest groups: {shown}" if large else None


def run_job(job: DedupJob) -> Outcome:
    """Read the documents of a job, decide, store the new ones and write the kept ones.

    After an error, no output gets its name and nothing is stored.
    """
    if job.unit.name != DOCUMENT:
        return _drop_parts(job)
    return _find_groups(job) if job.database is None else _find_new(job, job.database)


def _find_groups(job: DedupJob) -> Outcome:
    """Keep one document of each group, without a database."""
    question = job.question.of(job.options.sketch)
    run = job.held.enter_context(DedupRun(job, question))
    for done in run.read(job.batches(job.options, run.sketcher), job.sources):
        job.report(done)
    job.begin("finding groups")
    decided = run.decide()
    job.begin("naming the documents of groups", run.documents.way)
    leaders, sizes = np.unique(decided.leaders, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:LARGEST_SHOWN]
    named = zip(sizes[largest].tolist(), run.ids(leaders[largest]), strict=True)
    kept = np.ones(job.documents(), np.bool_)
    kept[decided.removed] = False
    outcome = Outcome(
        rows=FoundRows(partial(_group_rows, decided, run)), duplicates=len(decided.removed),
        kept=kept, stored=len(kept), groups=len(leaders),
        largest=[(size + 1, str(name)) for size, name in named],
        led=None if job.reference is None else int(np.count_nonzero(decided.leaders < 0)),
        verification=decided.verification, renamed=run.names.renamed,
        empty=run.documents.empty_count,
        pairs=partial(_group_pairs, decided, run, job.options.sketch), decided=decided, run=run,
    )  # fmt: skip
    job.decided(outcome)
    job.write(run.lines, outcome, "kept", removed=outcome.duplicates)
    job.outputs.place()
    return outcome


def _find_new(job: DedupJob, opened: OpenedDatabase) -> Outcome:
    """Store the documents that match neither a stored nor a kept document; remove all others.

    If several documents have one id, all except the first get an id with the name of their source.
    A document that was stored earlier, with the same id and fingerprint, is not stored again.  It
    is kept if this run stored it on an earlier occasion; if another run did, it counts as seen.
    The rule never replaces a stored document.
    """

    def try_out(database: "Database") -> None:
        question = job.question.of(database.options.sketch)
        with (
            job.begin_write(database) as transaction,
            jobs.claims.Arrivals(database, transaction, question),
        ):
            pass

    with opened(try_out) as database:
        sketch, known = database.options.sketch, job.known(database)
        question, empty = job.question.of(sketch), database.stats().empty_count
        with (
            job.begin_write(database) as transaction,
            SecondLook(job) as again,
            jobs.claims.Claims(database, transaction, question, job.run) as claims,
        ):
            has_text: list[Bools] = [np.empty(0, np.bool_)]
            batches = job.batches(database.options, database.sketcher)
            compared = _compared(batches, claims, again, job.beginnings, has_text)
            for done in claims.add_all(compared, files.AMOUNT.expected_documents, known):
                job.report(done)
            job.begin("finding duplicates")
            removed = claims.decide(again.order(), again.at, again.names.of)
            outcome = Outcome(
                rows=FoundRows(partial(_left_rows, removed.found)), duplicates=len(removed.places),
                verification=removed.verification, earlier=removed.earlier,
                renamed=again.names.renamed, seen=len(claims.seen), again=len(claims.again),
                pairs=partial(_left_pairs, removed.found, job.beginnings, sketch),
            )  # fmt: skip
            job.decided(outcome)
            job.begin("storing what is new", claims.documents.way)
            new, is_text = claims.store(again.names.of, again.at), np.concatenate(has_text)
            outcome.stored, outcome.kept, places = len(new), ~is_text, np.flatnonzero(is_text)
            outcome.kept[places[new]] = outcome.kept[places[claims.again]] = True
            gone = {"removed": outcome.duplicates, "seen": outcome.seen}
            job.write(again.lines, outcome, "kept", **gone)
            is_stored = lambda: any(id in database for id in claims.samples)  # noqa: E731
            with job.outputs.placed(is_synced=True, is_stored=is_stored):
                transaction.commit()
        nulls = int(np.count_nonzero(~is_text))
        outcome.empty = database.stats().empty_count - empty + nulls
    return outcome


def _drop_parts(job: DedupJob) -> Outcome:
    """Drop the parts of documents that occurred earlier, or that a database has."""
    with ExitStack() as held:
        stored, options, transaction = None, job.options, None
        if job.database is not None:
            opened = job.database(lambda database: job.sieve(database.options.sketch))
            database = held.enter_context(opened)
            transaction = held.enter_context(job.begin_write(database))
            options, stored = (
                database.options,
                jobs.sieve.UnitKeys(transaction, job.unit.name, job.run),
            )
        sieve = job.sieve(options.sketch, stored)
        names = job.held.enter_context(files.Names(job.note, job.question.memory))
        run = job.held.enter_context(PartsRun(sieve, job, names))
        for done in run.read(job.batches(options, None)):
            job.report(done)
        job.begin("finding parts that occurred before")
        names.settle()
        dropped = sieve.decide()
        outcome = Outcome(
            rows=FoundRows(partial(_part_rows, dropped, sieve, names)),
            duplicates=int(dropped.counts.sum()),
            kept=dropped.kept, stored=int(np.count_nonzero(dropped.kept)), renamed=names.renamed,
            parts=sieve.parts(dropped), run=run,
        )  # fmt: skip
        job.decided(outcome)
        if job.output is not None:
            run.change(dropped, job.output.sources, job.text)
        job.write(run.lines, outcome, "left", emptied=len(dropped.kept) - outcome.stored)
        if stored is None or transaction is None:
            job.outputs.place()
            return outcome

        def is_stored() -> bool:
            with database.read() as snapshot:
                return stored.are_stored(snapshot.note)

        with job.outputs.placed(is_synced=True, is_stored=is_stored):
            transaction.commit()
    return outcome


class DedupRun(ExitStack):
    """The documents of a run that forms groups, by positions in the input; `with` frees them."""

    def __init__(self, job: DedupJob, question: DedupQuestion) -> None:
        """Decide by `question`; the rule of the job chooses the kept document of each group."""
        super().__init__()
        self.reference = job.reference
        self.order: I64 | None = None
        with ExitStack() as held:
            self.documents = within(job.options, question, job.reference)
            held.push(self.documents)
            has_texts = job.has_texts or self.documents.needs_texts
            self._again = held.enter_context(SecondLook(job, has_texts=has_texts))
            self.push(held.pop_all())
        self.names, self.lines = self._again.names, self._again.lines
        self.sketcher = self.documents.sketcher

    def read(self, batches: Iterable[files.Batch], sources: Collection[str]) -> Iterator[int]:
        """Add all batches, which are read from `sources`; yield the number of documents so far."""
        count = partial(files.AMOUNT.expected_documents, sources)
        return self.documents.add_all(map(self._noted, batches), count, errors="strict")

    def decide(self) -> Decided:
        """Make the ids of documents distinct, and return which documents are removed."""
        self.names.settle()
        self.order = self._again.order()
        return self.documents.decide(self.order, self.texts)

    def texts(self, positions: I64) -> Any:
        """Return the texts of documents or leaders; raise InputError if a file has changed."""
        if self.reference is None:
            return self._again.at(positions)
        return either(positions, self._again.at, self.reference.texts)

    def ids(self, positions: I64) -> Sequence[Any]:
        """Return the ids of documents or leaders."""
        if self.reference is None:
            return self.names.of(positions)
        return either(positions, self.names.of, self.reference.names)

    def _noted(self, batch: files.Batch) -> Texts:
        """Note how to read a batch again, and return its texts."""
        self._again.add(batch)
        self.lines.add(batch)
        return batch.texts


class SecondLook(ExitStack):
    """The documents of a run by their positions: ids, texts, lines and order of preference.

    `with` removes the temporary files.
    """

    def __init__(self, job: DedupJob, *, has_texts: bool = True) -> None:
        """Begin without documents, with the rule of a job; `has_texts`: texts will be needed."""
        super().__init__()
        self.names = self.enter_context(files.Names(job.note, job.question.memory))
        self.lines = self.enter_context(files.LinesAgain(job.origins, job.output))
        self._texts = self.enter_context(files.TextsAgain(job.origins)) if has_texts else None
        self._rule, self._note = job.rule, job.note
        self._sizes: list[I64] = []
        self._values: list[Any] = []
        self._is_valued = False  # whether any document so far has the field of the rule
        self._count = 0

    def pass_by(self, batch: files.Batch) -> None:
        """Note whether any document, compared or not, has a value in the field of the rule."""
        if self._rule.field and not self._is_valued:
            self._is_valued = not all(map(keeping.is_missing, self._values_of(batch)))

    def add(self, batch: files.Batch, renamed: Mapping[int, Any] | None = None) -> None:
        """Add documents, without their lines; `renamed`: see `Names.add`."""
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

    def __len__(self) -> int:
        """Count the documents."""
        return self._count

    def at(self, positions: I64) -> Any:
        """Return the texts at given positions; raise InputError if a file has changed."""
        assert self._texts is not None, "texts were announced"
        return self._texts.texts(positions.astype(np.uint32))

    def order(self) -> I64 | None:
        """Return the positions of all documents, the preferred first: int64[n].

        Returns None for the order of the input.
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

    def _values_of(self, batch: files.Batch) -> list[Any]:
        fields = batch.fields or [None] * len(batch)
        return [(each or {}).get(self._rule.field) for each in fields]


class PartsRun(ExitStack):
    """The documents of a run that drops parts, by positions in the input; `with` frees them."""

    def __init__(self, sieve: "Sieve", job: DedupJob, names: files.Names) -> None:
        """Begin without documents; `sieve` takes the texts, and `names` the ids."""
        super().__init__()
        self._sieve, self._names = sieve, names
        self.lines = self.enter_context(files.LinesAgain(job.origins, job.output))

    def read(self, batches: Iterable[files.Batch]) -> Iterator[int]:
        """Add all batches; yield the number of documents so far."""
        return self._sieve.read(map(self._noted, batches))

    def change(self, dropped: "Dropped", sources: Sequence[str], text: FieldName) -> None:
        """Remove the dropped parts from the field `text` of records.

        Raises InputError if a file has changed.
        """
        wanted = field_named(text)

        def changed(position: int, row: files.Row) -> files.Row:
            return wanted.replaced(row, self._sieve.rest(wanted.of(row), dropped.of(position)))

        self.lines.change(dropped.changed, sources, changed)

    def _noted(self, batch: files.Batch) -> Texts:
        """Note the ids and lines of a batch, and return its texts."""
        self._names.add(batch)
        self.lines.add(batch)
        return batch.texts


def _compared(
    batches: Iterable[files.Batch],
    claims: "jobs.claims.Claims",
    again: SecondLook,
    beginnings: Any,
    has_text: list[Bools],
) -> Iterator[Texts]:
    """Yield the texts of each batch that need a comparison, and note how to read them again.

    `has_text` collects whether each document has a text.  If not, it is kept but not stored.
    """
    for whole in batches:
        again.lines.add(whole)
        again.pass_by(whole)
        has_text.append(np.ones(len(whole), np.bool_) if whole.nulls is None else ~whole.nulls)
        batch = whole if whole.nulls is None else whole.chosen(np.flatnonzero(has_text[-1]))
        settled = claims.settle(batch.ids, batch.texts_at, batch.other_ids)
        fresh = batch if len(settled.fresh) == len(batch) else batch.chosen(settled.fresh)
        names = settled.names
        if len(fresh):
            places = enumerate(settled.fresh.tolist()) if names else ()
            again.add(fresh, {place: names[at] for place, at in places if at in names})
        if beginnings is not None:
            ids = object_array(batch.ids)
            ids[list(names)] = list(names.values())
            ids[settled.left] = settled.found.ids
            beginnings.add(ids.tolist(), batch.texts)
        yield fresh.texts


def _group_rows(
    decided: Decided, run: DedupRun, shown: Callable[[Any], Any] | None = None
) -> Iterator[files.Row]:
    """Yield a row for each group: its representative, its size and its duplicates.

    With a reference, the row also says whether the representative belongs to it.  `shown` returns
    the excerpt of a text for a row; None omits texts.
    """
    offsets, members, places = decided.groups(run.order)
    for first, end in _portions(offsets):
        part = slice(int(offsets[first]), int(offsets[end]))
        found = _matches(decided, places[part], run.ids(members[part]))
        if shown is not None:
            for row, text in zip(found, run.texts(members[part]), strict=True):
                row["text"] = shown(text)
        for start, stop in pairwise(offsets[first : end + 1].tolist()):
            one, *others = found[start - part.start : stop - part.start]
            row = {"representative": one["id"]}
            if shown is not None:
                row["text"] = one["text"]
            if run.reference is not None:
                row["reference"] = bool(members[start] < 0)
            yield {**row, "size": stop - start, "duplicates": others}


def _portions(offsets: I64) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of portions of groups.

    A portion is a single group, or has at most `NAMED_DOCUMENTS` members.
    """
    first, count = 0, len(offsets) - 1
    while first < count:
        end = int(np.searchsorted(offsets, offsets[first] + NAMED_DOCUMENTS, "right")) - 1
        end = min(max(end, first + 1), count)
        yield first, end
        first = end


def _matches(decided: Decided, places: I64, ids: Sequence[Any]) -> list[files.Row]:
    """Return a row for each member of groups; in that of a representative only the id is valid."""
    if not len(decided.removed):
        return []
    # With exact similarities, no sketches are made, so distances are unknown.
    none, far = np.full(len(decided.removed), None), decided.distances
    shown = decided.similarities[places].astype(np.float64).round(DIGITS)
    distances = (none if far is None else far)[places].tolist()
    columns = {"id": ids, "distance": distances, "similarity": shown.tolist()}
    if decided.lost is not None:
        columns["lost"] = decided.lost[places].tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _group_pairs(decided: Decided, run: DedupRun, sketch: TextSketch) -> "list[TextPair]":
    """Return the least similar pairs of a duplicate and its representative, for a page."""
    sides = decided.removed, decided.leaders
    return report.page.nearest_pairs(
        decided.similarities,
        lambda at: tuple(run.ids(side[at]) for side in sides),
        lambda at: tuple(texts_at(run.texts, side[at]) for side in sides),
        sketch, decided.lost,
    )  # fmt: skip


def _left_rows(left: "Left") -> Iterator[files.Row]:
    """Yield a row for each document that was left out."""
    columns = left.ids, left.matches, left.distances, left.similarities
    for id, match, distance, similarity in zip(*map(np.ndarray.tolist, columns), strict=True):
        known = None if similarity != similarity else round(similarity, DIGITS)
        yield {"id": id, "match": match, "distance": distance, "similarity": known}


def _left_pairs(left: "Left", beginnings: Any, sketch: TextSketch) -> "list[TextPair]":
    """Return the least similar pairs of a document left out and its match, for a page."""
    sides = left.ids, left.matches
    return report.page.nearest_pairs(
        left.similarities,
        lambda at: tuple(side[at].tolist() for side in sides),
        lambda at: tuple(beginnings.of(side[at].tolist()) for side in sides),
        sketch,
    )


def _part_rows(dropped: "Dropped", sieve: "Sieve", names: files.Names) -> Iterator[files.Row]:
    """Yield a row for each document that loses parts, in the order of the input."""
    spoken, positions = sieve.spoken, np.flatnonzero(dropped.counts)
    for start in range(0, len(positions), NAMED_DOCUMENTS):
        some = positions[start : start + NAMED_DOCUMENTS]
        columns = names.of(some), spoken[some].tolist(), dropped.counts[some].tolist()
        for id, parts, lost in zip(*columns, strict=True):
            yield {"id": id, "parts": parts, "dropped": lost, "left": parts - lost}
