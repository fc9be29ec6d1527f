"""Sketch: the way from documents to fingerprints, volatility vectors and signatures; pure.

Modules that few documents need are loaded when first used (`simdb.core.cold`).
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
