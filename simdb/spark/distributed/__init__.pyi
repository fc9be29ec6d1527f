from simdb.spark.distributed.forest import (
    LinkForest as LinkForest,
    components as components,
    stars as stars,
)
from simdb.spark.distributed.plan import (
    Cell as Cell,
    PairsPlan as PairsPlan,
    PartPairs as PartPairs,
    Split as Split,
    chunks_of as chunks_of,
    exact_similarities as exact_similarities,
    plan_pairs as plan_pairs,
)
