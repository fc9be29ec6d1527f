"""Options: how commands declare their options, and the options that several commands share."""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["completion"]

if TYPE_CHECKING:
    from simdb.cli.options import completion
else:
    # Only a shell needs completion.
    __getattr__ = cold.modules(__name__, __all__)
