"""Groups: finds near-duplicates within the input, or of --against, and repeated parts of texts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import simdb
from simdb.cli.duplicates.work import LARGEST_SHOWN, DedupJob, DedupWork, Outcome
from simdb.cli.options.intake import Intake, is_default
from simdb.cli.options.opening import begin_write
from simdb.cli.options.sketch_options import Given, check_given, make_sketch
from simdb.cli.options.texts import text_beginning
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import SIMILARITY_DIGITS, quantity
from simdb.core import keeping
from simdb.core.checks import one_of
from simdb.core.choices import KEEP
from simdb.core.dtypes import I64
from simdb.core.errors import OptionError
from simdb.core.fields import checked_field
from simdb.core.text_sketch import UNITS as TOKEN_UNITS, TextSketch
from simdb.core.threads import thread_count
from simdb.files import Batch, Names, Origins, Row, begin_counting, expected_documents, read_sources
from simdb.jobs import (
    DOCUMENT,
    NAMELESS,
    UNITS,
    DatabaseReference,
    Decided,
    DedupRun,
    Dropped,
    FileReference,
    Parts,
    PartsRun,
    Reference,
    Sieve,
    TextPair,
    UnitKeys,
    check_apart,
    nearest_pairs,
    texts_at,
)
from simdb.storage import is_database

# The rows of so many documents are made at a time.
NAMED_DOCUMENTS = 1 << 14


def find_groups(work: DedupWork) -> Outcome:
    """Put the groups of documents into the rows, and write all other documents to the survivors.

    The representative of each group survives, too.
    """
    job, options = work.job, _options(work)
    question, outcome, survivors = work.question(options.sketch), Outcome(), work.survivors
    # The rows are made when they are read, so the run is freed after that.
    run = work.held.enter_context(DedupRun(
        options, question, keeping.parse(job.given.keep, "--keep"), work.origins,
        has_texts=job.results.show is not None or work.has_page,
        output=survivors, reference=work.reference, note=work.progress.note,
    ))  # fmt: skip
    notes_short = is_default(options, question.similarity, question.distance)
    batches = work.intake.batches(options.sketch, notes_short=notes_short)
    if options.sketch.tokeniser:  # a function that can refuse any text
        batches = work.intake.readable(batches, run.sketcher, job.reading.on_error)
    for outcome.stored in run.read(batches, job.sources):
        pass
    work.progress.begin("finding groups")
    decided = run.decide()
    outcome.renamed, outcome.empty = run.names.renamed, run.empty_count
    work.progress.timings.note = run.way
    work.progress.begin("naming the documents of groups")
    outcome.verification = decided.verification
    _count_groups(outcome, decided, run)
    work.check_share(outcome)
    if work.rows is not None and job.results.show is None:
        outcome.rows = GroupRows(decided, run)
    elif work.rows is not None:
        # Texts are read where they are, which may be where survivors are written.
        for row in group_rows(decided, run, job.results.show):
            work.rows.add(row)
    if work.has_page:
        outcome.pairs = _pairs(decided, run, options.sketch)
    is_kept = np.ones(outcome.stored, np.bool_)
    is_kept[decided.removed] = False
    if survivors:
        work.progress.begin("writing what is kept")
        run.write(is_kept, survivors)
    kept = int(np.count_nonzero(is_kept))
    work.intake.check(survivors, kept=kept, removed=len(decided.removed))
    work.place(outcome)
    return outcome


class GroupRows:
    """The rows of groups, without texts, which can be read several times."""

    def __init__(self, decided: Decided, run: DedupRun) -> None:
        """Make them of what was decided, while the `run` is open."""
        self._decided, self._run = decided, run

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, see `group_rows`."""
        return group_rows(self._decided, self._run, None)


def group_rows(decided: Decided, run: DedupRun, show: int | None) -> Iterator[Row]:
    """Yield a row for each group: its representative, its size and its other documents.

    With a reference, the row also says whether the representative is of that.  `show`: how many
    characters of the texts the rows have; None for none.
    """
    offsets, members, places = decided.groups(run.order)
    for first, end in _portions(offsets):
        part = slice(int(offsets[first]), int(offsets[end]))
        found = _matches(decided, places[part], run.ids(members[part]))
        if show is not None:
            for row, text in zip(found, run.texts(members[part]), strict=True):
                row["text"] = text_beginning(text, show)
        for start, stop in pairwise(offsets[first : end + 1].tolist()):
            one, *others = found[start - part.start : stop - part.start]
            shown = {} if show is None else {"text": one["text"]}
            if run.reference is not None:
                shown["reference"] = bool(members[start] < 0)
            size = stop - start
            yield {"representative": one["id"], **shown, "size": size, "duplicates": others}


