"""JSON lines: reads blocks of whole lines, and makes batches of their records.

If msgspec is installed, it parses the lines, and only the id and the text of each record become
Python objects.  A line that it refuses, or might treat otherwise than the standard library does, is
parsed by `json` as if msgspec were not installed, so both ways give the same documents and the same
messages.  A bad line becomes a `Problem`, and reading goes on.
"""

import io
import json
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from simdb.cli.reading.batch import Found, batch_of, batched
from simdb.cli.reading.content import CONTENT_ERRORS, DOCUMENT_BYTES_MAX, explained, is_wide
from simdb.cli.reading.id_column import with_ids
from simdb.cli.reading.line_parser import LineParser, line_parser
from simdb.cli.reading.records import Problem, Reading, Record, make_record, place
from simdb.errors import InputError

BLOCK_BYTES = 1 << 20
# After an error in the middle of a compressed file, no more than one piece before it is lost.
PIECE_BYTES = 1 << 16
LINE_FEED = 10


class Pieces(Protocol):
    """A stream that is read in pieces."""

    def read1(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size` of them; none at the end."""


def read_lines(stream: io.BufferedReader, name: str, reading: Reading) -> Found:
    """Yield the records of a stream of JSON lines."""
    pieces: Pieces = stream
    encoding = reading.encoding
    if is_wide(encoding):
        pieces = _Narrow(io.TextIOWrapper(stream, encoding, reading.errors, newline="\n"))
        encoding = "utf-8"
    is_utf8 = encoding in ("utf-8", "utf-8-sig")
    parser = line_parser(reading) if is_utf8 and not reading.has_fields else None
    lines = _Lines(name, reading, encoding)
    for block in blocks(pieces):
        yield from lines.found(block, parser)


def blocks(source: Pieces) -> Iterator[bytes]:
    """Yield the bytes of a stream in blocks of whole lines; each line ends with a line feed.

    A line that is longer than DOCUMENT_BYTES_MAX is cut off somewhere after that length.  If
    reading fails, the whole lines before the failure are yielded first.
    """
    held: list[bytes] = []
    size = unended = 0  # bytes held, and those of them after the last line feed
    failure: Exception | None = None
    while True:
        try:
            piece = source.read1(PIECE_BYTES)
        except CONTENT_ERRORS as error:
            piece, failure = b"", error
        if not piece:
            break
        if unended > DOCUMENT_BYTES_MAX:
            feed = piece.find(b"\n")
            piece = piece[feed:] if feed >= 0 else b""
        end = piece.rfind(b"\n") + 1
        if end and size + end >= BLOCK_BYTES:
            yield b"".join([*held, piece[:end]])
            held, size, unended, piece, end = [], 0, 0, piece[end:], 0
        held.append(piece)
        size += len(piece)
        unended = len(piece) - end if end else unended + len(piece)
    rest = b"".join(held)
    if failure is not None:
        rest = rest[: rest.rfind(b"\n") + 1]
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"
    if failure is not None:
        raise failure


def sizes_of(block: bytes) -> list[int]:
    """Return the number of bytes of each line, with its line feed."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == LINE_FEED)
    sizes: list[int] = np.diff(ends, prepend=-1).tolist()
    return sizes


class _Lines:
    """The lines of one block after the other, and their numbers."""

    def __init__(self, name: str, reading: Reading, encoding: str) -> None:
        """`encoding`: that of the lines, which can differ from the encoding of the source."""
        self._name = name
        self._reading = reading
        self._encoding = encoding
        self._lines: list[bytes] = []
        self._first = 1  # the number of the first line

    def found(self, block: bytes, parser: LineParser | None) -> Found:
        """Yield what the next block holds; without `parser`, the standard library parses it."""
        is_short = len(block) <= DOCUMENT_BYTES_MAX
        if parser is None or not is_short or not parser.accepts(block):
            self._lines = block.split(b"\n")[:-1]
            yield from batched(self._records())
            self._first += len(self._lines)
            return
        values = parser.parse_block(block)
        if values is None or self._reading.has_lines:
            self._lines = block.split(b"\n")[:-1]
        if values is not None:
            yield from self._columns(values, 0, sizes_of(block))
            self._first += len(values)
        else:
            yield from self._parsed(parser)
            self._first += len(self._lines)

    def _records(self) -> Iterator[Record | Problem]:
        """Yield what the standard library makes of each line."""
        for at in range(len(self._lines)):
            found = self._record(at)
            if found is not None:
                yield found

    def _parsed(self, parser: LineParser) -> Found:
        """Yield what `parser` makes of the lines; `_record` takes the lines that it refuses."""
        source = iter(self._lines)
        at = 0
        while at < len(self._lines):
            values = parser.parse(source)
            if values:
                sizes = [len(line) + 1 for line in self._lines[at : at + len(values)]]
                yield from self._columns(values, at, sizes)
            at += len(values)
            if at < len(self._lines):
                found = self._record(at)
                if found is not None:
                    yield found if isinstance(found, Problem) else batch_of([found])
                at += 1

    def _record(self, at: int) -> Record | Problem | None:
        """Parse one line with the standard library; return None for an empty line."""
        line, position = self._lines[at], self._first + at
        size = len(line) + 1
        if size > DOCUMENT_BYTES_MAX:
            limit = DOCUMENT_BYTES_MAX >> 20
            return self._problem(position, f"the line is longer than {limit} MiB; split it")
        try:
            text = line.decode(self._encoding, self._reading.errors)
            if not text.strip():
                return None
            return make_record(
                _loaded(text.strip()), self._reading, source=self._name, position=position,
                size_bytes=size, line=text,
            )  # fmt: skip
        except CONTENT_ERRORS as error:
            return self._problem(position, explained(error))

    def _columns(self, values: list[Any], start: int, sizes: list[int]) -> Found:
        """Yield the columns of parsed lines from number `start` of the block on."""
        first, stop = self._first + start, start + len(values)
        has_lines = self._reading.has_lines
        return with_ids(
            [value.id for value in values],
            self._reading,
            name=self._name,
            positions=range(first, first + len(values)),
            texts=[value.text for value in values],
            sizes=sizes,
            lines=self._lines[start:stop] if has_lines else None,
        )

    def _problem(self, position: int, reason: str) -> Problem:
        return Problem(self._name, place(self._name, position), reason)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"no valid JSON ({error}); correct or remove the line") from error


class _Narrow:
    """The lines of a text stream, encoded as UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def read1(self, size: int, /) -> bytes:
        return self._text.readline(size // 4).encode("utf-8", "surrogatepass")
