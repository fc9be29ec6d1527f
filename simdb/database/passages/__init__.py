"""Passages: queries by what documents share word by word, over the stored grains.

All modules are cold, see `simdb.core.cold`: only `contained=` needs them.
"""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
