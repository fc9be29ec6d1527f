"""Table records: reads the rows of CSV and TSV files as batches of records.

pyarrow parses blocks of rows, in any thread and without the interpreter lock.  A block is halved if
pyarrow refuses it or might read it unlike the standard library.  When few rows are left, the
standard library reads them one by one.  It also reads whole tables that are not UTF-8 or whose
other fields are needed, and all tables without pyarrow, which takes more than twice the time.  Both
give the same documents and messages.  A bad row becomes an `InputProblem`, and reading goes on.

A quote opens a quoted text if it follows a delimiter or the end of a line, and the next quote
closes it unless it is doubled.  Any other quote is an ordinary character.  So the quotes, counted
from the start of the file, show where a row can end; there files are cut into blocks of whole rows.
"""

import csv
import io
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import flags_at
from simdb.core.arrow import TextColumn, field_column, field_values, has_arrow, load_arrow
from simdb.core.choices import KEEP
from simdb.core.decoding import MARK, valid_column
from simdb.core.dtypes import I64, Bools
from simdb.core.errors import InputError
from simdb.core.fields import Field, distinct
from simdb.core.values import dataclass
from simdb.files.content import DOCUMENT_BYTES_MAX
from simdb.files.json_records import BlockReader, Part, blocks, reading_sizes
from simdb.files.pieces import CsvHead
from simdb.files.records import (
    Batch,
    Found,
    InputProblem,
    Record,
    SourceOptions,
    batched,
    byte_count,
    check_columns,
    make_record,
)

# One field can hold a long text; the default limit of the csv module is 128 KiB.
csv.field_size_limit(DOCUMENT_BYTES_MAX)
PURPOSE = "reading CSV"
# A refused block of at most this size is not halved.
REFUSED_BYTES = 1 << 14
BYTE_ORDER_MARK = MARK.encode()
QUOTE, LINE_FEED, RETURN = b'"\n\r'


def read_table(
    stream: io.BufferedReader, name: str, reading: SourceOptions, *, delimiter: str
) -> Found:
    """Yield the records of a CSV stream; its first row names the fields, or they are 1, 2, ..

    `delimiter`: delimiter if `reading` has none.
    """
    delimiter = reading.delimiter or delimiter
    is_in_blocks = not reading.is_by_record and has_arrow()
    table = _table(stream, reading, delimiter) if is_in_blocks else None
    if table is not None:
        check_columns(table.columns, reading, name)
        parser = TableParser(table.columns, reading, delimiter)
        origins = reading.origins
        if origins is None or not origins.begin(stream, parser.texts, table):
            origins = None
        if origins is not None or not reading.has_lines:
            first = 1 + table.header.count(b"\n")
            reader = _Table(name, reading, origins, "utf-8", parser.parts, first, table=table)
            yield from reader.rows(stream)
            return
    text = io.TextIOWrapper(stream, reading.encoding, reading.stream_errors, newline="")
    rows = _Rows(text, delimiter)
    header = rows.next()
    while header == [] and not reading.has_header:
        header = rows.next()
    if header is None:
        return
    columns = header if reading.has_header else numbered(header)
    check_columns(columns, reading, name)
    held = None if reading.has_header else header
    yield from batched(rows.records(columns, reading, name, held))


def _table(stream: io.BufferedReader, reading: SourceOptions, delimiter: str) -> CsvHead | None:
    """Return the first row of a stream; None if it is not UTF-8 or too long.

    Consumes nothing.
    """
    if reading.encoding not in ("utf-8", "utf-8-sig"):
        return None
    peeked = stream.peek()
    content = peeked.removeprefix(BYTE_ORDER_MARK)
    header = first_row(content, delimiter)
    # The standard library ends a row at a lone carriage return.
    if b"\0" in header or b"\r" in header.removesuffix(b"\n").removesuffix(b"\r"):
        return None
    try:
        rows = csv.reader(io.StringIO(header.decode(), newline=""), delimiter=delimiter)
    except UnicodeDecodeError:
        return None
    columns = tuple(next(rows, ()))
    if not reading.has_header:
        header, columns = b"", numbered(columns)
    start = len(peeked) - len(content) + len(header)
    return CsvHead(header, columns, delimiter, start) if columns else None


