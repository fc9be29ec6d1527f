"""Command decontaminate: finds items of a test in training data, and writes the clean data."""

from __future__ import annotations

from typing import Any, NamedTuple

from simdb import core, files, jobs
from simdb.cli.options.intake import Intake, KeptOutput
from simdb.cli.options.option_groups import ListingOptions, ReadingOptions, with_nulls
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import quantity
from simdb.core.choices import RAISE, NullName, NumbersName
from simdb.core.errors import OptionError
from simdb.core.values import dataclass, replace

SHOWN_COLUMNS = ("id", "item", "field", "coverage", "hits", "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakOptions:
    """The options of `simdb decontaminate` about items and the documents that have them."""

    fields: list[str] | None = None
    coverage: float = 0.5
    ngram: int = 5
    common: float = 1e-4
    numbers: NumbersName = "same"
    drop: bool = False
    cut: bool = False
    mark: bool = False

    @property
    def action(self) -> str:
        """The action on documents with an item; raise OptionError if several are given."""
        given = {jobs.DROP: self.drop, jobs.CUT: self.cut, jobs.MARK: self.mark}
        names = [name for name, is_given in given.items() if is_given]
        if len(names) > 1:
            raise OptionError(f"give one of {', '.join(f'--{name}' for name in names)}")
        return names[0] if names else jobs.DROP


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The options of `simdb decontaminate` about its results."""

    output: str | None = None
    report: str | None = None
    leaks: str | None = None
    in_place: bool = False

    @property
    def paths(self) -> dict[str, str | None]:
        """The outputs by their options, None for each that was not asked for."""
        return {"--output": self.output, "--leaks": self.leaks, "--report": self.report}


class DecontaminateJob(NamedTuple):
    """The options of a run after all checks."""

    reading: files.SourceOptions
    results: Results
    kept: KeptOutput
    leaks_form: files.Format | None
    action: str


def decontaminate(
    sources: list[str],
    *,
    against: list[str] | None = None,
    wanted: LeakOptions,
    results: Results,
    listing: ListingOptions,
    inputs: ReadingOptions,
    on_null: NullName | None = None,
) -> None:
    """Find the items of a test in training data, and remove the documents that have them."""
    if against is None:
        raise OptionError("--against SOURCE names the items to look for, such as the test set")
    rule = jobs.LeakRule(wanted.ngram, wanted.coverage, wanted.common, wanted.numbers)
    sources, tests = files.expanded(sources), files.expanded(against)
    reading = inputs.reading()
    files.check_sources([*sources, *tests], reading)
    staying = {"in --against": tests}
    files.check_outputs(
        results.paths, sources, staying, kept=["--output"], in_place=results.in_place
    )
    job = _job(sources, wanted.action, results, inputs, on_null, staying)
    own_files = files.side_files(*results.paths.values())
    with (
        Progress("reading the items", is_quiet=listing.quiet) as progress,
        files.Outputs() as outputs,
        files.Origins() as origins,
    ):
        names = [*wanted.fields] if wanted.fields else [reading.text_field]
        job = job._replace(reading=replace(job.reading, origins=origins))
        intake = Intake.of(sources, job.reading, progress, excluded=own_files)

        def report(row: int, id: Any, reason: str) -> None:
            intake.report(files.InputProblem(tests[0], str(id), reason))

        skipped = core.skipped.Skipped(RAISE if inputs.on_error == RAISE else report)
        parts = jobs.parts_of_files(tests, names, reading, skipped)
        skipped.named()
        count, sketch = core.threads.thread_count(), core.options.Simhash()
        search = jobs.ItemSearch(parts, sketch, rule, errors=inputs.errors, threads=count)
        found, notes = _run(job, search, intake, outputs)
        progress.finish()
        if results.output != files.STANDARD_OUTPUT:
            listing.show((leak.row for leak in found.found), SHOWN_COLUMNS)
        listing.note_stages(progress)
        for note in filter(None, notes):
            progress.report(note)
        progress.note(intake.summary(_counts(found, intake), progress.elapsed_seconds))
        if found.short:
            progress.note("simdb dedup --against finds documents that consist of a short item")
    listing.end(has_found=bool(found.found), has_skipped=intake.skipped > 0)


def _job(
    sources: list[str],
    action: str,
    results: Results,
    inputs: ReadingOptions,
    on_null: NullName | None,
    staying: files.Staying,
) -> DecontaminateJob:
    """Return the job.

    Raises OptionError for an output or an action that does not fit the sources.
    """
    own = inputs.reading()
    core.fields.checked_field("--text-field", own.text_field, "--cut" * (action == jobs.CUT))
    documents = [source for source in sources if not files.holds_records(source, own)]
    if action != jobs.DROP and documents:
        raise OptionError(f"--{action} changes records, and {documents[0]} has none; leave it out")
    if files.STANDARD_OUTPUT in (results.leaks, results.report):
        raise OptionError("--leaks and --report name files; without --leaks, leaks are shown")
    if results.report is not None:
        jobs.check_page(results.report)
    kept = KeptOutput.of(results.output, sources, staying, own)
    reading = kept.reading(with_nulls(own, on_null, "keep"))
    form = None if results.leaks is None else files.output_format(results.leaks, "--leaks")
    return DecontaminateJob(reading, results, kept, form, action)


def _run(
    job: DecontaminateJob, search: jobs.ItemSearch, intake: Intake, outputs: files.Outputs
) -> tuple[jobs.Decontaminated, list[str | None]]:
    """Read the sources, and write the outputs; return the findings and notes."""
    progress, reading = intake.progress, job.reading
    assert reading.origins is not None, "documents are read again"
    survivors = job.kept.opened(outputs, reading)
    leaks = outputs.open(job.results.leaks, job.leaks_form)
    page = outputs.open(job.results.report, jobs.PAGE_FORM)
    progress.begin("reading")
    with jobs.DecontaminationRun(search, reading.origins, survivors) as run:
        batches, text = intake.batches(None), reading.text_field
        kept = run.clean(batches, job.action, job.kept.sources, text, begin=progress.begin)
        if survivors is not None:
            progress.begin("writing what is clean")
            intake.spare(survivors)
            run.lines.copy(kept, survivors)
        stay = int(kept.sum())
        intake.check(survivors, kept=stay, removed=len(kept) - stay)
        found = run.result(jobs.InMemory([], text), kept, core.skipped.Skipped())
    if leaks is not None:
        found.fill_leaks(leaks)
    if page is not None:
        jobs.fill_page(found.page(), page)
    outputs.place()
    empty = {"no item was found": leaks}
    if survivors is not None:
        empty["no document is kept"] = survivors.target
    return found, [each.note(reason) for reason, each in empty.items() if each is not None]


def _counts(found: jobs.Decontaminated, intake: Intake) -> list[str]:
    """Return the counts in words."""
    parts = [
        f"{len(found.leaked):,} of {quantity(found.items, 'item')} found in"
        f" {found.documents:,} of {quantity(intake.documents, 'document')}",
        f"{len(found):,} kept",
    ]
    if found.short:
        parts.append(f"{quantity(found.short, 'text')} of items too short to look for")
    if found.common:
        parts.append(f"{quantity(found.common, 'text')} of items too common to look for")
    return parts
