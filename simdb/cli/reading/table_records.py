"""Table records: reads the rows of CSV, TSV and Parquet files as a stream of records.

A bad row becomes a `Problem`, and reading goes on.  If the rest of a file is unreadable, an
InputError or a last `Problem` says so.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simdb.arrow import load_arrow
from simdb.cli.reading.content import (
    CONTENT_ERRORS,
    DOCUMENT_BYTES_MAX,
    explained,
    opened,
    settled_encoding,
)
from simdb.cli.reading.records import Problem, Reading, Record, byte_count, make_record
from simdb.errors import InputError

PARQUET_ROWS = 1024
# One field can hold a long text; the default limit of the csv module is 128 KiB.
csv.field_size_limit(DOCUMENT_BYTES_MAX)


def read_table(
    path: str, name: str, reading: Reading, *, delimiter: str
) -> Iterator[Record | Problem]:
    """Yield the records of a CSV file; its first row names the fields."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        text = io.TextIOWrapper(stream, reading.encoding, reading.stream_errors, newline="")
        rows = csv.reader(text, delimiter=delimiter)
        header = _next_row(rows)
        if header is None:
            return
        _check_column(header, reading)
        while True:
            line = rows.line_num + 1
            try:
                row = _next_row(rows)
                if row is None:
                    return
                if row:
                    yield _table_record(header, row, reading, name, line)
            except InputError as error:
                yield Problem(name, f"{name}:{line}", str(error))


def read_parquet(path: str, name: str, reading: Reading) -> Iterator[Record | Problem]:
    """Yield the records of a Parquet file."""
    arrow, parquet = load_parquet()
    try:
        with parquet.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            _check_column(names, reading)
            chosen = [each for each in names if each in (reading.id_field, reading.text_field)]
            columns = None if reading.is_whole else chosen
            position = 0
            for batch in file.iter_batches(PARQUET_ROWS, columns=columns):
                for row in batch.to_pylist():
                    position += 1
                    yield _parquet_record(row, reading, name, position)
    except arrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        yield Problem("", name, f"not a valid Parquet file ({reason}); create or download it again")


def load_parquet() -> tuple[Any, Any]:
    """Return the modules that read Parquet; raise OptionError if they are not installed."""
    purpose = "reading Parquet"
    return load_arrow(purpose), load_arrow(purpose, "pyarrow.parquet")


def _check_column(header: list[str], reading: Reading) -> None:
    if reading.text_field not in header:
        shown = ", ".join(repr(each[:40]) for each in header[:8])
        raise InputError(
            f"no column {reading.text_field!r}; use --text-field to name the column with the text"
            f" (found: {shown})"
        )


def _next_row(rows: Any) -> list[str] | None:
    try:
        row: list[str] | None = next(rows, None)
    except csv.Error as error:
        raise InputError(f"not a valid row ({error}); correct it") from error
    return row


def _table_record(
    header: list[str], row: list[str], reading: Reading, name: str, line: int
) -> Record:
    if len(row) != len(header):
        raise InputError(f"{len(row)} fields, but {len(header)} columns; correct the row")
    value = dict(zip(header, row, strict=True))
    size = sum(map(byte_count, row)) + len(row)
    return make_record(value, reading, source=name, position=line, size_bytes=size)


def _parquet_record(row: dict[str, Any], reading: Reading, name: str, at: int) -> Record | Problem:
    try:
        text = row[reading.text_field]
        size = byte_count(text) if isinstance(text, str) else 0
        return make_record(row, reading, source=name, position=at, size_bytes=size)
    except CONTENT_ERRORS as error:
        return Problem(name, f"{name}:{at}", explained(error))
