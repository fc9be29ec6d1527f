"""Distributed: all matching pairs of a collection, found by tasks that know nothing of each other.

The functions take and return arrays, so any engine can run the tasks: Spark, Ray, Dask, a pool of
processes.  `plan_pairs` says how documents are spread over parts; `PairsPlan` spreads them, and
finds the pairs of one part; `components`, `LinkForest` and `stars` make clusters of what was found.
`exact_similarities` decides by the texts where sketches only estimate.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
