"""Table rows: the survivors of CSV files, copied byte for byte or read again.

A CSV file whose columns are those of the output gives its rows as they are, quotes and line ends
included.  Between them can be rows that come as JSON lines, which are written anew.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import IO

from simdb.outputs.parquet_file import text_of
from simdb.outputs.pieces import Lines, Piece, Rows, Table, contents, split_lines
from simdb.outputs.rows import Row
from simdb.outputs.table_file import row_writer


def rows_of(lines: Lines) -> Iterator[Row]:
    """Yield the lines of a piece as rows."""
    each = split_lines(contents(lines))
    if lines.table is None:
        yield from map(loaded, each)
    else:
        columns = lines.table.columns
        found = csv.reader((line.decode() for line in each), delimiter=lines.table.delimiter)
        yield from (dict(zip(columns, cells, strict=True)) for cells in found)


def loaded(line: bytes) -> Row:
    """Return a JSON line as a row."""
    row: Row = json.loads(line.decode("utf-8", "surrogateescape"))
    return row


def shared_table(pieces: Iterable[Piece], delimiter: str) -> Table | None:
    """Return the CSV file of the first piece of one; None unless all rows fit below its first row.

    They do if they have its columns, and it has the `delimiter` of the output.
    """
    table: Table | None = None
    spooled: list[Lines] = []
    for piece in pieces:
        if isinstance(piece, Rows):
            return None
        if piece.table is None:
            spooled.append(piece)
        table = table or piece.table
        if table and piece.table and not _is_alike(piece.table, table.columns, delimiter):
            return None
    if table and all(tuple(row) == table.columns for piece in spooled for row in rows_of(piece)):
        return table
    return None


def copy_rows(pieces: Iterable[Piece], table: Table, stream: IO[bytes]) -> None:
    """Write all rows below the first row of `table`, whose columns they have."""
    stream.write(table.header)
    for piece in pieces:
        assert isinstance(piece, Lines), "a row of a Parquet file has other columns"
        if piece.table is not None:
            for content in contents(piece):
                stream.write(content)
            continue
        for row in rows_of(piece):
            line = io.StringIO(newline="")
            row_writer(line, table.delimiter).writerow(map(text_of, row.values()))
            stream.write(line.getvalue().encode("utf-8", "backslashreplace"))


def _is_alike(table: Table, columns: tuple[str, ...], delimiter: str) -> bool:
    is_clear = len(set(columns)) == len(columns)
    return is_clear and table.columns == columns and table.delimiter == delimiter
