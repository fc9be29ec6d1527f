"""Kinds of data: gives records or texts in every form that jobs accept."""

import datasets
import pandas
import polars
import pyarrow

RECORDS = {
    "dicts": list,
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": pyarrow.Table.from_pylist,
    "datasets": datasets.Dataset.from_list,
}
TEXTS = {
    "list": list,
    "tuple": tuple,
    "pandas": pandas.Series,
    "polars": lambda texts: polars.Series(texts, dtype=polars.String),
    "arrow": lambda texts: pyarrow.array(texts, pyarrow.string()),
}


def rows_in(data):
    """Return the rows of data of any kind, as dicts or texts; None for missing values."""
    if isinstance(data, pandas.DataFrame):
        return data.astype(object).where(data.notna(), None).to_dict("records")
    if isinstance(data, polars.DataFrame):
        return data.to_dicts()
    rows = data.to_pylist() if hasattr(data, "to_pylist") else list(data)
    return [None if row != row else row for row in rows]
