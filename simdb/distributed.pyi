from simdb.spark.distributed import *  # noqa: F403
