"""Search: finds the stored documents that match one document, a batch of them, or each other."""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
