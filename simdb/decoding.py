"""Decoding: stored objects of plain types that may be anything else.

A checksum keeps out what happened by accident.  A file that was made on purpose may hold any
object, and whoever decodes one shall say so with an error of this package.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from simdb.errors import CorruptError, Error, OptionError


@contextmanager
def expecting(what: str) -> Iterator[None]:
    """Raise CorruptError naming `what` where the block meets another object than it expects."""
    try:
        yield
    except OptionError as error:
        raise CorruptError(f"{what} cannot be: {error}") from error
    except Error:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise CorruptError(f"{what} is another object than it should be: {error}") from error


def a_map(stored: Any) -> Mapping[str, Any]:
    """A map whose keys are text; TypeError for anything else."""
    if not isinstance(stored, dict) or not all(isinstance(name, str) for name in stored):
        raise TypeError(f"a map was wanted, not {type(stored).__name__}")
    return stored


def a_whole(value: Any, stop: int) -> int:
    """A whole number from 0 up to, not including, `stop`; TypeError, ValueError."""
    if type(value) is not int:
        raise TypeError(f"a whole number was wanted, not {type(value).__name__}")
    if not 0 <= value < stop:
        raise ValueError(f"{value} is not from 0 to {stop - 1}")
    return value


def a_number(value: Any) -> float:
    """A finite number; TypeError, ValueError."""
    if type(value) not in (int, float):
        raise TypeError(f"a number was wanted, not {type(value).__name__}")
    if not abs(value) < float("inf"):
        raise ValueError(f"{value} is no finite number")
    return float(value)


def a_text(value: Any) -> str:
    """Text; TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"text was wanted, not {type(value).__name__}")
    return value
