"""A bar: the documents that are done and the time, in a line on a terminal while a verb runs."""

import weakref

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Bar:
    """A function of the number of documents that are done; the line goes when it is dropped."""

    def __init__(self, console: Console | None = None) -> None:
        """Begin to draw on `console`; None for standard error."""
        console = Console(stderr=True) if console is None else console
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.completed:,.0f} documents"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=None)
        self._bar.start()
        weakref.finalize(self, self._bar.stop)

    def __call__(self, done: int) -> None:
        """Show that `done` documents are done."""
        self._bar.update(self._task, completed=done)
