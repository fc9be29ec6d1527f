"""Transactions, snapshots, look-up, sweep, clusters and compaction.

The modules of the two transactions are cold: a query needs neither, see `simdb.ground.cold`.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["snapshot", "stored", "transaction"]

if TYPE_CHECKING:
    from simdb.engine import snapshot, stored, transaction
else:
    __getattr__ = cold.modules(__name__, __all__)
