"""Command dedup: finds near-duplicates within the input, or against all earlier runs.

The options become a `DedupJob`, which does the work; then its findings are printed.  The output of
-o and the rows are in partial files until everything is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import simdb
from simdb import core, files, jobs, sketch as sketching, storage
from simdb.cli.options import option_groups, sketch_options, texts
from simdb.cli.options.declare import Positive
from simdb.cli.options.intake import Intake, KeptOutput, is_default
from simdb.cli.options.opening import begin_write, open_or_create
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_note, quantity, verification_note
from simdb.core.choices import KEEP, NullName, PolicyName, RuleName, VerifyName
from simdb.core.errors import OptionError
from simdb.core.values import dataclass, replace

FLAT_COLUMNS = ("representative", "size", "id", "distance", "similarity")
FLAT_TEXT_COLUMNS = (
    "representative", "size", "representative_text", "id", "distance", "similarity", "text",
)  # fmt: skip
GROUP_COLUMNS = ("representative", "size", "duplicates")
PART_COLUMNS = ("id", "parts", "dropped", "left")
MATCH_COLUMNS = ("id", "match", "distance", "similarity")
INSIDE = "documents of --against are much smaller; simdb decontaminate finds them inside others"
# With this number of documents or more, a note says if most are near-duplicates.
MANY_DOCUMENTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The options of `simdb dedup` about the database of earlier runs."""

    db: str | None = None
    run: str | None = None
    existing: bool = False
    features: bool = False
    store_texts: bool = False

    def check(self) -> None:
        """Raise OptionError for options that need --db if it is not given."""
        for is_given, says in (
            (self.existing, "--existing says that the database of --db exists"),
            (self.features, "--features says what the database of --db stores"),
            (self.store_texts, "--store-texts says what the database of --db stores"),
        ):
            if is_given and self.db is None:
                raise OptionError(f"{says}; give both, or neither")

    def run_name(self, sources: Collection[str]) -> str | None:
        """Return the name of a run: as given, or made from the places of its sources.

        None without a database, or if a source is a stream, whose content may differ next time.
        """
        if self.run is not None or self.db is None:
            return self.run
        places = files.source_places(sources)
        return None if places is None else jobs.digest(b"\0".join(places))

    def opened(
        self,
        sketch: sketch_options.Given,
        intake: Intake,
        allow: Collection[str],
        given: GivenRun,
        try_out: Callable[[simdb.Database], object],
    ) -> AbstractContextManager[simdb.Database]:
        """Open or create the database for a `with` block; see `open_or_create`.

        Raises OptionError for a database with another sketch, or without the features or texts that
        the options ask for, and NotFoundError for a missing one with --existing.
        """
        path, has_parts = self.db or "", given.has_parts

        def make_options() -> simdb.Options:
            made = sketch_options.make_sketch(sketch)
            if has_parts:
                return simdb.Options(sketch=made)
            features = self.features or (given.question.lose is not None and not self.store_texts)
            # With their times, documents that were not seen for long can be dropped later.
            return simdb.Options(
                sketch=made, keep_times=core.options.SEEN, features=features, texts=self.store_texts
            )

        def tried_out(database: simdb.Database) -> None:
            sketch_options.check_given(sketch, database.options.sketch, path)
            has = database.options.features, database.options.texts
            for name, is_given, is_kept in zip(
                ("--features", "--store-texts"), (self.features, self.store_texts), has, strict=True
            ):
                if is_given and not has_parts and not is_kept:
                    raise OptionError(
                        f"{path} was created without {name}, and stored documents cannot get them;"
                        f" leave out {name}, or begin a new database"
                    )
            try_out(database)

        return open_or_create(
            path, make_options=make_options, try_out=tried_out, intake=intake, allow=allow,
            must_exist=self.existing,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateOptions(option_groups.SearchOptions):
    """The options of `simdb dedup` about duplicates."""

    similarity: float | None = None
    rule: RuleName = "similar"
    lose: int = 0
    policy: PolicyName = "star"
    against: list[str] | None = None
    keep: str = "first"
    verify: VerifyName | None = None
    texts: list[str] | None = None
    on_null: NullName | None = None
    max_share: float | None = None
    memory: str | None = None
    min_words: Positive | None = None

    def question(self, *, has_hashes: bool) -> jobs.DedupQuestion:
        """Return which documents match and how to compare them; raise OptionError for wrong values.

        `has_hashes`: the documents are hashes, so there are no texts to verify matches.
        """
        by_size = self.keep if self.keep in core.keeping.BY_SIZE else None
        named = {
            "--verify": self.verify, "--similarity": self.similarity, "--texts": self.texts,
            f"--keep {self.keep}": by_size,
        }  # fmt: skip
        for name, value in named.items():
            if has_hashes and value is not None:
                raise OptionError(f"{name} works only with texts; hashes match by --distance")
        memory = option_groups.given_memory(self.memory)
        core.memory.check_memory("--memory", memory)
        core.checks.shares(**{"--max-share": self.max_share})
        lose = core.checks.lose_of(self.rule, self.lose)
        return jobs.DedupQuestion(
            self.similarity, self.distance, self.recall, "estimate" if has_hashes else self.verify,
            self.policy, self.max_share, threads=core.threads.thread_count(), memory=memory,
            search=option_groups.given_search(self.search), lose=lose,
        )  # fmt: skip

    def check(self, db: str | None, against: Sequence[str], run: str | None) -> None:
        """Raise OptionError for values that are wrong with --db, or without it."""
        jobs.check_together(db, self.against, self.policy, run)
        texts.check_keep(self.keep)
        if db is None and self.texts is not None and not any(map(storage.is_database, against)):
            raise OptionError(
                "--texts works only with --db, or a database in --against; otherwise all texts are"
                " in the input"
            )

    def reading(
        self, reading: files.SourceOptions, question: jobs.DedupQuestion
    ) -> files.SourceOptions:
        """Return `reading` with the settings of --on-null, --keep and --memory."""
        reading = option_groups.with_nulls(reading, self.on_null, "keep")
        field = core.keeping.parse(self.keep).field
        return replace(reading, fields=(field,) if field else (), memory=question.memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """The options of `simdb dedup` about its results."""

    output: str | None = None
    in_place: bool = False
    link: bool = False
    show: Positive | None = None
    groups: str | None = None
    report: str | None = None

    @property
    def paths(self) -> dict[str, str | None]:
        """The outputs by their options, None for each that was not asked for."""
        return {"--output": self.output, "--groups": self.groups, "--report": self.report}

    def check(self, unit: str) -> files.Format | None:
        """Return the format of --groups; raise OptionError for a file that cannot be written."""
        if self.groups == files.STANDARD_OUTPUT:
            raise OptionError("--groups names a file; without it, the groups are printed")
        if self.report == files.STANDARD_OUTPUT:
            raise OptionError("--report names a file, such as --report removed.html")
        if self.report is not None:
            jobs.check_page(self.report)
        if self.show is not None and unit != core.options.DOCUMENT:
            raise OptionError("--show shows whole texts that match; leave it out with --unit")
        return None if self.groups is None else files.output_format(self.groups, "--groups")

    def beginnings(self, db: str | None) -> AbstractContextManager[texts.Beginnings | None]:
        """Return a context with the texts to show of a run with a database."""
        held = [jobs.TEXT_CHARACTERS] if self.report is not None else []
        held += [self.show] if self.show is not None else []
        return texts.beginnings_of(max(held) if db is not None and held else None)

    def columns(self, given: GivenRun, *, has_database: bool) -> tuple[tuple[str, ...], ...]:
        """Return the columns of the printed rows and of a --groups table.

        The table has one row per duplicate.
        """
        has_texts = self.show is not None
        if given.has_parts:
            return PART_COLUMNS, PART_COLUMNS
        if has_database:
            columns = (*MATCH_COLUMNS, "text", "match_text") if has_texts else MATCH_COLUMNS
            return columns, columns
        led, text = (("reference",) if given.against else ()), (("text",) if has_texts else ())
        flat: tuple[str, ...] = FLAT_TEXT_COLUMNS if has_texts else FLAT_COLUMNS
        flat += ("lost",) * (given.question.lose is not None)
        return (*GROUP_COLUMNS[:1], *text, *led, *GROUP_COLUMNS[1:]), (*flat[:1], *led, *flat[1:])


def dedup(
    sources: list[str],
    chosen: sketch_options.SketchOptions,
    *,
    store: StoreOptions,
    duplicates: DuplicateOptions,
    results: ResultOptions,
    listing: option_groups.ListingOptions,
    inputs: option_groups.DocumentOptions,
    allow: list[str] | None = None,
) -> None:
    """Find near-duplicate documents in files, folders and records."""
    sketch = chosen.given(inputs.bits)
    allow, has_database = sketch_options.allowed(sketch, allow), store.db is not None
    given = _checked(sources, sketch, store, duplicates, results, inputs)
    with (
        files.Outputs() as outputs,
        Progress("reading", is_quiet=listing.quiet) as progress,
        files.Spool() as spool,
        texts.texts_by_id(duplicates.texts) as older,
        results.beginnings(store.db) as beginnings,
        files.Origins() as origins,
        ExitStack() as held,
        _opened_against(given, sketch, progress, allow) as (reference, other),
    ):
        reading, has_parts = replace(given.reading, origins=origins), given.has_parts
        own = given.own_files
        intake = Intake.of(given.sources, reading, progress, excluded=own, has_parts=has_parts)
        survivors = given.kept.opened(outputs, reading, has_links=results.link)
        columns, flat = results.columns(given, has_database=has_database)
        shown = ShownRows(
            results, listing, intake, survivors, spool, beginnings,
            outputs.open(results.groups, given.groups_form), flat,
            None if results.report is None else outputs.open(results.report, jobs.PAGE_FORM),
            duplicates.similarity,
        )  # fmt: skip
        known = partial(_known, older, beginnings, duplicates.texts or [], reading, progress)
        options = simdb.Options() if has_database else _options(sketch, reference, known)
        opened = partial(store.opened, sketch, intake, allow, given)
        outcome = jobs.run_job(jobs.DedupJob(
            sources=given.sources, origins=origins, held=held, options=options,
            question=replace(given.question, watch=partial(_watch, progress)),
            batches=partial(_batches, intake, duplicates, reading, has_parts=has_parts),
            documents=lambda: intake.documents, rule=core.keeping.parse(duplicates.keep, "--keep"),
            unit=given.unit, text=reading.text_field,
            reference=reference, database=opened if has_database else None,
            begin_write=lambda database: begin_write(database, progress),
            run=store.run_name(given.sources) or (jobs.NAMELESS if has_parts else None),
            known=known, beginnings=beginnings, output=survivors, outputs=outputs,
            has_texts=results.show is not None or results.report is not None,
            note=progress.note, begin=partial(_begin, progress), found=shown.add,
        ))  # fmt: skip
        seconds = progress.elapsed_seconds
        progress.finish()
        shown.print(outcome, duplicates.keep, columns)
        intake.progress.note(intake.summary(_counts(outcome, intake, has_database), seconds))
        if other is not None and intake.mean_bytes > 2 * other.mean_bytes > 0:
            intake.progress.note(INSIDE)
    skipped = intake.skipped + (0 if other is None else other.skipped)
    listing.end(has_found=outcome.duplicates > 0, has_skipped=skipped > 0)


class GivenRun(NamedTuple):
    """The options of a run after all checks."""

    sources: list[str]
    against: list[str]
    question: jobs.DedupQuestion
    unit: simdb.Unit
    kept: KeptOutput
    groups_form: files.Format | None
    reading: files.SourceOptions
    own_files: Sequence[str]

    @property
    def has_parts(self) -> bool:
        """Whether parts of documents are compared."""
        return self.unit.name != "document"


def _checked(
    sources: list[str],
    sketch: sketch_options.Given,
    store: StoreOptions,
    given: DuplicateOptions,
    results: ResultOptions,
    inputs: option_groups.DocumentOptions,
) -> GivenRun:
    """Return the options after all checks, which raise OptionError or InputError."""
    reading = inputs.reading(store.db, *(given.against or []))
    sources, against = files.expanded(sources), files.expanded(given.against or [])
    databases = list(filter(storage.is_database, against))
    read = [*sources, *(each for each in against if each not in databases), *(given.texts or [])]
    files.check_sources(read, reading)
    question = given.question(has_hashes=reading.digits != "")
    given.check(store.db, against, store.run)
    if len(against) != 1 or not databases:
        files.check_apart(sources, against)
    staying = {"in --against": against, "in --texts": given.texts}
    files.check_outputs(
        results.paths, sources, staying, [store.db, *databases], kept=["--output"],
        in_place=results.in_place,
    )  # fmt: skip
    unit = taken_unit(sketch, given.min_words)
    if reading.digits and unit.name != core.options.DOCUMENT:
        raise OptionError("--unit drops parts of texts, and hashes have none; leave it out")
    others = {"--verify": given.verify is not None, "--texts": given.texts is not None}
    asked = question, given.keep, given.against, store.db, others
    if unit.name != core.options.DOCUMENT:
        jobs.checked_unit(unit, *asked)
    store.check()
    groups_form = results.check(unit.name)
    kept = KeptOutput.of(results.output, sources, staying, reading)
    reading = given.reading(kept.reading(reading), question)
    if unit.name != core.options.DOCUMENT:
        _check_parts(reading, kept)
    own_files = [*filter(None, [store.db]), *files.side_files(*results.paths.values())]
    return GivenRun(sources, against, question, unit, kept, groups_form, reading, own_files)


@dataclass(slots=True)
class ShownRows:
    """The rows of a run, for --groups, --report and standard output."""

    results: ResultOptions
    listing: option_groups.ListingOptions
    intake: Intake
    survivors: files.SurvivorOutput | None
    spool: files.Spool
    beginnings: texts.Beginnings | None
    row_file: files.Target | None
    flat: Sequence[str]
    page: files.Target | None
    similarity: float | None
    rows: Iterable[files.Row] = ()

    def add(self, outcome: jobs.Outcome) -> None:
        """Take the outcome, and write the files about it, before anything is stored."""
        self.intake.spare(self.survivors)
        self.rows, show = outcome.rows, self.results.show
        if show is not None and not (self.listing.quiet and self.row_file is None):
            # Texts are read now, since survivors may replace their file, and their database is
            # closed afterwards.
            if self.beginnings is None:
                rows = iter(outcome.rows.make(partial(texts.text_beginning, characters=show)))
            else:
                rows = iter(texts.Shown(outcome.rows, self.beginnings.of, show))
            for row in rows:
                self.spool.add(row)
            self.spool.flush()
            self.rows = self.spool
        files.write_results(self.rows, self.row_file, self.flat)
        if self.page is not None:
            self.intake.progress.begin("writing the page")
            jobs.fill_page(outcome.page(self.intake.documents, self.similarity), self.page)

    def print(self, outcome: jobs.Outcome, keep: str, columns: Sequence[str]) -> None:
        """Print the rows, and notes about them."""
        progress, count = self.intake.progress, self.intake.documents
        if self.results.output != files.STANDARD_OUTPUT:
            self.listing.show(self.rows, columns)
        self.listing.note_stages(progress)
        for note in filter(None, _notes(outcome, keep, count)):
            progress.note(note)
        none_new = f"none of {quantity(count, 'document')} is new"
        if self.survivors is not None:
            print_note(self.survivors.target.note(none_new if count else "no document was read"))
        if self.row_file is not None:
            print_note(self.row_file.note("there are no duplicates"))


def taken_unit(sketch: sketch_options.Given, min_words: int | None) -> simdb.Unit:
    """Return the parts that --unit names, and remove it from the options of the sketch.

    If --unit names a kind of token, it is kept there, and whole documents are compared.
    """
    whole, of_tokens = core.options.DOCUMENT, core.text_sketch.UNITS
    given = sketch.get("unit", whole)
    core.checks.one_of("--unit", given, (*core.options.UNITS, *of_tokens))
    name = whole if given in of_tokens else sketch.pop("unit", whole)
    return simdb.Unit(name, min_words)


def _check_parts(reading: files.SourceOptions, kept: KeptOutput) -> None:
    """Raise OptionError for options that have no meaning for parts of documents."""
    core.fields.checked_field("--text-field", reading.text_field, "--unit")
    if kept.has_paths:
        raise OptionError(
            "with --unit, documents that are files are written as records, each with its id and"
            " its text; let -o FILE end in .jsonl, .csv, .tsv or .parquet"
        )


@contextmanager
def _opened_against(
    given: GivenRun, sketch: sketch_options.Given, progress: Progress, allow: Collection[str]
) -> Iterator[tuple[jobs.Reference | None, Intake | None]]:
    """Yield the open reference of --against and the intake of its files, or None for each."""
    against, reading = given.against, given.reading
    if not against:
        yield None, None
    elif storage.is_database(against[0]):
        with simdb.open(against[0], "r", allow=allow) as held:
            yield jobs.DatabaseReference(held), None
    else:
        origins = files.Origins()
        own = replace(
            reading, has_lines=False, has_paths=False, fields=(),
            on_null="" if reading.digits else KEEP,
            given=tuple({reading.text_field} & {*reading.given}), origins=origins,
        )  # fmt: skip
        found = files.read_sources(against, own, excluded=given.own_files)
        intake = Intake(found, progress, on_error=own.on_error)

        def batches() -> Iterator[files.Batch]:
            found = intake.batches(None)
            if sketch_options.BITS in sketch:
                hashes = sketching.HashSketcher(simdb.Bits(sketch[sketch_options.BITS]))
                intake.expect(hashes.options)
                found = intake.readable(found, hashes, own.on_error)
            yield from found
            files.AMOUNT.begin()  # for the sources, which are read next

        expected = files.AMOUNT.expected_documents(against)
        yield jobs.FileReference(batches(), origins, expected, against), intake


def _known(
    older: files.TextsById | None,
    beginnings: texts.Beginnings | None,
    sources: Collection[str],
    reading: files.SourceOptions,
    progress: Progress,
    database: simdb.Database,
) -> texts.TextsOfIds | None:
    """Return the function that finds texts of a database: in --texts, or in itself."""
    found = texts.own_texts(database) if older is None else older.texts
    if older is not None:
        texts.read_into(older, sources, reading, database.options.sketch, progress)
    if beginnings is not None:
        beginnings.earlier = found
    return found


def _options(
    sketch: sketch_options.Given,
    reference: jobs.Reference | None,
    known: Callable[[simdb.Database], Any],
) -> simdb.Options:
    """Return the options of the database of --against, or of the command line."""
    if not isinstance(reference, jobs.DatabaseReference):
        return simdb.Options(sketch=sketch_options.make_sketch(sketch))
    sketch_options.check_given(sketch, reference.held.options.sketch, reference.held.path)
    reference.known = known(reference.held) or reference.known
    return reference.held.options


def _batches(
    intake: Intake,
    given: DuplicateOptions,
    reading: files.SourceOptions,
    options: simdb.Options,
    sketcher: sketching.AnySketcher | None,
    *,
    has_parts: bool,
) -> Iterator[files.Batch]:
    """Return the documents, except the ones that the sketcher refuses."""
    notes_short = not has_parts and is_default(options, given.similarity, given.distance)
    if sketcher is not None:
        intake.expect(options.sketch)
    batches = intake.batches(options.sketch, notes_short=notes_short)
    # A tokeniser function can refuse any text, and a text need not be a hash.
    if (options.sketch.tokeniser or options.is_hashes) and sketcher is not None:
        return intake.readable(batches, sketcher, reading.on_error)
    return batches


def _watch(progress: Progress, pairs: int) -> None:
    """Show the number of pairs compared so far."""
    progress.show(f"{pairs:,} pairs compared")


def _begin(progress: Progress, stage: str, way: str = "") -> None:
    """Begin a stage; `way`: how the stage before was done."""
    progress.timings.note = way
    progress.begin(stage)


def _notes(outcome: jobs.Outcome, keep: str, documents: int) -> Iterator[str | None]:
    """Yield notes about the run, or None in place of a note."""
    yield outcome.largest_note()
    yield verification_note(outcome.verification)
    if keep != core.keeping.FIRST and outcome.earlier:
        yield (
            f"--keep {keep} chose only among the documents of this run;"
            f" {quantity(outcome.earlier, 'document')} of it match documents of earlier runs, which"
            " are kept"
        )
    if outcome.again:
        yield (
            "this run is in the database already, so the documents that it stored then are kept"
            f" again ({quantity(outcome.again, 'document')}); --run NAME begins another run"
        )
    is_most = outcome.parts is None and 2 * outcome.duplicates > documents
    if documents >= MANY_DOCUMENTS and is_most:
        yield (
            f"{outcome.duplicates:,} of {quantity(documents, 'document')} are near-duplicates of"
            " others; if these are more than you expect, a higher --similarity or a longer"
            " --shingle (of hashes, a smaller --distance) tells more documents apart, and"
            " --max-share ends such a run"
        )


def _counts(outcome: jobs.Outcome, intake: Intake, has_database: bool) -> list[str]:
    """Return the counts of a run in words; `has_database`: the run has --db."""
    found, parts = [quantity(intake.documents, "document")], outcome.parts
    if parts is not None:
        changed, left_out = int((parts.dropped > 0).sum()), len(parts.dropped) - outcome.stored
        dropped = f"{outcome.duplicates:,} dropped from {quantity(changed, 'document')}"
        found += [quantity(parts.seen, parts.unit), dropped]
        found += [f"{left_out:,} left out"] if left_out else []
    elif has_database:
        found += [f"{outcome.stored:,} new", quantity(outcome.duplicates, "duplicate")]
    else:
        found += [quantity(outcome.groups, "group"), quantity(outcome.duplicates, "duplicate")]
        if outcome.led is not None:
            found.append(f"{outcome.led:,} of them of --against")
    counts = {
        "kept again": outcome.again,
        "seen before": outcome.seen,
        "empty and kept": outcome.empty,
        "renamed": outcome.renamed,
    }
    return found + [f"{count:,} {name}" for name, count in counts.items() if count]
