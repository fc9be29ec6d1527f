"""Command dedup: finds near-duplicates within the input, or against all earlier runs.

Candidates that sketches find are decided by their texts, which are read again where they are, or
wait in a spool.  Result rows wait in a spool, too, and the output of -o in a partial file,
until all is stored.
"""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from simdb.cli.duplicates.groups import (
    PartsJob,
    check_against,
    find_groups,
    opened_against,
    parts_counts,
    taken_unit,
)
from simdb.cli.duplicates.increment import find_new, open_against, run_name
from simdb.cli.duplicates.texts import Shown, TextsById, beginnings_of, texts_by_id
from simdb.cli.duplicates.work import DedupWork, DuplicateOptions, Outcome, ResultOptions
from simdb.cli.options.intake import Intake
from simdb.cli.options.option_groups import ListingOptions, ReadingOptions, with_nulls
from simdb.cli.options.sketch_options import Given, SketchOptions, allowed
from simdb.cli.output.progress import Progress, stage_lines
from simdb.cli.output.render import quantity
from simdb.deduplication.reference import DatabaseReference
from simdb.deduplication.sieve import DOCUMENT
from simdb.ground.errors import OptionError
from simdb.outputs.formats import FOLDER, PATHS, STANDARD_OUTPUT, Format, output_format
from simdb.outputs.pieces import Spool
from simdb.outputs.rows import Row
from simdb.outputs.survivors import keep_format, surviving
from simdb.outputs.table_file import write_results
from simdb.outputs.target import Target, side_files, written
from simdb.report.template import check_page, write_page
from simdb.report.text_pairs import Removed, render_removed, rule_in_words
from simdb.settings import keeping
from simdb.sources.origins import Origins
from simdb.sources.reading import check_sources, columns_of, expanded, holds_records, read_sources
from simdb.sources.records import SourceOptions, valid_name

FLAT_COLUMNS = ("representative", "size", "id", "distance", "similarity")
FLAT_TEXT_COLUMNS = (
    "representative", "size", "representative_text", "id", "distance", "similarity", "text",
)  # fmt: skip
GROUP_COLUMNS = ("representative", "size", "duplicates")
PART_COLUMNS = ("id", "parts", "dropped", "left")
MATCH_COLUMNS = ("id", "match", "distance", "similarity")


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupJob:
    """The sources of one run, the database of --db, and how to read, to judge and to write."""

    sources: list[str]
    against: list[str]
    sketch: Given
    unit: str
    min_words: int
    db: str | None
    run: str | None
    must_exist: bool
    features: bool
    allow: list[str] | None
    duplicates: DuplicateOptions
    results: ResultOptions
    listing: ListingOptions
    reading: SourceOptions
    keep_form: Format | None
    groups_form: Format | None


def dedup(
    sources: list[str],
    chosen: SketchOptions,
    *,
    db: str | None = None,
    run: str | None = None,
    existing: bool = False,
    features: bool = False,
    duplicates: DuplicateOptions,
    results: ResultOptions,
    listing: ListingOptions,
    inputs: ReadingOptions,
    allow: list[str] | None = None,
) -> None:
    """Find near-duplicate documents in files, folders and records.

    Without --db, group near-duplicates within the inputs; with --against, leave out what matches
    texts there, too.  With --db, store documents not seen before and report what each duplicate
    matches.

    Sketches find candidates, and the texts decide: documents match if the exact Jaccard similarity
    of their shingles is at least 0.8.  What --db has from an earlier run is compared by estimate,
    unless it was begun with --features, or --texts names a source with its texts.

    Every document that is left out matches the one that is kept for it (--policy star), and not
    only another document of its group (connected).  -o writes what is kept.

    Exit code 1 if files or records were skipped and, with --exit-code, if there are duplicates; 2
    if all were skipped: then nothing is written.
    """
    sketch = chosen.given()
    sources, against = expanded(sources), expanded(duplicates.against or [])
    check_sources([*sources, *against, *(duplicates.texts or [])], inputs.text_field)
    duplicates.check(has_database=db is not None)
    check_against(against, sources, (results.output, results.groups, results.report))
    unit = taken_unit(sketch)
    min_words = duplicates.least_words(unit, has_database=db is not None)
    _check_database(db, run, existing=existing, features=features)
    _check_results(results)
    output, groups = results.output, results.groups
    kinds = {source: holds_records(source) for source in sources}
    keep_form = None if output is None else keep_format(output, kinds)
    job = DedupJob(
        sources=sources, against=against, sketch=sketch, unit=unit, min_words=min_words, db=db,
        run=run, must_exist=existing, features=features, allow=allow, duplicates=duplicates,
        results=results, listing=listing, reading=_reading(inputs, keep_form, duplicates),
        keep_form=keep_form,
        groups_form=None if groups is None else output_format(groups, "--groups"),
    )  # fmt: skip
    outcome, skipped = _run(job)
    listing.end(has_found=outcome.duplicates > 0, has_skipped=skipped > 0)


