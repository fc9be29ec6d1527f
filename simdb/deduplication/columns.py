"""Columns: the values in one column of any library as texts or objects, and some of them."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import load_arrow
from simdb.columns.text_column import TextColumn, joined, text_column
from simdb.running.threads import mapped, thread_count

Bools = npt.NDArray[np.bool_]


def is_of(data: Any, module: str, name: str) -> bool:
    """Tell whether `data` is of a class of a package that the program has loaded."""
    return isinstance(data, getattr(sys.modules.get(module), name, ()))


def text_values(values: Any) -> TextColumn | Sequence[Any]:
    """Return a column of any library as texts: without a Python object for each, if that can be."""
    # Python objects in a Series are texts already; Arrow would copy them.
    column = None if str(getattr(values, "dtype", "")) == "object" else text_column(values)
    return listed(values) if column is None else column


def joined_texts(parts: list[TextColumn | Sequence[Any]]) -> TextColumn | Sequence[Any]:
    """Return the texts of several columns as one."""
    columns = [part for part in parts if isinstance(part, TextColumn)]
    if columns and len(columns) == len(parts) and len({each.is_binary for each in columns}) == 1:
        return joined(columns)
    return [text for part in parts for text in part]


def listed(values: Any) -> Sequence[Any]:
    """Return a column of any library as Python objects."""
    if isinstance(values, list | tuple):
        return values
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def filtered(values: Any, is_chosen: Bools) -> Any:
    """Return some values of a Series or an array, or some rows of an Arrow table."""
    if type(values).__module__.partition(".")[0] == "pyarrow":
        return _arrow_filtered(values, load_arrow("an Arrow table").array(is_chosen))
    is_polars = is_of(values, "polars", "Series")
    return values[np.flatnonzero(is_chosen) if is_polars else is_chosen]


def _arrow_filtered(values: Any, is_chosen: Any) -> Any:
    """Return some values of an Arrow array, or some rows of a table or batch."""
    if hasattr(values, "schema"):
        columns = [_arrow_filtered(column, is_chosen) for column in values.columns]
        return type(values).from_arrays(columns, schema=values.schema)
    if hasattr(values, "chunks"):
        starts = np.cumsum([0, *map(len, values.chunks)]).tolist()
        parts = zip(values.chunks, starts, strict=False)
        chosen = mapped(
            lambda part: _arrow_filtered(part[0], is_chosen[part[1] : part[1] + len(part[0])]),
            parts, thread_count(),
        )  # fmt: skip
        return load_arrow("an Arrow table").chunked_array(list(chosen), values.type)
    kind = str(values.type)
    if kind in ("string_view", "binary_view"):
        # pyarrow cannot filter views.
        copied = values.cast(f"large_{kind.removesuffix('_view')}")
        return copied.filter(is_chosen).cast(values.type)
    return values.filter(is_chosen)
