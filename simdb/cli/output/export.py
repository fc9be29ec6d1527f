"""Export: writes pairs or clusters to a Parquet, Arrow, JSON lines or CSV file.

The end of the file name chooses the format.  The file is called NAME.part until it is complete.
"""

import csv
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.arrow import id_text, load_arrow
from simdb.cli.output.render import encoded, rounded
from simdb.errors import OptionError

Columns = dict[str, npt.NDArray[Any]]


class Exported(Protocol):
    """A result that can be exported: pairs or clusters."""

    def to_batches(self, *, ids: str = ...) -> Any: ...  # noqa: D102

    def column_chunks(self) -> Iterable[Columns]: ...  # noqa: D102


def check_output(path: str) -> None:
    """Raise OptionError unless the end of a file name chooses a format that can be written."""
    if _kind(path) not in (".parquet", ".arrow", ".jsonl", ".csv"):
        raise OptionError(f"--output must end in .parquet, .arrow, .jsonl or .csv, got {path}")
    if _kind(path) in (".parquet", ".arrow"):
        load_arrow(f"writing {path}")


def export(found: Exported, path: str, columns: Sequence[str], *, text_ids: bool) -> int:
    """Write all rows, with these `columns`, to the file `path` and return their number."""
    part = path + ".part"
    try:
        if _kind(path) in (".parquet", ".arrow"):
            count = _write_batches(found.to_batches(ids="text" if text_ids else "auto"), path, part)
        else:
            count = _write_lines(found.column_chunks(), columns, path, part)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
    return count


def _kind(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _write_batches(reader: Any, path: str, part: str) -> int:
    count = 0
    if _kind(path) == ".parquet":
        writer = load_arrow("writing Parquet", "pyarrow.parquet").ParquetWriter(part, reader.schema)
    else:
        writer = load_arrow("writing Arrow", "pyarrow.ipc").new_file(part, reader.schema)
    with writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _write_lines(chunks: Iterable[Columns], columns: Sequence[str], path: str, part: str) -> int:
    count = 0
    with open(part, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        if _kind(path) == ".csv":
            table.writerow(columns)
        for chunk in chunks:
            if _kind(path) == ".csv":
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
