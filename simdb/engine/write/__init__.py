"""Writing: the staged changes of a write transaction, and their commit.

`idf` is cold: few databases get an IDF table after they were created, see `simdb.cold`.
"""

from typing import TYPE_CHECKING

from simdb import cold

__all__ = ["idf"]

if TYPE_CHECKING:
    from simdb.engine.write import idf
else:
    __getattr__ = cold.modules(__name__, __all__)
