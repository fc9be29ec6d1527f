"""Result options: where `simdb dedup` writes its results, and in which form."""

from dataclasses import dataclass
from typing import Annotated

from simdb.cli.options import arguments
from simdb.cli.options.declare import Option
from simdb.report.excerpts import TEXT_CHARACTERS

ENDINGS = ".jsonl, .csv, .tsv or .parquet"


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
