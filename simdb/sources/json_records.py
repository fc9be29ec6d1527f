"""JSON records: reads a file of JSON lines, or of one JSON array, as batches of records."""

import codecs
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simdb.ground.errors import InputError
from simdb.sources.batch import Found, batched
from simdb.sources.content import (
    CONTENT_ERRORS,
    DOCUMENT_BYTES_MAX,
    MARK,
    explained,
    opened,
    settled_encoding,
)
from simdb.sources.json_lines import read_lines
from simdb.sources.records import InputProblem, Record, SourceOptions, byte_count, make_record

PARSED_CHARACTERS = 1 << 16
ELEMENT_CHARACTERS_MAX = DOCUMENT_BYTES_MAX // 4  # a character can take four bytes
JSON_SPACE = re.compile(r"[ \t\r\n]*")


def read_json(path: str, name: str, reading: SourceOptions) -> Found:
    """Yield the records of a file that holds JSON lines or one JSON array."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        if _begins_array(stream, reading.encoding):
            yield from batched(read_array(stream, name, reading))
        else:
            yield from read_lines(stream, name, reading)


def read_json_lines(path: str, name: str, reading: SourceOptions) -> Found:
    """Yield the records of a file of JSON lines."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
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
    decoder = json.JSONDecoder()
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
