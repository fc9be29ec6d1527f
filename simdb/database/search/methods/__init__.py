"""Search methods: modules that carry out the plans of each method.

Each is cold: it is loaded when a plan first names it, see `simdb.core.cold`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
