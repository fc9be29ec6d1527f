"""Decoding: checks of stored objects, which a prepared file may have replaced with any others.

A checksum detects accidents.  A file that somebody made on purpose may hold any object, so code
that decodes an object checks its type and raises an error of simdb.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from simdb.ground.errors import CorruptError, Error, OptionError


@contextmanager
def expecting(what: str) -> Iterator[None]:
    """Turn an error about an unexpected object into a CorruptError that names `what`."""
    try:
        yield
    except OptionError as error:
        raise CorruptError(f"{what} has an impossible value: {error}") from error
    except Error:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise CorruptError(f"{what} is not the object that it should be: {error}") from error


def a_map(stored: Any) -> Mapping[str, Any]:
    """Give `stored` if it is a map whose keys are text; raise TypeError otherwise."""
    if not isinstance(stored, dict) or not all(isinstance(name, str) for name in stored):
        raise TypeError(f"expected a map with text keys, got {type(stored).__name__}")
    return stored


def a_whole(value: Any, stop: int) -> int:
    """Give `value` if it is a whole number in 0 .. `stop` - 1; raise TypeError or ValueError."""
    if type(value) is not int:
        raise TypeError(f"expected a whole number, got {type(value).__name__}")
    if not 0 <= value < stop:
        raise ValueError(f"{value} is not from 0 to {stop - 1}")
    return value


def a_number(value: Any) -> float:
    """Give `value` as a float if it is a finite number; raise TypeError or ValueError."""
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    if not abs(value) < float("inf"):
        raise ValueError(f"{value} is not a finite number")
    return float(value)


def a_text(value: Any) -> str:
    """Give `value` if it is text; raise TypeError otherwise."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value
