"""Conditions: FIELD=VALUE on the command line, as functions of the metadata."""

import json
from collections.abc import Callable
from typing import Any

from simdb.errors import OptionError


def given_condition(conditions: list[str]) -> Callable[[Any], bool]:
    """Return a function that tells whether metadata satisfy all of some FIELD=VALUE.

    A field satisfies VALUE if it is this text, or equal to the number, true, false or null that
    VALUE is in JSON.  Raises OptionError for what is no FIELD=VALUE.
    """
    wanted = [_parsed(condition) for condition in conditions]

    def is_satisfied(metadata: Any) -> bool:
        return isinstance(metadata, dict) and all(
            field in metadata and any(_is_same(metadata[field], value) for value in values)
            for field, values in wanted
        )

    return is_satisfied


def _parsed(condition: str) -> tuple[str, list[Any]]:
    """Return the field, and the values that are meant: the text and what it is in JSON."""
    field, equals, text = condition.partition("=")
    if not field or not equals:
        raise OptionError(f"--where must be FIELD=VALUE, such as lang=en, got {condition!r}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return field, [text]
    return field, [text] if isinstance(value, str | list | dict) else [text, value]


def _is_same(found: Any, wanted: Any) -> bool:
    """Whether two values are equal; true is not 1."""
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)