def _check_database(db: str | None, run: str | None, *, existing: bool, features: bool) -> None:
    """Raise OptionError for options of the database of --db without it."""
    for is_given, says in (
        (run is not None, "--run names a run for --db"),
        (existing, "--existing says that the database of --db exists"),
        (features, "--features says what the database of --db stores"),
    ):
        if is_given and db is None:
            raise OptionError(f"{says}; give both, or neither")


def _check_results(results: ResultOptions) -> None:
    """Raise OptionError for a file of results that cannot be written."""
    if results.groups == STANDARD_OUTPUT:
        raise OptionError(
            "--groups names a file; on standard output are the groups themselves, or with -o - what"
            " is kept"
        )
    if results.report == STANDARD_OUTPUT:
        raise OptionError("--report names a file, such as --report removed.html")
    if results.report is not None:
        check_page(results.report)


def _reading(
    inputs: ReadingOptions, keep_form: Format | None, given: DuplicateOptions
) -> SourceOptions:
    """Return how to read the sources, for survivors in the format `keep_form`, and --keep."""
    kind = None if keep_form is None else keep_form.kind
    made = with_nulls(inputs.reading(), given.on_null, "keep")
    return replace(
        made, has_lines=kind is not None, has_paths=kind in (FOLDER, PATHS),
        has_fields=bool(keeping.parse(given.keep).field), memory=given.memory_bytes,
    )  # fmt: skip


def _run(job: DedupJob) -> tuple[Outcome, int]:
    """Do the job; return its outcome, and how many files or records were skipped."""
    given, results = job.duplicates, job.results
    with (
        Progress("reading") as progress,
        Spool() as rows,
        texts_by_id(is_needed=given.texts is not None) as older,
        beginnings_of(results.characters(has_database=job.db is not None)) as beginnings,
        Origins() as origins,
        ExitStack() as held,
        opened_against(
            job.against, job.reading, _own_files(job), progress, allowed(job.sketch, job.allow)
        ) as against,
    ):
        reading = replace(job.reading, origins=origins)
        found = read_sources(job.sources, reading, excluded=_own_files(job))
        intake = Intake(found, progress, reading.on_null, is_quiet=job.listing.quiet)
        names = list(map(valid_name, job.sources))
        shown: Iterable[Row] = rows
        if beginnings is not None and results.show is not None:
            shown = Shown(rows, beginnings.of, results.show)
        with (
            written(results.output, job.keep_form) as kept,
            written(results.groups, job.groups_form) as row_file,
            surviving(
                kept, job.sources, names, has_links=results.link,
                columns=partial(columns_of, job.reading),
            ) as survivors,
        ):  # fmt: skip
            taken = None if job.listing.quiet and row_file is None else rows
            run = None if job.db is None else run_name(job.run, job.sources)
            work = DedupWork(
                intake, given, results, taken, survivors, origins, held, run, beginnings,
                job.sources, against.reference,
            )  # fmt: skip
            outcome = _found(job, work, older)
            shown = shown if outcome.rows is None else outcome.rows
            write_results(shown, row_file, _columns(job, is_flat=True))
            if results.report is not None:
                progress.begin("writing the page")
                write_page(_page(job, outcome, intake), results.report)
        seconds = progress.elapsed_seconds
        progress.finish()
        if results.output != STANDARD_OUTPUT:
            job.listing.show(shown, _columns(job))
        if job.listing.timings:
            for line in stage_lines(progress.timings, as_json=job.listing.json):
                progress.note(line)
        no_rows = None if row_file is None else row_file.note("there are no duplicates")
        notes = [_kept_note(kept, intake), no_rows]
        if not job.listing.quiet:
            notes[:0] = outcome.notes()
            notes.append(_summary(outcome, intake, seconds, is_against=job.db is not None))
        for note in notes:
            if note is not None:
                progress.note(note)
    return outcome, intake.skipped + against.skipped


