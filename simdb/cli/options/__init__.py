"""Options: how commands declare their options, and the options that several commands share."""

from typing import TYPE_CHECKING

from simdb import cold

__all__ = ["help"]

if TYPE_CHECKING:
    from simdb.cli.options import help
else:
    # Only a help text needs this module, and rich takes long to import.
    __getattr__ = cold.modules(__name__, __all__)
