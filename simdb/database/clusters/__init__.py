"""Clusters: groups of documents that matches connect, searched for or maintained.

The modules that verbs name are cold: each is loaded when it is first used, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["find", "labels", "order"]

if TYPE_CHECKING:
    from simdb.database.clusters import find, labels, order
else:
    __getattr__ = cold.modules(__name__, __all__)
