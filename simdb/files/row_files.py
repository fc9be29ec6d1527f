"""Row files: opens files of Parquet and Arrow, and reads their rows, or those that were chosen.

The first bytes of a file say which of the two it is, unless its name does.  Rows are given by their
numbers.  Those of Parquet are filtered a row group at a time, in several threads.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrow import filtered_array, load_arrow
from simdb.core.dtypes import Bools
from simdb.core.errors import InputError
from simdb.core.threads import streamed, thread_count
from simdb.files import formats
from simdb.files.pieces import RowRange, changed

PORTION_ROWS = 1024
READ_ROWS = 4096
READ_BYTES = 1 << 20  # of each column at a time


class RowFile(NamedTuple):
    """An open Parquet or Arrow file: its schema, and what Parquet says of it, None for Arrow.

    `batches` yields its rows, all columns for None, otherwise those of some names.
    """

    schema: Any
    metadata: Any
    batches: Callable[[Sequence[str] | None], Iterator[Any]]


def chosen_rows(rows: RowRange) -> Iterator[Any]:
    """Yield rows of a table file as record batches; InputError if the file has too few rows."""
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
    yield from streamed(streams, 1 if formats.is_remote(rows.path) else thread_count())


@contextmanager
def opened_rows(path: str) -> Iterator[RowFile]:
    """Open a Parquet or Arrow file; its first bytes say which it is.

    A file of Arrow is read and not mapped: a map would end the process if another one cuts it off.
    """
    if not is_arrow(path):
        with _parquet_file(path) as file:
            batches = partial(file.iter_batches, READ_ROWS, None)
            yield RowFile(file.schema_arrow, file.metadata, batches)
        return
    ipc = load_arrow("reading Arrow", "pyarrow.ipc")
    make = ipc.open_file if _head(path) == formats.ARROW_FILE else ipc.open_stream
    with _source(path) as source, make(source) as reader:
        yield RowFile(reader.schema, None, partial(_batches_of, reader))


def _source(path: str) -> AbstractContextManager[Any]:
    """Return what pyarrow reads a file from: its path, or a remote file."""
    return formats.open_remote(path) if formats.is_remote(path) else nullcontext(path)


@contextmanager
def _parquet_file(path: str, metadata: Any = None) -> Iterator[Any]:
    """Open a Parquet file."""
    parquet = load_arrow("reading Parquet", "pyarrow.parquet")
    # Otherwise pyarrow reads whole row groups ahead.
    options = {"metadata": metadata, "buffer_size": READ_BYTES, "pre_buffer": False}
    with _source(path) as source, parquet.ParquetFile(source, **options) as file:
        yield file


def _batches_of(reader: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yield the rows of an open Arrow file, some at a time."""
    numbers = range(getattr(reader, "num_record_batches", 0))
    for batch in map(reader.get_batch, numbers) if numbers else reader:
        own = batch if columns is None else batch.select(list(columns))
        for start in range(0, len(own), READ_ROWS):
            yield own.slice(start, READ_ROWS)


def is_arrow(path: str) -> bool:
    """Return whether a file has Arrow's own format by its name, or else by its first bytes."""
    kind = formats.TABLES.get(os.path.splitext(formats.plain_ending(path.lower()))[1])
    if kind in (formats.ARROW, formats.PARQUET):
        return kind == formats.ARROW
    return _head(path).startswith(formats.ARROW_MAGICS)


def is_arrow_stream(path: str) -> bool:
    """Return whether a file is a stream of Arrow, as Hugging Face's datasets reads it."""
    return is_arrow(path) and _head(path) != formats.ARROW_FILE


def _head(path: str) -> bytes:
    with formats.open_remote(path) if formats.is_remote(path) else open(path, "rb") as file:
        return file.read(len(formats.ARROW_FILE))


def schema_of(path: str) -> Any:
    """Return the schema of a Parquet or Arrow file, without columns if it is unreadable."""
    arrow = load_arrow("reading Parquet")
    try:
        return known_schema(path)
    except (arrow.ArrowException, OSError):
        return arrow.schema([])


def known_schema(path: str) -> Any:
    """Return the schema of a Parquet or Arrow file."""
    with opened_rows(path) as file:
        return file.schema


def _chosen(path: str, batches: Iterator[Any], is_chosen: Bools) -> Iterator[Any]:
    """Yield the chosen rows of some batches; `is_chosen` has a value for each row up to the last.

    Raises InputError if there are fewer rows, or if one of their columns cannot be read: the reader
    of the sources reads only the columns that it compares.
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
    """Yield batches; InputError if a file is damaged."""
    try:
        yield from batches
    except (arrow.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the disk, and not of what is on it
            raise
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: a column is damaged ({reason}); create the file or download it again"
        ) from error


def _group_batches(path: str, metadata: Any, number: int) -> Iterator[Any]:
    """Yield the rows of a row group of a Parquet file, some at a time."""
    with _parquet_file(path, metadata) as file:
        yield from file.iter_batches(PORTION_ROWS, row_groups=[number], use_threads=False)


def _filtered(rows: Any, flags: Any) -> Any:
    columns = [filtered_array(column, flags) for column in rows.columns]
    return type(rows).from_arrays(columns, schema=rows.schema)
