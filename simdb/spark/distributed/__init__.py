"""Distributed: all matching pairs of a collection, found by tasks that know nothing of each other.

The functions take and return arrays, so any engine can run the tasks: Spark, Ray, Dask, a pool of
processes.  `plan_pairs` says how documents are spread over parts; `PairsPlan` spreads them, and
finds the pairs of one part; `components`, `LinkForest` and `stars` make clusters of what was found.
`exact_similarities` decides by the texts where sketches only estimate.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

if TYPE_CHECKING:
    from simdb.spark.distributed.exchange import PartPairs
    from simdb.spark.distributed.forest import LinkForest, components, stars
    from simdb.spark.distributed.plan import (
        Cell,
        PairsPlan,
        Split,
        chunks_of,
        exact_similarities,
        plan_pairs,
    )
else:
    __getattr__ = cold.names(
        __name__,
        {
            "simdb.spark.distributed.exchange": "PartPairs",
            "simdb.spark.distributed.forest": "LinkForest components stars",
            "simdb.spark.distributed.plan": (
                "Cell PairsPlan Split chunks_of exact_similarities plan_pairs"
            ),
        },
    )

__all__ = [
    "Cell",
    "LinkForest",
    "PairsPlan",
    "PartPairs",
    "Split",
    "chunks_of",
    "components",
    "exact_similarities",
    "plan_pairs",
    "stars",
]
