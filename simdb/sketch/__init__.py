"""From documents to fingerprints and volatility vectors; pure.

What few documents need is cold, see `simdb.core.cold`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
