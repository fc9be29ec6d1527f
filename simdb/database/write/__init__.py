"""Writing: the staged changes of a write transaction, and their commit.

What few databases and calls need is cold, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["idf", "storing", "write_state"]

if TYPE_CHECKING:
    from simdb.database.write import idf, storing, write_state
else:
    __getattr__ = cold.modules(__name__, __all__)
