"""Row files: reads Parquet and Arrow files as batches of records, or chosen rows of them.

The name of a file, or else its first bytes, shows which of the two it is.  Texts stay where Arrow
has put them.  Rows with a null or an invalid text, and rows whose other fields are needed, are read
one by one.  Chosen rows are given by number; several threads filter the row groups of Parquet.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrow import (
    field_column,
    field_values,
    filtered_array,
    load_arrow,
    rows_with_bytes,
    shape_of,
)
from simdb.core.choices import KEEP
from simdb.core.decoding import byte_column, digits_column, text_column
from simdb.core.dtypes import Bools
from simdb.core.errors import InputError
from simdb.core.fields import field_named
from simdb.core.threads import streamed, thread_count
from simdb.files import records
from simdb.files.content import AMOUNT
from simdb.files.formats import ARROW, ARROW_FILE, ARROW_MAGICS, PARQUET, ROWS, named
from simdb.files.pieces import RowRange, changed
from simdb.files.remote import is_remote, open_remote

PORTION_ROWS = 1024
READ_ROWS = 4096
READ_BYTES = 1 << 20  # of each column at a time


class RowFile(NamedTuple):
    """An open Parquet or Arrow file: its schema, and the metadata of Parquet, None for Arrow.

    `batches` takes column names, or None for all columns, and yields the rows.
    """

    schema: Any
    metadata: Any
    batches: Callable[[Sequence[str] | None], Iterator[Any]]


def chosen_rows(rows: RowRange) -> Iterator[Any]:
    """Yield rows of a table file as record batches.

    Raises InputError if the file has too few rows.
    """
    is_chosen = np.zeros(rows.stops.max(initial=0), np.bool_)
    for start, stop in zip(rows.starts.tolist(), rows.stops.tolist(), strict=True):
        is_chosen[start:stop] = True
    with opened_rows(rows.path) as file:
        metadata = file.metadata
        if metadata is None:
            yield from _chosen(rows.path, file.batches(None), is_chosen)
            return
    if len(is_chosen) > metadata.num_rows:
        raise changed(rows.path)
    sizes = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    groups = np.split(is_chosen, np.cumsum(sizes)[:-1])
    streams = [
        partial(_chosen, rows.path, _group_batches(rows.path, metadata, number), flags)
        for number, flags in enumerate(groups)
        if flags.any()
    ]
    yield from streamed(streams, 1 if is_remote(rows.path) else thread_count())


@contextmanager
def opened_rows(path: str) -> Iterator[RowFile]:
    """Open a Parquet or Arrow file; see `is_arrow`.

    An Arrow file is read, not mapped: a map would kill this process if another truncates the file.
    """
    if not is_arrow(path):
        with _parquet_file(path) as file:
            batches = partial(file.iter_batches, READ_ROWS, None)
            yield RowFile(file.schema_arrow, file.metadata, batches)
        return
    ipc = load_arrow("reading Arrow", "pyarrow.ipc")
    make = ipc.open_file if _head(path) == ARROW_FILE else ipc.open_stream
    with _source(path) as source, make(source) as reader:
        yield RowFile(reader.schema, None, partial(_batches_of, reader))


def _source(path: str) -> AbstractContextManager[Any]:
    """Return the source that pyarrow opens: a path or a remote file."""
    return open_remote(path) if is_remote(path) else nullcontext(path)


@contextmanager
def _parquet_file(path: str, metadata: Any = None) -> Iterator[Any]:
    """Open a Parquet file."""
    parquet = load_arrow("reading Parquet", "pyarrow.parquet")
    # Otherwise pyarrow reads whole row groups ahead.
    options = {"metadata": metadata, "buffer_size": READ_BYTES, "pre_buffer": False}
    with _source(path) as source, parquet.ParquetFile(source, **options) as file:
        yield file


def _batches_of(reader: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yield the rows of an open Arrow file in batches."""
    numbers = range(getattr(reader, "num_record_batches", 0))
    for batch in map(reader.get_batch, numbers) if numbers else reader:
        own = batch if columns is None else batch.select(list(columns))
        for start in range(0, len(own), READ_ROWS):
            yield own.slice(start, READ_ROWS)


def is_arrow(path: str) -> bool:
    """Return whether a file has Arrow's own format by its name, or else by its first bytes."""
    kind = named(path)
    return kind == ARROW if kind in ROWS else _head(path).startswith(ARROW_MAGICS)


def is_arrow_stream(path: str) -> bool:
    """Return whether a file is a stream of Arrow, as Hugging Face's datasets reads it."""
    return is_arrow(path) and _head(path) != ARROW_FILE


def _head(path: str) -> bytes:
    with open_remote(path) if is_remote(path) else open(path, "rb") as file:
        return file.read(len(ARROW_FILE))