def numbered(row: Sequence[str]) -> tuple[str, ...]:
    """Return the names of fields without a header: 1, 2, .."""
    return tuple(map(str, range(1, len(row) + 1)))


class BlockRows(NamedTuple):
    """The rows of a block that are not empty: their starts, stops and lines.

    `lines`: number of lines of the block before each row.
    """

    starts: I64
    stops: I64
    lines: I64


class TableParser:
    """A parser of blocks of whole rows with pyarrow; several threads may share it."""

    def __init__(self, header: Sequence[str], reading: SourceOptions, delimiter: str) -> None:
        """Read the columns that `reading` names, which include a text column."""
        self._arrow = load_arrow(PURPOSE)
        text, self._id, *_ = reading.asked
        assert text is not None, "without texts, records are parsed one by one"
        self._text, self._digits = text, reading.digits
        self._keeps_nulls = reading.on_null == KEEP and reading.has_absent
        self._csv = load_arrow(PURPOSE, "pyarrow.csv")
        self._names = distinct(header)
        self._parsing = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)

    def parts(self, content: bytes, quotes: I64 | None) -> Iterator[Part]:
        """Yield the parts of a block whose quoted texts are known, see `quoted`."""
        if quotes is None:  # a text is not closed
            yield content, None
        else:
            yield from self._parts(content, rows_of(content, quotes))

    def _parts(self, content: bytes, rows: BlockRows) -> Iterator[Part]:
        """Yield the block, or its halves if refused, so that a bad row slows few other rows."""
        columns = self._columns(content, rows)
        half = len(rows.starts) // 2
        if columns is not None or len(content) <= REFUSED_BYTES or not half:
            yield content, columns
            return
        middle, line = int(rows.starts[half]), int(rows.lines[half])
        yield from self._parts(content[:middle], BlockRows(*(each[:half] for each in rows)))
        starts, stops, lines = (each[half:] for each in rows)
        later = BlockRows(starts - middle, stops - middle, lines - line)
        yield from self._parts(content[middle:], later)

    def _columns(self, content: bytes, rows: BlockRows) -> Batch | None:
        """Return the columns of a part, see `Part`; None if it must be read row by row."""
        if not len(rows.starts) or b"\0" in content or not kernel.is_utf8(content):
            return None
        # The standard library ends a row at a lone carriage return, and counts it as a line.
        if b"\r" in content and content.count(b"\r") != content.count(b"\r\n"):
            return None
        return self.batch(content, rows.stops - rows.starts, rows.lines, rows.starts)

    def texts(self, block: bytes, count: int) -> TextColumn | None:
        """Return the texts of `count` lines or rows; None unless each has one."""
        table = self.table(block, self._text)
        found = None if table is None else self._column(table)
        if found is None or len(found) != count:
            return None
        return found.filled() if self._keeps_nulls or (found.lengths >= 0).all() else None

    def batch(self, block: bytes, sizes: I64, positions: I64, origins: I64) -> Batch | None:
        """Return the columns of a block, see `Part`; None if it must be read record by record.

        The columns have a text or a kept null for each line or row, and at least one text.
        """
        table = self.table(block, self._text, self._id)
        texts = None if table is None else self._column(table)
        if texts is None or len(texts) != len(sizes):
            return None
        nulls = texts.lengths < 0
        has_nulls = bool(nulls.any())
        # pyarrow does not distinguish a null from a missing field.
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
        wanted = {name for each in fields for name in each.tops}
        names = [name for name in self._names if name in wanted]
        if block.startswith(BYTE_ORDER_MARK):
            # The mark belongs to a cell.  An empty line, which is not a row, makes pyarrow keep it.
            block = b"\n" + block
        kind = self._arrow.large_string()
        try:
            return self._csv.read_csv(
                self._arrow.BufferReader(block),
                # One block, so that pyarrow does not look for the ends of its rows.
                read_options=self._csv.ReadOptions(
                    use_threads=False, block_size=len(block) + 1, column_names=self._names
                ),
                parse_options=self._parsing,
                convert_options=self._csv.ConvertOptions(
                    check_utf8=False,
                    include_columns=names,
                    column_types=dict.fromkeys(names, kind),
                    strings_can_be_null=False,
                ),
            )
        except self._arrow.ArrowException:
            return None


