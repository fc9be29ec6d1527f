"""From documents to fingerprints and volatility vectors; pure.

What few documents need is cold, see `simdb.core.cold`.
"""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
