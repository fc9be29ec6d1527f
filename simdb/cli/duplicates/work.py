"""Work: the options of a run of `simdb dedup`, what it reads and decides, and what comes of it."""

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import simdb
from simdb.cli.options.declare import Positive
from simdb.cli.options.intake import Intake, KeptOutput
from simdb.cli.options.opening import open_or_create
from simdb.cli.options.option_groups import (
    ListingOptions,
    SearchOptions,
    given_memory,
    given_search,
)
from simdb.cli.options.sketch_options import Given, check_given, make_sketch
from simdb.cli.options.texts import Beginnings, check_keep
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import quantity, verification_note
from simdb.core import keeping
from simdb.core.checks import most_removed, share
from simdb.core.choices import NullName, PolicyName, VerifyName
from simdb.core.errors import OptionError
from simdb.core.memory import check_memory
from simdb.core.threads import thread_count
from simdb.database import ESTIMATE, EXACT, STAR
from simdb.files import (
    STANDARD_OUTPUT,
    Format,
    Origins,
    Outputs,
    Row,
    SourceOptions,
    Spool,
    Staying,
    SurvivorOutput,
    check_outputs,
    is_remote,
    is_stream,
    output_format,
    remote_place,
    side_files,
)
from simdb.jobs import TEXT_CHARACTERS, DedupQuestion, check_page, checked_unit, repeat
from simdb.storage import is_database

if TYPE_CHECKING:
    from simdb.jobs import Parts, Reference, TextPair

