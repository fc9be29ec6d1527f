"""Spark: the main job on a cluster, by PySpark (`pip install 'simdb[spark]'`).

Sketches are made where the texts are, and travel packed; parts of the collection are searched by
tasks with the kernel of simdb.  `simdb.distributed` has the same without an engine.
"""

from typing import TYPE_CHECKING

from simdb import cold

if TYPE_CHECKING:
    from simdb.spark.clustering import clusters
    from simdb.spark.finding import pairs, plan
    from simdb.spark.sketching import fingerprints, signatures
else:
    __getattr__ = cold.names(
        __name__,
        {
            "simdb.spark.clustering": ["clusters"],
            "simdb.spark.finding": ["pairs", "plan"],
            "simdb.spark.sketching": ["fingerprints", "signatures"],
        },
    )

__all__ = ["clusters", "fingerprints", "pairs", "plan", "signatures"]
