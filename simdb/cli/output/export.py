"""Export: writes pairs or clusters to a Parquet, Arrow, JSON lines, CSV or TSV file.

The end of the file name chooses the format.  The file gets its name when it is complete.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.cli.output.render import rounded
from simdb.columns.arrow import id_text, load_arrow
from simdb.outputs.formats import ARROW, DELIMITERS, PARQUET, TABLES, Format, output_format
from simdb.outputs.rows import encoded
from simdb.outputs.target import Unclosed, written

Columns = dict[str, npt.NDArray[Any]]


class Exported(Protocol):
    """A result that can be exported: pairs or clusters."""

    def to_batches(self, *, ids: str = ...) -> Any: ...  # noqa: D102

    def column_chunks(self) -> Iterable[Columns]: ...  # noqa: D102


def export_format(path: str) -> Format:
    """Return the format that the end of a file name says; OptionError for an unknown one."""
    return output_format(path, "--output", {**TABLES, ".arrow": ARROW})


def export(
    found: Exported, path: str, columns: Sequence[str], *, text_ids: bool
) -> tuple[int, str | None]:
    """Write all rows, with these `columns`, to the file `path`.

    Returns the number of rows, and a line that says so if there are none.
    """
    form = export_format(path)
    with written(path, form) as target:
        if target is None or target.stream is None:
            return 0, None
        if form.kind in (PARQUET, ARROW):
            batches = found.to_batches(ids="text" if text_ids else "auto")
            target.rows = _write_batches(batches, form, target.stream)
        else:
            target.rows = _write_lines(found.column_chunks(), columns, form, target.stream)
    return target.rows, target.note("nothing matches")


def _write_batches(reader: Any, form: Format, stream: IO[bytes]) -> int:
    count = 0
    if form.kind == PARQUET:
        parquet = load_arrow("writing Parquet", "pyarrow.parquet")
        writer = parquet.ParquetWriter(stream, reader.schema)
    else:
        writer = load_arrow("writing Arrow", "pyarrow.ipc").new_file(stream, reader.schema)
    with writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _write_lines(
    chunks: Iterable[Columns], columns: Sequence[str], form: Format, stream: IO[bytes]
) -> int:
    count = 0
    binary = io.BufferedWriter(Unclosed(stream))
    with io.TextIOWrapper(binary, "utf-8", newline="") as file:
        delimiter = DELIMITERS.get(form.kind)
        table = csv.writer(file, delimiter=delimiter or ",", lineterminator="\n")
        if delimiter:
            table.writerow(columns)
        for chunk in chunks:
            if delimiter:
                table.writerows(map(_cells, _rows(chunk)))
            else:
                for row in _rows(chunk):
                    line = json.dumps(
                        dict(zip(chunk, row, strict=True)), ensure_ascii=False, default=encoded
                    )
                    file.write(line + "\n")
            count += len(next(iter(chunk.values())))
    return count


def _rows(chunk: Columns) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a chunk as plain values, with None for NaN."""
    return zip(*(map(_plain, values.tolist()) for values in chunk.values()), strict=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if np.isnan(value) else rounded(value)
    return value


def _cells(row: tuple[Any, ...]) -> list[Any]:
    return [id_text(each) if isinstance(each, bytes) else each for each in row]
