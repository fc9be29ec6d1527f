"""Rows: what the files of results are made of."""

import json
from typing import Any

Row = dict[str, Any]


def encoded(value: Any) -> Any:
    """Return a JSON form for a value that has none: `{"bytes": hexadecimal}`, or text."""
    return {"bytes": value.hex()} if isinstance(value, bytes) else str(value)


def as_line(value: Any) -> bytes:
    """Return an object as one line of JSON; bytes as the text that they are, if they are UTF-8."""
    text = json.dumps(value, ensure_ascii=False, default=_text_of)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(value, default=_text_of).encode()


def _text_of(value: Any) -> str:
    """Return the text of a value for which JSON has no form."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass
    return str(value)
