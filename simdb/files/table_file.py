"""Table files: writes rows (objects with fields) as JSON lines, CSV, TSV, Parquet or Arrow.

The rows are read twice if the columns must be known before the first row is written.

Rows of another Parquet or Arrow file are given by number and copied with the schema of that file.
A column whose values have several kinds becomes text.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby, islice
from typing import IO, Any, TextIO

import numpy as np

from simdb.core.arrow import id_text, load_arrow, rows_with_bytes
from simdb.core.checks import shown
from simdb.core.errors import InputError
from simdb.core.fields import distinct, fields_of
from simdb.core.threads import read_ahead, thread_count
from simdb.files import formats
from simdb.files.outputs import Target, Unclosed
from simdb.files.pieces import CsvHead, Lines, Piece, RowRange, contents, split_lines
from simdb.files.row_files import chosen_rows, schema_of
from simdb.files.rows import Row, as_line, as_text, text_form

# Fields of a group that are repeated in the row of each duplicate.
GROUP_FIELDS = ("representative", "reference", "size")

# Types of values that JSON can express.
OF_JSON = (str, bool, int, float, list, tuple, dict)

RowSource = Callable[[], Iterator[Row]]
PORTION_ROWS = 1024
WRITERS = {
    formats.PARQUET: ("pyarrow.parquet", "ParquetWriter"),
    formats.ARROW: ("pyarrow.ipc", "new_file"),
    formats.ARROW_STREAM: ("pyarrow.ipc", "new_stream"),
}
# A row group is written when it reaches one of these sizes.
GROUP_ROWS = 1 << 17
GROUP_BYTES = 1 << 25


Part = Row | Piece
Parts = Callable[[], Iterator[Part]]


def write_results(rows: Iterable[Row], target: Target | None, columns: Sequence[str]) -> None:
    """Write the result rows of `simdb dedup` as JSON lines, or a table with one row per duplicate.

    `columns`: columns of the table.
    """
    if target is None:
        return
    is_table = target.form.kind != formats.JSONL
    write_rows(lambda: flat(rows) if is_table else iter(rows), target, columns)
    target.finish()


def write_rows(
    rows: RowSource, target: Target, columns: Sequence[str], given: Mapping[str, str] | None = None
) -> None:
    """Write all rows in the format of the target; `rows()` begins with the first row again.

    `columns`: columns of a table without rows.  `given`: see `write_separated`.
    """
    kind, stream = target.form.kind, target.stream
    if stream is None:
        return
    if kind == formats.JSONL:
        for row in rows():
            target.rows += 1
            stream.write(as_line(row) + b"\n")
    elif kind in formats.ROWS:
        target.rows += write_parquet(rows, stream, names=columns, kind=kind)
    else:
        target.rows += write_separated(rows, stream, formats.DELIMITERS[kind], columns, given or {})


def write_separated(
    rows: RowSource,
    stream: IO[bytes],
    delimiter: str,
    columns: Iterable[str],
    given: Mapping[str, str | None],
) -> int:
    """Write rows as CSV, with all their columns in order of appearance; return the number of rows.

    A missing value or null is written as an empty cell, other values as by `text_of`.  Without
    rows, the header names the `columns`.  `given`: names in the header that differ from the field
    names in rows; if all of them are None, there is no header.
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
    if not given or any(name is not None for name in given.values()):
        writer.writerow([given.get(name, name) for name in header])
    count = 0
    for row in rows():
        writer.writerow([text_of(row.get(name)) for name in header])
        count += 1
    lines.close()
    return count


def write_cells(columns: Sequence[str], rows: Iterable[Sequence[Any]], target: Target) -> None:
    """Write rows of ids, numbers and None as JSON lines or CSV."""
    assert target.stream is not None, "only folders have no stream"
    delimiter = formats.DELIMITERS.get(target.form.kind)
    binary = io.BufferedWriter(Unclosed(target.stream))
    with io.TextIOWrapper(binary, "utf-8", newline="") as lines:
        table = row_writer(lines, delimiter or ",")
        if delimiter:
            table.writerow(columns)
        for row in rows:
            target.rows += 1
            if delimiter:
                table.writerow([id_text(each) if isinstance(each, bytes) else each for each in row])
            else:
                made = dict(zip(columns, row, strict=True))
                lines.write(as_text(made, ensure_ascii=False) + "\n")


