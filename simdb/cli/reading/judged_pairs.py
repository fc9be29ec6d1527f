"""Judged pairs: reads files of pairs that people have judged, as id, id and label."""

import csv
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from simdb.ground.errors import InputError
from simdb.sources.content import known_encoding, read_file

JSON_LINES = (".jsonl", ".ndjson")
LABELS = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}
FIELDS = ("left", "right", "label")


class JudgedPair(NamedTuple):
    """The ids of two documents, as text, and whether they are duplicates."""

    left: str
    right: str
    label: bool


def read_judged_pairs(path: str) -> list[JudgedPair]:
    """Read pairs from a file: .csv, .jsonl or .ndjson, any other name is tab-separated.

    A first line whose label is none is a heading.  A line of JSON is an array, or an object with
    the fields left, right and label.  Raises InputError, with the line, for what is no pair.
    """
    text = read_file(path, known_encoding("utf-8"), "strict")
    name = path.lower()
    rows = _json_rows(path, text) if name.endswith(JSON_LINES) else _table_rows(name, text)
    pairs = []
    for number, row in rows:
        label = LABELS.get(str(row[2]).strip().lower()) if len(row) == len(FIELDS) else None
        if label is not None:
            pairs.append(JudgedPair(str(row[0]), str(row[1]), label))
        elif number > 1 or len(row) < len(FIELDS):
            raise InputError(
                f"{path}:{number}: a judged pair is id, id and label (1 or 0, true or false), not"
                f" {str(row)[:80]}"
            )
    return pairs


def _table_rows(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    is_commas = name.endswith(".csv")
    lines = csv.reader(
        text.splitlines(),
        delimiter="," if is_commas else "\t",
        quoting=csv.QUOTE_MINIMAL if is_commas else csv.QUOTE_NONE,
    )
    return ((lines.line_num, row) for row in lines if row)


def _json_rows(path: str, text: str) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: this is not JSON: {error}") from error
        if isinstance(value, dict):
            value = [value.get(field) for field in FIELDS]
        if not isinstance(value, list) or len(value) != len(FIELDS):
            raise InputError(
                f"{path}:{number}: a judged pair is an array [id, id, label], or an object with the"
                f" fields {', '.join(FIELDS)}"
            )
        yield number, value
