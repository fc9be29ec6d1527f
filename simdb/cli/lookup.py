"""Command lookup: shows which of many documents a database has already; stores nothing.

The documents can be split into two outputs, by whether they have a match.  Both are complete or,
after an error, unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Annotated, Any

import simdb
from simdb import core, files
from simdb.cli.options import option_groups
from simdb.cli.options.declare import Positive
from simdb.cli.options.intake import Intake, KeptOutput, is_default
from simdb.cli.options.opening import one_state, open_either
from simdb.cli.options.sketch_options import SketchOptions, check_given
from simdb.cli.options.texts import TextsOfIds, own_texts, read_into, text_beginning, texts_by_id
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import match_row, quantity
from simdb.core.choices import RAISE, NullName, OnError
from simdb.core.values import dataclass, replace

COLUMNS = ("id", "match", "distance", "similarity")
SHOWN_COLUMNS = (*COLUMNS, "text", "match_text")
KINDS = "a .jsonl, .csv, .tsv or .parquet file, also with .gz or .zst, or FOLDER/, as dedup -o does"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupOptions(option_groups.SearchOptions):
    """The options of `simdb lookup` about the search."""

    every: Annotated[bool, "--all"] = False
    where: list[str] | None = None
    nearest: Positive | None = None  # fmt: skip

    def check(self) -> None:
        """Raise OptionError for options that do not apply to --nearest."""
        others = {
            "--similarity": self.similarity, "--distance": self.distance, "--search": self.search,
            "--all": self.every or None,
        }  # fmt: skip
        option_groups.check_nearest(self.nearest, others)

    def found(
        self,
        held: simdb.Database | simdb.Snapshot | simdb.ShardedDatabase,
        texts: Sequence[Any],
        on_error: OnError = RAISE,
    ) -> simdb.Matches:
        """Return the matches of texts in a database or a snapshot of one."""
        where = option_groups.given_where(self.where, held.options.fields)
        if self.nearest is not None:
            return held.nearest_many(
                texts, self.nearest, recall=self.recall, where=where, on_error=on_error
            )
        return held.query_many(
            texts, where=where, limit=None if self.every else 1, on_error=on_error,
            **self.criterion,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupOutputs:
    """The options of `simdb lookup` about files: the rows, and the documents looked up."""

    output: str | None = None
    new: str | None = None
    found: str | None = None
    in_place: bool = False

    @property
    def paths(self) -> dict[str, str | None]:
        """The outputs by their options, None for each that was not asked for."""
        return {"--output": self.output, "--new": self.new, "--found": self.found}

    def own_files(self, db: str) -> list[str]:
        """Return the paths that the run itself uses."""
        return [db, *files.side_files(*self.paths.values())]

    def check(self, nearest: int | None) -> files.Format | None:
        """Return the format of the rows, None if they are not written.

        Raises OptionError for outputs that do not apply to --nearest.
        """
        if nearest is not None and (self.new, self.found) != (None, None):
            raise simdb.OptionError(
                "--new and --found write documents by whether they have a match, but --nearest"
                " shows documents whether they match or not; leave out --nearest, or --new and"
                " --found"
            )
        return None if self.output is None else files.output_format(self.output, "--output")

    def check_places(self, sources: Sequence[str], texts: Sequence[str] | None, db: str) -> None:
        """Raise OptionError for outputs that cannot be written together, see `check_outputs`."""
        staying, kept = {"in --texts": texts}, ["--new", "--found"]
        files.check_outputs(self.paths, sources, staying, [db], kept=kept, in_place=self.in_place)


def lookup(
    db: str,
    sources: list[str],
    *,
    wanted: LookupOptions,
    show: Positive | None = None,
    texts: list[str] | None = None,
    on_null: NullName | None = None,
    outputs: LookupOutputs,
    listing: option_groups.ListingOptions,
    inputs: option_groups.DocumentOptions,
    allow: list[str] | None = None,
) -> None:
    """Show which documents a database has already, and store nothing."""
    wanted.check()
    form = outputs.check(wanted.nearest)
    sources = files.expanded(sources)
    reading = option_groups.with_nulls(inputs.reading(db), on_null)
    files.check_sources([*sources, *(texts or [])], reading)
    outputs.check_places(sources, texts, db)
    with (
        files.Outputs() as held,
        open_either(db, allow or []) as database,
        Progress("looking up", is_quiet=listing.quiet) as progress,
        files.Spool() as rows,
        texts_by_id(texts) as earlier,
    ):
        with split_into(held, outputs, sources, reading, {"in --texts": texts}) as (documents, own):
            target = held.open(outputs.output, form)
            check_given(SketchOptions().given(inputs.bits), database.options.sketch, db)
            wanted.found(database, [])  # finds wrong options before anything is read
            if earlier is not None:
                read_into(earlier, texts or [], reading, database.options.sketch, progress)
            intake = Intake.of(sources, own, progress, excluded=outputs.own_files(db))
            intake.expect(database.options.sketch)
            known = own_texts(database) if earlier is None else earlier.texts
            beside = partial(_beside, show, known)
            count = _look_up(database, intake, wanted, rows, beside, documents, own.on_error)
            files.write_results(rows, target, _columns(show))
            documents.write(intake)
            rows.flush()
            held.place()
        progress.finish()
        quiet = listing.quiet or files.STANDARD_OUTPUT in outputs.paths.values()
        has_rows = replace(listing, quiet=quiet).show(rows, _columns(show))
        no_rows = None if target is None else target.note("nothing matches")
        for note in filter(None, [no_rows, *documents.notes()]):
            progress.report(note)
        progress.note(intake.summary(_counts(intake, count, wanted)))
    listing.end(has_found=has_rows, has_skipped=intake.skipped > 0)


def _columns(show: int | None) -> tuple[str, ...]:
    return COLUMNS if show is None else SHOWN_COLUMNS


class LookupSplit:
    """The documents that are looked up, to be split into the outputs."""

    def __init__(
        self, outputs: Mapping[bool, files.SurvivorOutput], lines: files.LinesAgain,
        found: core.memory.Blocks,
    ) -> None:  # fmt: skip
        """Split documents by whether they have a match; each of the two outputs may be missing.

        `lines` takes the places of documents, `found` whether they have a match.
        """
        self._outputs, self._lines, self._found = outputs, lines, found
        found.add(core.arrays.flags_at((), 0))

    def add(self, batch: files.Batch, is_found: core.dtypes.Bools) -> None:
        """Add documents; `is_found`: whether each of them has a match."""
        if self._outputs:
            self._lines.add(batch)
            self._found.add(is_found)

    def write(self, intake: Intake) -> None:
        """Write all documents of an intake.

        Raises InputError if a file was changed since it was read.
        """
        is_found = self._found.whole()
        for has_match, survivors in self._outputs.items():
            intake.spare(survivors)
            is_chosen = is_found == has_match
            self._lines.copy(is_chosen, survivors)
            kept = int(is_chosen.sum())
            intake.check(survivors, kept=kept, others=len(is_found) - kept)

    def notes(self) -> list[str | None]:
        """Return a line for each output, None for an output that has documents."""
        reasons = {True: "nothing matches", False: "every document has a match"}
        return [each.target.note(reasons[is_found]) for is_found, each in self._outputs.items()]


def _beside(
    show: int | None,
    earlier: TextsOfIds | None,
    batch: files.Batch,
    found: Sequence[tuple[int, simdb.Match]],
) -> list[files.Row]:
    """Return the fields with texts for each match, given with the position of its document.

    `show`: characters per text; None for no texts.  `earlier` finds texts of stored documents.
    """
    if show is None:
        return [{} for _ in found]
    ids = [match.id for _, match in found]
    texts = [None] * len(ids) if earlier is None else earlier(ids)
    return [
        {"text": text_beginning(batch.texts[at], show), "match_text": text_beginning(text, show)}
        for (at, _), text in zip(found, texts, strict=True)
    ]


@contextmanager
def split_into(
    outputs: files.Outputs,
    given: LookupOutputs,
    sources: Sequence[str],
    reading: files.SourceOptions,
    staying: files.Staying,
) -> Iterator[tuple[LookupSplit, files.SourceOptions]]:
    """Yield a split for the documents of `sources`, and the options to read them with.

    Raises OptionError for an output that the sources do not fit, or that would replace a file that
    must stay.
    """
    new, found = (
        KeptOutput.of(path, sources, staying, reading) for path in (given.new, given.found)
    )
    if None not in (new.path, found.path) and new.has_paths != found.has_paths:
        raise simdb.OptionError(
            "--new and --found must both list or copy documents that are files, or both write them"
            " as records; let both names end alike"
        )
    with ExitStack() as held:
        origins = held.enter_context(files.Origins())
        own = (found if new.path is None else new).reading(replace(reading, origins=origins))
        both = {False: new.opened(outputs, own), True: found.opened(outputs, own)}
        wanted = {is_found: each for is_found, each in both.items() if each is not None}
        lines = held.enter_context(files.LinesAgain(origins, next(iter(wanted.values()), None)))
        yield LookupSplit(wanted, lines, held.enter_context(core.memory.Blocks())), own


def _look_up(
    database: simdb.Database | simdb.ShardedDatabase,
    intake: Intake,
    wanted: LookupOptions,
    rows: files.Spool,
    texts: Callable[[files.Batch, Sequence[tuple[int, simdb.Match]]], list[files.Row]],
    documents: LookupSplit,
    on_error: str,
) -> int:
    """Put a row for each match into `rows`; return the number of documents with a match."""
    count = 0
    notes_short = wanted.nearest is None and is_default(
        database.options, wanted.similarity, wanted.distance
    )
    with one_state(database) as snapshot:
        for batch in intake.batches(database.options.sketch, notes_short=notes_short):
            try:
                matches = wanted.found(snapshot, batch.texts)
            except simdb.InputError:
                refuse = intake.refusing(batch, on_error)
                refused = wanted.found(snapshot, batch.texts, refuse).left_out
                batch = batch.chosen((~refused.flags(len(batch))).nonzero()[0])
                matches = wanted.found(snapshot, batch.texts)
            is_found = matches.offsets[1:] > matches.offsets[:-1]
            count += int(is_found.sum())
            documents.add(batch, is_found)
            found = [(at, match) for at, row in enumerate(matches) for match in row]
            for (at, match), beside in zip(found, texts(batch, found), strict=True):
                rows.add({"id": batch.ids[at], **match_row(match, "match"), **beside})
    return count


def _counts(intake: Intake, count: int, wanted: LookupOptions) -> list[str]:
    """Return the counts in words; `count` documents have a match."""
    parts = [quantity(intake.documents, "document")]
    if wanted.nearest is None:
        parts += [f"{count:,} in the database", f"{intake.documents - count:,} not"]
    return parts
