"""Rows: what the files of results are made of."""

import json
from typing import Any

Row = dict[str, Any]


def encoded(value: Any) -> Any:
    """Return a JSON form for a value that has none.

    `{"bytes": hexadecimal}`; numbers and lists for those of numpy; text for dates and all others.
    """
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not kind or not hasattr(value, "tolist"):
        return str(value)
    return (value.astype(str) if kind in "mM" else value).tolist()


def as_line(value: Any) -> bytes:
    """Return an object as one line of JSON; bytes as the text that they are, if they are UTF-8."""
    text = json.dumps(value, ensure_ascii=False, default=_text_of)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(value, default=_text_of).encode()


def _text_of(value: Any) -> Any:
    """Return the form of a value for which JSON has none, of bytes the text that they are."""
    if not isinstance(value, bytes):
        return encoded(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return str(value)
