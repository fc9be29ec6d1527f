"""Spark: the main job on a cluster, by PySpark.

Sketches are made where the texts are, and travel packed; parts of the collection are searched by
tasks with the kernel of simdb.  `simdb.distributed` has the same without an engine.

Some words of `Database` are those of Spark here: filter a DataFrame in place of `where=`, and give
Spark the cores in place of `threads=`, a task has one.  A plan chooses how pairs are searched for,
so only `query`, which asks a database, takes `search=`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
