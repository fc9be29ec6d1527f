"""Checks of single settings; each raises OptionError that says what was found and wanted."""

from collections.abc import Iterable, Mapping
from typing import Any

from simdb.errors import OptionError


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise OptionError unless `value` is one of those allowed."""
    if value not in allowed:
        raise OptionError(f"{name} is one of {', '.join(map(repr, allowed))}, not {value!r}")


def whole(name: str, value: Any, least: int, most: int) -> None:
    """Raise OptionError unless `value` is a whole number from `least` to `most`."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise OptionError(f"{name} is a whole number from {least} to {most}, not {value!r}")


def flag(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise OptionError(f"{name} is True or False, not {value!r}")


def callable_name(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is '' or the name of a callable."""
    module, _, function = value.partition(":") if isinstance(value, str) else ("", "", "")
    is_named = all(part.isidentifier() for part in (*module.split("."), function))
    if value != "" and not is_named:
        raise OptionError(f"{name} is a name like 'package.module:function', not {value!r}")


def words(name: str, value: Any) -> tuple[str, ...]:
    """The distinct words, sorted; OptionError unless `value` is many of them."""
    is_many = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)
    words = tuple(value) if is_many else (None,)
    if not all(isinstance(word, str) and word for word in words):
        raise OptionError(f"{name} is a language or a list of words, not {value!r}")
    return tuple(sorted(set(words)))


def language(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is text."""
    if not isinstance(value, str):
        raise OptionError(f"{name} is the name of a language or '', not {value!r}")


def share(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is above 0 and at most 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1:
        raise OptionError(f"{name} is above 0 and at most 1, not {value!r}")
