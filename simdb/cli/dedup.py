"""Command dedup: finds near-duplicates within the input, or against all earlier runs.

Candidates that sketches find are decided by their texts, which are read again where they are, or
wait in a spool.  Result rows wait in a spool, too, and the output of -o in a partial file,
until all is stored.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace

import simdb
from simdb.cli.duplicates import groups
from simdb.cli.duplicates.increment import find_new, open_against
from simdb.cli.duplicates.work import (
    DedupJob,
    DedupWork,
    DuplicateOptions,
    Outcome,
    ResultOptions,
    StoreOptions,
)
from simdb.cli.options.intake import Intake, KeptOutput
from simdb.cli.options.option_groups import ListingOptions, ReadingOptions, with_nulls
from simdb.cli.options.sketch_options import SketchOptions, allowed
from simdb.cli.options.texts import Shown, TextsById, beginnings_of, texts_by_id
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import quantity
from simdb.core import keeping
from simdb.files import (
    STANDARD_OUTPUT,
    Origins,
    Outputs,
    Row,
    SourceOptions,
    Spool,
    SurvivorOutput,
    check_sources,
    expanded,
    read_sources,
    write_results,
)
from simdb.jobs import (
    DOCUMENT,
    PAGE_FORM,
    DatabaseReference,
    fill_page,
    render_removed,
    rule_in_words,
)
from simdb.storage import is_database

FLAT_COLUMNS = ("representative", "size", "id", "distance", "similarity")
FLAT_TEXT_COLUMNS = (
    "representative", "size", "representative_text", "id", "distance", "similarity", "text",
)  # fmt: skip
GROUP_COLUMNS = ("representative", "size", "duplicates")
PART_COLUMNS = ("id", "parts", "dropped", "left")
MATCH_COLUMNS = ("id", "match", "distance", "similarity")


def dedup(
    sources: list[str],
    chosen: SketchOptions,
    *,
    store: StoreOptions,
    duplicates: DuplicateOptions,
    results: ResultOptions,
    listing: ListingOptions,
    inputs: ReadingOptions,
    allow: list[str] | None = None,
) -> None:
    """Find near-duplicate documents in files, folders and records."""
    sketch = chosen.given()
    sources, against = expanded(sources), expanded(duplicates.against or [])
    read = [*sources, *(each for each in against if not is_database(each))]
    check_sources([*read, *(duplicates.texts or [])], inputs.reading())
    has_database = store.db is not None
    duplicates.check(has_database=has_database)
    groups.check_against(against, sources)
    staying = {"in --against": against, "in --texts": duplicates.texts}
    results.check_places(sources, staying, [store.db, *filter(is_database, against)])
    unit = groups.taken_unit(sketch)
    min_words = duplicates.least_words(unit, has_database=has_database)
    store.check()
    groups_form = results.check()
    kept = KeptOutput.of(results.output, sources, staying, inputs.reading())
    job = DedupJob(
        sources=sources, against=against, sketch=sketch, allow=allowed(sketch, allow), unit=unit,
        min_words=min_words, store=store, run=store.run_name(sources), given=duplicates,
        results=results, listing=listing, kept=kept, groups_form=groups_form,
        reading=_reading(kept.reading(inputs.reading()), duplicates),
    )  # fmt: skip
    outcome, skipped = _run(job)
    listing.end(has_found=outcome.duplicates > 0, has_skipped=skipped > 0)


def _reading(reading: SourceOptions, given: DuplicateOptions) -> SourceOptions:
    """Return how to read the sources, with what --on-null, --keep and --memory say."""
    return replace(
        with_nulls(reading, given.on_null, "keep"),
        fields=tuple(filter(None, [keeping.parse(given.keep).field])), memory=given.memory_bytes,
    )  # fmt: skip


def _run(job: DedupJob) -> tuple[Outcome, int]:
    """Do the job; return its outcome, and how many files or records were skipped."""
    results, listing, has_database = job.results, job.listing, job.store.db is not None
    with (
        Outputs() as outputs,
        Progress("reading", is_quiet=listing.quiet) as progress,
        Spool() as rows,
        texts_by_id(job.given.texts) as older,
        beginnings_of(results.characters(has_database=has_database)) as beginnings,
        Origins() as origins,
        ExitStack() as held,
        groups.opened_against(job, progress) as against,
    ):
        reading = replace(job.reading, origins=origins)
        intake = Intake.of(
            job.sources, reading, progress, excluded=job.own_files,
            has_parts=job.unit != DOCUMENT,
        )  # fmt: skip
        shown: Iterable[Row] = rows
        if beginnings is not None and results.show is not None:
            shown = Shown(rows, beginnings.of, results.show)
        survivors = job.kept.opened(outputs, reading, has_links=results.link)
        row_file = outputs.open(results.groups, job.groups_form)
        page = outputs.open(results.report, PAGE_FORM)

        def complete(outcome: Outcome) -> None:
            intake.spare(survivors)
            found = shown if outcome.rows is None else outcome.rows
            write_results(found, row_file, _columns(job, is_flat=True))
            rows.flush()
            if page is not None:
                progress.begin("writing the page")
                fill_page(_page(job, outcome, intake), page)

        work = DedupWork(
            job, intake, None if listing.quiet and row_file is None else rows, survivors, outputs,
            complete, origins, held, beginnings, against.reference,
        )  # fmt: skip
        outcome = _found(work, older)
        seconds = progress.elapsed_seconds
        progress.finish()
        if results.output != STANDARD_OUTPUT:
            listing.show(shown if outcome.rows is None else outcome.rows, _columns(job))
        listing.note_stages(progress)
        no_rows = None if row_file is None else row_file.note("there are no duplicates")
        for note in filter(None, [*outcome.notes(), outcome.alike_note(intake.documents)]):
            progress.note(note)
        for note in filter(None, [_kept_note(survivors, intake), no_rows]):
            progress.report(note)
        counts = _counts(outcome, intake, has_database=has_database)
        progress.note(intake.summary(counts, seconds))
    return outcome, intake.skipped + against.skipped


def _page(job: DedupJob, outcome: Outcome, intake: Intake) -> str:
    """Return the page of --report."""
    counts, measure, least = outcome.verification, None, job.given.similarity
    if counts is not None:
        measure, least = counts.measure, counts.least
    rule = rule_in_words(measure, least)
    return render_removed(intake.documents, outcome.duplicates, rule, outcome.pairs)


def _found(work: DedupWork, older: TextsById | None) -> Outcome:
    """Find the duplicates; `older` takes the texts of --texts."""
    job = work.job
    if job.unit != DOCUMENT:
        return groups.drop_parts(work)
    if job.store.db is None:
        if older is not None and isinstance(work.reference, DatabaseReference):
            _read_texts(work, older, work.reference.held)
            work.reference.known = older.texts
        return groups.find_groups(work)
    with open_against(work) as database:
        if older is not None:
            _read_texts(work, older, database)
        if work.beginnings is not None:
            work.beginnings.earlier = older
        return find_new(work, database, older)


def _read_texts(work: DedupWork, older: TextsById, database: simdb.Database) -> None:
    """Read the texts of --texts, which are those of documents in a database."""
    found = read_sources(work.job.given.texts or [], work.job.reading)
    older.read(found, database.options.sketch, work.progress)


def _columns(job: DedupJob, *, is_flat: bool = False) -> tuple[str, ...]:
    """Return the columns of a table of the rows; `is_flat`: with a row for each duplicate."""
    has_texts = job.results.show is not None
    if job.unit != DOCUMENT:
        return PART_COLUMNS
    if job.store.db is not None:
        return (*MATCH_COLUMNS, "text", "match_text") if has_texts else MATCH_COLUMNS
    led = ("reference",) if job.against else ()
    if is_flat:
        columns = FLAT_TEXT_COLUMNS if has_texts else FLAT_COLUMNS
        return (*columns[:1], *led, *columns[1:])
    return (*GROUP_COLUMNS[:1], *(("text",) if has_texts else ()), *led, *GROUP_COLUMNS[1:])


def _kept_note(kept: SurvivorOutput | None, intake: Intake) -> str | None:
    """Return a line that says why there are no survivors; None if there are some."""
    if kept is None:
        return None
    none_new = f"none of {quantity(intake.documents, 'document')} is new"
    return kept.target.note(none_new if intake.documents else "no document was read")


def _counts(outcome: Outcome, intake: Intake, *, has_database: bool) -> list[str]:
    """Return the counts of a run in words; `has_database`: with one of --db."""
    parts = [quantity(intake.documents, "document")]
    if outcome.parts is not None:
        parts += groups.parts_counts(outcome, outcome.parts)
    elif has_database:
        parts += [f"{outcome.stored:,} new", quantity(outcome.duplicates, "duplicate")]
    else:
        parts += [quantity(outcome.groups, "group"), quantity(outcome.duplicates, "duplicate")]
        if outcome.led is not None:
            parts.append(f"{outcome.led:,} of them of --against")
    counts = {
        "kept again": outcome.again,
        "seen before": outcome.seen,
        "empty and kept": outcome.empty,
        "renamed": outcome.renamed,
    }
    return parts + [f"{count:,} {name}" for name, count in counts.items() if count]
