"""Spark: near-duplicates of DataFrames on a cluster, by PySpark.

Tasks sketch the texts where they are, and the sketches travel packed.  Other tasks then search
parts of the collection with the kernel of simdb.  `simdb.distributed` does this for other engines.

Some arguments of `Database` are missing here.  Instead of `where=`, filter the DataFrame.  Instead
of `threads=`, give Spark more cores; a task has one thread.  `query` alone takes `search=`, since
it searches a database; the other functions follow a plan.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
