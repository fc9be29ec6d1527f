"""Table columns: reads ids and texts out of blocks of whole rows, without an object for each.

pyarrow parses a block, in any thread and without the interpreter lock.  What it refuses, or might
treat otherwise than the standard library does, is left to that: the block is then halved until few
rows are left, which are read one by one.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from simdb.columns.arrow import listed, load_arrow
from simdb.columns.arrow_texts import text_column
from simdb.columns.text_column import TextColumn
from simdb.running import kernel
from simdb.sources.content import DOCUMENT_BYTES_MAX, MARK
from simdb.sources.records import Reading
from simdb.sources.table_blocks import Block, Rows, rows_of
from simdb.storage.codec import checksum_of

PURPOSE = "reading CSV"
# Rows of so many bytes are not tried again when they were refused together.
REFUSED_BYTES = 1 << 14
BYTE_ORDER_MARK = MARK.encode()


class Columns(NamedTuple):
    """What the rows of a part hold: their id cells, None without an id column, and their texts."""

    ids: list[Any]
    texts: TextColumn
    rows: Rows


class Part(NamedTuple):
    """Some bytes of a block, and their columns; None if the rows must be read one by one."""

    content: bytes
    columns: Columns | None


class Parsed(NamedTuple):
    """A block, its checksum and its parts."""

    start: int
    size: int
    checksum: int
    parts: list[Part]


class TableParser:
    """Parses blocks of whole rows; several threads may use one."""

    def __init__(self, header: Sequence[str], reading: Reading, delimiter: str) -> None:
        """Read the columns that `reading` names; there is one with the texts."""
        self._arrow = load_arrow(PURPOSE)
        self._csv = load_arrow(PURPOSE, "pyarrow.csv")
        # Of columns of one name, the last one counts; so columns are called by their numbers.
        numbers = {name: str(number) for number, name in enumerate(header)}
        self._names = list(map(str, range(len(header))))
        self._id, self._text = numbers.get(reading.id_field), numbers[reading.text_field]
        self._parsing = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)

    def parsed(self, block: Block) -> Parsed:
        """Return a block with its columns."""
        content = block.content
        parts = [Part(content, None)]
        if block.quotes is not None and len(content) <= DOCUMENT_BYTES_MAX:
            parts = list(self._parts(content, rows_of(content, block.quotes)))
        return Parsed(block.start, len(content), checksum_of(content), parts)

    def texts(self, content: bytes, count: int) -> TextColumn | None:
        """Return the texts of `count` rows; None unless there are so many."""
        table = self._table(content, [self._text])
        found = None if table is None else text_column(table.column(self._text))
        return None if found is None or len(found) != count else found

    def _parts(self, content: bytes, rows: Rows) -> Iterator[Part]:
        """Yield the block, or if it is refused its halves, so that a bad row has few neighbours."""
        columns = self._columns(content, rows)
        half = len(rows.starts) // 2
        if columns is not None or len(content) <= REFUSED_BYTES or not half:
            yield Part(content, columns)
            return
        middle, line = int(rows.starts[half]), int(rows.lines[half])
        yield from self._parts(content[:middle], Rows(*(each[:half] for each in rows)))
        starts, stops, lines = (each[half:] for each in rows)
        later = Rows(starts - middle, stops - middle, lines - line)
        yield from self._parts(content[middle:], later)

    def _columns(self, content: bytes, rows: Rows) -> Columns | None:
        """Return the columns of a part; None if it must be read row by row."""
        if not len(rows.starts) or b"\0" in content or not kernel.is_utf8(content):
            return None
        # The standard library ends a row at a lone return, and counts it as a line.
        if b"\r" in content and content.count(b"\r") != content.count(b"\r\n"):
            return None
        table = self._table(content, sorted({self._id or self._text, self._text}))
        if table is None or table.num_rows != len(rows.starts):
            return None
        texts = text_column(table.column(self._text))
        assert texts is not None, "the type of the column says so"
        ids = [None] * len(texts) if self._id is None else listed(table.column(self._id)) or []
        return Columns(ids, texts, rows)

    def _table(self, content: bytes, names: Sequence[str]) -> Any:
        """Return some columns of rows; None if pyarrow refuses the rows."""
        if content.startswith(BYTE_ORDER_MARK):
            # The mark belongs to a cell.  An empty line is no row, and keeps pyarrow from it.
            content = b"\n" + content
        kind = self._arrow.large_string()
        try:
            return self._csv.read_csv(
                self._arrow.BufferReader(content),
                # One block, so that nobody else looks for the ends of its rows.
                read_options=self._csv.ReadOptions(
                    use_threads=False, block_size=len(content) + 1, column_names=self._names
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
