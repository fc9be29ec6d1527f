"""JSON records: reads JSON lines, or one JSON array, as a stream of records.

A bad line becomes a `Problem`, and reading goes on.  After an error in an array, reading ends.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simdb.cli.reading.content import (
    CONTENT_ERRORS,
    DOCUMENT_BYTES_MAX,
    MARK,
    explained,
    is_wide,
    opened,
    settled_encoding,
)
from simdb.cli.reading.records import Found, Problem, Reading, as_line, byte_count, make_record
from simdb.errors import InputError

PARSED_CHARACTERS = 1 << 16
ELEMENT_CHARACTERS_MAX = DOCUMENT_BYTES_MAX // 4  # a character can take four bytes
JSON_SPACE = re.compile(r"[ \t\r\n]*")


def read_json(path: str, name: str, reading: Reading) -> Found:
    """Yield the records of a file that holds JSON lines or one JSON array."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        if _begins_array(stream, reading.encoding):
            yield from _read_array(stream, name, reading)
        else:
            yield from _read_lines(stream, name, reading)


def read_json_lines(path: str, name: str, reading: Reading) -> Found:
    """Yield the records of a file of JSON lines."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        yield from _read_lines(stream, name, reading)


def _begins_array(stream: io.BufferedReader, encoding: str) -> bool:
    """Return whether the first character of a stream is a bracket; consume nothing."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    start = decoder.decode(stream.peek(PARSED_CHARACTERS)).removeprefix(MARK)
    return start[_after_space(start, 0) :].startswith("[")


def _read_lines(stream: io.BufferedReader, name: str, reading: Reading) -> Found:
    encoding = reading.encoding
    lines: Any = stream
    if is_wide(encoding):
        lines = _Narrow(io.TextIOWrapper(stream, encoding, reading.errors, newline="\n"))
        encoding = "utf-8"
    for position, (line, size) in enumerate(_limited(lines), 1):
        where = f"{name}:{position}"
        if line is None:
            limit = DOCUMENT_BYTES_MAX >> 20
            yield Problem(name, where, f"the line is longer than {limit} MiB; split it")
            continue
        try:
            text = line.decode(encoding, reading.errors).strip()
            if text:
                value = _parsed(text)
                yield make_record(
                    value, reading, source=name, position=position, line=text, size_bytes=size
                )
        except CONTENT_ERRORS as error:
            yield Problem(name, where, explained(error))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"no valid JSON ({error}); correct or remove the line") from error


def _limited(lines: Any) -> Iterator[tuple[bytes | None, int]]:
    """Yield each line and its size in bytes; None in place of a line that is too long."""
    while line := lines.readline(DOCUMENT_BYTES_MAX + 1):
        size = len(line)
        if size <= DOCUMENT_BYTES_MAX:
            yield line, size
            continue
        while line and not line.endswith(b"\n"):
            line = lines.readline(DOCUMENT_BYTES_MAX)
            size += len(line)
        yield None, size


class _Narrow:
    """A byte stream of the lines of a text stream, encoded as UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def readline(self, size: int) -> bytes:
        return self._text.readline(size // 4).encode("utf-8", "surrogatepass")


def _read_array(stream: io.BufferedReader, name: str, reading: Reading) -> Found:
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
            yield Problem("", where, f"no valid JSON array from element {position} on: {reason}")
            return
        try:
            yield make_record(
                value,
                reading,
                source=name,
                position=position,
                line=as_line(value),
                size_bytes=byte_count(source_text),
            )
        except InputError as error:
            yield Problem(name, where, str(error))


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