def write_batches(reader: Any, target: Target) -> None:
    """Write the record batches of a pyarrow reader as a Parquet or Arrow file."""
    with _typed_writer(target.form.kind, target.stream, reader.schema) as writer:
        for batch in reader:
            writer.write(batch)
            target.rows += batch.num_rows


def _typed_writer(kind: str, stream: IO[bytes] | None, schema: Any) -> Any:
    """Return a pyarrow writer for Parquet or Arrow, as `kind` says."""
    module, name = WRITERS[kind]
    return getattr(load_arrow(f"writing {kind.capitalize()}", module), name)(stream, schema)


def shared_table(pieces: Iterable[Piece], delimiter: str) -> CsvHead | None:
    """Return the head of the first CSV file among pieces; None unless all rows fit below it.

    They fit if they have its columns, and it has the `delimiter` of the output.
    """
    table: CsvHead | None = None
    spooled: list[Lines] = []
    for piece in pieces:
        if isinstance(piece, RowRange):
            return None
        if piece.table is None:
            spooled.append(piece)
        table = table or piece.table
        if table and piece.table and piece.table[1:3] != (table.columns, delimiter):
            return None
    if table is None:
        return None
    names = distinct(table.columns)
    is_shared = all(list(row) == names for piece in spooled for row in rows_of(piece))
    return table if is_shared else None


def copy_rows(pieces: Iterable[Piece], table: CsvHead, stream: IO[bytes]) -> None:
    """Write the header of `table`, then all rows, which have its columns."""
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


def rows_of(lines: Lines) -> Iterator[Row]:
    """Yield the lines of a piece as rows."""
    each = split_lines(contents(lines))
    if lines.table is None:
        yield from map(loaded, each)
    else:
        columns = distinct(lines.table.columns)
        found = csv.reader((line.decode() for line in each), delimiter=lines.table.delimiter)
        yield from (dict(zip(columns, cells, strict=True)) for cells in found)


def loaded(line: bytes) -> Row:
    """Return a JSON line as a row."""
    text = line.decode("utf-8", "surrogateescape")
    try:
        row: Row = json.loads(text, object_pairs_hook=fields_of)
    except RecursionError as error:
        raise InputError(
            f"the line {shown(text)} is nested too deeply for a table; write .jsonl instead"
        ) from error
    return row


def row_writer(lines: TextIO, delimiter: str) -> Any:
    """Return a writer of the standard library whose rows end with a line feed."""
    # It quotes a cell with a carriage return only if that is part of its line ends.
    return csv.writer(_LineFeeds(lines), delimiter=delimiter, lineterminator="\r\n")


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


def text_of(value: Any) -> str | None:
    """Return a value as text: text and dates unchanged, other values as JSON, None for null."""
    if value is not None and not isinstance(value, OF_JSON):
        value = text_form(value)
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=text_form)


def write_parquet(
    parts: Parts,
    stream: IO[bytes],
    sources: Sequence[str] = (),
    names: Iterable[str] = (),
    *,
    kind: str = formats.PARQUET,
) -> int:
    """Write all parts as a Parquet or Arrow file, as `kind` says; return the number of rows.

    `parts()` begins with the first part again.  Without parts, the columns are taken from the files
    `sources` or, without these, are text columns with `names`.
    """
    arrow = load_arrow(f"writing {kind.capitalize()}")
    columns = _FileColumns(arrow)
    for some in _grouped(parts()):
        if isinstance(some, RowRange):
            columns.add_schema(schema_of(some.path))
        else:
            columns.add_rows(some)
    if not columns.types:
        for path in sources:
            with suppress(arrow.ArrowException, OSError):  # an unreadable file adds none
                columns.add_schema(schema_of(path))
    if not columns.types:
        columns.types = dict.fromkeys(names, arrow.string())
    try:
        with _typed_writer(kind, stream, columns.schema()) as writer:
            count = 0
            # While one thread writes a row group, another makes the next.
            for table in read_ahead(_groups(arrow, _batches(parts(), columns)), thread_count()):
                writer.write(table)
                count += table.num_rows
            return count
    except (arrow.ArrowException, OverflowError, UnicodeError) as error:
        reason = str(error).splitlines()[0]
        what = f"{kind.capitalize()} cannot hold a row ({reason}); write .jsonl instead"
        raise InputError(what) from error


