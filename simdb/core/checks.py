"""Checks: the tests of settings, of optional packages and of decoded objects.

The OptionError of a setting names the setting and its value.  A checksum detects only accidents: a
forged file may hold any object.  So code that decodes an object checks its type and raises an error
of simdb.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

import numpy as np

from simdb.core.choices import CONTAINED, RULES
from simdb.core.errors import CorruptError, Error, OptionError

SHOWN_LENGTH = 100
FIELDS_MAX = 8  # indexed fields of metadata


def shown(value: Any) -> str:
    """Describe `value` for a message, in at most 100 characters, even if its repr fails."""
    try:
        text = repr(value)
    except Exception:
        # The repr of an int with thousands of digits raises an error, and a class may have a faulty
        # repr.
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 3]}..."


def is_one_of(value: Any, allowed: tuple[Any, ...]) -> bool:
    """Return whether `value`, which may be any object, is one of the `allowed` values."""
    if type(value) is str:  # the usual case, many times faster
        return value in allowed
    return any(isinstance(value, type(each)) and bool(value == each) for each in allowed)


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise OptionError unless `value` is one of the `allowed` values."""
    if not is_one_of(value, allowed):
        raise OptionError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}"
        )


def chosen_words(options: Any) -> None:
    """Raise OptionError for a field of a dataclass that does not fit its type bool or Literal."""
    for each in fields(options):
        value = getattr(options, each.name)
        if each.type is bool:
            flag(each.name, value)
        elif get_origin(each.type) is Literal:
            one_of(each.name, value, get_args(each.type))


def called(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is None or can be called."""
    if value is not None and not callable(value):
        raise OptionError(f"{name} must be a callable or None, got {shown(value)}")


def instance(name: str, value: Any, kind: type, example: str) -> None:
    """Raise OptionError unless `value` is an instance of `kind`.

    `example`: an expression that makes one, for the message.
    """
    if not isinstance(value, kind):
        raise OptionError(
            f"{name} must be a simdb.{kind.__name__}, such as {example}, got {shown(value)}"
        )


def is_whole(value: Any, least: int, most: int | None = None) -> bool:
    """Return whether `value`, of any type, is a whole number from `least` to `most`."""
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_number and value >= least and (most is None or value <= most)


def lose_of(rule: Any, lose: Any = 0) -> int | None:
    """Return the number of word 3-grams that a rule lets a document lose; None without a limit."""
    one_of("rule", rule, RULES)
    if lose and rule != CONTAINED:
        raise OptionError("lose= works only with rule='contained'; give both")
    return whole("lose", lose, 0, 1 << 30) if rule == CONTAINED else None


def whole(name: str, value: Any, least: int, most: int) -> int:
    """Return `value`; raise OptionError unless it is a whole number from `least` to `most`."""
    if isinstance(value, int) and is_whole(value, least, most):
        return value
    raise OptionError(f"{name} must be a whole number from {least} to {most}, got {shown(value)}")


def flag(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be True or False, got {shown(value)}")


def callable_name(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is '' or a name like 'package.module:function'."""
    module, _, function = value.partition(":") if isinstance(value, str) else ("", "", "")
    is_named = all(part.isidentifier() for part in (*module.split("."), function))
    if not is_named and not is_one_of(value, ("",)):
        raise OptionError(
            f"{name} must be a name like 'package.module:function', got {shown(value)}"
        )


def words(name: str, value: Any) -> tuple[str, ...]:
    """Return the distinct words, sorted; raise OptionError unless `value` holds words."""
    is_many = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)
    is_single = getattr(value, "ndim", 1) == 0
    words = tuple(value) if is_many and not is_single else (None,)
    if not all(isinstance(word, str) and word for word in words):
        raise OptionError(f"{name} must be a language or a list of words, got {shown(value)}")
    return tuple(sorted(set(words)))


def field_names(value: Any) -> tuple[str, ...]:
    """Return names of fields as a tuple.

    Raises OptionError unless they are distinct and at most 8.
    """
    names = tuple(value) if isinstance(value, tuple | list) else (None,)
    is_named = all(isinstance(name, str) and name for name in names)
    if not is_named or len(names) > FIELDS_MAX or len(set(names)) < len(names):
        raise OptionError(
            f"fields must be a tuple of at most {FIELDS_MAX} distinct names of metadata, such as"
            f" ('tenant', 'source'), got {shown(value)}"
        )
    return names


def tag_weights(name: str, value: Any) -> tuple[str, ...]:
    """Return the words TAG=WEIGHT, sorted; raise OptionError for another word or a repeated tag."""
    given = words(name, value)
    found = [re.fullmatch(r"([a-z][a-z0-9-]{0,63})=([1-9][0-9]{0,2})", each) for each in given]
    tags = {each[1] for each in found if each is not None}
    if None in found or len(tags) < len(given):
        raise OptionError(
            f"{name} must be a dict of HTML tags and whole numbers from 1 to 999, or words such as"
            f" 'h1=2', got {shown(value)}"
        )
    return given


def language(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is text."""
    if not isinstance(value, str):
        raise OptionError(f"{name} must be the name of a language or '', got {shown(value)}")


def share(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is above 0 and at most 1."""
    is_number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1:
        is_percentage = is_number and 1 < value <= 100
        remedy = f"; {value:g} % is {value / 100:g}" if is_percentage else ""
        raise OptionError(f"{name} must be above 0 and at most 1, got {shown(value)}{remedy}")


def shares(**given: Any) -> None:
    """Raise OptionError for a value that is neither None nor a `share`; names are the keywords."""
    for name, value in given.items():
        if value is not None:
            share(name, value)


def installed(module: str, need: str) -> Any:
    """Import a module of an optional package; if it is missing, raise OptionError with `need`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(need) from error


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
        raise CorruptError(f"{what} is malformed: {error}") from error


def a_map(stored: Any) -> Mapping[str, Any]:
    """Return `stored` if it is a map whose keys are text; raise TypeError otherwise."""
    if not isinstance(stored, dict) or not all(isinstance(name, str) for name in stored):
        raise TypeError(f"expected a map with text keys, got {type(stored).__name__}")
    return stored


def a_whole(value: Any, stop: int) -> int:
    """Return `value` if it is a whole number below `stop`; raise TypeError or ValueError."""
    if type(value) is not int:
        raise TypeError(f"expected a whole number, got {type(value).__name__}")
    if not 0 <= value < stop:
        raise ValueError(f"{value} is not from 0 to {stop - 1}")
    return value


def a_number(value: Any) -> float:
    """Return `value` as a float if it is a finite number; raise TypeError or ValueError."""
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    if not abs(value) < float("inf"):
        raise ValueError(f"{value} is not a finite number")
    return float(value)


def a_text(value: Any) -> str:
    """Return `value` if it is text; raise TypeError otherwise."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value
