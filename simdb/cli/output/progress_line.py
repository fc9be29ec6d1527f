"""Progress line: a spinner, a text and the time, in one line on a terminal."""

from rich import progress as bars
from rich.console import Console


class ProgressLine:
    """The line of a running command on standard error; it disappears when it stops."""

    def __init__(self) -> None:
        """Show the line."""
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

    def show(self, text: str) -> None:
        """Show `text` in the line."""
        self._bar.update(self._task, description=text)

    def note(self, text: str) -> None:
        """Write one line that stays, above this line."""
        self._bar.console.out(text, highlight=False)

    def stop(self) -> None:
        """Remove the line."""
        self._bar.stop()
