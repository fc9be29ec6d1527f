"""Output: everything a command gives back, from result rows to exit codes."""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["terminal", "words"]

if TYPE_CHECKING:
    from simdb.cli.output import terminal, words
else:
    # Modules that draw on a terminal need rich, which takes long to import; words is for messages.
    __getattr__ = cold.modules(__name__, __all__)
