"""Explanations: why two documents match, or do not.

Its modules are cold: each is loaded when it is first used, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["fingerprints", "signatures", "stored"]

if TYPE_CHECKING:
    from simdb.database.explain import fingerprints, signatures, stored
else:
    __getattr__ = cold.modules(__name__, __all__)
