"""Compatibility: the interfaces of other libraries, for programs that change only one import.

`importing` is cold: one command needs it.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["importing"]

if TYPE_CHECKING:
    from simdb.compat import importing
else:
    __getattr__ = cold.modules(__name__, __all__)
