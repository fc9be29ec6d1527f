"""Clusters: groups of documents that matches connect, searched for or maintained."""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