class Against(NamedTuple):
    """What --against names, and how its files are read; None for nothing."""

    reference: Reference | None = None
    intake: Intake | None = None

    @property
    def skipped(self) -> int:
        """How many of its files and records were skipped."""
        return 0 if self.intake is None else self.intake.skipped


def check_against(against: Sequence[str], sources: Sequence[str]) -> None:
    """Raise an error if a file of --against is also a source."""
    if len(against) != 1 or not is_database(against[0]):
        check_apart(sources, against)


@contextmanager
def opened_against(job: DedupJob, progress: Progress) -> Iterator[Against]:
    """Yield the sources or the database of --against, open until the input is compared."""
    against = job.against
    if not against:
        yield Against()
    elif is_database(against[0]):
        with simdb.open(against[0], "r", allow=job.allow) as held:
            yield Against(DatabaseReference(held))
    else:
        origins = Origins()
        own = replace(
            job.reading, has_lines=False, has_paths=False, fields=(), on_null=KEEP,
            given=tuple({job.reading.text_field} & {*job.reading.given}),
            origins=origins,
        )  # fmt: skip
        intake = Intake(read_sources(against, own, excluded=job.own_files), progress)
        read = FileReference(_batches(intake), origins, expected_documents(against), against)
        yield Against(read, intake)


def _options(work: DedupWork) -> simdb.Options:
    """Return the options of the database of --against, or those given."""
    given, reference = work.job.sketch, work.reference
    if not isinstance(reference, DatabaseReference):
        return simdb.Options(sketch=make_sketch(given))
    check_given(given, reference.held.options.sketch, reference.held.path)
    return reference.held.options


def _count_groups(outcome: Outcome, decided: Decided, run: DedupRun) -> None:
    """Count the groups, and name the largest."""
    if run.reference is not None:
        outcome.led = int(np.count_nonzero(decided.leaders < 0))
    leaders, sizes = np.unique(decided.leaders, return_counts=True)
    outcome.groups, outcome.duplicates = len(leaders), len(decided.removed)
    largest = np.argsort(-sizes, kind="stable")[:LARGEST_SHOWN]
    named = zip(sizes[largest].tolist(), run.ids(leaders[largest]), strict=True)
    outcome.largest = [(size + 1, str(name)) for size, name in named]


def _pairs(decided: Decided, run: DedupRun, sketch: TextSketch) -> list[TextPair]:
    """Return the duplicates beside what stays for them, with their texts, for a page."""
    removed, leaders = decided.removed, decided.leaders
    return nearest_pairs(
        decided.similarities,
        lambda at: (run.ids(removed[at]), run.ids(leaders[at])),
        lambda at: (texts_at(run.texts, removed[at]), texts_at(run.texts, leaders[at])),
        sketch,
    )


def _portions(offsets: I64) -> Iterator[tuple[int, int]]:
    """Yield the first group, and the one after the last, of groups of a bounded size in all."""
    first, count = 0, len(offsets) - 1
    while first < count:
        end = int(np.searchsorted(offsets, offsets[first] + NAMED_DOCUMENTS, "right")) - 1
        end = min(max(end, first + 1), count)
        yield first, end
        first = end


def _matches(decided: Decided, places: I64, ids: Sequence[Any]) -> list[Row]:
    """Return a row for each document of some groups; that of one that stays has only its id."""
    if not len(decided.removed):
        return []
    # Documents that texts decide have no fingerprints.
    distances = (
        [None] * len(ids) if decided.distances is None else decided.distances[places].tolist()
    )
    shown = decided.similarities[places].astype(np.float64).round(SIMILARITY_DIGITS)
    return [
        {"id": id, "distance": distance, "similarity": similarity}
        for id, distance, similarity in zip(ids, distances, shown.tolist(), strict=True)
    ]


def _batches(intake: Intake) -> Iterator[Batch]:
    """Yield all batches; what is read next begins to count anew."""
    yield from intake.batches(None)
    begin_counting()


