"""Arrow: the only import of pyarrow, arrays from users, and tables of ids and similarities.

A column of texts holds the address and the length of each text in memory that Arrow owns.  The
kernel reads texts in place, without a copy and without a Python object for each.

pyarrow is optional (`pip install pyarrow`) and loaded when first needed.  The first batch decides
the type of a column of ids: text, bytes, or whole numbers (int64, or uint64 if needed).  Ids of
several types fit into one column only as text (`ids="text"`): numbers in decimal, bytes in
hexadecimal digits.

The module also finds the fields that users name in the columns of a table.
"""

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from simdb.core.checks import installed
from simdb.core.dtypes import I64, U8, U64
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import JOINT, Field, Part, Path, distinct
from simdb.core.values import dataclass, replace

if TYPE_CHECKING:
    import pyarrow

    Table = pyarrow.Table

REMEDY = "needs pyarrow: pip install pyarrow"
IDS = ("auto", "text")
INT64_MAX = 2**63 - 1
SURROGATES = re.compile("[\ud800-\udfff]")
# The types of numpy and Arrow whose numbers fit into int64.
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
STRINGS = ("string", "large_string")
STREAM, ARRAY = "__arrow_c_stream__", "__arrow_c_array__"

Columns = dict[str, Any]


def load_arrow(purpose: str, module: str = "pyarrow") -> Any:
    """Import pyarrow or a module of it; if it is missing, an OptionError names `purpose`."""
    return installed(module, f"{purpose} {REMEDY}")


def has_arrow() -> bool:
    """Return whether pyarrow is installed."""
    try:
        load_arrow("")
    except OptionError:
        return False
    return True


def arrays_of(values: Any) -> list[Any]:
    """Return one or more pyarrow arrays that hold `values`; none unless it is an Arrow object.

    Objects of other libraries are read through their Arrow interface.
    """
    if not hasattr(values, STREAM) and not hasattr(values, ARRAY):
        return []
    try:
        arrow = load_arrow("an Arrow array")
        whole = values
        if not isinstance(values, arrow.Array | arrow.ChunkedArray):
            whole = arrow.chunked_array(values) if hasattr(values, STREAM) else arrow.array(values)
    except (OptionError, TypeError, ValueError, NotImplementedError):
        return []
    if isinstance(whole, arrow.Array):
        return [whole]
    return list(whole.chunks) or [arrow.nulls(0, whole.type)]


def listed(values: Any) -> list[Any] | None:
    """Return the values of an Arrow array as Python objects; None for another object.

    Raises InputError for a text that is not valid UTF-8.
    """
    arrays = arrays_of(values)
    try:
        return [value for array in arrays for value in python_values(array)] if arrays else None
    except UnicodeDecodeError as error:
        raise InputError(
            f"the Arrow array has a text that is not valid UTF-8 ({error}); see what"
            " .validate(full=True) says, and make the array again"
        ) from error


def python_values(values: Any) -> list[Any]:
    """Return the values of an array, or rows with `distinct` names, without needing pandas."""
    if hasattr(values, "schema"):
        values = values.rename_columns(distinct(values.schema.names))
    try:
        return list(values.to_pylist())
    except ValueError:
        return list(_plain_times(values).to_pylist())


def rows_with_bytes(rows: Any) -> list[dict[str, Any]]:
    """Return rows as `python_values` does, with bytes in place of strings that are not UTF-8.

    Raises pyarrow.ArrowInvalid for rows of a damaged file, with values outside of its memory.
    """
    columns = list(map(valid_bytes, rows))
    try:
        return python_values(rows)
    except UnicodeDecodeError:
        values = python_values(rows.from_arrays(columns, rows.schema.names))
    strings = [
        name
        for name, each, plain in zip(distinct(rows.schema.names), rows, columns, strict=True)
        if plain.type != each.type
    ]
    for row in values:
        for name in strings:
            if row[name] is not None:
                with suppress(UnicodeDecodeError):
                    row[name] = row[name].decode()
    return values


def valid_bytes(array: Any) -> Any:
    """Return an array, with bytes in place of strings; ArrowInvalid if it is inconsistent."""
    # As strings, texts that are not UTF-8 would be invalid, too.
    kind = str(array.type)
    plain = (
        array.view(kind.replace("string", "binary")) if kind in (*STRINGS, "string_view") else array
    )
    plain.validate(full=True)
    return plain


