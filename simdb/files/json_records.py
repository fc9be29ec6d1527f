"""JSON records: reads JSON lines in blocks of whole lines, or one JSON array, as batches.

Threads parse blocks (`ColumnParser`).  Lines that are refused there are parsed one by one by the
standard library, so both ways give the same documents and the same messages.  A bad line becomes a
`InputProblem`, and reading goes on.

pyarrow parses a block, in any thread and without the interpreter lock, without a Python object for
each text.  It reads objects one after the other and takes a line feed for any other space, so a
line must begin and end with the braces of an object; as many objects as lines are then one in each.
"""

import codecs
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from simdb.core import kernel
from simdb.core.arrow import TextColumn, field_column, field_values, fields_at, load_arrow
from simdb.core.choices import KEEP
from simdb.core.decoding import MARK, valid_column
from simdb.core.dtypes import I64
from simdb.core.errors import InputError
from simdb.core.fields import Field, fields_of
from simdb.core.memory import block_bytes
from simdb.core.threads import mapped, thread_count
from simdb.files.content import (
    CONTENT_ERRORS,
    DOCUMENT_BYTES_MAX,
    explained,
    is_plain,
    is_wide,
    may_wait,
)
from simdb.files.origins import NOWHERE, Origins
from simdb.files.records import (
    Batch,
    Found,
    InputProblem,
    Record,
    SourceOptions,
    batched,
    byte_count,
    lacks_of,
    make_record,
    place,
    with_ids,
)
from simdb.storage import codec

PURPOSE = "reading JSON lines"
DIGITS = b"0123456789"

# Of a pipe.
WAITED_BYTES = 1 << 20
# Lines of so many bytes are not tried again when they were refused together.
REFUSED_BYTES = 1 << 14
# A block of a plain file is read in so many pieces.
PIECES = 4
# After an error in the middle of a compressed file, no more than one piece before it is lost.
PIECE_BYTES = 1 << 16
LINE_FEED = b"\n"
# Some bytes of a block, and their columns; None if their lines or rows must be read one by one.
# The positions and origins of columns are numbers of lines and places within these bytes, counted
# from 0, their ids are what the id fields hold, and they have no sources yet.
Part: TypeAlias = tuple[bytes, Batch | None]
PARSED_CHARACTERS = 1 << 16
ELEMENT_CHARACTERS_MAX = DOCUMENT_BYTES_MAX // 4  # a character can take four bytes
JSON_SPACE = re.compile(r"[ \t\r\n]*")


def read_lines(stream: io.BufferedReader, name: str, reading: SourceOptions) -> Found:
    """Yield the records of a stream of JSON lines."""
    read: Callable[[int], bytes] = stream.read1
    encoding, origins = reading.encoding, reading.origins
    is_recoded = is_wide(encoding)
    if is_recoded:
        read = _recoded(io.TextIOWrapper(stream, encoding, reading.errors, newline="\n"))
        encoding = "utf-8"
    is_utf8 = encoding in ("utf-8", "utf-8-sig")
    parser = ColumnParser(reading) if is_utf8 and not reading.is_by_record else None
    own = None if is_recoded else stream
    if parser is None or origins is None or not origins.begin(own, parser.texts):
        origins = None
    size, piece, threads = reading_sizes(stream, reading)
    parts = parser.parts if parser else lambda content: [(content, None)]
    yield from _Lines(name, reading, origins, encoding, parts).found(
        blocks(read, size, piece), threads
    )