def taken_unit(sketch: Given) -> str:
    """Return the unit that --unit asks for, and take it from the options of the sketch.

    There --unit says what a token is; then the unit is a document.
    """
    given = sketch.get("unit", DOCUMENT)
    one_of("--unit", given, (*UNITS, *TOKEN_UNITS))
    return DOCUMENT if given in TOKEN_UNITS else str(sketch.pop("unit", DOCUMENT))


def drop_parts(work: DedupWork) -> Outcome:
    """Put a row for each document that loses parts into the rows; write what is left.

    With --db, the parts that earlier runs have stored there are dropped, too.
    """
    job = work.job
    if job.results.show is not None:
        raise OptionError("--show shows texts that are alike; leave it out with --unit")
    checked_field("--text-field", job.reading.text_field, "--unit")
    if job.kept.has_paths:
        raise OptionError(
            "with --unit, documents that are files are written as records, each with its id and"
            " its text; let -o FILE end in .jsonl, .csv, .tsv or .parquet"
        )
    if job.store.db is None:
        outcome = _dropped(work, make_sketch(job.sketch), None)
        work.place(outcome)
        return outcome
    with (
        work.opened(lambda database: _check_parts(work, database), {}) as database,
        begin_write(database, work.progress) as transaction,
    ):
        stored = UnitKeys(transaction, job.unit, job.run or NAMELESS)
        outcome = _dropped(work, database.options.sketch, stored)

        def are_stored() -> bool:
            with database.read() as snapshot:
                return stored.are_stored(snapshot.note)

        work.commit(outcome, transaction, are_stored)
        return outcome


def _check_parts(work: DedupWork, database: simdb.Database) -> None:
    """Raise OptionError for a database whose sketch does not cut parts into words."""
    _sieve(work, database.options.sketch, None)


def _sieve(work: DedupWork, sketch: TextSketch, stored: UnitKeys | None) -> Sieve:
    job = work.job
    return Sieve(
        sketch, job.unit, job.min_words, errors=job.reading.errors, threads=thread_count(),
        stored=stored,
        alike=None if job.given.similarity is None else work.question(sketch),
    )  # fmt: skip


def _dropped(work: DedupWork, sketch: TextSketch, stored: UnitKeys | None) -> Outcome:
    """Drop the parts that occurred before, or are `stored` by earlier runs."""
    job, survivors, outcome = work.job, work.survivors, Outcome()
    sieve = _sieve(work, sketch, stored)
    with Names(work.progress.note) as names, PartsRun(sieve, work.origins, survivors, names) as run:
        for _ in run.read(work.intake.batches(sketch)):
            pass
        work.progress.begin("finding parts that occurred before")
        names.settle()
        dropped = sieve.decide()
        outcome.stored = int(np.count_nonzero(dropped.kept))
        outcome.duplicates, outcome.renamed = int(dropped.counts.sum()), names.renamed
        outcome.parts = sieve.parts(dropped)
        if work.rows is not None:
            for row in _rows(dropped, sieve, names):
                work.rows.add(row)
        if survivors is not None:
            work.progress.begin("writing what is left")
            run.change(dropped, survivors.sources, job.reading.text_field)
            run.write(dropped.kept, survivors)
        emptied = int(np.count_nonzero(~dropped.kept))
        work.intake.check(survivors, kept=outcome.stored, emptied=emptied)
    return outcome


def parts_counts(outcome: Outcome, parts: Parts) -> list[str]:
    """Return what the summary of a run counts of parts."""
    changed = int(np.count_nonzero(parts.dropped))
    left_out = len(parts.dropped) - outcome.stored
    counts = [
        quantity(parts.seen, parts.unit),
        f"{outcome.duplicates:,} dropped from {quantity(changed, 'document')}",
    ]
    return [*counts, f"{left_out:,} left out"] if left_out else counts


def _rows(dropped: Dropped, sieve: Sieve, names: Names) -> Iterator[Row]:
    """Yield a row for each document that loses parts, in the order of the input."""
    spoken, positions = sieve.spoken, np.flatnonzero(dropped.counts)
    for start in range(0, len(positions), NAMED_DOCUMENTS):
        some = positions[start : start + NAMED_DOCUMENTS]
        columns = names.of(some), spoken[some].tolist(), dropped.counts[some].tolist()
        for id, parts, lost in zip(*columns, strict=True):
            yield {"id": id, "parts": parts, "dropped": lost, "left": parts - lost}
