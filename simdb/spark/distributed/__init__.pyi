from simdb.spark.distributed.exchange import PartPairs as PartPairs
from simdb.spark.distributed.forest import (
    LinkForest as LinkForest,
    components as components,
    stars as stars,
)
from simdb.spark.distributed.plan import (
    Cell as Cell,
    PairsPlan as PairsPlan,
    Split as Split,
    chunks_of as chunks_of,
    exact_similarities as exact_similarities,
    plan_pairs as plan_pairs,
)
