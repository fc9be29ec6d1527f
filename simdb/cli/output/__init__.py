"""Output: everything a command gives back, from result rows to exit codes."""

from typing import TYPE_CHECKING

from simdb import cold

__all__ = ["progress_line", "tables"]

if TYPE_CHECKING:
    from simdb.cli.output import progress_line, tables
else:
    # These modules draw on a terminal, and rich takes long to import.
    __getattr__ = cold.modules(__name__, __all__)
