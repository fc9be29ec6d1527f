"""Search methods: modules that carry out the plans of each method.

Each is cold: it is loaded when a plan first names it, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["bands", "exhaustive", "permuted", "polytopes", "probing"]

if TYPE_CHECKING:
    from simdb.database.search.methods import bands, exhaustive, permuted, polytopes, probing
else:
    __getattr__ = cold.modules(__name__, __all__)
