"""Clusters: groups of documents that matches connect, searched for or maintained."""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
