"""State: the documents that readers see at one commit, and the documents on their way in.

Modules that a single query of fingerprints does not need are cold, see `simdb.core.cold`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