def _page(job: DedupJob, outcome: Outcome, intake: Intake) -> str:
    """Return the page of --report."""
    counts, measure, least = outcome.verification, None, job.duplicates.similarity
    if counts is not None:
        measure, least = counts.measure, counts.least
    rule = rule_in_words(measure, least)
    return render_removed(Removed(intake.documents, outcome.duplicates, rule, outcome.pairs))


def _own_files(job: DedupJob) -> list[str]:
    """Return the paths that the run itself uses."""
    results = job.results
    found = [os.fspath(job.db)] if job.db else []
    return found + [
        path
        for output in (results.output, results.groups, results.report)
        for path in side_files(output)
    ]


def _found(job: DedupJob, work: DedupWork, older: TextsById | None) -> Outcome:
    """Find the duplicates; `older` takes the texts of --texts."""
    given = job.duplicates
    if job.unit != DOCUMENT:
        parts = PartsJob(work, job.unit, job.min_words, job.reading)
        if job.db is None:
            return parts.drop(job.sketch)
        return parts.drop_against(job.db, job.sketch, job.allow, must_exist=job.must_exist)
    if job.db is None:
        if older is not None and isinstance(work.reference, DatabaseReference):
            sketch = work.reference.held.options.sketch
            older.read(read_sources(given.texts or [], job.reading), sketch, work.progress)
            work.reference.known = older.texts
        return find_groups(work, job.sketch)
    with open_against(
        job.db, job.sketch, job.allow, work, must_exist=job.must_exist, has_features=job.features
    ) as database:
        if older is not None:
            found = read_sources(given.texts or [], job.reading)
            older.read(found, database.options.sketch, work.progress)
        if work.beginnings is not None:
            work.beginnings.earlier = older
        return find_new(work, database, older)


def _columns(job: DedupJob, *, is_flat: bool = False) -> tuple[str, ...]:
    """Return the columns of a table of the rows; `is_flat`: with a row for each duplicate."""
    has_texts = job.results.show is not None
    if job.unit != DOCUMENT:
        return PART_COLUMNS
    if job.db is not None:
        return (*MATCH_COLUMNS, "text", "match_text") if has_texts else MATCH_COLUMNS
    led = ("reference",) if job.against else ()
    if is_flat:
        columns = FLAT_TEXT_COLUMNS if has_texts else FLAT_COLUMNS
        return (*columns[:1], *led, *columns[1:])
    return (*GROUP_COLUMNS[:1], *(("text",) if has_texts else ()), *led, *GROUP_COLUMNS[1:])


def _kept_note(kept: Target | None, intake: Intake) -> str | None:
    """Return a line that says why there are no survivors; None if there are some."""
    if kept is None:
        return None
    count = quantity(intake.documents, "document")
    return kept.note(f"none of {count} is new" if intake.documents else "no document was read")


def _summary(outcome: Outcome, intake: Intake, seconds: float, *, is_against: bool) -> str:
    """Return the counts, the time and the speed as one line; `is_against` a database of --db."""
    parts = [quantity(intake.documents, "document")]
    if outcome.parts is not None:
        parts += parts_counts(outcome, outcome.parts)
    elif is_against:
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
        "without a text and left out": intake.dropped,
    }
    parts += [f"{count:,} {name}" for name, count in counts.items() if count]
    speed = intake.size_bytes / 1e6 / max(seconds, 1e-9)
    return f"{', '.join(parts)}; {seconds:.2f} s, {speed:,.1f} MB/s{intake.skipped_note()}"
