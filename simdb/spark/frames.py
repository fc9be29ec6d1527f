"""Frames: the door to PySpark, and arrays in the columns of its batches.

A Python task of Spark gets and returns batches of Arrow.  Rows of bytes of one length, and numbers,
travel as binary columns without a Python object for each.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import arrow as doors
from simdb.errors import InputError, OptionError

REMEDY = "needs PySpark 4.1 or newer: pip install 'pyspark>=4.1' pyarrow pandas"
LEAST_VERSION = (4, 1)
LONG_TYPES = ("bigint", "int", "smallint", "tinyint")

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]


def pyarrow() -> Any:
    """Return pyarrow; OptionError if it is not installed."""
    return doors.load_arrow("simdb.spark")


def window() -> Any:
    """Return pyspark.sql.Window."""
    return import_module("pyspark.sql").Window


def functions() -> Any:
    """Return pyspark.sql.functions; OptionError if PySpark is missing or too old."""
    try:
        pyspark = import_module("pyspark")
        found = import_module("pyspark.sql.functions")
    except ImportError as error:
        raise OptionError(f"simdb.spark {REMEDY}") from error
    version = tuple(int(each) for each in pyspark.__version__.split(".")[:2])
    if version < LEAST_VERSION:
        raise OptionError(f"simdb.spark {REMEDY}; this is {pyspark.__version__}")
    return found


def column_type(df: Any, name: str) -> str:
    """Return the type of a column as Spark writes it; InputError if there is no such column."""
    for field in df.schema.fields:
        if field.name == name:
            return str(field.dataType.simpleString())
    raise InputError(f"the data has no column {name!r}; it has {', '.join(map(repr, df.columns))}")


def id_type(df: Any, name: str) -> str:
    """Return the type of a column of ids, "string" or "bigint"; InputError for another type."""
    found = column_type(df, name)
    if found == "string":
        return found
    if found in LONG_TYPES:
        return "bigint"
    raise InputError(f"ids must be string or bigint, and the column {name!r} is {found}; cast it")


def broadcast_if_few(df: Any, most: int) -> Any:
    """Return a DataFrame, marked to be sent to every executor if it has at most `most` rows."""
    return functions().broadcast(df) if df.count() <= most else df


def batch_of(columns: dict[str, Any]) -> Any:
    """Return a batch of Arrow of columns: arrays of Arrow, numbers, or rows uint8[n, w]."""
    arrow = pyarrow()
    arrays = [
        binary_column(values) if getattr(values, "ndim", 1) == 2 else arrow.array(values)
        for values in columns.values()
    ]
    return arrow.RecordBatch.from_arrays(arrays, names=list(columns))


def binary_column(rows: U8) -> Any:
    """Return rows of bytes uint8[n, w] as a binary column of Arrow, without a copy."""
    arrow = pyarrow()
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(np.ascontiguousarray(rows))]
    return arrow.Array.from_buffers(arrow.binary(), count, buffers)


def rows_of(column: Any, width: int) -> U8:
    """Return a binary column of Arrow as rows uint8[n, width]; InputError for another length.

    Of whole numbers, a row has the 8 bytes of a number, the lowest first.
    """
    arrow = pyarrow()
    if column.null_count:
        raise InputError("a sketch is null; leave out such rows, or make the sketches again")
    if column.type == arrow.int64():
        return numbers_of(column).astype("<i8", copy=False).view(np.uint8).reshape(-1, width)
    whole = column.cast(arrow.binary())
    offsets = np.frombuffer(whole.buffers()[1], np.int32)[
        whole.offset : whole.offset + len(whole) + 1
    ]
    if len(whole) and (np.diff(offsets) != width).any():
        raise InputError(f"sketches must have {width} bytes; make them all with the same options")
    content = whole.buffers()[2]
    if not len(whole) or content is None:
        return np.empty((0, width), np.uint8)
    return np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]].reshape(-1, width)


def numbers_of(column: Any) -> I64:
    """Return a column of whole numbers as int64[n]."""
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)


def blobs_of(column: Any) -> Iterator[Any]:
    """Return each value of a binary column as a buffer, without a copy."""
    return (each.as_buffer() for each in column)
