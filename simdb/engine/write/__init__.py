"""Writing: the staged changes of a write transaction, and their commit.

What few databases and calls need is cold, see `simdb.ground.cold`.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["idf", "storing", "write_state"]

if TYPE_CHECKING:
    from simdb.engine.write import idf, storing, write_state
else:
    __getattr__ = cold.modules(__name__, __all__)
