"""Search methods: modules that carry out the plans of each method.

Each is cold: it is loaded when a plan first names it, see `simdb.core.cold`.
"""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