def schema_of(path: str) -> Any:
    """Return the schema of a Parquet or Arrow file."""
    with opened_rows(path) as file:
        return file.schema


def _chosen(path: str, batches: Iterator[Any], is_chosen: Bools) -> Iterator[Any]:
    """Yield the chosen rows of batches; `is_chosen` has a value for each row up to the last chosen.

    Raises InputError if there are fewer rows or a column cannot be read.  The first pass may have
    missed this, since it reads only the columns that are compared.
    """
    arrow = load_arrow("reading Parquet and Arrow")
    first = 0
    for rows in _readable(path, batches, arrow):
        flags = is_chosen[first : first + len(rows)]
        first += len(rows)
        if flags.any():
            own = rows.slice(0, len(flags))
            yield own if flags.all() else _filtered(own, arrow.array(flags))
        if first >= len(is_chosen):
            return
    if first < len(is_chosen):
        raise changed(path)


def _readable(path: str, batches: Iterator[Any], arrow: Any) -> Iterator[Any]:
    """Yield batches; raise InputError if a file is damaged."""
    try:
        yield from batches
    except (arrow.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # an error of the disk, not of the content
            raise
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: a column is damaged ({reason}); create the file or download it again"
        ) from error


def _group_batches(path: str, metadata: Any, number: int) -> Iterator[Any]:
    """Yield the rows of a row group of a Parquet file in batches."""
    with _parquet_file(path, metadata) as file:
        yield from file.iter_batches(PORTION_ROWS, row_groups=[number], use_threads=False)


def _filtered(rows: Any, flags: Any) -> Any:
    columns = [filtered_array(column, flags) for column in rows.columns]
    return type(rows).from_arrays(columns, schema=rows.schema)


def read_rows(path: str, name: str, reading: records.SourceOptions) -> records.Found:
    """Yield the records of a Parquet or Arrow file.

    The records have no lines, since their positions identify the rows.
    """
    reading = replace(reading, has_lines=False)
    arrow = load_arrow("reading Parquet and Arrow")
    try:
        with opened_rows(path) as file:
            names = list(file.schema.names)
            records.check_columns(names, reading, name, shape_of(file.schema))
            wanted = {name for each in reading.asked.every for name in each.tops}
            chosen = [each for each in names if each in wanted]
            position, counted = 1, 0
            for rows in file.batches(None if reading.has_fields else chosen):
                done = position - 1 + rows.num_rows
                if file.metadata is not None:
                    counted += _count_rows(path, done, file.metadata.num_rows, counted)
                columns = None if reading.is_by_record else _columns(rows, reading, name, position)
                if columns is None:
                    yield from records.batched(_records(rows, reading, name, position))
                else:
                    yield from records.with_ids(columns, reading)
                position += rows.num_rows
    except arrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        what = (ARROW if is_arrow(path) else PARQUET).capitalize()
        reason = f"not a valid {what} file ({reason}); create or download it again"
        yield records.InputProblem("", name, reason)


def _count_rows(path: str, done: int, rows: int, counted: int) -> int:
    """Count the bytes of the first `done` rows, less `counted`, in `AMOUNT`; return them."""
    if is_remote(path):
        return 0
    added = os.path.getsize(path) * done // max(rows, 1) - counted
    AMOUNT.add(added)
    return added


def _columns(
    rows: Any, reading: records.SourceOptions, name: str, first: int
) -> records.Batch | None:
    """Return rows as a batch with unchecked ids; None if they must be read one by one."""
    try:
        array = field_column(rows, field_named(reading.text_field))
        if reading.digits:
            column = byte_column(array)
            texts = None if column is None else digits_column(column, reading.digits)
        else:
            texts = text_column(array, reading.encoding, reading.errors)
        ids = field_values(rows, reading.asked.id)
    except (InputError, UnicodeDecodeError):
        return None
    if not ids or texts is None:
        return None
    nulls = texts.lengths < 0
    has_nulls = bool(nulls.any())
    if has_nulls and reading.on_null != KEEP:
        return None
    return records.Batch(
        ids=ids, texts=texts.filled(), sources=[name] * len(texts),
        positions=np.arange(first, first + len(texts)), sizes=np.maximum(texts.lengths, 0),
        nulls=nulls if has_nulls else None,
    )  # fmt: skip


def _records(
    rows: Any, reading: records.SourceOptions, name: str, first: int
) -> Iterator[records.Record | records.InputProblem]:
    def make(row: dict[str, Any], position: int) -> records.Record:
        text = field_named(reading.text_field).of(row)
        size = records.byte_count(text) if isinstance(text, str) else 0
        return records.make_record(row, reading, source=name, position=position, size_bytes=size)

    return records.made(rows_with_bytes(rows), name, make, first)
