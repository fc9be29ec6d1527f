"""Passages: queries by what documents share word by word, over the stored grains.

All modules are cold, see `simdb.core.cold`: only `contained=` needs them.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["pairs", "queries"]

if TYPE_CHECKING:
    from simdb.database.passages import pairs, queries
else:
    __getattr__ = cold.modules(__name__, __all__)
