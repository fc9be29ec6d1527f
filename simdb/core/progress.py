"""Progress: reports of documents that are done (`progress=`), and times of the stages of a job."""

import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypeAlias

from simdb.core.checks import shown
from simdb.core.errors import OptionError
from simdb.core.threads import SharedWork

# Called with the number of documents that are done.
Report: TypeAlias = Callable[[int], None]
Progress: TypeAlias = Report | bool


def ignored(done: int) -> None:
    """Ignore the number of documents that are done."""


def report_of(progress: object) -> Report:
    """Return the function that a verb calls with the number of documents that are done.

    True draws a bar on standard error, if that is a terminal.  Raises OptionError unless `progress`
    is True, False, None or a function.
    """
    if progress is None or progress is False:
        return ignored
    if progress is True:
        return Bar() if sys.stderr.isatty() else ignored
    if not callable(progress):
        raise OptionError(
            f"progress must be True for a bar, a function or None, got {shown(progress)}"
        )
    return progress


class Bar:
    """A progress bar: call it with the number of documents done; it vanishes when it is freed."""

    def __init__(self, console: Any = None) -> None:
        """Begin to draw on `console`, an object of rich; None means standard error."""
        # Loaded when needed, since rich takes long to import.
        rich = import_module("rich.progress")
        if console is None:
            console = import_module("rich.console").Console(stderr=True)
        self._bar = rich.Progress(
            rich.SpinnerColumn(),
            rich.TextColumn("{task.completed:,.0f} documents"),
            rich.TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=None)
        with suppress(RuntimeError):  # the system refuses a thread for drawing
            self._bar.start()
        weakref.finalize(self, self._bar.stop)

    def __call__(self, done: int) -> None:
        """Show that `done` documents are done."""
        self._bar.update(self._task, completed=done)


class Stage(NamedTuple):
    """A stage of a job: its name, seconds, and processor seconds of all threads.

    `parallel`: the fraction of the processor seconds that threads can share, 0 to 1.  `note`: the
    way in which the stage was done; empty if there is only one.
    """

    name: str
    seconds: float
    processor_seconds: float
    parallel: float
    note: str = ""


class Timings:
    """The record of the stages of one job, in order."""

    def __init__(self) -> None:
        """Begin without a stage."""
        self.stages: list[Stage] = []
        self.note = ""
        self._name = ""
        self._begun = (0.0, 0.0, 0.0)

    def begin(self, name: str) -> None:
        """End the current stage, if any, and begin another."""
        self.end()
        self._name, self._begun = name, _now()

    def end(self) -> None:
        """End the current stage, if any; `note` says how it was done."""
        if not self._name:
            return
        spent = [now - begun for now, begun in zip(_now(), self._begun, strict=True)]
        seconds, processor_seconds, shared = spent
        parallel = min(max(shared / max(processor_seconds, 1e-9), 0.0), 1.0)
        self.stages.append(Stage(self._name, seconds, processor_seconds, parallel, self.note))
        self._name = self.note = ""

    def whole(self) -> Stage:
        """Return the sum of all ended stages."""
        processor_seconds = sum(each.processor_seconds for each in self.stages)
        shared = sum(each.processor_seconds * each.parallel for each in self.stages)
        return Stage(
            "whole", sum(each.seconds for each in self.stages), processor_seconds,
            shared / max(processor_seconds, 1e-9),
        )  # fmt: skip


def _now() -> tuple[float, float, float]:
    return perf_counter(), process_time(), SharedWork.total_seconds
