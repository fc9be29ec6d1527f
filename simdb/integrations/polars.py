"""polars: gives every DataFrame of polars the namespace `simdb`, when this module is imported.

    import polars as pl
    import simdb.integrations.polars

    frame = pl.read_parquet("pages.parquet").simdb.drop_duplicates("body", keep="longest")

`FrameAccessor` has the verbs.  A LazyFrame has no rows yet: call `.collect()` first.
"""

import polars

from simdb.integrations.frames import FrameAccessor

NAME = "simdb"

polars.api.register_dataframe_namespace(NAME)(FrameAccessor)