def as_column(values: Any) -> Any:
    """Return whole numbers as int64[n], Arrow strings as a pyarrow.ChunkedArray of large strings.

    Whole numbers are a range, or an array of numpy or Arrow.  None for any other object, with a
    null, with a type larger than int64, or with a text that is not valid UTF-8.
    """
    if isinstance(values, range):
        ends = (values.start, values.stop)
        return np.arange(*ends, values.step) if max(map(abs, ends)) <= INT64_MAX else None
    if type(values) is np.ndarray:  # a masked array has nulls
        is_fit = values.ndim == 1 and str(values.dtype) in WHOLE
        return np.ascontiguousarray(values, np.int64) if is_fit else None
    arrays = arrays_of(values)
    kind = str(arrays[0].type) if arrays else ""
    if any(each.null_count for each in arrays):
        return None
    if kind in WHOLE:
        return np.concatenate([each.to_numpy() for each in arrays]).astype(np.int64, copy=False)
    if kind not in STRINGS:
        return None
    try:
        for each in arrays:
            each.validate(full=True)
    except ValueError:
        return None
    arrow = load_arrow("an Arrow array")
    return arrow.chunked_array(arrays).cast(arrow.large_string())


def texts_behind(prefix: str, texts: Any) -> tuple[I64, U8]:
    """Put a prefix before each text of `as_column`; return the offsets and the UTF-8 of all."""
    arrow, compute = load_arrow("an Arrow array"), load_arrow("an Arrow array", "pyarrow.compute")
    first, between = (arrow.scalar(each, arrow.large_string()) for each in (prefix, ""))
    made = compute.binary_join_element_wise(first, texts.combine_chunks(), between)
    _, places, content = made.buffers()
    offsets = np.frombuffer(places, np.int64)[made.offset : made.offset + len(made) + 1]
    return offsets, np.frombuffer(content or b"", np.uint8)[: offsets[-1]]


