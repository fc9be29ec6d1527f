"""Explanations: why two documents match, or do not.

Its modules are cold: each is loaded when it is first used, see `simdb.core.cold`.
"""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
