"""State of a database: what readers see at one commit, and the documents on their way in.

What one query of a database of fingerprints does not need is cold, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["incoming", "signature_kind", "unreadable"]

if TYPE_CHECKING:
    from simdb.database.state import incoming, signature_kind, unreadable
else:
    __getattr__ = cold.modules(__name__, __all__)
