"""Compatibility: the interfaces of other libraries, for programs that change only one import.

`importing` is cold: one command needs it.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
