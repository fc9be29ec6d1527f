"""Duplicates: the work of `simdb dedup`, within the input or against earlier runs.

What `simdb query` seldom needs is cold, see `simdb.ground.cold`.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["texts"]

if TYPE_CHECKING:
    from simdb.cli.duplicates import texts
else:
    __getattr__ = cold.modules(__name__, __all__)
