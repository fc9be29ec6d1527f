"""Progress: shows how far a command is, in a line on standard error, and writes notes."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from simdb import core
from simdb.cli import output
from simdb.cli.output.render import plain, print_note, quantity, wants_json, wrapped

if TYPE_CHECKING:
    from simdb.cli.output.terminal import ProgressLine

PATIENCE_SECONDS = 1.0
DIGITS = 4


class Progress:
    """The progress line of a command, shown on a terminal after one second, and its notes.

    Notes are lines that are not removed, such as hints and the summary.
    """

    def __init__(self, doing: str, *, is_quiet: bool = False) -> None:
        """Start the clock; `doing` says what the command does first, such as `reading`.

        `is_quiet`: write problems, but no notes.
        """
        self._doing, self._is_quiet = doing, is_quiet
        self._is_watched = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._line: ProgressLine | None = None
        self.timings = core.progress.Timings()
        self.timings.begin(doing)

    @property
    def elapsed_seconds(self) -> float:
        """The seconds since this object was made."""
        return time.monotonic() - self._begun

    def show(self, state: str, share: float | None = None) -> None:
        """Show `state` if standard error is a terminal and one second has passed.

        `share`: how much of the work is done, 0 to 1; None if that is not known.
        """
        if self._line is None:
            if self.elapsed_seconds < PATIENCE_SECONDS or not self._is_watched:
                return
            self._line = output.terminal.ProgressLine(self.elapsed_seconds)
        self._line.show(f"{self._doing}: {state}" if state else self._doing, share)

    def documents(self, done: int, whole: int = 0) -> None:
        """Show the number of documents that are done, and its share of the `whole` if known."""
        # Other processes can keep writing, so `done` can exceed `whole`.
        self.show(quantity(done, "document"), min(done / whole, 1.0) if whole else None)

    def begin(self, doing: str) -> None:
        """Begin another part of the work, such as `finding groups`, and show it."""
        self._doing = doing
        self.timings.begin(doing)
        if self._line is not None:
            self._line.begin_part()
        self.show("")

    def note(self, text: str) -> None:
        """Write one line to standard error, unless the command is quiet."""
        if not self._is_quiet:
            self.report(text)

    def report(self, text: str) -> None:
        """Write one line to standard error, such as what is wrong with some input."""
        if self._line is not None:
            self._line.note(wrapped(plain(text)))
        else:
            print_note(text)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Note `text` if the body of the `with` statement takes longer than a second."""
        timer = threading.Timer(PATIENCE_SECONDS, self.note, [text])
        timer.daemon = True
        with suppress(RuntimeError):  # a system without more threads
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def finish(self) -> None:
        """Remove the progress line, before results are printed."""
        self.timings.end()
        if self._line is not None:
            self._line.stop()
            self._line = None

    def __enter__(self) -> Progress:
        """Return this object."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the progress line."""
        self.finish()


def stage_lines(timings: core.progress.Timings) -> Iterator[str]:
    """Yield a line for each stage, and one for the total."""
    every = [*timings.stages, timings.whole()]
    if wants_json():
        yield from (json.dumps(_rounded(stage)) for stage in every)
        return
    names = [f"{each.name} ({each.note})" if each.note else each.name for each in every]
    width = max(map(len, names))
    for name, stage in zip(names, every, strict=True):
        processor = f"{stage.processor_seconds:7.2f} s CPU, {stage.parallel:4.0%} parallel"
        yield f"{name:<{width}} {stage.seconds:7.2f} s {processor}"


def _rounded(stage: core.progress.Stage) -> dict[str, str | float]:
    values = (round(each, DIGITS) if isinstance(each, float) else each for each in stage[1:])
    return {"stage": stage.name, **dict(zip(stage._fields[1:], values, strict=True))}