LARGEST_SHOWN = 3
# A group of fewer documents is not worth a line.
LARGE_DOCUMENTS = 10
# Of so many documents it is said if most are alike.
MANY_DOCUMENTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The options of `simdb dedup` about the database of earlier runs."""

    db: str | None = None
    run: str | None = None
    existing: bool = False
    features: bool = False

    def check(self) -> None:
        """Raise OptionError for options of the database of --db without it."""
        for is_given, says in (
            (self.run is not None, "--run names a run for --db"),
            (self.existing, "--existing says that the database of --db exists"),
            (self.features, "--features says what the database of --db stores"),
        ):
            if is_given and self.db is None:
                raise OptionError(f"{says}; give both, or neither")

    def run_name(self, sources: Collection[str]) -> str | None:
        """Return the name of a run: the given one, or one made of the places of its sources.

        None without a database, or if a source is a stream, which can be anything when it is read
        again.
        """
        if self.run is not None:
            return repeat.checked_name(self.run, "--run")
        if self.db is None or any(map(is_stream, sources)):
            return None
        places = sorted(
            {
                os.fsencode(remote_place(each) if is_remote(each) else os.path.realpath(each))
                for each in sources
            }
        )
        return blake2b(b"\0".join(places), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateOptions(SearchOptions):
    """The options of `simdb dedup` about duplicates."""

    similarity: float | None = None
    policy: PolicyName = STAR
    against: list[str] | None = None
    keep: str = keeping.FIRST
    verify: VerifyName | None = None
    texts: list[str] | None = None
    on_null: NullName | None = None
    max_share: float | None = None
    memory: str | None = None
    min_words: int | None = None

    @property
    def memory_bytes(self) -> int | None:
        """How many bytes are held of documents; None for the usual number."""
        found = given_memory(self.memory)
        check_memory("--memory", found)
        return found

    def check(self, *, has_database: bool) -> None:
        """Raise OptionError for values that are wrong, with --db or without it."""
        if self.max_share is not None:
            share("--max-share", self.max_share)
        if has_database and self.against is not None:
            raise OptionError(
                "--against compares with a reference and stores nothing, and --db stores what is"
                " new; give one of the two"
            )
        for name, is_given in {"--db": has_database, "--against": self.against is not None}.items():
            if is_given and self.policy != STAR:
                raise OptionError(
                    f"--policy {self.policy} works only without {name}, where documents are grouped"
                )
        check_keep(self.keep)
        is_stored = has_database or any(map(is_database, self.against or []))
        if not is_stored and self.texts is not None:
            raise OptionError(
                "--texts works only with --db, or a database in --against; otherwise all texts are"
                " in the input"
            )

    def least_words(self, unit: str, *, has_database: bool) -> int:
        """How many words a part must have to be dropped; OptionError for options against `unit`."""
        others = {
            "--similarity with --db": self.similarity is not None and has_database,
            "--distance": self.distance is not None,
            "--recall": self.recall is not None, "--search": self.search is not None,
            "--verify": self.verify is not None, "--texts": self.texts is not None,
            "--max-share": self.max_share is not None, "--policy": self.policy != STAR,
            "--keep": self.keep != keeping.FIRST, "--against": self.against is not None,
        }  # fmt: skip
        return checked_unit(unit, self.min_words, others, names=("--unit", "--min-words"))


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

    def check_places(
        self, sources: Collection[str], staying: Staying, databases: Collection[str | None]
    ) -> None:
        """Raise OptionError for outputs that cannot be written together, see `check_outputs`."""
        kept = ["--output"]
        check_outputs(self.paths, sources, staying, databases, kept=kept, in_place=self.in_place)

    def check(self) -> Format | None:
        """Return the format of --groups; OptionError for a file that cannot be written."""
        if self.groups == STANDARD_OUTPUT:
            raise OptionError(
                "--groups names a file; on standard output are the groups themselves, or with -o -"
                " what is kept"
            )
        if self.report == STANDARD_OUTPUT:
            raise OptionError("--report names a file, such as --report removed.html")
        if self.report is not None:
            check_page(self.report)
        return None if self.groups is None else output_format(self.groups, "--groups")

    def characters(self, *, has_database: bool) -> int | None:
        """Return how much is held of each text with a database; None for nothing."""
        held = [TEXT_CHARACTERS] if self.report is not None else []
        held += [self.show] if self.show is not None else []
        return max(held) if has_database and held else None


@dataclass(slots=True)
class Outcome:
    """The counts of a run.

    `largest`: size and representative of the largest groups, the largest first.  `verification`:
    what texts have decided, None if they were not asked.  `earlier`: how many documents match one
    of an earlier run, which --keep cannot replace.  `pairs`: of --report, the texts of duplicates.
    `led`: how many duplicates match --against, None without it.  `parts`: what became of parts,
    with --unit; then `stored` documents stay, and `duplicates` are parts.  `rows`: what was found,
    if that does not wait in the rows of the work.
    """

    stored: int = 0
    groups: int = 0
    duplicates: int = 0
    empty: int = 0
    seen: int = 0
    renamed: int = 0
    again: int = 0
    largest: list[tuple[int, str]] = field(default_factory=list)
    verification: simdb.Verification | None = None
    earlier: int = 0
    keep: str = keeping.FIRST
    pairs: "list[TextPair]" = field(default_factory=list)
    parts: "Parts | None" = None
    led: int | None = None
    rows: Iterable[Row] | None = None

    def notes(self) -> list[str | None]:
        """Return lines about the run, None for each that has nothing to say."""
        return [
            self.largest_note(),
            verification_note(self.verification),
            self.earlier_note(),
            self.again_note(),
        ]

    def earlier_note(self) -> str | None:
        """Return a line about what --keep could not choose; None if there is nothing to say."""
        if self.keep == keeping.FIRST or not self.earlier:
            return None
        return (
            f"--keep {self.keep} chose among the documents of this run;"
            f" {quantity(self.earlier, 'document')} of it match documents of earlier runs, which"
            " stay"
        )

    def again_note(self) -> str | None:
        """Return a line about documents that are kept again; None if there are none."""
        if not self.again:
            return None
        return (
            "this run is in the database already, and keeps again what it stored then"
            f" ({quantity(self.again, 'document')}); --run NAME begins another run"
        )

    def alike_note(self, documents: int) -> str | None:
        """Return a line if most of the `documents` that were read go; None if that is not so."""
        is_most = self.parts is None and 2 * self.duplicates > documents
        if documents < MANY_DOCUMENTS or not is_most:
            return None
        return (
            f"{self.duplicates:,} of {quantity(documents, 'document')} are near-duplicates of"
            " others; if these are more than you expect, a higher --similarity or a longer"
            " --shingle tells more documents apart, and --max-share ends such a run"
        )

    def largest_note(self) -> str | None:
        """Return a line about the largest groups; None if all are small."""
        large = [each for each in self.largest if each[0] >= LARGE_DOCUMENTS]
        if not large:
            return None
        shown = ", ".join(f"{name} ({quantity(size, 'document')})" for size, name in large)
        return f"largest groups: {shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupJob:
    """What a run of `simdb dedup` was asked for.

    `sketch`: the sketch options; `allow`: functions that may be imported.  `unit`, `min_words`: of
    the parts that are dropped.  `run`: the name under which a database remembers the run; None for
    no name.  `reading`: how the sources are read.  `kept`, `groups_form`: what -o and --groups
    write.
    """

    sources: list[str]
    against: list[str]
    sketch: Given
    allow: list[str]
    unit: str
    min_words: int
    store: StoreOptions
    run: str | None
    given: DuplicateOptions
    results: ResultOptions
    listing: ListingOptions
    reading: SourceOptions
    kept: KeptOutput
    groups_form: Format | None

    @property
    def own_files(self) -> list[str]:
        """The paths that the run itself uses."""
        own = [self.store.db] if self.store.db else []
        return [*own, *side_files(*self.results.paths.values())]


class DedupWork(NamedTuple):
    """What a run reads, and where the results go.

    `rows` takes what is found, None if nobody will see it.  `survivors`: the output of -o, one of
    the `outputs`; `complete` writes all others, when the outcome is known.
    `origins`: where lines of the input can be read again.  `held`: frees what is needed to show the
    rows.  With a database `beginnings` takes texts that are shown.  `reference`: what --against
    names.
    """

    job: DedupJob
    intake: Intake
    rows: Spool | None
    survivors: SurvivorOutput | None
    outputs: Outputs
    complete: Callable[[Outcome], None]
    origins: Origins
    held: ExitStack
    beginnings: Beginnings | None
    reference: "Reference | None"

    @property
    def progress(self) -> Progress:
        """What shows how far the run is."""
        return self.intake.progress

    @property
    def has_page(self) -> bool:
        """Whether --report is given."""
        return self.job.results.report is not None

    def opened(
        self, try_out: Callable[[simdb.Database], None], settings: dict[str, Any]
    ) -> AbstractContextManager[simdb.Database]:
        """Open the database of --db for a `with` statement, or create it; see `open_or_create`.

        `settings`: options of a new one beside its sketch.  Raises OptionError for a database with
        another sketch, and NotFoundError if there is none and --existing is given.
        """
        job, path = self.job, self.job.store.db or ""

        def tried_out(database: simdb.Database) -> None:
            check_given(job.sketch, database.options.sketch, path)
            try_out(database)

        return open_or_create(
            path, make_options=lambda: simdb.Options(sketch=make_sketch(job.sketch), **settings),
            try_out=tried_out, intake=self.intake, allow=job.allow, must_exist=job.store.existing,
        )  # fmt: skip

    def question(self, sketch: simdb.TextSketch) -> DedupQuestion:
        """Return when documents of the input are alike, and how they are compared."""
        given = self.job.given
        return DedupQuestion(
            given.similarity, given.distance, given.recall, self.decided_by(sketch), given.policy,
            None, "strict", thread_count(), None, given_search(given.search), given.memory_bytes,
            watch=lambda pairs: self.progress.show(f"{pairs:,} pairs compared"),
        )  # fmt: skip

    def decided_by(self, sketch: simdb.TextSketch) -> VerifyName:
        """Return what decides: what is asked for, or else the texts wherever they can."""
        given = self.job.given
        if given.verify is not None:
            return given.verify
        by_distance = given.distance is not None and given.similarity is None
        return ESTIMATE if by_distance or sketch.unit == "moz" else EXACT

    def place(self, outcome: Outcome) -> None:
        """Write what is left to write, and give all outputs their names."""
        self.complete(outcome)
        self.outputs.place()

    def commit(
        self, outcome: Outcome, transaction: simdb.WriteTransaction, is_stored: Callable[[], bool]
    ) -> None:
        """Do the same, and store what is new: all of it is done, or nothing.

        `is_stored`: see `Outputs.placed`.
        """
        self.complete(outcome)
        with self.outputs.placed(is_synced=True, is_stored=is_stored):
            transaction.commit()

    def check_share(self, outcome: Outcome) -> None:
        """Raise OptionError if more documents are duplicates than --max-share allows."""
        largest = outcome.largest_note()
        most_removed(
            self.job.given.max_share, outcome.duplicates, self.intake.documents,
            "nothing was written. Look at the groups without --output and --db, then give a larger"
            f" share or --similarity{f' ({largest})' if largest else ''}",
        )  # fmt: skip
