"""Search: finds the stored documents that match one document, a batch of them, or each other."""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
