"""Progress: a line on standard error that shows how far a command is, and the notes."""

import sys
import time
from types import TracebackType

from rich import progress as bars
from rich.console import Console

from simdb.cli.output.render import plain

PATIENCE_SECONDS = 1.0


class Progress:
    """The progress line of a command, on a terminal and after one second, and its notes.

    Notes are lines that stay, such as problems and the summary.
    """

    def __init__(self, doing: str) -> None:
        """Start the clock; `doing` is one word for what the command does, such as `reading`."""
        self._doing = doing
        self._is_watched = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._bar: bars.Progress | None = None
        self._task = bars.TaskID(0)

    @property
    def elapsed_seconds(self) -> float:
        """The seconds since this object was made."""
        return time.monotonic() - self._begun

    def show(self, state: str) -> None:
        """Show `state` if standard error is a terminal and one second has passed."""
        if self._bar is None:
            if self.elapsed_seconds < PATIENCE_SECONDS or not self._is_watched:
                return
            self._bar = bars.Progress(
                bars.SpinnerColumn(),
                bars.TextColumn("{task.description}", markup=False),
                bars.TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
                # Results must reach standard output unchanged.
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("")
            self._bar.start()
        self._bar.update(self._task, description=f"{self._doing}: {state}")

    def note(self, text: str) -> None:
        """Write one line to standard error."""
        shown = plain(text)
        if self._bar is not None:
            self._bar.console.out(shown, highlight=False)
        else:
            print(shown, file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Remove the progress line, before results are printed."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> "Progress":
        """Return this object."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the progress line."""
        self.finish()
