"""Which keys a table stores and which key ranges a search asks; pure.

What only databases of signatures need is cold, see `simdb.ground.cold`.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["bands"]

if TYPE_CHECKING:
    from simdb.index import bands
else:
    __getattr__ = cold.modules(__name__, __all__)
