"""Progress: what the `progress=` of a verb means: a function that is called, or a bar."""

import sys
from collections.abc import Callable
from typing import TypeAlias, cast

from simdb.ground import cold
from simdb.ground.checks import shown
from simdb.ground.errors import OptionError

# Called with the number of documents that are done.
Report: TypeAlias = Callable[[int], None]
Progress: TypeAlias = Report | bool

_load = cold.modules("simdb.running", ["progress_bar"])


def report_of(progress: object) -> Report | None:
    """Return what a verb calls with the number of documents that are done; None for nothing.

    True draws a bar on standard error, if that is a terminal.  OptionError for what is neither
    True nor False, None or a function.
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return cast(Report, _load("progress_bar").Bar()) if sys.stderr.isatty() else None
    if not callable(progress):
        raise OptionError(
            f"progress must be True for a bar, a function or None, got {shown(progress)}"
        )
    return progress
