"""Spark: the main job on a cluster, by PySpark.

Sketches are made where the texts are, and travel packed; parts of the collection are searched by
tasks with the kernel of simdb.  `simdb.spark.distributed` has the same without an engine.

Some words of `Database` are those of Spark here: filter a DataFrame in place of `where=`, and give
Spark the cores in place of `threads=`, a task has one.  A plan chooses how pairs are searched for,
so only `query`, which asks a database, takes `search=`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

if TYPE_CHECKING:
    from simdb.spark.clustering import clusters
    from simdb.spark.dropping import drop_duplicates
    from simdb.spark.finding import plan
    from simdb.spark.pairing import pairs
    from simdb.spark.sketching import fingerprints, signatures
    from simdb.spark.storing import query, write_database
else:
    __getattr__ = cold.names(
        __name__,
        {
            "simdb.spark.clustering": "clusters",
            "simdb.spark.dropping": "drop_duplicates",
            "simdb.spark.finding": "plan",
            "simdb.spark.pairing": "pairs",
            "simdb.spark.sketching": "fingerprints signatures",
            "simdb.spark.storing": "query write_database",
        },
    )

__all__ = [
    "clusters",
    "drop_duplicates",
    "fingerprints",
    "pairs",
    "plan",
    "query",
    "signatures",
    "write_database",
]
