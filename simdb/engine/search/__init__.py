"""Search: finds the stored documents that match one document, a batch of them, or each other.

The modules that one query does not need are cold, see `simdb.cold`.
"""

from typing import TYPE_CHECKING

from simdb import cold

__all__ = ["couples", "judge", "many", "nearest", "nearest_where", "pairs", "planning", "verify"]

if TYPE_CHECKING:
    from simdb.engine.search import (
        couples,
        judge,
        many,
        nearest,
        nearest_where,
        pairs,
        planning,
        verify,
    )
else:
    __getattr__ = cold.modules(__name__, __all__)
