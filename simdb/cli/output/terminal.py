"""The terminal: result rows as tables, and the line of a running command."""

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta

from rich import progress as bars
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

BAR_WIDTH = 20
KNOWN = "is_share_known"  # a field of the task
# Before this share is done, the time that is left would be a guess.
LEAST_SHARE = 0.01


class ProgressLine:
    """The line of a running command on standard error; it disappears when it stops."""

    def __init__(self, elapsed_seconds: float = 0.0) -> None:
        """Show the line of a command that has run for some time already."""
        begun = time.monotonic() - elapsed_seconds
        self._left = _Left(begun)
        self._bar = bars.Progress(
            bars.SpinnerColumn(),
            bars.TextColumn("{task.description}", markup=False),
            _Known(bars.BarColumn(BAR_WIDTH)),
            _Known(bars.TaskProgressColumn()),
            _Elapsed(begun),
            self._left,
            console=Console(stderr=True),
            transient=True,
            # Results must reach standard output unchanged.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=1.0, **{KNOWN: False})

    def show(self, text: str, share: float | None = None) -> None:
        """Show `text` in the line; with a `share` that is done, also a bar and the time left."""
        known = {KNOWN: share is not None}
        self._bar.update(self._task, completed=share or 0.0, description=text, **known)
        self._bar.start()  # the first time; a line without words would say nothing

    def begin_part(self) -> None:
        """Begin another part of the work: the shares that follow are shares of this part."""
        self._left.begun = time.monotonic()

    def note(self, text: str) -> None:
        """Write one line that stays, above this line."""
        self._bar.console.out(text, highlight=False)

    def stop(self) -> None:
        """Remove the line."""
        self._bar.stop()


def seconds_left(elapsed_seconds: float, share: float) -> float:
    """Return how long the rest takes if `share` of the work took `elapsed_seconds`."""
    return elapsed_seconds * (1.0 - share) / share


def in_clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds: `0:01:05`."""
    return str(timedelta(seconds=int(seconds)))


class _Known(bars.ProgressColumn):
    """A column that is empty while the share that is done is not known."""

    def __init__(self, inner: bars.ProgressColumn) -> None:
        super().__init__()
        self._inner = inner

    def render(self, task: bars.Task) -> RenderableType:
        return self._inner.render(task) if task.fields[KNOWN] else Text("")


class _Elapsed(bars.ProgressColumn):
    """The time since the command began."""

    def __init__(self, begun: float) -> None:
        super().__init__()
        self._begun = begun

    def render(self, task: bars.Task) -> Text:
        return Text(in_clock(time.monotonic() - self._begun), "progress.elapsed")


class _Left(bars.ProgressColumn):
    """The time that is left if the rest of the part is as fast as what is done of it.

    `begun`: when the part began.
    """

    def __init__(self, begun: float) -> None:
        super().__init__()
        self.begun = begun

    def render(self, task: bars.Task) -> Text:
        if not task.fields[KNOWN] or task.completed < LEAST_SHARE:
            return Text("")
        left = seconds_left(time.monotonic() - self.begun, task.completed)
        return Text(f"{in_clock(left)} left", "progress.remaining")


def print_table(columns: Iterable[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with a heading; a column is its name, and whether it has only numbers."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    for name, is_number in columns:
        table.add_column(name, overflow="fold", justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair on each line."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(Text(name), Text(value))
    Console().print(table)
