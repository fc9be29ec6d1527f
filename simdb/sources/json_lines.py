"""JSON lines: reads blocks of whole lines, and makes batches of their records.

If msgspec is installed, it parses the lines, and only the id and the text of each record become
Python objects.  A line that it refuses, or might treat otherwise than the standard library does, is
parsed by `json` as if msgspec were not installed, so both ways give the same documents and the same
messages.  A bad line becomes a `Problem`, and reading goes on.
"""

import io
import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from simdb.errors import InputError
from simdb.sources.batch import Found, batch_of, batched
from simdb.sources.content import CONTENT_ERRORS, DOCUMENT_BYTES_MAX, explained, is_wide
from simdb.sources.id_column import with_ids
from simdb.sources.line_parser import LineParser, line_parser
from simdb.sources.origins import NOWHERE, Origins
from simdb.sources.records import Problem, Reading, Record, make_record, place

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
    encoding, origins = reading.encoding, reading.origins
    if is_wide(encoding):
        pieces = _Narrow(io.TextIOWrapper(stream, encoding, reading.errors, newline="\n"))
        # What is parsed are not the bytes of the file, so its places are not places in the file.
        encoding, origins = "utf-8", None
    is_utf8 = encoding in ("utf-8", "utf-8-sig")
    parser = line_parser(reading) if is_utf8 and not reading.has_fields else None
    if parser is None or origins is None or not origins.begin(stream, parser.parse):
        origins = None
    lines = _Lines(name, reading, encoding, origins)
    for start, block in blocks(pieces):
        yield from lines.found(start, block, parser)


def blocks(source: Pieces) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a stream in blocks of whole lines, and where in the stream each starts.

    Each line ends with a line feed, which is added to the last line if it has none.

    A line that is longer than DOCUMENT_BYTES_MAX is cut off somewhere after that length.  If
    reading fails, the whole lines before the failure are yielded first.
    """
    held: list[bytes] = []
    size = unended = 0  # bytes held, and those of them after the last line feed
    start = stop = 0  # of the block, and of what was read
    failure: Exception | None = None
    while True:
        try:
            piece = source.read1(PIECE_BYTES)
        except CONTENT_ERRORS as error:
            piece, failure = b"", error
        if not piece:
            break
        stop += len(piece)
        if unended > DOCUMENT_BYTES_MAX:
            feed = piece.find(b"\n")
            piece = piece[feed:] if feed >= 0 else b""
        end = piece.rfind(b"\n") + 1
        if end and size + end >= BLOCK_BYTES:
            yield start, b"".join([*held, piece[:end]])
            held, size, unended, piece, end = [], 0, 0, piece[end:], 0
            start = stop - len(piece)
        held.append(piece)
        size += len(piece)
        unended = len(piece) - end if end else unended + len(piece)
    rest = b"".join(held)
    if failure is not None:
        rest = rest[: rest.rfind(b"\n") + 1]
    if rest:
        yield start, rest if rest.endswith(b"\n") else rest + b"\n"
    if failure is not None:
        raise failure


def sizes_of(block: bytes) -> list[int]:
    """Return the number of bytes of each line, with its line feed."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == LINE_FEED)
    sizes: list[int] = np.diff(ends, prepend=-1).tolist()
    return sizes


class _Lines:
    """The lines of one block after the other, and their numbers."""

    def __init__(self, name: str, reading: Reading, encoding: str, origins: Origins | None) -> None:
        """`encoding`: that of the lines, which can differ from the encoding of the source.

        `origins`: takes the lines that can be read again; None if none can.
        """
        self._name = name
        self._reading = reading
        self._encoding = encoding
        self._origins = origins
        self._start = NOWHERE  # the origin of the block
        self._lines: list[bytes] = []
        self._first = 1  # the number of the first line

    def found(self, start: int, block: bytes, parser: LineParser | None) -> Found:
        """Yield what the next block holds; without `parser`, the standard library parses it.

        `start`: where the block begins in the source.
        """
        is_short = len(block) <= DOCUMENT_BYTES_MAX
        if parser is None or not is_short or not parser.accepts(block):
            self._lines = block.split(b"\n")[:-1]
            yield from batched(self._records())
            self._first += len(self._lines)
            return
        if self._origins is not None:
            self._start = self._origins.add(start, block)
        values = parser.parse_block(block)
        if values is None or (self._reading.has_lines and self._origins is None):
            self._lines = block.split(b"\n")[:-1]
        if values is not None:
            yield from self._columns(values, 0, sizes_of(block), self._start)
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
        at, start = 0, self._start
        while at < len(self._lines):
            values = parser.parse(source)
            if values:
                sizes = [len(line) + 1 for line in self._lines[at : at + len(values)]]
                yield from self._columns(values, at, sizes, start)
                start += sum(sizes)
            at += len(values)
            if at < len(self._lines):
                found = self._record(at)
                if found is not None:
                    yield found if isinstance(found, Problem) else batch_of([found])
                start += len(self._lines[at]) + 1
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

    def _columns(self, values: list[Any], start: int, sizes: list[int], origin: int) -> Found:
        """Yield the columns of parsed lines from number `start` of the block on.

        `origin`: that of the first of them.
        """
        origins = None if self._origins is None else [*accumulate(sizes[:-1], initial=origin)]
        first, stop = self._first + start, start + len(values)
        has_lines = self._reading.has_lines
        return with_ids(
            [value.id for value in values],
            self._reading,
            name=self._name,
            positions=range(first, first + len(values)),
            texts=[value.text for value in values],
            sizes=sizes,
            lines=self._lines[start:stop] if has_lines and origins is None else None,
            origins=origins,
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
