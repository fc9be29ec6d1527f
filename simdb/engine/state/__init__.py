"""State of a database: what readers see at one commit, and the documents on their way in.

What one query of a database of fingerprints does not need is cold, see `simdb.ground.cold`.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["incoming", "signature_kind", "unreadable"]

if TYPE_CHECKING:
    from simdb.engine.state import incoming, signature_kind, unreadable
else:
    __getattr__ = cold.modules(__name__, __all__)
