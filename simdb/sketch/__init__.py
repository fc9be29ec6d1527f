"""From documents to fingerprints and volatility vectors; pure.

What few documents need is cold, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["exact_similarity", "minhash_sketcher", "projection", "weighing", "winnowing"]

if TYPE_CHECKING:
    from simdb.sketch import exact_similarity, minhash_sketcher, projection, weighing, winnowing
else:
    __getattr__ = cold.modules(__name__, __all__)
