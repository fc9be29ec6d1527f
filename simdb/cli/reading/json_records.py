"""JSON: lines of it, or one array, as a stream of records.

One bad line is a `Problem`, and the next is read; an array cannot be read on past an error.
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
ELEMENT_CHARACTERS_MAX = DOCUMENT_BYTES_MAX // 4  # a character may take four bytes
JSON_SPACE = re.compile(r"[ \t\r\n]*")


def read_json(path: str, name: str, reading: Reading) -> Found:
    """Records of a file of JSON lines, or of one JSON array."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        if _begins_array(stream, reading.encoding):
            yield from _read_array(stream, name, reading)
        else:
            yield from _read_lines(stream, name, reading)


def read_json_lines(path: str, name: str, reading: Reading) -> Found:
    """Records of a file of JSON lines."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        yield from _read_lines(stream, name, reading)


def _begins_array(stream: io.BufferedReader, encoding: str) -> bool:
    """Whether a bracket comes first in a stream; consumes nothing."""
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
            yield Problem(name, where, f"a line longer than {limit} MiB; split it")
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
    """Lines and their sizes; None for a line that is too long, the rest of which is skipped."""
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
    """Lines of a text stream as UTF-8."""

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
    """The elements of a JSON array and what they were parsed from; ValueError when it is none.

    The buffer grows twofold while an element does not end in it, so that none is parsed often.
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
            raise ValueError("it does not end with ]")
        buffer, at = buffer[at:] + more, 0
        if len(buffer) > ELEMENT_CHARACTERS_MAX:
            raise ValueError(f"an element longer than {ELEMENT_CHARACTERS_MAX >> 20} MiB")


def _element_start(buffer: str, at: int, is_first: bool) -> int | None:
    """Where the next element, or the bracket at the end, begins; None if not in the buffer."""
    start = _after_space(buffer, at)
    if start < len(buffer) and not is_first and buffer[start] != "]":
        if buffer[start] != ",":
            raise ValueError(f"{buffer[start]!r} where a comma was due")
        start = _after_space(buffer, start + 1)
    return start if start < len(buffer) else None


def _element_end(decoder: json.JSONDecoder, buffer: str, start: int) -> tuple[Any, int] | None:
    """The element at `start` and its end; None unless what follows it stands in the buffer too."""
    try:
        value, stop = decoder.raw_decode(buffer, start)
    except json.JSONDecodeError:
        return None
    return (value, stop) if _after_space(buffer, stop) < len(buffer) else None


def _after_space(buffer: str, start: int) -> int:
    found = JSON_SPACE.match(buffer, start)
    return start if found is None else found.end()
