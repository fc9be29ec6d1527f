"""Distributed: all matching pairs of a collection, found by independent tasks.

The functions take and return arrays, so any engine can run the tasks: Spark, Ray, Dask, a pool of
processes.  `plan_pairs` returns a `PairsPlan`, which spreads documents over parts and finds the
pairs of one part.  `components`, `LinkForest` and `stars` turn pairs into clusters.
`exact_similarities` compares texts where sketches only estimate.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