class _FileColumns:
    """The columns of a file: their names in order of appearance, and their types."""

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow
        self._schemas: list[Any] = []
        self._has_rows = False
        self.types: dict[str, Any] = {}
        self.mixed: set[str] = set()

    def add_schema(self, schema: Any) -> None:
        """Add the columns of another file."""
        if not self._schemas or not self._schemas[-1].equals(schema):
            self._schemas.append(schema)
        for name, kind in zip(distinct(schema.names), schema.types, strict=True):
            self._merge(name, kind)

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add the columns of some rows."""
        self._has_rows = True
        for name in dict.fromkeys(name for row in rows for name in row):
            try:
                found = self._arrow.array([row.get(name) for row in rows]).type
            except (self._arrow.ArrowException, OverflowError):
                found = None
            except UnicodeError:
                found = self._arrow.string()
            self._merge(name, None if found is None or _is_hollow(found) else found)

    def schema(self) -> Any:
        """Return the schema, with its metadata if all rows come from files with one schema."""
        if len(self._schemas) == 1 and not self._has_rows:
            return self._schemas[0]
        return self._arrow.schema(list(self.types.items()))

    def _merge(self, name: str, kind: Any) -> None:
        """Widen the column `name` to hold a type too; None means values of several kinds."""
        known = self.types.get(name, kind)
        if kind is not None and name not in self.mixed:
            fields = [self._arrow.schema([(name, each)]) for each in (known, kind)]
            with suppress(self._arrow.ArrowException):
                whole = self._arrow.unify_schemas(fields, promote_options="permissive")
                self.types[name] = whole.field(name).type
                return
        self.mixed.add(name)
        self.types[name] = self._arrow.string()

    def array(self, name: str, values: list[Any]) -> Any:
        """Return values as an array of the type of the column `name`."""
        if name in self.mixed:
            values = [text_of(value) for value in values]
        try:
            return self._arrow.array(values, self.types[name])
        except UnicodeError:
            values = [_encodable(value) for value in values]
            return self._arrow.array(values, self.types[name])

    def batch(self, rows: Sequence[Row]) -> Any:
        """Return rows as a record batch with all columns."""
        arrays = [self.array(name, [row.get(name) for row in rows]) for name in self.types]
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self.schema())

    def fitted(self, batch: Any) -> Any:
        """Return a batch of another file with all columns, each with its type here."""
        schema = self.schema()
        if batch.schema.equals(schema):
            return batch
        arrays = []
        batch = batch.rename_columns(distinct(batch.schema.names))
        for name, kind in self.types.items():
            if name not in batch.schema.names:
                arrays.append(self._arrow.nulls(batch.num_rows, kind))
            elif name in self.mixed:
                values = [row[name] for row in rows_with_bytes(batch.select([name]))]
                arrays.append(self.array(name, values))
            else:
                arrays.append(batch.column(name).cast(kind))
        return self._arrow.RecordBatch.from_arrays(arrays, schema=schema)


def _batches(parts: Iterator[Part], columns: _FileColumns) -> Iterator[Any]:
    """Yield all rows as record batches with the same columns."""
    for some in _grouped(parts):
        if isinstance(some, RowRange):
            yield from map(columns.fitted, chosen_rows(some))
        else:
            yield columns.batch(some)


def _grouped(parts: Iterator[Part]) -> Iterator[list[Row] | RowRange]:
    """Yield consecutive rows of one file as one range, and other rows in portions."""
    every: Iterator[Iterable[Row | RowRange]] = (
        rows_of(each) if isinstance(each, Lines) else [each] for each in parts
    )
    runs: Iterator[tuple[str | None, Iterator[Any]]] = groupby(chain.from_iterable(every), _path)
    for path, own in runs:
        if path is None:
            while portion := list(islice(own, PORTION_ROWS)):
                yield portion
        else:
            starts, stops, counts = zip(*((e.starts, e.stops, e.count) for e in own), strict=True)
            yield RowRange(path, np.concatenate(starts), np.concatenate(stops), sum(counts))


def _groups(arrow: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield batches as tables of bounded size, each a row group."""
    held: list[Any] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield arrow.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield arrow.Table.from_batches(held)


def _path(part: Row | RowRange) -> str | None:
    return part.path if isinstance(part, RowRange) else None


def _is_hollow(kind: Any) -> bool:
    """Return whether a type has an object without fields, which Parquet cannot hold."""
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    return str(kind) == "struct<>" or any(map(_is_hollow, inner))


def _encodable(value: Any) -> Any:
    """Escape lone surrogates in a text; return other values unchanged."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


class _LineFeeds:
    """A text stream of rows that ends each row with a line feed alone."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines

    def write(self, row: str) -> int:
        """Write one row."""
        return self._lines.write(row.removesuffix("\r\n") + "\n")
