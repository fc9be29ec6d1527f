"""JSON records: reads JSON lines in blocks of whole lines, or one JSON array, as batches.

Threads parse blocks with the kernel (`ColumnParser`).  The standard library parses each line that
the kernel refuses; both give the same documents and messages.  A bad line becomes an
`InputProblem`, and reading goes on.

The kernel scans a block without the interpreter lock.  A text without escapes stays in the block,
and no text becomes a Python object.
"""

import codecs
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from simdb.core import kernel
from simdb.core.arrow import ByteColumn, TextColumn
from simdb.core.choices import KEEP
from simdb.core.decoding import MARK, valid_column, with_texts
from simdb.core.dtypes import I64, U8, Bools
from simdb.core.errors import InputError
from simdb.core.fields import JOINT, Field, Path, fields_of
from simdb.core.memory import block_bytes
from simdb.core.threads import mapped, thread_count
from simdb.core.values import dataclass, replace
from simdb.files.content import (
    AMOUNT,
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
    Lacks,
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

# Size of a block that is read from a pipe.
WAITED_BYTES = 1 << 20
PATHS_MAX = 32  # at which the kernel looks for values
# A shorter run of accepted lines between refused lines is parsed one by one, too.
RUN_LINES = 8
# A block whose lines have fewer than LINE_BYTES on average is halved down to HOLLOW_BYTES.
LINE_BYTES, HOLLOW_BYTES = 8, 1 << 16
# The kernel's codes for accepted and refused lines.
TAKEN, REFUSED = 0, 2
# Reads per block of a plain file.
PIECES = 4
# An error in the middle of a compressed file loses at most one piece before it.
PIECE_BYTES = 1 << 16
LINE_FEED = b"\n"
# A part of a block and its columns; None if its lines or rows must be read one by one.  Positions
# (numbers of lines) and origins are counted from 0 within the part.  Ids are the values of the id
# fields; sources are not set yet.
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
    parser = ColumnParser(reading) if is_utf8 and ColumnParser.can_read(reading) else None
    own = None if is_recoded else stream
    if parser is None or origins is None or not origins.begin(own, parser.texts):
        origins = None
    size, piece, threads = reading_sizes(stream, reading)
    parts = parser.parts if parser else lambda content: [(content, None)]
    is_shared = is_plain(stream) and not is_recoded
    every = file_blocks(stream, size) if is_shared else blocks(read, size, piece)
    yield from _Lines(name, reading, origins, encoding, parts).found(every, threads)


def reading_sizes(stream: io.BufferedReader, reading: SourceOptions) -> tuple[int, int, int]:
    """Return the sizes of a stream's blocks and pieces, and the number of parsing threads.

    The output of another program is read as it comes, not some blocks ahead.
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
    """Yield the start and the bytes of each block of whole lines of a stream.

    `read` takes a maximum and returns the next bytes, none at the end.  A block has at least
    `least` bytes, except the last, and is read in pieces.  `start`: start of the first block.  Each
    line ends with a line feed, which is added to the last line unless `is_ended` is False.

    A line longer than DOCUMENT_BYTES_MAX is cut off somewhere after that length.  If reading fails,
    the whole lines before the failure are yielded first.
    """
    held: list[bytes] = []
    size = unended = 0  # bytes held; bytes of them after the last line feed
    stop = start  # end of the bytes read so far
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


class FileRange(NamedTuple):
    """Bytes of an open file from `start` to `stop`, which the parsing thread reads itself."""

    descriptor: int
    start: int
    stop: int

    def read(self) -> tuple[bytes, Exception | None]:
        """Return whole lines, and the error that prevented reading the rest, or None."""
        content, failure, size = b"", None, self.stop - self.start
        try:
            while more := os.pread(self.descriptor, size - len(content), self.start + len(content)):
                content += more
            if len(content) < size:
                raise InputError("it became shorter while it was read; read it again unchanged")
        except CONTENT_ERRORS as error:
            failure, content = error, content[: content.rfind(LINE_FEED) + 1]
        return content if failure or content.endswith(LINE_FEED) else content + LINE_FEED, failure


def file_blocks(stream: io.BufferedReader, least: int) -> Iterator[tuple[int, bytes | FileRange]]:
    """Yield the blocks of a plain file like `blocks`, but unread, from the stream's position.

    Only the ends of lines are looked up, so that the thread that hands out blocks spends no time
    reading.  A line that is too long for a document and all later blocks are read here, and the
    bytes after the known size of the file.
    """
    descriptor, start, counted = stream.fileno(), stream.tell(), stream.raw.tell()
    size = os.fstat(descriptor).st_size
    while start < size and (stop := _line_end(descriptor, start + least - 1, size)):
        AMOUNT.add(max(stop - max(start, counted), 0))
        yield start, FileRange(descriptor, start, stop)
        start = stop
    stream.seek(start)
    yield from blocks(stream.read1, least, PIECE_BYTES, start=start)


def _line_end(descriptor: int, at: int, size: int) -> int | None:
    """Return the end of the line with byte `at` of a file of `size`; None if too far away."""
    for start in range(at, min(size, at + DOCUMENT_BYTES_MAX), PIECE_BYTES):
        found = os.pread(descriptor, PIECE_BYTES, start).find(LINE_FEED)
        if found >= 0:
            return start + found + 1
    return None if at + DOCUMENT_BYTES_MAX < size else size


class ColumnParser:
    """A parser of JSON lines in blocks, for records that the kernel reads; threads may share it."""

    @staticmethod
    def can_read(reading: SourceOptions) -> bool:
        """Return whether the kernel can read records: not too many fields and no joined id."""
        text, id, *_ = reading.asked
        if reading.is_by_record or text is None or id.is_joined:
            return False
        return len({*text.paths, *id.paths}) <= PATHS_MAX

    def __init__(self, reading: SourceOptions) -> None:
        """Read the fields that `reading` names; see `can_read`."""
        text, self._id, *_ = reading.asked
        assert text is not None
        self._text, self._reading = text, reading
        self._keeps_nulls = reading.on_null == KEEP and reading.has_absent
        self._texts = list(dict.fromkeys(text.paths))
        # A field that is both id and text is read as the text.
        self._others = [path for path in dict.fromkeys(self._id.paths) if path not in self._texts]

    def parts(self, block: bytes) -> Iterator[Part]:
        """Yield the parts of a block: parsed lines, and between them lines to read one by one.

        Blocks that are mostly line feeds are cut, since each line takes memory.
        """
        middle = block.find(LINE_FEED, len(block) // 2) + 1
        is_hollow = kernel.count_lines(block) * LINE_BYTES > len(block)
        if block.isspace():
            yield block, None
        elif is_hollow and len(block) > HOLLOW_BYTES and middle < len(block):
            yield from self.parts(block[:middle])
            yield from self.parts(block[middle:])
        else:
            yield from self._cut(block, self._scanned(block))

    def texts(self, block: bytes, count: int) -> TextColumn | None:
        """Return the texts of `count` lines; None unless each line has one."""
        found = self._scanned(block)
        is_whole = len(found.lines) == count and (found.lines == TAKEN).all()
        return found.texts.filled() if is_whole else None

    def _scanned(self, block: bytes) -> "_Scanned":
        """Return what the kernel finds in a block, in which each line ends with a line feed."""
        sizes, lines, addresses, lengths, kinds, spare = kernel.scan_objects(
            block, self._texts, self._others
        )
        if not kernel.is_utf8(block):
            start = np.frombuffer(block, np.uint8).ctypes.data
            starts = (np.cumsum(sizes) - sizes + start).astype(np.uint64)
            lines[~kernel.are_utf8(starts, sizes)] = REFUSED
        columns = {
            path: (TextColumn(addresses[at], lengths[at], (block, spare)), kinds[at])
            for at, path in enumerate((*self._texts, *self._others))
        }
        texts, is_odd = _found_in({path: columns[path][0] for path in self._texts}, self._text)
        plain = ByteColumn(texts.addresses, texts.lengths, texts.owners, is_string=True)
        made = valid_column(plain, self._reading.digits)
        if made is None:
            is_odd[:] = True
        elif not self._keeps_nulls:
            is_odd |= made.lengths < 0
        lines[is_odd & (lines == TAKEN)] = REFUSED
        return _Scanned(sizes, lines, made or texts, [columns[path] for path in self._id.paths])

    def _cut(self, block: bytes, found: "_Scanned") -> Iterator[Part]:
        """Yield the parts of a block: runs of accepted lines, and the bytes between them."""
        starts, start = np.cumsum(found.sizes) - found.sizes, 0
        changes = np.diff(found.lines != REFUSED, prepend=False, append=False)
        for first, last in np.flatnonzero(changes).reshape(-1, 2).tolist():
            if last - first >= RUN_LINES or last - first == len(starts):
                begin, stop = int(starts[first]), int(starts[last - 1] + found.sizes[last - 1])
                rows = first + np.flatnonzero(found.lines[first:last] == TAKEN)
                content = block[begin:stop]
                batch = self._batch(content, found, rows, rows - first, starts[rows] - begin)
                if batch is not None:
                    if start < begin:
                        yield block[start:begin], None
                    yield content, batch
                    start = stop
        if start < len(block):
            yield block[start:], None

    def _batch(
        self, content: bytes, found: "_Scanned", rows: I64, positions: I64, origins: I64
    ) -> Batch | None:
        """Return the columns of some lines, see `Part`; None if they must be read one by one.

        Lines must be if no text is found: a null text is not distinguished from a missing field.
        """
        texts, sizes = found.texts.chosen(rows), found.sizes[rows]
        nulls = texts.lengths < 0
        if nulls.all():
            return None
        ids: list[Any] = [None] * len(rows)
        for column, kinds in found.ids:
            some = kernel.values_at(column.addresses[rows], column.lengths[rows], kinds[rows])
            ids = [one if id is None else id for id, one in zip(ids, some, strict=True)]
        lacks: Lacks = ()
        if self._reading.id_field in self._reading.given and all(id is None for id in ids):
            first = content[origins[0] : origins[0] + sizes[0]]
            lacks = lacks_of(_loaded(first.decode()), self._reading)
        has_nulls = bool(nulls.any())
        return Batch(
            ids=ids, texts=texts.filled() if has_nulls else texts, sources=[], positions=positions,
            sizes=sizes, origins=origins, nulls=nulls if has_nulls else None, lacks=lacks,
        )  # fmt: skip


@dataclass(slots=True)
class BlockReader:
    """A reader of the blocks of one source, which numbers their lines.

    `encoding`: encoding of the blocks, which can differ from that of the source.  `origins`: where
    lines are registered to be read again; None if they cannot be.  `parts` yields the parts of a
    block.  `first`: number of the next line.
    """

    name: str
    reading: SourceOptions
    origins: Origins | None
    encoding: str
    parts: Callable[..., Iterable[Part]]
    first: int = 1

    def found(self, blocks: Iterable[tuple[Any, ...]], threads: int) -> Found:
        """Yield the batches and problems in blocks of whole lines or rows.

        A block is its start in the source, its bytes or a `FileRange`, and further arguments of
        `parts`.
        """
        with closing(mapped(self._parsed, blocks, threads)) as every:
            for start, size, checksum, parts, failure in every:
                origin = NOWHERE
                if self.origins is not None:
                    origin = self.origins.add(start, size, checksum)
                for content, columns in parts:
                    if columns is None:
                        yield from self.one_by_one(content)
                    else:
                        yield from self._with_places(content, columns, origin)
                    origin += len(content)
                if failure is not None:
                    raise failure

    def _parsed(self, block: tuple[Any, ...]) -> tuple[int, int, int, list[Part], Exception | None]:
        """Return a block's start, size, checksum, parts and failure; several threads call this.

        A block that is longer than a document may be has only one part.
        """
        start, content, *known = block
        content, failure = content.read() if isinstance(content, FileRange) else (content, None)
        parts: list[Part] = [(content, None)]
        if len(content) <= DOCUMENT_BYTES_MAX:
            parts = list(self.parts(content, *known))
        if self.origins is not None:
            self.origins.keep(start, content)
        return start, len(content), codec.checksum_of(content), parts, failure

    def _with_places(self, content: bytes, columns: Batch, origin: int) -> Found:
        """Yield the columns of a part that starts at `origin`, with ids, places and lines."""
        assert columns.origins is not None, "parsers know them"
        has_lines = self.reading.has_lines and self.origins is None
        batch = replace(
            columns,
            sources=[self.name] * len(columns),
            positions=self.first + columns.positions,
            lines=lines_at(content, columns.positions) if has_lines else None,
            origins=None if self.origins is None else origin + columns.origins,
        )
        yield from with_ids(batch, self.reading)
        self.first += kernel.count_lines(content)

    def one_by_one(self, content: bytes) -> Found:
        """Parse each line or row with the standard library; yield batches and problems."""
        raise NotImplementedError


def lines_at(content: bytes, positions: I64) -> list[bytes]:
    """Return the lines at some positions of a block, without their line feeds."""
    lines = content.split(LINE_FEED)
    return [lines[at] for at in positions.tolist()]


class _Lines(BlockReader):
    """A reader of blocks of JSON lines."""

    def one_by_one(self, content: bytes) -> Found:
        if content.isspace():
            self.first += kernel.count_lines(content)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Scanned:
    """The scanned lines of a block: the size, the code (`TAKEN`, `REFUSED`) and the text of each.

    `ids`: values and kinds at each path of the id; the first value that is present counts.
    """

    sizes: I64
    lines: U8
    texts: TextColumn
    ids: list[tuple[TextColumn, U8]]


def _found_in(columns: Mapping[Path, TextColumn], field: Field) -> tuple[TextColumn, Bools]:
    """Return the texts of a field, from the texts at its paths, and a mask of unknown texts.

    A text is unknown if a record has some, but not all, of the parts to be joined.
    """
    chosen = columns[field.paths[0]]
    is_odd = np.zeros(len(chosen), np.bool_)
    if field.plain is not None:
        return chosen, is_odd
    nulls = chosen = replace(chosen, lengths=np.full(len(chosen), -1, np.int64))
    for parts in field.choices:
        every = [_first_of([columns[path] for path in part.paths]) for part in parts]
        known = np.array([column.lengths >= 0 for column in every])
        is_whole = known.all(0)
        is_odd |= (chosen.lengths < 0) & known.any(0) & ~is_whole
        made = every[0]
        if len(parts) > 1:
            places = np.flatnonzero(is_whole)
            texts = zip(*(column.chosen(places).contents() for column in every), strict=True)
            made = with_texts(nulls, places, list(map(JOINT.encode().join, texts)))
        chosen = _first_of([chosen, made])
    return chosen, is_odd


def _first_of(columns: Sequence[TextColumn]) -> TextColumn:
    """Return the first text of each row that is not null."""
    first = columns[0]
    for column in columns[1:]:
        is_null = first.lengths < 0
        first = TextColumn(
            np.where(is_null, column.addresses, first.addresses),
            np.where(is_null, column.lengths, first.lengths),
            (*first.owners, *column.owners),
        )
    return first


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=fields_of)
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON ({error}); correct or remove the line") from error


def _recoded(text: io.TextIOWrapper) -> Callable[[int], bytes]:
    return lambda size: text.readline(size // 4).encode("utf-8", "surrogatepass")


def read_json(stream: io.BufferedReader, name: str, reading: SourceOptions) -> Found:
    """Yield the records of a stream of JSON lines or one JSON array."""
    decoder = codecs.getincrementaldecoder(reading.encoding)("replace")
    start = decoder.decode(stream.peek(PARSED_CHARACTERS)).removeprefix(MARK)  # consumes nothing
    if start.lstrip(" \t\r\n").startswith("["):
        yield from batched(read_array(stream, name, reading))
    else:
        yield from read_lines(stream, name, reading)


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
        what = f"invalid JSON array at element {at}: {reason}"
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
