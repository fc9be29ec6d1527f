"""Rendering: a table for people at a terminal, one JSON object a line for everybody else."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from simdb.values import Match

# Columns are as wide as their contents need; a table of everything would have to be held.
TABLE_ROWS = 200
CELL_CHARACTERS_MAX = 120
LISTED = 5
SIMILARITY_DIGITS = 6
ELLIPSIS = "\u2026"
MICROSECONDS = 1e6
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))

Row = dict[str, Any]


def print_rows(rows: Iterable[Row], columns: Sequence[str], *, as_json: bool) -> int:
    """Print rows as they come; returns how many there were.

    `columns`: the fields that a table shows, in order; JSON has them all.
    """
    if not is_table(as_json):
        return _print_lines(rows)
    console = Console()
    count = 0
    source = iter(rows)
    while part := list(islice(source, TABLE_ROWS)):
        console.print(_table(part, columns))
        count += len(part)
    return count


def print_one(row: Row, *, as_json: bool) -> None:
    """Print one thing: its fields one below the other."""
    if not is_table(as_json):
        _print_lines([row])
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _flat(row):
        table.add_row(Text(name.replace("_", " ")), Text(cell(value)))
    Console().print(table)


def is_table(as_json: bool) -> bool:
    """Whether a person is looking and has not asked for JSON."""
    return not as_json and sys.stdout.isatty()


def as_json_line(row: Row) -> str:
    """One object as a line of JSON, in ASCII where the output cannot show all characters."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    return json.dumps(row, ensure_ascii=encoding != "utf8", default=encoded)


def encoded(value: Any) -> Any:
    """What JSON has no form for: bytes as an object of hexadecimal digits, the rest as text."""
    return {"bytes": value.hex()} if isinstance(value, bytes) else str(value)


def cell(value: Any) -> str:
    """A value as a person reads it: short, on one line, nothing that a terminal obeys."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list | tuple):
        shown = ", ".join(cell(each) for each in value[:LISTED])
        return shown + (f" and {len(value) - LISTED:,} more" if len(value) > LISTED else "")
    if isinstance(value, dict):
        return _cell_of_object(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return shortened(plain(value if isinstance(value, str) else repr(value)))


def plain(text: str) -> str:
    """`text` with everything invisible or harmful escaped: controls, marks, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def shortened(text: str) -> str:
    """`text` with its middle left out, when it is too long for a table."""
    if len(text) <= CELL_CHARACTERS_MAX:
        return text
    half = CELL_CHARACTERS_MAX // 2
    return text[: half - 1] + ELLIPSIS + text[-half:]


def match_row(match: Match, name: str = "id") -> Row:
    """A match as a row; `name` of the field that holds its id."""
    return {
        name: match.id,
        "distance": match.distance,
        "similarity": rounded(match.similarity),
    }


def rounded(similarity: float | None) -> float | None:
    """A similarity without the digits that it does not have."""
    return None if similarity is None else round(similarity, SIMILARITY_DIGITS)


def quantity(count: int, name: str) -> str:
    """A number of things: `1 document`, `1,200 documents`."""
    return f"{count:,} {name}" if count == 1 else f"{count:,} {name}s"


def time_in_words(microseconds: float) -> str:
    """A time with a unit that leaves few digits before the point."""
    seconds = microseconds / MICROSECONDS
    size, unit = next((each for each in UNITS if seconds >= each[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def _print_lines(rows: Iterable[Row]) -> int:
    count = 0
    for row in rows:
        sys.stdout.write(as_json_line(row) + "\n")
        count += 1
    return count


def _table(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    for name in columns:
        is_number = all(isinstance(row.get(name), int | float | None) for row in rows)
        table.add_column(
            name.replace("_", " "), overflow="fold", justify="right" if is_number else "left"
        )
    for row in rows:
        table.add_row(*(Text(cell(row.get(name))) for name in columns))
    return table


def _cell_of_object(value: Row) -> str:
    """An id with its similarity, or any object."""
    if set(value) == {"id", "distance", "similarity"}:
        if value["similarity"] is None:
            return cell(value["id"])
        return f"{cell(value['id'])} ({value['similarity']:.2f})"
    return shortened(plain(json.dumps(value, ensure_ascii=False, default=encoded)))


def _flat(row: Row) -> Iterator[tuple[str, Any]]:
    """Names and values, those of inner objects and of lists of objects each on a line."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{name} {inner}", each) for inner, each in _flat(value))
        elif isinstance(value, list | tuple) and value and isinstance(value[0], dict):
            yield from ((f"{name} {at}", each) for at, each in enumerate(value))
        else:
            yield name, value
