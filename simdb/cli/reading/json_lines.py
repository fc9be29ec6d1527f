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

from simdb.cli.reading.batch import Batch, Found, batch_of, batched
from simdb.cli.reading.content import CONTENT_ERRORS, DOCUMENT_BYTES_MAX, explained, is_wide
from simdb.cli.reading.line_parser import LineParser, line_parser
from simdb.cli.reading.records import (
    ID_BYTES_MAX,
    InputId,
    Problem,
    Reading,
    Record,
    make_id,
    make_record,
    place,
)
from simdb.errors import InputError

BLOCK_BYTES = 1 << 20
# After an error in the middle of a compressed file, no more than one piece before it is lost.
PIECE_BYTES = 1 << 16
# Shorter ids are not too long, however many bytes a character takes.
PLAIN_CHARACTERS = ID_BYTES_MAX // 4
INT_MIN, INT_STOP = -(2**63), 2**64


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
        lines.take(block)
        yield from lines.found(block, parser)


def blocks(source: Pieces) -> Iterator[bytes]:
    """Yield the bytes of a stream in blocks of whole lines.

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
        yield rest
    if failure is not None:
        raise failure


class _Lines:
    """The lines of one block after the other, and their numbers."""

    def __init__(self, name: str, reading: Reading, encoding: str) -> None:
        """`encoding`: that of the lines, which can differ from the encoding of the source."""
        self._name = name
        self._reading = reading
        self._encoding = encoding
        self._lines: list[bytes] = []
        self._first = 1  # the number of the first line

    def take(self, block: bytes) -> None:
        """Go on to the next block."""
        self._first += len(self._lines)
        self._lines = block.split(b"\n")
        if not self._lines[-1]:
            self._lines.pop()

    def found(self, block: bytes, parser: LineParser | None) -> Found:
        """Yield what the lines of a block hold; without `parser`, the standard library parses."""
        is_short = len(block) <= DOCUMENT_BYTES_MAX
        if parser is not None and is_short and parser.accepts(block, self._lines):
            yield from self._parsed(parser)
        else:
            yield from batched(self._records())

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
                yield from self._columns(values, at)
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
            text = line.decode(self._encoding, self._reading.errors).strip()
            if not text:
                return None
            return make_record(
                _loaded(text), self._reading, source=self._name, position=position,
                size_bytes=size, line=text,
            )  # fmt: skip
        except CONTENT_ERRORS as error:
            return self._problem(position, explained(error))

    def _columns(self, values: list[Any], start: int) -> Found:
        """Yield the columns of parsed lines from number `start` of the block on."""
        stop = start + len(values)
        positions = list(range(self._first + start, self._first + stop))
        given = [value.id for value in values]
        ids = plain_ids(given, self._reading, self._name, positions)
        problems: list[tuple[int, str]] = []
        if ids is None:
            ids, problems = self._checked_ids(given, positions)
        lines = self._lines[start:stop]
        batch = Batch(
            ids=ids,
            texts=[value.text for value in values],
            sources=[self._name] * len(values),
            positions=positions,
            sizes=[len(line) + 1 for line in lines],
            lines=[line.strip() for line in lines] if self._reading.has_lines else None,
        )
        at = 0
        for wrong, reason in problems:
            if at < wrong:
                yield batch.part(at, wrong)
            yield self._problem(positions[wrong], reason)
            at = wrong + 1
        if at < len(batch):
            yield batch.part(at, len(batch)) if at else batch

    def _checked_ids(
        self, given: list[Any], positions: list[int]
    ) -> tuple[list[InputId], list[tuple[int, str]]]:
        """Return an id for each record, and the place of each bad one with the reason."""
        ids: list[InputId] = []
        problems = []
        for at, id in enumerate(given):
            try:
                ids.append(make_id(id, self._reading, place(self._name, positions[at])))
            except InputError as error:
                ids.append("")
                problems.append((at, str(error)))
        return ids, problems

    def _problem(self, position: int, reason: str) -> Problem:
        return Problem(self._name, place(self._name, position), reason)


def plain_ids(
    given: list[Any], reading: Reading, name: str, positions: list[int]
) -> list[InputId] | None:
    """Return what `make_id` returns for each id; None if they must be looked at one by one."""
    kinds = set(map(type, given))
    if kinds == {int}:
        if reading.has_int_ids:
            return given if min(given) >= INT_MIN and max(given) < INT_STOP else None
        texts = [str(id) for id in given]
        return [*texts] if max(map(len, texts)) <= PLAIN_CHARACTERS else None
    if reading.has_int_ids:
        return None
    if kinds == {str}:
        return given if "" not in given and max(map(len, given)) <= PLAIN_CHARACTERS else None
    if kinds == {type(None)} and len(place(name, positions[-1])) <= PLAIN_CHARACTERS:
        return [place(name, position) for position in positions]
    return None


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
