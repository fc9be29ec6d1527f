"""Options: how commands declare their options, and the options that several commands share."""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["texts"]

if TYPE_CHECKING:
    from simdb.cli.options import texts
else:
    # Few queries need texts of stored documents.
    __getattr__ = cold.modules(__name__, __all__)
