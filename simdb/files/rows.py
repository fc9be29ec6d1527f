"""Rows: turns rows of results into JSON."""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from math import isfinite
from typing import Any

Row = dict[str, Any]


def encoded(value: Any) -> Any:
    """Return a JSON form for a value that has none.

    Bytes become `{"bytes": hexadecimal}`, numbers and arrays of numpy become numbers and lists.
    Dates and all other values become text.
    """
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not kind or not hasattr(value, "tolist"):
        return str(value)
    return (value.astype(str) if kind in "mM" else value).tolist()


def as_text(value: Any, *, ensure_ascii: bool, default: Callable[[Any], Any] = encoded) -> str:
    """Return JSON; NaN and infinite numbers, which JSON cannot express, become null."""
    encode = _encoder(ensure_ascii, default).encode
    try:
        return encode(value)
    except ValueError:
        return encode(finite(value))


def as_line(value: Any) -> bytes:
    """Return a value as one line of JSON, see `as_text`; bytes that are UTF-8 become text."""
    return _line(partial(as_text, value, default=text_form))


class WaitingLine(bytes):
    """A line of JSON that may contain NaN and infinite numbers as Python writes them."""


def waiting_line(value: Any) -> bytes:
    """Return a line like `as_line`; a `WaitingLine` if NaN or infinite numbers may be in it."""
    line = _line(partial(json.dumps, value, default=text_form))
    return WaitingLine(line) if may_have_odd_numbers(line) else line


def may_have_odd_numbers(line: bytes) -> bool:
    """Return whether a line of JSON may contain NaN or infinite numbers as Python writes them."""
    return b"NaN" in line or b"Infinity" in line


def finite(value: Any) -> Any:
    """Replace NaN and infinite numbers in a value, at any depth, by None."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(n) if isinstance(n, float) else n: finite(each) for n, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(finite, value))
    return finite(encoded(value)) if hasattr(value, "dtype") else value


@lru_cache(maxsize=4)  # making one takes as long as encoding a row
def _encoder(ensure_ascii: bool, default: Callable[[Any], Any]) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=ensure_ascii, default=default, allow_nan=False)


def _line(text_of: Callable[..., str]) -> bytes:
    try:
        return text_of(ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text_of(ensure_ascii=True).encode()


def text_form(value: Any) -> Any:
    """Return bytes that are UTF-8 as text, and other values as `encoded` does."""
    try:
        return value.decode() if isinstance(value, bytes) else encoded(value)
    except UnicodeDecodeError:
        return encoded(value)
