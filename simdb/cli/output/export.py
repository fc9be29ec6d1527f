"""Exporting: chunks of columns to a file, as Parquet, Arrow, JSON lines or CSV by its name.

The file appears under its name when it is whole; until then it is NAME.part.
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
    """What can be written: pairs or clusters."""

    def to_batches(self, *, ids: str = ...) -> Any: ...  # noqa: D102

    def column_chunks(self) -> Iterable[Columns]: ...  # noqa: D102


def check_output(path: str) -> None:
    """Raise OptionError unless the name of a file says what it is to hold."""
    if _kind(path) not in (".parquet", ".arrow", ".jsonl", ".csv"):
        raise OptionError(f"--output ends in .parquet, .arrow, .jsonl or .csv, unlike {path}")
    if _kind(path) in (".parquet", ".arrow"):
        load_arrow(f"writing {path}")


def export(found: Exported, path: str, columns: Sequence[str], *, text_ids: bool) -> int:
    """Write all rows, whose `columns` are these, to `path`; returns how many there were."""
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
    """Rows of plain values, None for NaN."""
    return zip(*(map(_plain, values.tolist()) for values in chunk.values()), strict=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if np.isnan(value) else rounded(value)
    return value


def _cells(row: tuple[Any, ...]) -> list[Any]:
    return [id_text(each) if isinstance(each, bytes) else each for each in row]
