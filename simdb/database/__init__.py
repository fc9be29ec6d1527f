"""Database: opening it, transactions, search, clusters, maintenance, and databases in shards.

`Database` and what it does are here; whole jobs over files and frames are in `simdb.jobs`.
"""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
