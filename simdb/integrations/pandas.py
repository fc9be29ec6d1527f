"""pandas: gives every DataFrame of pandas the accessor `simdb`, when this module is imported.

    import pandas as pd
    import simdb.integrations.pandas

    frame = pd.read_parquet("pages.parquet").simdb.drop_duplicates("body", keep="longest")

`FrameAccessor` has the verbs.
"""

import pandas

from simdb.integrations.frames import FrameAccessor

NAME = "simdb"

pandas.api.extensions.register_dataframe_accessor(NAME)(FrameAccessor)
