"""Progress: what a person is told on standard error while something takes longer than a second."""

import sys
import time
from types import TracebackType

from rich import progress as bars
from rich.console import Console

from simdb.cli.output.render import plain

PATIENCE_SECONDS = 1.0


class Progress:
    """A line that shows how far a command is, on a terminal and after a second; and the notes.

    Notes are lines that stay: problems and what was done.
    """

    def __init__(self, doing: str) -> None:
        """`doing`: what the command does, in a word."""
        self._doing = doing
        self._is_watched = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._bar: bars.Progress | None = None
        self._task = bars.TaskID(0)

    @property
    def elapsed_seconds(self) -> float:
        """Since it was made."""
        return time.monotonic() - self._begun

    def show(self, state: str) -> None:
        """Show `state`, if a second has passed and somebody may be looking."""
        if self._bar is None:
            if self.elapsed_seconds < PATIENCE_SECONDS or not self._is_watched:
                return
            self._bar = bars.Progress(
                bars.SpinnerColumn(),
                bars.TextColumn("{task.description}", markup=False),
                bars.TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
                # Results go to standard output, wherever that leads.
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
        """Take the line away: what follows is the result."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> "Progress":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away."""
        self.finish()
