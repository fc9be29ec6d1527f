"""State of a database: what readers see at one commit, and the documents on their way in.

What one query of a database of fingerprints does not need is cold, see `simdb.core.cold`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
