"""Rows: what the files of results are made of."""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from math import isfinite
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


def as_text(value: Any, *, ensure_ascii: bool, default: Callable[[Any], Any] = encoded) -> str:
    """Return JSON; NaN and infinite numbers, for which it has no form, are null."""
    encode = _encoder(ensure_ascii, default).encode
    try:
        return encode(value)
    except ValueError:
        return encode(finite(value))


def as_line(value: Any) -> bytes:
    """Return `as_text` as one line; bytes in it as the text that they are, if they are UTF-8."""
    return _line(partial(as_text, value, default=text_form))


class WaitingLine(bytes):
    """A line of JSON that may have NaN and infinite numbers, as Python reads them."""


def waiting_line(value: Any) -> bytes:
    """Return what `as_line` does, or a `WaitingLine` if NaN or infinite numbers may be in it."""
    line = _line(partial(json.dumps, value, default=text_form))
    return WaitingLine(line) if may_have_odd_numbers(line) else line


def may_have_odd_numbers(line: bytes) -> bool:
    """Return whether NaN or infinite numbers, as Python writes them, may be in a line of JSON."""
    return b"NaN" in line or b"Infinity" in line


def finite(value: Any) -> Any:
    """Return a value with None in place of NaN and infinite numbers, also inside of it."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(n) if isinstance(n, float) else n: finite(each) for n, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(finite, value))
    return finite(encoded(value)) if hasattr(value, "dtype") else value


@lru_cache(maxsize=4)  # to make one takes as long as a row of a result
def _encoder(ensure_ascii: bool, default: Callable[[Any], Any]) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=ensure_ascii, default=default, allow_nan=False)


def _line(text_of: Callable[..., str]) -> bytes:
    try:
        return text_of(ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text_of(ensure_ascii=True).encode()


def text_form(value: Any) -> Any:
    """Return what `encoded` does, but of bytes the text that they are, if they are UTF-8."""
    try:
        return value.decode() if isinstance(value, bytes) else encoded(value)
    except UnicodeDecodeError:
        return encoded(value)
