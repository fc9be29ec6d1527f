"""Arrow: the only import of pyarrow, arrays that are given, and tables of ids and similarities.

pyarrow is optional (`pip install pyarrow`) and loaded when first needed.  A column of ids
has one type, which the first batch decides: text, bytes, or whole numbers (int64, or uint64 if the
first batch needs it).  Ids of several types fit into one column only as text (`ids="text"`):
numbers in decimal, bytes in hexadecimal digits.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from simdb.ground.dtypes import U8
from simdb.ground.errors import InputError, OptionError

if TYPE_CHECKING:
    import pyarrow

    Table = pyarrow.Table

REMEDY = "needs pyarrow: pip install pyarrow"
IDS = ("auto", "text")
INT64_MAX = 2**63 - 1
STREAM, ARRAY = "__arrow_c_stream__", "__arrow_c_array__"

Columns = dict[str, Any]


def load_arrow(purpose: str, module: str = "pyarrow") -> Any:
    """Import pyarrow or a module of it; the OptionError if it is not installed names `purpose`."""
    try:
        # Loaded when needed: it takes a good part of a second.
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"{purpose} {REMEDY}") from error


def arrays_of(values: Any) -> list[Any]:
    """Return the arrays of pyarrow that hold `values`, at least one; none for other objects.

    An object of another library is taken through the Arrow interface that it offers.
    """
    if not hasattr(values, STREAM) and not hasattr(values, ARRAY):
        return []
    try:
        arrow = load_arrow("an Arrow array")
        if isinstance(values, arrow.Array | arrow.ChunkedArray):
            whole = values
        elif hasattr(values, STREAM):
            whole = arrow.chunked_array(values)
        else:
            whole = arrow.array(values)
    except (OptionError, TypeError, ValueError, NotImplementedError):
        return []
    if isinstance(whole, arrow.Array):
        return [whole]
    return list(whole.chunks) or [arrow.array([], whole.type)]


def listed(values: Any) -> list[Any] | None:
    """Return the values of an Arrow array as Python objects; None for another object."""
    arrays = arrays_of(values)
    return [value for array in arrays for value in array.to_pylist()] if arrays else None


def read_batches(
    chunks: Iterable[Columns], empty: Columns, *, id_columns: Sequence[str], ids: str
) -> Any:
    """Make a pyarrow.RecordBatchReader of chunks of columns.

    `empty`: columns of length 0 that give the types if there is no chunk.  NaN becomes null.
    Raises OptionError if `ids` is not in `IDS`, and InputError, while the reader is read, for an id
    that does not fit the type of its column.
    """
    arrow = checked_arrow(ids)
    source = iter(chunks)
    first = next((chunk for chunk in source if len(chunk[id_columns[0]])), None)
    if first is None:
        first, source = empty, iter(())
    every = [id for name in id_columns for id in first[name]]
    kind = arrow.string() if ids == "text" else _kind(arrow, every)

    def batches() -> Iterator[Any]:
        for chunk in chain([first], source):
            yield _batch(arrow, chunk, id_columns, kind, ids)

    schema = _batch(arrow, {**first, **empty}, id_columns, kind, ids).schema
    return arrow.RecordBatchReader.from_batches(schema, batches())


def checked_arrow(ids: str) -> Any:
    """Import pyarrow; raise OptionError if it is not installed or if `ids` is not in `IDS`."""
    if ids not in IDS:
        raise OptionError(f"ids must be one of {', '.join(map(repr, IDS))}, got {ids!r}")
    return load_arrow("an Arrow table")


def id_array(ids: Sequence[Any]) -> Any:
    """Return ids as an array of pyarrow: as text, bytes or whole numbers if all are, else text."""
    arrow = checked_arrow("auto")
    if {type(id) for id in ids} not in ({str}, {bytes}, {int}):
        return arrow.array([id_text(id) for id in ids], arrow.string())
    return _id_array(arrow, ids, _kind(arrow, list(ids)), "auto")


def stream(table: Any, requested_schema: Any) -> Any:
    """Return the capsule by which other libraries read a table of pyarrow.

    A class with `__arrow_c_stream__` hands its table out with this function.  `requested_schema`:
    the capsule that such a library passes, or None.
    """
    return table.__arrow_c_stream__(requested_schema)


def id_text(id: Any) -> str:
    """Write an id as text: numbers in decimal, bytes in hexadecimal digits."""
    return id.hex() if isinstance(id, bytes) else str(id)


def _batch(arrow: Any, chunk: Columns, id_columns: Sequence[str], kind: Any, ids: str) -> Any:
    arrays = {
        name: _id_array(arrow, values, kind, ids) if name in id_columns else _array(arrow, values)
        for name, values in chunk.items()
    }
    return arrow.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def fixed_rows(column: Any) -> U8:
    """Return a column of binary values of one length, without nulls, as rows uint8[n, w]."""
    arrow = load_arrow("an Arrow array")
    column = column.combine_chunks() if isinstance(column, arrow.ChunkedArray) else column
    if not len(column):
        return np.empty((0, getattr(column.type, "byte_width", 0)), np.uint8)
    kind = arrow.binary(len(column[0].as_py()))
    try:
        whole = column if column.type == kind else column.cast(kind)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise InputError(f"sketches must be binary values of one length: {error}") from error
    content = np.frombuffer(whole.buffers()[1], np.uint8).reshape(-1, kind.byte_width)
    return content[whole.offset : whole.offset + len(whole)]


def _array(arrow: Any, values: Any) -> Any:
    if isinstance(values, arrow.Array):
        return values
    if values.ndim == 2:
        count, width = values.shape
        buffers = [None, arrow.py_buffer(np.ascontiguousarray(values))]
        return arrow.Array.from_buffers(arrow.binary(width), count, buffers)
    if values.dtype.kind == "f":
        return arrow.array(values, mask=np.isnan(values))
    return arrow.array(values)


def _id_array(arrow: Any, values: Sequence[Any], kind: Any, ids: str) -> Any:
    if ids == "text":
        return arrow.array([id_text(each) for each in values], kind)
    wanted = str if kind == arrow.string() else bytes if kind == arrow.binary() else int
    for each in values:
        if type(each) is not wanted:
            raise InputError(_misfit(each, kind))
    try:
        return arrow.array(list(values), kind)
    except (OverflowError, arrow.ArrowInvalid) as error:
        raise InputError(_misfit(min(values) if min(values) < 0 else max(values), kind)) from error


def _kind(arrow: Any, every: list[Any]) -> Any:
    """Choose the type of a column whose first ids are `every`."""
    if not every or isinstance(every[0], str):
        return arrow.string()
    if isinstance(every[0], bytes):
        return arrow.binary()
    is_large = any(isinstance(each, int) and each > INT64_MAX for each in every)
    return arrow.uint64() if is_large else arrow.int64()


def _misfit(id: Any, kind: Any) -> str:
    return (
        f"the id {id!r} does not fit into a column of {kind}, the type of the first ids; use"
        " ids='text' (--text-ids), which writes every id as text"
    )
