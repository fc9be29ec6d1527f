"""Rows: what the files of results are made of."""

from typing import Any

Row = dict[str, Any]


def encoded(value: Any) -> Any:
    """Return a JSON form for a value that has none: `{"bytes": hexadecimal}`, or text."""
    return {"bytes": value.hex()} if isinstance(value, bytes) else str(value)
