"""Options of `simdb dedup`: what it takes for a duplicate, and where it writes its results."""

from dataclasses import dataclass
from typing import Annotated

from simdb.cli.options import arguments
from simdb.cli.options.declare import Option
from simdb.cli.options.option_groups import MatchOptions, given_search, given_size
from simdb.deduplication.parts.units import checked_unit
from simdb.engine.clusters.find import STAR, check_policy
from simdb.ground.checks import share
from simdb.ground.errors import OptionError
from simdb.outputs.formats import COMPRESSIONS, TABLES
from simdb.report.excerpts import TEXT_CHARACTERS
from simdb.running.memory import check_memory
from simdb.settings import keeping
from simdb.storage.files.location import is_database

ENDINGS = ".jsonl, .csv, .tsv or .parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateOptions:
    """The options of `simdb dedup` about duplicates."""

    similarity: arguments.DecidedSimilarity = None
    distance: arguments.Distance = None
    recall: arguments.Recall = None
    search: arguments.Search = None
    policy: arguments.Policy = STAR
    against: arguments.Against = None
    keep: arguments.Keep = keeping.FIRST
    verify: arguments.Verify = None
    texts: arguments.EarlierTexts = None
    on_null: arguments.OnNull = None
    max_share: arguments.MaxShare = None
    memory: arguments.Memory = None
    min_words: arguments.MinWords = None

    @property
    def memory_bytes(self) -> int | None:
        """How many bytes are held of documents; None for the usual number."""
        found = None if self.memory is None else given_size(self.memory)
        if self.memory is not None and found is None:
            raise OptionError(f"--memory takes a size such as 500M or 2G; got {self.memory[:80]!r}")
        check_memory("--memory", found)
        return found

    @property
    def matching(self) -> MatchOptions:
        """How near documents must be to match, and how to search for them."""
        return MatchOptions(self.similarity, self.distance, self.recall, given_search(self.search))

    def check(self, *, has_database: bool) -> None:
        """Raise OptionError for values that are wrong, with --db or without it."""
        check_policy(self.policy)
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


def check_keep(keep: str) -> None:
    """Raise OptionError unless --keep has a rule; a file there says that its place is -o."""
    endings = (*TABLES, *COMPRESSIONS, ".txt", "/")
    if keep.lower().endswith(endings) and not keep.startswith(("max:", "min:")):
        raise OptionError(
            f"--keep {keep} names a file, and --keep says which document of a group stays, such as"
            f" longest; what stays is written by -o {keep}"
        )
    keeping.parse(keep, "--keep")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """The options of `simdb dedup` about its results."""

    output: Annotated[
        str | None,
        Option(
            short="-o",
            metavar="FILE",
            help=f"Write the input without duplicates to a {ENDINGS} file, also with .gz or .zst."
            " FOLDER/ gets one such file for each source. Of sources that are documents, FILE.txt"
            " lists the files, and FOLDER/ gets copies of them. - is standard output, instead of"
            " the groups.",
        ),
    ] = None
    link: Annotated[
        bool, Option("--link", help="With -o FOLDER/: make hard links, not copies.")
    ] = False
    show: arguments.Show = None
    groups: Annotated[
        str | None,
        Option(metavar="FILE", help=f"Also write the rows to a {ENDINGS} file."),
    ] = None
    report: Annotated[
        str | None,
        Option(
            metavar="PAGE",
            help="Write a page for people with each removed text beside the one that stays, the"
            " least similar first. With --db, --texts names the texts of earlier runs.",
        ),
    ] = None

    def characters(self, *, has_database: bool) -> int | None:
        """Return how much is held of each text with a database; None for nothing."""
        held = [TEXT_CHARACTERS] if self.report is not None else []
        held += [self.show] if self.show is not None else []
        return max(held) if has_database and held else None
