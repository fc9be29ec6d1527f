"""Record files: reads one JSON array, or files of Parquet or Arrow, as batches of records.

The texts of a Parquet or Arrow file stay where Arrow has put them.  Rows with a null or an invalid
text, and rows whose other fields are needed, are read one by one.  A bad row becomes an
`InputProblem`, and reading goes on.
"""

import codecs
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from simdb.core.arrow import load_arrow, rows_with_bytes
from simdb.core.choices import KEEP
from simdb.core.decoding import MARK, text_column
from simdb.core.errors import InputError
from simdb.core.field_columns import field_column, field_values, shape_of
from simdb.core.fields import field_named, fields_of
from simdb.files.batch import Batch, Found, batched, with_ids
from simdb.files.content import (
    AMOUNT,
    CONTENT_ERRORS,
    DOCUMENT_BYTES_MAX,
    explained,
)
from simdb.files.formats import ARROW, PARQUET, is_remote
from simdb.files.json_lines import read_lines
from simdb.files.records import (
    InputProblem,
    Record,
    SourceOptions,
    byte_count,
    check_columns,
    make_record,
    place,
)
from simdb.files.row_files import is_arrow, opened_rows

PARSED_CHARACTERS = 1 << 16
ELEMENT_CHARACTERS_MAX = DOCUMENT_BYTES_MAX // 4  # a character can take four bytes
JSON_SPACE = re.compile(r"[ \t\r\n]*")


def read_json(stream: io.BufferedReader, name: str, reading: SourceOptions) -> Found:
    """Yield the records of a stream of JSON lines or one JSON array."""
    if _begins_array(stream, reading.encoding):
        yield from batched(read_array(stream, name, reading))
    else:
        yield from read_lines(stream, name, reading)


def _begins_array(stream: io.BufferedReader, encoding: str) -> bool:
    """Return whether the first character of a stream is a bracket; consume nothing."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    start = decoder.decode(stream.peek(PARSED_CHARACTERS)).removeprefix(MARK)
    return start.lstrip(" \t\r\n").startswith("[")


def read_array(
    stream: io.BufferedReader, name: str, reading: SourceOptions
) -> Iterator[Record | InputProblem]:
    """Yield the record of each element of a stream that holds one JSON array."""
    elements = _elements(io.TextIOWrapper(stream, reading.encoding, reading.stream_errors))
    position = 0
    while True:
        position += 1
        where = f"{name}:{position}"
        try:
            value, source_text = next(elements)
        except StopIteration:
            return
        except (ValueError, RecursionError, *CONTENT_ERRORS) as error:
            reason = explained(error) if isinstance(error, CONTENT_ERRORS) else f"{error}"
            yield InputProblem(
                "", where, f"no valid JSON array from element {position} on: {reason}"
            )
            return
        try:
            size = byte_count(source_text)
            yield make_record(value, reading, source=name, position=position, size_bytes=size)
        except InputError as error:
            yield InputProblem(name, where, str(error))


def _elements(text: io.TextIOBase) -> Iterator[tuple[Any, str]]:
    """Yield each element of a JSON array and its source text; raise ValueError if it is invalid.

    While the buffer does not contain a whole element, it doubles, so few elements are parsed twice.
    """
    decoder = json.JSONDecoder(object_pairs_hook=fields_of)
    buffer = text.read(PARSED_CHARACTERS)
    at = _after_space(buffer, 0) + 1  # past the bracket
    is_first = True
    while True:
        start = _element_start(buffer, at, is_first)
        if start is not None and buffer[start] == "]" and (is_first or buffer[at] == "]"):
            return
        ended = None if start is None else _element_end(decoder, buffer, start)
        if start is not None and ended is not None:
            value, stop = ended
            yield value, buffer[start:stop]
            at, is_first = _after_space(buffer, stop), False
            continue
        more = text.read(max(PARSED_CHARACTERS, len(buffer) - at))
        if not more:
            if start is not None:
                decoder.raw_decode(buffer[start:])  # says what is wrong
            raise ValueError("the array does not end with ]")
        buffer, at = buffer[at:] + more, 0
        if len(buffer) > ELEMENT_CHARACTERS_MAX:
            raise ValueError(f"the element is longer than {ELEMENT_CHARACTERS_MAX >> 20} MiB")


def _element_start(buffer: str, at: int, is_first: bool) -> int | None:
    """Return where the next element, or the final bracket, begins; None if not in the buffer."""
    start = _after_space(buffer, at)
    if start < len(buffer) and not is_first and buffer[start] != "]":
        if buffer[start] != ",":
            raise ValueError(f"{buffer[start]!r} instead of a comma")
        start = _after_space(buffer, start + 1)
    return start if start < len(buffer) else None


def _element_end(decoder: json.JSONDecoder, buffer: str, start: int) -> tuple[Any, int] | None:
    """Return the element at `start` and its end; None unless the next character is there, too."""
    try:
        value, stop = decoder.raw_decode(buffer, start)
    except json.JSONDecodeError:
        return None
    return (value, stop) if _after_space(buffer, stop) < len(buffer) else None


def _after_space(buffer: str, start: int) -> int:
    found = JSON_SPACE.match(buffer, start)
    return start if found is None else found.end()


def read_rows(path: str, name: str, reading: SourceOptions) -> Found:
    """Yield the records of a Parquet or Arrow file.

    The rows have no lines, since their positions say which they are.
    """
    reading = replace(reading, has_lines=False)
    arrow = load_arrow("reading Parquet and Arrow")
    try:
        with opened_rows(path) as file:
            names = list(file.schema.names)
            check_columns(names, reading, name, shape_of(file.schema))
            wanted = {name for each in reading.asked.every for name in each.tops}
            chosen = [each for each in names if each in wanted]
            position, counted = 1, 0
            for rows in file.batches(None if reading.has_fields else chosen):
                done = position - 1 + rows.num_rows
                if file.metadata is not None:
                    counted += _count_rows(path, done, file.metadata.num_rows, counted)
                columns = None if reading.is_by_record else _columns(rows, reading, name, position)
                if columns is None:
                    yield from batched(_records(rows, reading, name, position))
                else:
                    yield from with_ids(columns, reading)
                position += rows.num_rows
    except arrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        what = ARROW if is_arrow(path) else PARQUET
        yield InputProblem(
            "", name, f"not a valid {what} file ({reason}); create or download it again"
        )


def _count_rows(path: str, done: int, rows: int, counted: int) -> int:
    """Add the share of a file that `done` of its rows are; return what was added to `counted`."""
    if is_remote(path):
        return 0
    added = os.path.getsize(path) * done // max(rows, 1) - counted
    AMOUNT.add(added)
    return added


def _columns(rows: Any, reading: SourceOptions, name: str, first: int) -> Batch | None:
    """Return rows as a batch, whose ids are not checked; None to look at them one by one."""
    try:
        array = field_column(rows, field_named(reading.text_field))
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
    return Batch(
        ids=ids,
        texts=texts.filled(),
        sources=[name] * len(texts),
        positions=np.arange(first, first + len(texts)),
        sizes=np.maximum(texts.lengths, 0),
        nulls=nulls if has_nulls else None,
    )


def _records(
    rows: Any, reading: SourceOptions, name: str, first: int
) -> Iterator[Record | InputProblem]:
    for position, row in enumerate(rows_with_bytes(rows), first):
        try:
            text = field_named(reading.text_field).of(row)
            size = byte_count(text) if isinstance(text, str) else 0
            yield make_record(row, reading, source=name, position=position, size_bytes=size)
        except CONTENT_ERRORS as error:
            yield InputProblem(name, place(name, position), explained(error))
