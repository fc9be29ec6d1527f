"""Parquet files: writes rows with the columns that they need, or rows of other Parquet files.

The parts of a file are read twice: for the columns, and for the rows.  Rows of another Parquet file
are given by their numbers, filtered a row group at a time, in several threads, and copied with the
schema of that file.  A column whose values have several kinds becomes text.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby, islice
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import load_arrow
from simdb.ground.errors import InputError
from simdb.outputs.pieces import RowRange, changed
from simdb.outputs.remote import is_remote, open_remote
from simdb.outputs.rows import Row, encoded
from simdb.running.threads import read_ahead, streamed, thread_count

PORTION_ROWS = 1024
READ_BYTES = 1 << 20
# A row group is written when it has so many rows or bytes.
GROUP_ROWS = 1 << 17
GROUP_BYTES = 1 << 25

Flags = npt.NDArray[np.bool_]


Part = Row | RowRange
Parts = Callable[[], Iterator[Part]]


def write_parquet(parts: Parts, stream: IO[bytes], sources: Sequence[str] = ()) -> int:
    """Write all parts as a Parquet file; return the number of rows.

    `parts()` begins with the first part again.  Without any part the columns are those of the
    Parquet files `sources`.
    """
    arrow, parquet = load_parquet("writing Parquet")
    columns = _FileColumns(arrow)
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
            count = 0
            # While one thread writes a row group, another makes the next.
            for table in read_ahead(_groups(arrow, _batches(parts(), columns)), thread_count()):
                writer.write_table(table)
                count += table.num_rows
            return count
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


class _FileColumns:
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


def _batches(parts: Iterator[Part], columns: _FileColumns) -> Iterator[Any]:
    """Yield all rows as record batches with the same columns."""
    for path, some in groupby(parts, _path):
        if path is None:
            for rows in _portions(some):
                yield columns.batch(rows)
        else:
            for whole in _joined(each for each in some if isinstance(each, RowRange)):
                for batch in chosen_rows(whole):
                    yield columns.fitted(batch)


def chosen_rows(rows: RowRange) -> Iterator[Any]:
    """Yield rows of a Parquet file as record batches; InputError if the file has too few rows."""
    _, parquet = load_parquet("reading Parquet")
    with parquet_source(rows.path) as source, parquet.ParquetFile(source) as file:
        metadata = file.metadata
    is_chosen = np.zeros(metadata.num_rows, np.bool_)
    if len(rows.stops) and rows.stops.max() > len(is_chosen):
        raise changed(rows.path)
    for start, stop in zip(rows.starts.tolist(), rows.stops.tolist(), strict=True):
        is_chosen[start:stop] = True
    sizes = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    groups = np.split(is_chosen, np.cumsum(sizes)[:-1])
    streams = [
        partial(_chosen, rows.path, metadata, number, flags)
        for number, flags in enumerate(groups)
        if flags.any()
    ]
    yield from streamed(streams, 1 if is_remote(rows.path) else thread_count())


def _chosen(path: str, metadata: Any, number: int, is_chosen: Flags) -> Iterator[Any]:
    """Yield the chosen rows of a row group; `is_chosen` has a value for each of its rows."""
    arrow, parquet = load_parquet("reading Parquet")
    # Otherwise pyarrow reads whole row groups ahead.
    options = {"metadata": metadata, "buffer_size": READ_BYTES, "pre_buffer": False}
    first = 0
    with parquet_source(path) as source, parquet.ParquetFile(source, **options) as file:
        for rows in file.iter_batches(PORTION_ROWS, row_groups=[number], use_threads=False):
            flags = is_chosen[first : first + len(rows)]
            if flags.any():
                yield rows if flags.all() else rows.filter(arrow.array(flags))
            first += len(rows)


def _joined(rows: Iterable[RowRange]) -> Iterator[RowRange]:
    """Yield the rows of one file as one; nothing if there are none."""
    every = list(rows)
    if every:
        starts = np.concatenate([each.starts for each in every])
        stops = np.concatenate([each.stops for each in every])
        yield RowRange(every[0].path, starts, stops, sum(each.count for each in every))


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


def _portions(parts: Iterable[Part]) -> Iterator[list[Row]]:
    source = (each for each in parts if isinstance(each, dict))
    while portion := list(islice(source, PORTION_ROWS)):
        yield portion


def _path(part: Part) -> str | None:
    return part.path if isinstance(part, RowRange) else None


def _is_hollow(kind: Any) -> bool:
    """Return whether a type has an object without fields, which Parquet cannot hold."""
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    return str(kind) == "struct<>" or any(map(_is_hollow, inner))


def _encodable(value: Any) -> Any:
    """Return text without halves of characters; other values as they are."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
