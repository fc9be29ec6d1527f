"""Listing options: how a command lists what it found, and with which exit code it ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from simdb.cli.options.declare import Option
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.render import print_note, print_rows
from simdb.outputs.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingOptions:
    """The options of a command about the list of what it found."""

    limit: Annotated[
        int | None,
        Option(metavar="N", min=1, help="Show only the first N, and say if there are more."),
    ] = None
    quiet: Annotated[
        bool, Option("--quiet", help="Show nothing of what is found, and no summary.")
    ] = False
    exit_code: Annotated[
        bool, Option("--exit-code", help="End with exit code 1 if something was found.")
    ] = False
    timings: Annotated[
        bool,
        Option(
            "--timings",
            help="Say how long each part took, on standard error; with --json as JSON lines.",
        ),
    ] = False
    json: Annotated[bool, Option("--json", help="Print JSON lines, also on a terminal.")] = False

    def show(self, rows: Iterable[Row], columns: Sequence[str]) -> bool:
        """Print the rows that the options ask for; return whether there are any.

        No more rows are read than that takes.
        """
        source = iter(rows)
        if self.quiet:
            return next(source, None) is not None
        shown = source if self.limit is None else islice(source, self.limit)
        count = print_rows(shown, columns, as_json=self.json)
        if count == self.limit and next(source, None) is not None:
            some = "one is" if count == 1 else f"{count:,} are"
            print_note(f"only the first {some} shown; --limit shows more")
        return count > 0

    def note(self, note: str | None) -> None:
        """Write a line about the result to standard error, unless there is none, or --quiet."""
        if not self.quiet:
            print_note(note)

    def end(self, *, has_found: bool, has_skipped: bool = False) -> None:
        """End the command with an exit code of 1 if the input or --exit-code say so."""
        if has_skipped or (has_found and self.exit_code):
            raise Exit(FINDINGS)
