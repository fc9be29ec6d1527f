"""Previews: short views of an object, as a line for `repr` and as a small table in notebooks.

A preview shows the size of an object and its first values.  It never runs a search, and its length
does not grow with the object.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

from simdb.core.checks import shown

SHOWN_VALUES = 3
SHOWN_ROWS = 10
DIGITS = 4  # of a similarity
SIZE_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def first_of(values: Iterable[Any], count: int) -> str:
    """List the first three of `count` values, and an ellipsis if there are more."""
    parts = [number(each) for each in islice(values, SHOWN_VALUES)]
    return ", ".join([*parts, "..."] if count > SHOWN_VALUES else parts)


def counted(count: int, noun: str, plural: str = "") -> str:
    """Write a count and its noun: "1 pair", "1,200 pairs"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def size(count: float) -> str:
    """Write a number of bytes in kB, MB, GB or TB."""
    for unit_bytes, unit in SIZE_UNITS:
        if count >= unit_bytes:
            number = count / unit_bytes
            return f"{number:,.1f} {unit}" if number < 100 else f"{number:,.0f} {unit}"
    return f"{count:,.0f} bytes"


def number(value: Any) -> str:
    """Write one value: fractions with few digits, anything else as its short repr."""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else shown(value)


def criterion(similarity: float | None, distance: int) -> str:
    """Write the criterion of a match: "similarity >= 0.889" or "distance <= 3"."""
    return f"distance <= {distance}" if similarity is None else f"similarity >= {similarity:g}"


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    count: int,
    *,
    most: int = SHOWN_ROWS,
) -> str:
    """Write the first of `count` rows as an HTML table; ids and other values are escaped."""
    note = f", the first {most}" if count > most else ""
    head = _row("th", columns)
    body = "".join(_row("td", row) for row in islice(rows, most))
    return (
        f"<table><caption>{_escaped(caption + note)}</caption>"
        f"<thead>{head}</thead><tbody>{body}</tbody></table>"
    )


def paragraph(text: str) -> str:
    """Write a text as an HTML paragraph."""
    return f"<p>{_escaped(text)}</p>"


def _row(cell: str, values: Sequence[Any]) -> str:
    cells = (
        f"<{cell}>{_escaped(value if isinstance(value, str) else number(value))}</{cell}>"
        for value in values
    )
    return f"<tr>{''.join(cells)}</tr>"


def _escaped(text: str) -> str:
    # Loaded when needed: only notebooks ask for it.
    return str(import_module("html").escape(shortened(text)))


def shortened(text: str, most: int = 200) -> str:
    """Cut a text after `most` characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
