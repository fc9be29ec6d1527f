"""Table records: reads the rows of CSV and TSV files as a stream of records.

A bad row becomes a `Problem`, and reading goes on.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simdb.errors import InputError
from simdb.sources.content import CONTENT_ERRORS, DOCUMENT_BYTES_MAX, opened, settled_encoding
from simdb.sources.records import (
    Problem,
    Reading,
    Record,
    byte_count,
    check_column,
    make_record,
)

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
        check_column(header, reading)
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


def read_header(path: str, reading: Reading, *, delimiter: str) -> list[str]:
    """Return the first row of a CSV file, which names its fields; nothing if it is unreadable."""
    try:
        with opened(path) as stream:
            encoding = settled_encoding(stream, reading.encoding)
            text = io.TextIOWrapper(stream, encoding, "replace", newline="")
            return _next_row(csv.reader(text, delimiter=delimiter)) or []
    except CONTENT_ERRORS:
        return []


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
