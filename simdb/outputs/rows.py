"""Rows: what the files of results are made of."""

import json
from typing import Any

Row = dict[str, Any]


def encoded(value: Any) -> Any:
    """Return a JSON form for a value that has none: `{"bytes": hexadecimal}`, or text."""
    return {"bytes": value.hex()} if isinstance(value, bytes) else str(value)


def as_line(value: Any) -> bytes:
    """Return an object as one line of JSON."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(value, default=str).encode()