def read_batches(
    chunks: Iterable[Columns], empty: Columns, *, id_columns: Sequence[str], ids: str
) -> Any:
    """Make a pyarrow.RecordBatchReader of chunks of columns.

    `empty`: columns of length 0, for the types if there is no chunk.  NaN becomes null.  Raises
    OptionError if `ids` is not in `IDS`.  Reading raises InputError for an id that does not fit the
    type of its column.
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

    types = {name: column[:0] for name, column in first.items()}
    schema = _batch(arrow, types, id_columns, kind, ids).schema
    return arrow.RecordBatchReader.from_batches(schema, batches())


def checked_arrow(ids: str) -> Any:
    """Import pyarrow; raise OptionError if it is not installed or if `ids` is not in `IDS`."""
    if ids not in IDS:
        raise OptionError(f"ids must be one of {', '.join(map(repr, IDS))}, got {ids!r}")
    return load_arrow("an Arrow table")


def id_array(ids: Sequence[Any]) -> Any:
    """Return ids as a pyarrow array: of the type of the first id if all fit, else text."""
    arrow = checked_arrow("auto")
    try:
        return _id_array(arrow, ids, _kind(arrow, list(ids)), "auto")
    except (InputError, UnicodeEncodeError):
        return _id_array(arrow, ids, arrow.string(), "text")


def id_text(id: Any) -> str:
    """Write an id as text: numbers in decimal, bytes in hexadecimal, surrogates escaped."""
    text = id.hex() if isinstance(id, bytes) else str(id)
    return text.encode("utf-8", "backslashreplace").decode()


def fixed_rows(column: Any) -> U8:
    """Return binary values of equal length, without nulls, as rows uint8[n, w]."""
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


def filtered_array(values: Any, is_chosen: Any) -> Any:
    """Return some values of a pyarrow array, even of types that pyarrow cannot filter."""
    kind = _filterable(values.type)
    if kind != values.type:
        return values.cast(kind).filter(is_chosen).cast(values.type)
    try:
        return values.filter(is_chosen)
    except NotImplementedError:
        # Run-end encoded values can only be sliced and joined.
        chosen = is_chosen.to_numpy(zero_copy_only=False)
        starts, stops = np.flatnonzero(np.diff(chosen, prepend=0, append=0)).reshape(-1, 2).T
        sliced = map(values.slice, starts.tolist(), (stops - starts).tolist())
        return load_arrow("an Arrow array").concat_arrays([values.slice(0, 0), *sliced])


def _filterable(kind: Any) -> Any:
    """Return an Arrow type without views of texts, which pyarrow cannot filter."""
    arrow = load_arrow("an Arrow array")
    if str(kind) in ("string_view", "binary_view"):
        return getattr(arrow, f"large_{str(kind).removesuffix('_view')}")()
    if arrow.types.is_struct(kind):
        return arrow.struct([_of_filterable(kind.field(at)) for at in range(kind.num_fields)])
    if arrow.types.is_list(kind):
        return arrow.list_(_of_filterable(kind.value_field))
    if arrow.types.is_large_list(kind):
        return arrow.large_list(_of_filterable(kind.value_field))
    return kind


def _of_filterable(field: Any) -> Any:
    return field.with_type(_filterable(field.type))


@dataclass(frozen=True, slots=True, eq=False)
class ByteColumn:
    """A column of undecoded texts or nulls, with the fields of a `TextColumn`.

    `is_string`: their Arrow type is string, which promises UTF-8 that may still be invalid.
    """

    addresses: U64
    lengths: I64
    owners: tuple[Any, ...]
    is_string: bool

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.lengths)

    def __getitem__(self, at: Any) -> Any:
        """Return the bytes of one text, or a column for a slice."""
        if isinstance(at, slice):
            return self.chosen(at)
        length = int(self.lengths[at])
        return None if length < 0 else ctypes.string_at(int(self.addresses[at]), length)

    def chosen(self, places: Any) -> "ByteColumn":
        """Return the texts at given positions or a slice, in that order."""
        return replace(self, addresses=self.addresses[places], lengths=self.lengths[places])


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn(Sequence[Any]):
    """A column of decoded texts: each is a str, stored as valid UTF-8, or None for null.

    `addresses` and `lengths`, in bytes, are contiguous arrays; `owners` keep the memory to which
    they point.  A length of -1 is null.  The maker of a column has checked that all texts lie in
    that memory and are valid; `simdb.core.decoding` does so for other objects.
    """

    addresses: U64
    lengths: I64
    owners: tuple[Any, ...]

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.lengths)

    def __getitem__(self, at: Any) -> Any:
        """Return one text, or a column for a slice."""
        if isinstance(at, slice):
            return self.chosen(at)
        return _text(int(self.addresses[at]), int(self.lengths[at]))

    def __iter__(self) -> Iterator[Any]:
        """Yield each text."""
        # A generator keeps the column alive, and with it the memory.
        yield from map(_text, self.addresses.tolist(), self.lengths.tolist())

    def chosen(self, places: Any) -> "TextColumn":
        """Return the texts at given positions or a slice, in that order."""
        return TextColumn(self.addresses[places], self.lengths[places], self.owners)

    def contents(self) -> Iterator[bytes]:
        """Yield the UTF-8 of each text; no bytes for a null."""
        for address, length in zip(self.addresses.tolist(), self.lengths.tolist(), strict=True):
            yield ctypes.string_at(address, length) if length > 0 else b""

    def memory(self) -> Iterator[Any]:
        """Yield the UTF-8 of all texts in order, as buffers without a copy.

        Texts that are adjacent in memory, as in an Arrow array, share one buffer.
        """
        known = np.flatnonzero(self.lengths > 0)
        starts = self.addresses[known]
        stops = starts + self.lengths[known].astype(np.uint64)
        firsts = np.flatnonzero(np.append(True, starts[1:] != stops[:-1])) if len(known) else known
        for first, last in pairwise([*firsts.tolist(), len(known)]):
            start, stop = int(starts[first]), int(stops[last - 1])
            yield (ctypes.c_char * (stop - start)).from_address(start)

    def filled(self) -> "TextColumn":
        """Return the column with an empty text in place of each null."""
        return TextColumn(self.addresses, np.maximum(self.lengths, 0), self.owners)

    def check_known(self, start: int) -> None:
        """Raise InputError for a null; the message numbers the texts from `start`."""
        places = np.flatnonzero(self.lengths < 0)
        if len(places):
            raise InputError(
                f"document {start + int(places[0])} is NoneType (a null); leave nulls out, or fill"
                " them with empty texts"
            )


Column = TypeVar("Column", TextColumn, ByteColumn)
# Decoded texts.
Texts: TypeAlias = Sequence[str] | TextColumn


def _text(address: int, length: int) -> str | None:
    return None if length < 0 else ctypes.string_at(address, length).decode()


def joined(columns: Sequence[Column]) -> Column:
    """Join one or more columns of one class, in order."""
    if len(columns) == 1:
        return columns[0]
    return replace(
        columns[0],
        addresses=np.concatenate([column.addresses for column in columns]),
        lengths=np.concatenate([column.lengths for column in columns]),
        owners=tuple(owner for column in columns for owner in column.owners),
    )


def encoded(texts: Iterable[Any]) -> Iterator[bytes]:
    """Yield texts in UTF-8, with U+FFFD in place of a lone surrogate."""
    if isinstance(texts, TextColumn):
        yield from texts.contents()
        return
    if isinstance(texts, np.ndarray):  # hashes
        texts = (each.tobytes().hex() for each in texts)
    for text in texts:
        try:
            yield text.encode()
        except UnicodeEncodeError:
            yield SURROGATES.sub("\ufffd", text).encode()


def _batch(arrow: Any, chunk: Columns, id_columns: Sequence[str], kind: Any, ids: str) -> Any:
    arrays = {
        name: _id_array(arrow, values, kind, ids) if name in id_columns else array_of(arrow, values)
        for name, values in chunk.items()
    }
    return arrow.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def array_of(arrow: Any, values: Any) -> Any:
    """Return numbers or rows of bytes as a pyarrow array; NaN becomes null."""
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
        return arrow.array([None if each is None else id_text(each) for each in values], kind)
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
        " ids='text', or --text-ids, which writes every id as text"
    )


def _plain_times(values: Any) -> Any:
    """Return values with nanosecond times as text, and durations as whole numbers.

    Structs get `distinct` names.
    """
    if hasattr(values, "schema"):
        return values.from_arrays(list(map(_plain_times, values.columns)), values.column_names)
    if str(values.type).startswith("struct<"):
        whole = values.combine_chunks() if hasattr(values, "chunks") else values
        names = distinct([whole.type.field(at).name for at in range(whole.type.num_fields)])
        fields = list(map(_plain_times, whole.flatten()))
        return type(whole).from_arrays(fields, names, mask=whole.is_null())
    kinds = {"time": "string", "dura": "int64"} if "[ns" in str(values.type) else {}
    return values.cast(kinds.get(str(values.type)[:4], values.type))


def field_values(table: Any, wanted: Field) -> list[Any]:
    """Return the field of each row of a table or a batch as Python objects."""
    names = [name for name in table.schema.names if name in wanted.tops]
    if not names:
        return [None] * int(table.num_rows)
    if wanted.plain is not None:
        return listed(table.column(wanted.plain)) or []
    return list(map(wanted.of, python_values(table.select(names))))


def field_column(table: Any, wanted: Field) -> Any:
    """Return the field of each row as an array; None if rows must be read one by one."""
    if wanted.plain is not None:
        return table.column(wanted.plain)
    compute = load_arrow("reading a field", "pyarrow.compute")
    choices = []
    for parts in wanted.choices:
        columns = [each for part in parts for each in _coalesced(table, part, compute)]
        if any(each is None for each in columns):
            return None
        if len(parts) > 1 and any(each.null_count for each in columns):
            return None
        if len(columns) > 1:
            columns = [joined_texts(columns)]
        choices += columns
    return compute.coalesce(*choices) if choices else None


def joined_texts(columns: Sequence[Any]) -> Any:
    """Join columns of large strings, row by row, with an empty line between the texts."""
    joint = load_arrow("reading a field").scalar(JOINT, columns[0].type)
    return load_arrow("reading a field", "pyarrow.compute").binary_join_element_wise(
        *columns, joint
    )


def shape_of(schema: Any) -> dict[str, Any]:
    """Return the column names of a schema or struct, with the same for each nested struct."""
    is_struct = load_arrow("reading a field").types.is_struct
    fields = (schema.field(at) for at in range(getattr(schema, "num_fields", len(schema.names))))
    return {each.name: shape_of(each.type) if is_struct(each.type) else True for each in fields}


def _coalesced(table: Any, part: Part, compute: Any) -> list[Any]:
    """Return the column of a part in a list: empty without a column, [None] without texts."""
    columns = [
        column for path in part.paths if (column := _column_at(table, path, compute)) is not None
    ]
    if any(str(column.type) not in STRINGS for column in columns):
        return [None]
    columns = [column.cast(load_arrow("reading a field").large_string()) for column in columns]
    return [compute.coalesce(*columns)] if columns else []


def _column_at(table: Any, path: Path, compute: Any) -> Any:
    """Return the column at a path; None if there is none."""
    if path[0] not in table.schema.names:
        return None
    column = table.column(path[0])
    for name in path[1:]:
        is_struct = str(column.type).startswith("struct<")
        if not is_struct or column.type.get_field_index(name) < 0:
            return None
        column = compute.struct_field(column, name)
    return column
