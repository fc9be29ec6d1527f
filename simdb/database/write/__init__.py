"""Writing: the staged changes of a write transaction, and their commit.

Modules that few databases and calls need are cold, see `simdb.core.cold`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
