"""Clusters: groups of documents that matches connect, searched for or maintained.

The modules that verbs name are cold: each is loaded when it is first used, see `simdb.ground.cold`.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["find", "labels", "order"]

if TYPE_CHECKING:
    from simdb.engine.clusters import find, labels, order
else:
    __getattr__ = cold.modules(__name__, __all__)