def reading_sizes(stream: io.BufferedReader, reading: SourceOptions) -> tuple[int, int, int]:
    """Return the sizes of blocks and of pieces of a stream, and how many threads parse its blocks.

    What a program writes is taken as it comes, and not some blocks ahead.
    """
    is_slow = may_wait(stream)
    threads = 1 if is_slow else thread_count(reading.threads)
    size = WAITED_BYTES if is_slow else block_bytes(reading.memory, threads)
    return size, -(-size // PIECES) if is_plain(stream) else PIECE_BYTES, threads


def blocks(
    read: Callable[[int], bytes],
    least: int,
    piece_bytes: int,
    *,
    start: int = 0,
    is_ended: bool = True,
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a stream in blocks of whole lines, and where in the stream each starts.

    `read` returns the next bytes, at most the number that it is given, and none at the end.  A
    block has at least `least` bytes, except the last, and is read in pieces.  `start`: where the
    first one starts.  Each line ends with a line feed, which is added to the last line if it has
    none, unless `is_ended` is False.

    A line that is longer than DOCUMENT_BYTES_MAX is cut off somewhere after that length.  If
    reading fails, the whole lines before the failure are yielded first.
    """
    held: list[bytes] = []
    size = unended = 0  # bytes held, and those of them after the last line feed
    stop = start  # of what was read
    failure: Exception | None = None
    while True:
        try:
            piece = read(piece_bytes)
        except CONTENT_ERRORS as error:
            piece, failure = b"", error
        if not piece:
            break
        stop += len(piece)
        if unended > DOCUMENT_BYTES_MAX:
            feed = piece.find(b"\n")
            piece = piece[feed:] if feed >= 0 else b""
        end = piece.rfind(b"\n") + 1
        if end and size + end >= least:
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
        yield start, rest if rest.endswith(b"\n") or not is_ended else rest + b"\n"
    if failure is not None:
        raise failure


class BlockParser:
    """Parses blocks of whole lines or rows by pyarrow; several threads may use one."""

    def __init__(self, reading: SourceOptions, purpose: str) -> None:
        """Read the fields that `reading` names; OptionError if pyarrow is missing."""
        self._arrow = load_arrow(purpose)
        text, self._id, *_ = reading.asked
        assert text is not None, "without texts, records are parsed one by one"
        self._text = text
        self._digits = reading.digits
        self._keeps_nulls = reading.on_null == KEEP and reading.has_absent

    def texts(self, block: bytes, count: int) -> TextColumn | None:
        """Return the texts of `count` lines or rows; None unless each of them has one."""
        table = self.table(block, self._text)
        found = None if table is None else self._column(table)
        if found is None or len(found) != count:
            return None
        return found.filled() if self._keeps_nulls or (found.lengths >= 0).all() else None

    def batch(self, block: bytes, sizes: I64, positions: I64, origins: I64) -> Batch | None:
        """Return the columns of a block, see `Part`; None if it must be read record by record.

        Each line or row has a text or a null that is kept, and one of them has a text.
        """
        table = self.table(block, self._text, self._id)
        texts = None if table is None else self._column(table)
        if texts is None or len(texts) != len(sizes):
            return None
        nulls = texts.lengths < 0
        has_nulls = bool(nulls.any())
        # pyarrow does not tell a null from a field that is not there.
        if has_nulls and (not self._keeps_nulls or nulls.all()):
            return None
        return Batch(
            ids=field_values(table, self._id), texts=texts.filled() if has_nulls else texts,
            sources=[], positions=positions, sizes=sizes, origins=origins,
            nulls=nulls if has_nulls else None,
        )  # fmt: skip

    def _column(self, table: Any) -> TextColumn | None:
        return valid_column(field_column(table, self._text), self._digits)

    def table(self, block: bytes, *fields: Field) -> Any:
        """Return the columns of fields as a table; None if pyarrow refuses the block."""
        raise NotImplementedError


class ColumnParser(BlockParser):
    """Parses blocks of JSON lines."""

    def __init__(self, reading: SourceOptions) -> None:
        """Read the fields that `reading` names; OptionError if pyarrow is missing."""
        super().__init__(reading, PURPOSE)
        self._reading = reading
        self._json = load_arrow(PURPOSE, "pyarrow.json")
        # Most files have ids of one type.  What the last block had is tried first.
        self._kinds = [self._arrow.string(), self._arrow.int64()]

    def parts(self, block: bytes) -> Iterator[Part]:
        """Yield a block, or if it is refused its halves, so that a bad line has few neighbours."""
        is_blank = block.isspace()
        columns = None if is_blank else self.parse(block)
        half = len(block) // 2
        middle = max(block.rfind(b"\n", 0, half), block.find(b"\n")) + 1
        if columns or is_blank or len(block) <= REFUSED_BYTES or middle == len(block):
            yield block, columns
            return
        yield from self.parts(block[:middle])
        yield from self.parts(block[middle:])

    def parse(self, block: bytes) -> Batch | None:
        """Return the columns of a block, in which each line ends with a line feed; see `batch`."""
        sizes = kernel.object_sizes(block)
        if sizes is None or not kernel.is_utf8(block) or has_number(block):
            return None
        found = self.batch(block, sizes, np.arange(len(sizes)), np.cumsum(sizes) - sizes)
        is_given = self._reading.id_field in self._reading.given
        if found is None or not is_given or any(id is not None for id in found.ids):
            return found
        first = _loaded(block[: block.find(LINE_FEED)].decode())
        return replace(found, lacks=lacks_of(first, self._reading))

    def table(self, block: bytes, *fields: Field) -> Any:
        """Return the columns of fields as a table; None if pyarrow refuses the block."""
        for kind in list(self._kinds):
            # If one field is both, it is the text.
            kinds = dict.fromkeys(self._id.paths, kind) if self._id in fields else {}
            kinds |= dict.fromkeys(self._text.paths, self._arrow.large_string())
            try:
                found = self._json.read_json(
                    self._arrow.BufferReader(block),
                    # One block, so that nobody else looks for the ends of its lines.
                    self._json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                    self._json.ParseOptions(
                        explicit_schema=self._arrow.schema(fields_at(kinds)),
                        unexpected_field_behavior="ignore",
                    ),
                )
            except self._arrow.ArrowException:
                continue
            if kind is not self._kinds[0]:
                self._kinds = [kind, *(each for each in self._kinds if each is not kind)]
            return found
        return None


def has_number(block: bytes, digits_max: int | None = None) -> bool:
    """Return whether more than `digits_max` digits follow each other; 0 is no limit.

    None means the limit of this process.  So many digits lie on a multiple of `digits_max`, so
    only those places are looked at.
    """
    if digits_max is None:
        digits_max = getattr(sys, "get_int_max_str_digits", int)()
    if not digits_max:
        return False
    for number, byte in enumerate(block[::digits_max]):
        if byte not in DIGITS:
            continue
        at = number * digits_max
        before, after = block[max(0, at - digits_max) : at], block[at : at + digits_max + 1]
        # A regular expression would begin anew at each digit of the two.
        rest = len(before.rstrip(DIGITS)) + len(after.lstrip(DIGITS))
        if len(before) + len(after) - rest > digits_max:
            return True
    return False


@dataclass(slots=True)
class BlockReader:
    """The blocks of one source, one after the other, and the numbers of their lines.

    `encoding`: that of the blocks, which can differ from the encoding of the source.  `origins`:
    takes the lines that can be read again; None if none can.  `parts` yields the parts of a block.
    `first`: the number of the next line.
    """

    name: str
    reading: SourceOptions
    origins: Origins | None
    encoding: str
    parts: Callable[..., Iterable[Part]]
    first: int = 1

    def found(self, blocks: Iterable[tuple[Any, ...]], threads: int) -> Found:
        """Yield what blocks of whole lines or rows hold.

        A block is its start in the source, its bytes, and what else `parts` takes.
        """
        with closing(mapped(self._parsed, blocks, threads)) as every:
            for start, size, checksum, parts in every:
                origin = NOWHERE
                if self.origins is not None:
                    origin = self.origins.add(start, size, checksum)
                for content, columns in parts:
                    if columns is None:
                        yield from self.one_by_one(content)
                    else:
                        yield from self._with_places(content, columns, origin)
                    origin += len(content)

    def _parsed(self, block: tuple[Any, ...]) -> tuple[int, int, int, list[Part]]:
        """Return a block's start, size, checksum and parts; several threads call this.

        What is longer than a document may be has only one part.
        """
        start, content, *known = block
        parts: list[Part] = [(content, None)]
        if len(content) <= DOCUMENT_BYTES_MAX:
            parts = list(self.parts(content, *known))
        if self.origins is not None:
            self.origins.keep(start, content)
        return start, len(content), codec.checksum_of(content), parts

    def _with_places(self, content: bytes, columns: Batch, origin: int) -> Found:
        """Yield the columns of a part that starts at `origin`, with ids, places and lines."""
        assert columns.origins is not None, "parsers know them"
        has_lines = self.reading.has_lines and self.origins is None
        batch = replace(
            columns,
            sources=[self.name] * len(columns),
            positions=self.first + columns.positions,
            lines=content.split(LINE_FEED)[:-1] if has_lines else None,
            origins=None if self.origins is None else origin + columns.origins,
        )
        yield from with_ids(batch, self.reading)
        self.first += content.count(LINE_FEED)

    def one_by_one(self, content: bytes) -> Found:
        """Yield what the standard library makes of each line or row."""
        raise NotImplementedError


class _Lines(BlockReader):
    """Blocks of lines."""

    def one_by_one(self, content: bytes) -> Found:
        if content.isspace():
            self.first += content.count(LINE_FEED)
        else:
            yield from batched(self._records(content.split(LINE_FEED)[:-1]))

    def _records(self, lines: list[bytes]) -> Iterator[Record | InputProblem]:
        for line in lines:
            size = len(line) + 1
            try:
                if size > DOCUMENT_BYTES_MAX and not line.isspace():
                    limit = DOCUMENT_BYTES_MAX >> 20
                    raise InputError(f"the line is longer than {limit} MiB; split it")
                text = line.decode(self.encoding, self.reading.errors)
                if text.strip():
                    yield make_record(
                        _loaded(text.strip()), self.reading, source=self.name, position=self.first,
                        size_bytes=size, line=text,
                    )  # fmt: skip
            except CONTENT_ERRORS as error:
                yield InputProblem.at(self.name, self.first, error)
            self.first += 1


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=fields_of)
    except (ValueError, RecursionError) as error:
        raise InputError(f"no valid JSON ({error}); correct or remove the line") from error


def _recoded(text: io.TextIOWrapper) -> Callable[[int], bytes]:
    return lambda size: text.readline(size // 4).encode("utf-8", "surrogatepass")


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
    position = 0
    try:
        text = io.TextIOWrapper(stream, reading.encoding, reading.stream_errors)
        for position, (value, source) in enumerate(_elements(text), 1):
            try:
                yield make_record(
                    value, reading, source=name, position=position, size_bytes=byte_count(source)
                )
            except InputError as error:
                yield InputProblem.at(name, position, error)
    except (ValueError, RecursionError, *CONTENT_ERRORS) as error:
        at, reason = position + 1, explained(error) if isinstance(error, CONTENT_ERRORS) else error
        what = f"no valid JSON array from element {at} on: {reason}"
        yield InputProblem("", place(name, at), what)


def _elements(text: io.TextIOBase) -> Iterator[tuple[Any, str]]:
    """Yield each element of a JSON array and its source text; raise ValueError if it is invalid.

    While the buffer does not contain a whole element, it doubles, so few elements are parsed twice.
    """
    decoder = json.JSONDecoder(object_pairs_hook=fields_of)
    buffer, comma = text.read(PARSED_CHARACTERS), ""
    at = _after_space(buffer, 0) + 1  # past the bracket
    while True:
        at = _after_space(buffer, at)
        following = buffer[at : at + 1]
        if following == "]":
            return
        if comma and following not in ("", comma):
            raise ValueError(f"{following!r} instead of a comma")
        start = _after_space(buffer, at + len(comma))
        with suppress(json.JSONDecodeError):
            value, stop = decoder.raw_decode(buffer, start)
            if _after_space(buffer, stop) < len(buffer):  # more of a number could come
                yield value, buffer[start:stop]
                at, comma = stop, ","
                continue
        more = text.read(max(PARSED_CHARACTERS, len(buffer) - at))
        if not more:
            if start < len(buffer):
                decoder.raw_decode(buffer[start:])  # says what is wrong
            raise ValueError("the array does not end with ]")
        buffer, at = buffer[at:] + more, 0
        if len(buffer) > ELEMENT_CHARACTERS_MAX:
            raise ValueError(f"the element is longer than {ELEMENT_CHARACTERS_MAX >> 20} MiB")


def _after_space(buffer: str, start: int) -> int:
    found = JSON_SPACE.match(buffer, start)
    return start if found is None else found.end()
