"""Parquet files: writes rows with the columns that they need, or rows of other Parquet files.

The parts of a file are read twice: for the columns, and for the rows.  A row of another Parquet
file is given by its place, and copied with the schema of that file.  A column whose values have
several kinds becomes text.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from typing import IO, Any, NamedTuple

from simdb.arrow import load_arrow
from simdb.errors import InputError
from simdb.outputs.remote import is_remote, open_remote
from simdb.outputs.rows import Row, encoded

PORTION_ROWS = 1024
READ_BYTES = 1 << 20
# A row group is written when it has so many rows or bytes.
GROUP_ROWS = 1 << 17
GROUP_BYTES = 1 << 25


class Place(NamedTuple):
    """A row of a Parquet file, from 1."""

    path: str
    position: int


Part = Row | Place
Parts = Callable[[], Iterator[Part]]


def write_parquet(parts: Parts, stream: IO[bytes], sources: Sequence[str] = ()) -> int:
    """Write all parts as a Parquet file; return the number of rows.

    `parts()` begins with the first part again.  Places of one file ascend.  Without any part the
    columns are those of the Parquet files `sources`.
    """
    arrow, parquet = load_parquet("writing Parquet")
    columns = _Columns(arrow)
    for path, some in groupby(parts(), _path):
        if path is not None:
            columns.add_schema(_schema(path, parquet))
        else:
            for rows in _portions(some):
                columns.add_rows(rows)
    if not columns.types:
        for path in sources:
            columns.add_schema(_schema(path, parquet))
    try:
        with parquet.ParquetWriter(stream, columns.schema()) as writer:
            return _write_groups(arrow, writer, _batches(parts(), columns, arrow, parquet))
    except (arrow.ArrowException, OverflowError, UnicodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"Parquet cannot hold a row ({reason}); write .jsonl instead") from error


def load_parquet(purpose: str) -> tuple[Any, Any]:
    """Return the modules for Parquet; the OptionError if they are missing names `purpose`."""
    return load_arrow(purpose), load_arrow(purpose, "pyarrow.parquet")


@contextmanager
def parquet_source(path: str) -> Iterator[Any]:
    """Yield what pyarrow reads a Parquet file from: its path, or a remote file."""
    if not is_remote(path):
        yield path
        return
    with open_remote(path) as file:
        yield file


def _schema(path: str, parquet: Any) -> Any:
    with parquet_source(path) as source:
        return parquet.read_schema(source)


def text_of(value: Any) -> str | None:
    """Return a value as text: text as it is, null as None, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=encoded)


class _Columns:
    """The columns of a file: their names in order of appearance, and their types."""

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow
        self._schemas: list[Any] = []
        self._has_rows = False
        self.types: dict[str, Any] = {}
        self.mixed: set[str] = set()

    def add_schema(self, schema: Any) -> None:
        """Take the columns of another file."""
        if not self._schemas or not self._schemas[-1].equals(schema):
            self._schemas.append(schema)
        for field in schema:
            self._merge(field.name, field.type)

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Take the columns of some rows."""
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
        """Return the schema: that of the other files, if all rows are theirs and it is one."""
        if len(self._schemas) == 1 and not self._has_rows:
            return self._schemas[0]
        return self._arrow.schema(list(self.types.items()))

    def _merge(self, name: str, kind: Any) -> None:
        """Make the column `name` wide enough for a type; None for values of several kinds."""
        known = self.types.get(name, kind)
        if kind is not None and name not in self.mixed:
            fields = [self._arrow.schema([(name, each)]) for each in (known, kind)]
            try:
                whole = self._arrow.unify_schemas(fields, promote_options="permissive")
                self.types[name] = whole.field(name).type
                return
            except self._arrow.ArrowException:
                pass
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
        for name, kind in self.types.items():
            if name not in batch.schema.names:
                arrays.append(self._arrow.nulls(batch.num_rows, kind))
            elif name in self.mixed:
                arrays.append(self.array(name, batch.column(name).to_pylist()))
            else:
                arrays.append(batch.column(name).cast(kind))
        return self._arrow.RecordBatch.from_arrays(arrays, schema=schema)


def _batches(parts: Iterator[Part], columns: _Columns, arrow: Any, parquet: Any) -> Iterator[Any]:
    """Yield all rows as record batches with the same columns."""
    for path, some in groupby(parts, _path):
        if path is None:
            for rows in _portions(some):
                yield columns.batch(rows)
        else:
            positions = (each.position for each in some if isinstance(each, Place))
            for batch in _chosen(path, positions, arrow, parquet):
                yield columns.fitted(batch)


def _chosen(path: str, positions: Iterator[int], arrow: Any, parquet: Any) -> Iterator[Any]:
    """Yield the rows of a Parquet file at ascending positions."""
    wanted = next(positions, None)
    first = 1
    with (
        parquet_source(path) as source,
        parquet.ParquetFile(source, buffer_size=READ_BYTES, pre_buffer=False) as file,
    ):
        for rows in file.iter_batches(PORTION_ROWS):
            taken = []
            while wanted is not None and wanted < first + rows.num_rows:
                taken.append(wanted - first)
                wanted = next(positions, None)
            if taken:
                yield rows.take(arrow.array(taken, arrow.int64()))
            first += rows.num_rows
    if wanted is not None:
        raise InputError(f"{path} has changed since it was read; run the command again")


def _write_groups(arrow: Any, writer: Any, batches: Iterable[Any]) -> int:
    """Write batches in row groups of bounded size; return the number of rows."""
    held: list[Any] = []
    count = rows = size = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            writer.write_table(arrow.Table.from_batches(held))
            held, rows, size = [], 0, 0
    if held:
        writer.write_table(arrow.Table.from_batches(held))
    return count


def _portions(parts: Iterable[Part]) -> Iterator[list[Row]]:
    source = (each for each in parts if isinstance(each, dict))
    while portion := list(islice(source, PORTION_ROWS)):
        yield portion


def _path(part: Part) -> str | None:
    return part.path if isinstance(part, Place) else None


def _is_hollow(kind: Any) -> bool:
    """Return whether a type has an object without fields, which Parquet cannot hold."""
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    return str(kind) == "struct<>" or any(map(_is_hollow, inner))


def _encodable(value: Any) -> Any:
    """Return text without halves of characters; other values as they are."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
