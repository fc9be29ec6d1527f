"""Database: opening it, transactions, search, clusters, maintenance, and databases in shards.

`Database` and its verbs are here; whole jobs over files and frames are in `simdb.jobs`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
