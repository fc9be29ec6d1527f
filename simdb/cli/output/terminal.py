"""Terminal: draws result rows as tables, and the line of a running command.

Both are as wide as the terminal.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from rich import progress as bars
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

BAR_WIDTH = 20


class ProgressLine:
    """The line of a running command on standard error; it disappears when it stops."""

    def __init__(self, elapsed_seconds: float = 0.0) -> None:
        """Show the line of a command that has run for some time already."""
        self._begun = time.monotonic() - elapsed_seconds
        self._bar = bars.Progress(
            bars.SpinnerColumn(), bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(BAR_WIDTH), bars.TaskProgressColumn(), bars.TimeElapsedColumn(),
            bars.TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            # Results must reach standard output unchanged.
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None)
        self.begin_part()

    def show(self, text: str, share: float | None = None) -> None:
        """Show `text` in the line; with the `share` done, also a percentage and the time left."""
        self._bar.tasks[0].total = None if share is None else 1.0
        self._bar.update(self._task, completed=share or 0.0, description=text)
        # If no thread can be started, the line is only drawn at the end.
        with suppress(RuntimeError):
            self._bar.start()  # not earlier: a line without words would say nothing

    def begin_part(self) -> None:
        """Begin another part of the work: the shares that follow are shares of this part."""
        self._bar.reset(self._task)
        self._bar.tasks[0].start_time = self._begun

    def note(self, text: str) -> None:
        """Write a permanent line above this line."""
        self._bar.console.out(text, highlight=False)

    def stop(self) -> None:
        """Remove the line."""
        self._bar.stop()


def print_table(columns: Iterable[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with a heading; a column is its name, and whether it has only numbers."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    for name, is_number in columns:
        table.add_column(name, overflow="fold", justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*map(_hanging, row))
    Console().print(table)


def _hanging(cell: str) -> Group:
    """Return a cell whose long lines continue below their first word, not at the margin."""
    lines = [(line, line.lstrip()) for line in cell.split("\n")]
    return Group(*(Padding(Text(own), (0, 0, 0, len(line) - len(own))) for line, own in lines))


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair on each line."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(Text(name), Text(value))
    Console().print(table)