@dataclass(slots=True, kw_only=True)
class _Table(BlockReader):
    """A reader of the blocks of one table."""

    table: CsvHead

    def rows(self, stream: io.BufferedReader) -> Found:
        """Yield the records of a stream after its first row."""
        start = len(stream.read(self.table.start))
        size, piece, threads = reading_sizes(stream, self.reading)
        lines = blocks(stream.read1, size, piece, start=start, is_ended=False)
        every = TableBlocks(lines, self.table.delimiter)
        yield from self.found(every, threads)
        yield from self._lines(every.rest)

    def one_by_one(self, content: bytes) -> Found:
        return self._lines([content])

    def _lines(self, contents: Iterable[bytes]) -> Found:
        """Yield the rows that the standard library reads; `contents` are whole lines."""
        errors = self.reading.stream_errors
        texts = (
            io.TextIOWrapper(io.BytesIO(content), self.encoding, errors, newline="")
            for content in contents
        )
        rows = _Rows(chain.from_iterable(texts), self.table.delimiter, self.first)
        yield from batched(rows.records(self.table.columns, self.reading, self.name))
        self.first = rows.line


class _Rows:
    """A reader of the rows in lines, with the standard library.

    `line`: number of the first line of the last row read.
    """

    def __init__(self, lines: Iterable[str], delimiter: str, first: int = 1) -> None:
        """Read `lines`, of which the first has the number `first`."""
        self._rows = csv.reader(self._counted(lines), delimiter=delimiter)
        self._first = self.line = first
        self._size = 0
        self._is_over = False

    def next(self) -> list[str] | None:
        """Return the next row, None at the end; raise InputError if it is invalid."""
        self.line, self._size = self._first + self._rows.line_num, 0
        try:
            return next(self._rows, None)
        except csv.Error as error:
            raise InputError(f"not a valid row ({error}); correct it") from error

    def records(
        self,
        header: Sequence[str],
        reading: SourceOptions,
        name: str,
        held: list[str] | None = None,
    ) -> Iterator[Record | InputProblem]:
        """Yield a record for each row that is not empty; `held`: a row read before."""
        header = distinct(header)
        while True:
            try:
                row, held = self.next() if held is None else held, None
                if row is None:
                    return
                if row:
                    yield self._record(row, header, reading, name)
            except InputError as error:
                yield InputProblem.at(name, self.line, error)

    def _record(
        self, row: list[str], header: Sequence[str], reading: SourceOptions, name: str
    ) -> Record:
        """Return a row as a record."""
        if self._is_over:  # only an open quote asks for more lines
            raise InputError("a quote in the row is never closed; close it")
        if self._size > DOCUMENT_BYTES_MAX:
            limit = DOCUMENT_BYTES_MAX >> 20
            raise InputError(f"the row is longer than {limit} MiB; split it")
        if reading.pads_rows:
            row = row + [""] * (len(header) - len(row))
        if len(row) != len(header):
            raise InputError(f"{len(row)} fields, but {len(header)} columns; correct the row")
        value = dict(zip(header, row, strict=True))
        return make_record(value, reading, source=name, position=self.line, size_bytes=self._size)

    def _counted(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines, and add up their sizes, each with a line feed."""
        for line in lines:
            self._size += byte_count(line) + (not line.endswith("\n"))
            yield line
        self._is_over = True


class TableBlocks:
    """The blocks of whole rows of a table; its last row gets a line feed if it has none."""

    def __init__(self, blocks: Iterable[tuple[int, bytes]], delimiter: str) -> None:
        """Read `blocks` of whole lines, which begin with a row."""
        self._source = iter(blocks)
        self._delimiter = delimiter
        self.rest: Iterator[bytes] = iter(())

    def __iter__(self) -> Iterator[tuple[int, bytes, I64 | None]]:
        """Yield start, bytes and quotes of each block; quotes are None if a text is not closed.

        If a row is longer than a document may be, stop and leave it and later bytes to `rest`.
        """
        held, start = b"", 0
        for first, piece in self._source:
            start = start if held else first
            content = held + piece if held else piece
            quotes = quoted(content, self._delimiter)
            stop = len(content) if len(quotes) % 2 == 0 else _last_end(content, quotes)
            held = content[stop:]
            if stop:
                is_ended = held or content.endswith(b"\n")
                whole = content[:stop] if held else content if is_ended else content + b"\n"
                yield start, whole, quotes[: bisect_left(quotes, stop)]
                start += stop
            if len(held) > DOCUMENT_BYTES_MAX:
                self.rest = chain([held], (piece for _, piece in self._source))
                return
        if held:
            yield start, held, None


def quoted(content: bytes, delimiter: str) -> I64:
    """Return the places where quoted texts open and close, in turn; `content` begins with a row.

    A doubled quote may be included, as the end of a text and the start of the next one.
    """
    codes = np.frombuffer(content, np.uint8)
    quotes = np.flatnonzero(codes == QUOTE)
    if not len(quotes):
        return quotes
    is_edge = flags_at([LINE_FEED, RETURN, ord(delimiter)], 256)
    is_double = np.diff(quotes, append=len(codes) + 1) == 1  # the next quote follows at once
    opens = is_edge[codes[quotes - 1]]
    opens[0] |= quotes[0] == 0
    closes = is_edge[codes[np.minimum(quotes + 1, len(codes) - 1)]]
    closes[-1] |= quotes[-1] == len(codes) - 1
    is_usual = (opens[2::2] | is_double[1:-1:2]).all() and (closes | is_double)[1::2].all()
    if is_usual and opens[0]:
        return quotes
    return _one_by_one(quotes, opens, is_double.tolist())


def rows_of(content: bytes, quotes: I64) -> BlockRows:
    """Return the rows of a block; each ends with a line feed outside quoted texts."""
    codes = np.frombuffer(content, np.uint8)
    feeds = np.flatnonzero(codes == LINE_FEED)
    numbers = np.arange(len(feeds))
    if len(quotes):
        # No quoted text is open at a line feed after an even number of quotes.
        is_end = np.searchsorted(quotes, feeds) % 2 == 0
        feeds, numbers = feeds[is_end], numbers[is_end]
    stops = feeds + 1
    starts, lines = np.append(0, stops[:-1]), np.append(0, numbers[:-1] + 1)
    sizes = stops - starts
    is_row = (sizes > len("\r\n")) | ((sizes == len("\r\n")) & (codes[starts] != RETURN))
    return BlockRows(starts[is_row], stops[is_row], lines[is_row])


def first_row(content: bytes, delimiter: str) -> bytes:
    """Return the first row of `content` with its line feed; empty if the row does not end."""
    quotes = quoted(content, delimiter)
    feed = content.find(b"\n")
    while feed >= 0 and bisect_left(quotes, feed) % 2:
        feed = content.find(b"\n", feed + 1)
    return content[: feed + 1]


def _last_end(content: bytes, quotes: I64) -> int:
    """Return the end of the last whole row; 0 if there is none."""
    place = len(content)
    while place:
        feed = content.rfind(b"\n", 0, place)
        before = bisect_left(quotes, feed)
        if feed < 0 or before % 2 == 0:
            return feed + 1
        place = int(quotes[before - 1])
    return 0


def _one_by_one(quotes: I64, opens: Bools, is_double: list[bool]) -> I64:
    """Return what `quoted` does if some quotes are ordinary characters."""
    openings = np.flatnonzero(opens).tolist()
    found: list[int] = []
    at = 0
    while (number := bisect_left(openings, at)) < len(openings):
        found.append(openings[number])
        at = openings[number] + 1
        while at < len(quotes) and is_double[at]:
            at += 2
        if at < len(quotes):
            found.append(at)
        at += 1
    return quotes[np.array(found, np.int64)]
