"""Table files: writes rows, objects with fields, as JSON lines, CSV, TSV or Parquet.

The rows are read twice where the columns must be known before the first row is written.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TextIO

from simdb.outputs.formats import DELIMITERS, JSON_LINES, PARQUET
from simdb.outputs.parquet_file import text_of, write_parquet
from simdb.outputs.pieces import CsvHead, Lines, Piece, RowRange, contents, split_lines
from simdb.outputs.rows import Row
from simdb.outputs.target import Target, Unclosed

# What each duplicate of a group has of it.
GROUP_FIELDS = ("representative", "reference", "size")

RowSource = Callable[[], Iterator[Row]]


def write_rows(rows: RowSource, target: Target, columns: Sequence[str]) -> None:
    """Write all rows in the format of the target; `rows()` begins with the first row again.

    `columns`: of a CSV or TSV file without rows.
    """
    if target.stream is None:
        return
    kind = target.form.kind
    if kind == JSON_LINES:
        for row in rows():
            target.rows += 1
            target.stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    elif kind == PARQUET:
        target.rows += write_parquet(rows, target.stream)
    else:
        target.rows += write_separated(rows, target.stream, DELIMITERS[kind], columns)


def write_separated(
    rows: RowSource, stream: IO[bytes], delimiter: str, columns: Iterable[str]
) -> int:
    """Write rows as CSV, with the columns of all rows in order of appearance; return their number.

    A value that is no text is written as JSON, and a missing one or null as an empty cell.
    Without rows, the header names the `columns` that are given.
    """
    found: dict[str, None] = {}
    for row in rows():
        found.update(dict.fromkeys(row))
    header = list(found or columns)
    if not header:
        return 0
    binary = io.BufferedWriter(Unclosed(stream))
    lines = io.TextIOWrapper(binary, "utf-8", "backslashreplace", newline="")
    writer = row_writer(lines, delimiter)
    writer.writerow(header)
    count = 0
    for row in rows():
        writer.writerow([text_of(row.get(name)) for name in header])
        count += 1
    lines.close()
    return count


def row_writer(lines: TextIO, delimiter: str) -> Any:
    """Return a writer of the standard library whose rows end with a line feed."""
    # It quotes a cell with a return only if that is in the end of its rows.
    return csv.writer(_LineFeeds(lines), delimiter=delimiter, lineterminator="\r\n")


class _LineFeeds:
    """A text stream that takes rows, and gives each a line feed for its end."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines

    def write(self, row: str) -> int:
        """Write one row."""
        return self._lines.write(row.removesuffix("\r\n") + "\n")


def write_results(rows: Iterable[Row], target: Target | None, columns: Sequence[str]) -> None:
    """Write the result rows of `simdb dedup`: JSON lines as they are, a table by duplicates.

    `columns`: those of a row of the table.
    """
    if target is None:
        return
    is_table = target.form.kind != JSON_LINES
    write_rows(lambda: flat(rows) if is_table else iter(rows), target, columns)
    target.finish()


def flat(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield a row for each duplicate of each group, and every other row as it is."""
    for row in rows:
        if "duplicates" not in row:
            yield row
            continue
        head = {name: row[name] for name in GROUP_FIELDS if name in row}
        if "text" in row:
            head["representative_text"] = row["text"]
        yield from ({**head, **duplicate} for duplicate in row["duplicates"])


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


def shared_table(pieces: Iterable[Piece], delimiter: str) -> CsvHead | None:
    """Return the CSV file of the first piece of one; None unless all rows fit below its first row.

    They do if they have its columns, and it has the `delimiter` of the output.
    """
    table: CsvHead | None = None
    spooled: list[Lines] = []
    for piece in pieces:
        if isinstance(piece, RowRange):
            return None
        if piece.table is None:
            spooled.append(piece)
        table = table or piece.table
        if table and piece.table and not _is_alike(piece.table, table.columns, delimiter):
            return None
    if table and all(tuple(row) == table.columns for piece in spooled for row in rows_of(piece)):
        return table
    return None


def copy_rows(pieces: Iterable[Piece], table: CsvHead, stream: IO[bytes]) -> None:
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


def _is_alike(table: CsvHead, columns: tuple[str, ...], delimiter: str) -> bool:
    is_clear = len(set(columns)) == len(columns)
    return is_clear and table.columns == columns and table.delimiter == delimiter
