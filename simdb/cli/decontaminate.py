"""Command decontaminate: finds the items of a test in training data, and writes the data clean."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simdb.cli.options.intake import Intake, KeptOutput
from simdb.cli.options.option_groups import ListingOptions, ReadingOptions, with_nulls
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import quantity
from simdb.core.choices import RAISE, NullName
from simdb.core.errors import OptionError
from simdb.core.fields import FieldName, checked_field
from simdb.core.options import Simhash
from simdb.core.skipped import Skipped
from simdb.core.threads import thread_count
from simdb.files import (
    STANDARD_OUTPUT,
    Format,
    InputProblem,
    Origins,
    Outputs,
    SourceOptions,
    Staying,
    check_outputs,
    check_sources,
    expanded,
    holds_records,
    output_format,
    side_files,
    write_rows,
)
from simdb.jobs import (
    COLUMNS,
    CUT,
    DROP,
    MARK,
    PAGE_FORM,
    Decontaminated,
    DecontaminationRun,
    InMemory,
    ItemSearch,
    check_page,
    checked_rule,
    fill_page,
    parts_of_files,
    result,
)

SHOWN_COLUMNS = ("id", "item", "field", "coverage", "hits", "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakOptions:
    """The options of `simdb decontaminate` about items, and what becomes of their documents."""

    fields: list[str] | None = None
    ngram: int = 13
    coverage: float = 0.5
    min_hits: int = 8
    common: float = 1e-4
    drop: bool = False
    cut: bool = False
    mark: bool = False

    @property
    def action(self) -> str:
        """What becomes of documents with an item; OptionError if several things are asked for."""
        given = {DROP: self.drop, CUT: self.cut, MARK: self.mark}
        names = [name for name, is_given in given.items() if is_given]
        if len(names) > 1:
            raise OptionError(f"give one of {', '.join(f'--{name}' for name in names)}")
        return names[0] if names else DROP


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Where `simdb decontaminate` writes its results."""

    output: str | None = None
    report: str | None = None
    leaks: str | None = None
    in_place: bool = False

    @property
    def paths(self) -> dict[str, str | None]:
        """The outputs by their options, None for each that was not asked for."""
        return {"--output": self.output, "--leaks": self.leaks, "--report": self.report}


@dataclass(frozen=True, slots=True)
class DecontaminateJob:
    """How to read the sources of one run, and what becomes of them."""

    reading: SourceOptions
    results: Results
    kept: KeptOutput
    leaks_form: Format | None
    action: str

    @property
    def own_files(self) -> list[str]:
        """The files that the run writes, which are no input."""
        return side_files(*self.results.paths.values())


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
    rule = checked_rule(wanted.ngram, wanted.coverage, wanted.min_hits, wanted.common)
    sources, tests = expanded(sources), expanded(against)
    reading = inputs.reading()
    check_sources([*sources, *tests], reading)
    staying = {"in --against": tests}
    check_outputs(results.paths, sources, staying, kept=["--output"], in_place=results.in_place)
    job = _job(sources, wanted.action, results, inputs, on_null, staying)
    with Progress("reading the items", is_quiet=listing.quiet) as progress:
        names: list[FieldName] = [*wanted.fields] if wanted.fields else [reading.text_field]
        with Origins() as origins:
            reading = replace(job.reading, origins=origins)
            intake = Intake.of(sources, reading, progress, excluded=job.own_files)

            def report(row: int, id: Any, reason: str) -> None:
                intake.report(InputProblem(tests[0], str(id), reason))

            skipped = Skipped(RAISE if inputs.on_error == RAISE else report)
            parts = parts_of_files(tests, names, inputs.reading(), skipped)
            skipped.named()
            search = ItemSearch(
                parts, Simhash(), rule, ngram=wanted.ngram, errors=inputs.errors,
                threads=thread_count(),
            )  # fmt: skip
            found, notes = _run(replace(job, reading=reading), search, intake, origins)
        progress.finish()
        if results.output != STANDARD_OUTPUT:
            listing.show((leak.row for leak in found.found), SHOWN_COLUMNS)
        listing.note_stages(progress)
        for note in filter(None, notes):
            progress.report(note)
        progress.note(intake.summary(_counts(found, intake), progress.elapsed_seconds))
    listing.end(has_found=bool(found.found), has_skipped=intake.skipped > 0)


def _job(
    sources: list[str],
    action: str,
    results: Results,
    inputs: ReadingOptions,
    on_null: NullName | None,
    staying: Staying,
) -> DecontaminateJob:
    """Return what is to be done; OptionError for an output or an action that does not fit."""
    own = inputs.reading()
    checked_field("--text-field", own.text_field, "--cut" * (action == CUT))
    documents = [source for source in sources if not holds_records(source, own)]
    if action != DROP and documents:
        raise OptionError(f"--{action} changes records, and {documents[0]} has none; leave it out")
    if STANDARD_OUTPUT in (results.leaks, results.report):
        raise OptionError("--leaks and --report name files; without --leaks, leaks are shown")
    if results.report is not None:
        check_page(results.report)
    kept = KeptOutput.of(results.output, sources, staying, own)
    reading = kept.reading(with_nulls(own, on_null, "keep"))
    form = None if results.leaks is None else output_format(results.leaks, "--leaks")
    return DecontaminateJob(reading, results, kept, form, action)


def _run(
    job: DecontaminateJob, search: ItemSearch, intake: Intake, origins: Origins
) -> tuple[Decontaminated, list[str | None]]:
    """Read the sources, and write what the options ask for; return what was found, and notes."""
    progress = intake.progress
    with ExitStack() as held:
        outputs = held.enter_context(Outputs())
        survivors = job.kept.opened(outputs, job.reading)
        leaks_target = outputs.open(job.results.leaks, job.leaks_form)
        page = outputs.open(job.results.report, PAGE_FORM)
        run = held.enter_context(DecontaminationRun(search, origins, survivors))
        progress.begin("reading")
        for _ in run.read(intake.batches(None)):
            pass
        progress.begin("comparing documents with items")
        leaks = run.leaks()
        if survivors is None:
            kept = np.ones(search.documents, np.bool_)
            kept[[leak.id for leak in leaks]] = job.action != DROP
        else:
            progress.begin("writing what is clean")
            kept = run.kept(leaks, job.action, job.kept.sources, job.reading.text_field)
            intake.spare(survivors)
            run.lines.copy(kept, survivors)
        stay = int(np.count_nonzero(kept))
        intake.check(survivors, kept=stay, removed=len(kept) - stay)
        written_already = InMemory([], job.reading.text_field)
        found = result(written_already, kept, run.named(leaks), search, Skipped())
        if leaks_target is not None:
            write_rows(lambda: (leak.row for leak in found.found), leaks_target, COLUMNS)
            leaks_target.finish()
        if page is not None:
            fill_page(found.page(), page)
        outputs.place()
    empty = {"no item was found": leaks_target}
    if survivors is not None:
        empty["no document is kept"] = survivors.target
    return found, [each.note(reason) for reason, each in empty.items() if each is not None]


def _counts(found: Decontaminated, intake: Intake) -> list[str]:
    """Return the counts in words."""
    parts = [
        f"{len(found.leaked):,} of {quantity(found.items, 'item')} found in"
        f" {found.documents:,} of {quantity(intake.documents, 'document')}",
        f"{len(found):,} kept",
    ]
    if found.short:
        parts.append(f"{quantity(found.short, 'text')} of items too short to look for")
    return parts
