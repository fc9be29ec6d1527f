"""Parquet records: reads the rows of Parquet files as batches of records.

The texts stay where Arrow has put them.  Rows with a null or an invalid text, and rows whose other
fields are needed, are read one by one.  A bad row becomes an `InputProblem`, and reading goes on.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from simdb.columns.arrow import listed
from simdb.columns.text_column import TextColumn, text_column
from simdb.ground.choices import KEEP
from simdb.outputs.remote import is_remote
from simdb.outputs.table_file import load_parquet, parquet_source
from simdb.sources.batch import Found, batched, with_ids
from simdb.sources.content import AMOUNT, CONTENT_ERRORS, explained
from simdb.sources.encoding_guess import GUESS, UTF8
from simdb.sources.records import (
    InputProblem,
    Record,
    SourceOptions,
    byte_count,
    check_column,
    make_record,
    place,
)

READ_ROWS = 4096
READ_BYTES = 1 << 20  # of each column at a time


def read_parquet(path: str, name: str, reading: SourceOptions) -> Found:
    """Yield the records of a Parquet file; a column of bytes is in UTF-8 unless one is named."""
    if reading.encoding == GUESS:
        reading = replace(reading, encoding=UTF8)
    reading = replace(reading, has_lines=False)
    arrow, parquet = load_parquet("reading Parquet")
    try:
        # Otherwise pyarrow reads whole row groups ahead.
        with (
            parquet_source(path) as source,
            parquet.ParquetFile(source, buffer_size=READ_BYTES, pre_buffer=False) as file,
        ):
            names = list(file.schema_arrow.names)
            check_column(names, reading)
            chosen = [each for each in names if each in (reading.id_field, reading.text_field)]
            columns = None if reading.has_fields else chosen
            position, counted = 1, 0
            for rows in file.iter_batches(READ_ROWS, columns=columns):
                done = position - 1 + rows.num_rows
                counted += _count_rows(path, done, file.metadata.num_rows, counted)
                texts = None if reading.has_fields else _texts(rows, reading, arrow)
                if texts is None or not len(texts):
                    yield from batched(_records(rows, reading, name, position))
                else:
                    yield from with_ids(
                        _ids(rows, reading),
                        reading,
                        name=name,
                        positions=np.arange(position, position + len(texts)),
                        texts=texts.filled(),
                        sizes=np.maximum(texts.lengths, 0),
                        nulls=texts.lengths < 0 if (texts.lengths < 0).any() else None,
                    )
                position += rows.num_rows
    except arrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        yield InputProblem(
            "", name, f"not a valid Parquet file ({reason}); create or download it again"
        )


def _count_rows(path: str, done: int, rows: int, counted: int) -> int:
    """Add the share of a file that `done` of its rows are; return what was added to `counted`."""
    if is_remote(path):
        return 0
    added = os.path.getsize(path) * done // max(rows, 1) - counted
    AMOUNT.add(added)
    return added


def _texts(rows: Any, reading: SourceOptions, arrow: Any) -> TextColumn | None:
    """Return the column with the texts and nulls; None if rows must be looked at one by one."""
    if len(set(rows.schema.names)) < rows.num_columns:
        return None
    array = rows.column(reading.text_field)
    column = text_column(array)
    if column is None or column.is_binary:
        return None
    if (column.lengths < 0).any() and reading.on_null != KEEP:
        return None
    try:
        array.validate(full=True)
    except arrow.ArrowException:
        return None
    return column


def _ids(rows: Any, reading: SourceOptions) -> list[Any]:
    """Return what the id column holds; None for each row without such a column."""
    if reading.id_field not in rows.schema.names:
        return [None] * int(rows.num_rows)
    return listed(rows.column(reading.id_field)) or []


def _records(
    rows: Any, reading: SourceOptions, name: str, first: int
) -> Iterator[Record | InputProblem]:
    for position, row in enumerate(rows.to_pylist(), first):
        try:
            text = row[reading.text_field]
            size = byte_count(text) if isinstance(text, str) else 0
            yield make_record(row, reading, source=name, position=position, size_bytes=size)
        except CONTENT_ERRORS as error:
            yield InputProblem(name, place(name, position), explained(error))
