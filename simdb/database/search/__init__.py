"""Search: finds the stored documents that match one document, a batch of them, or each other.

The modules that one query does not need are cold, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["couples", "judge", "many", "nearest", "pairs", "planning"]

if TYPE_CHECKING:
    from simdb.database.search import couples, judge, many, nearest, pairs, planning
else:
    __getattr__ = cold.modules(__name__, __all__)
