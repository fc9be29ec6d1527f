"""Passages: queries by what documents share word by word, over the stored grains.

All modules are cold, see `simdb.ground.cold`: only `contained=` needs them.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["pairs", "queries"]

if TYPE_CHECKING:
    from simdb.engine.passages import pairs, queries
else:
    __getattr__ = cold.modules(__name__, __all__)
