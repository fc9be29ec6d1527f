"""Conditions: on the command line, which documents are meant by their metadata or their age."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from simdb.ground.errors import OptionError

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


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


def given_age(age: str) -> datetime:
    """Return the time that was an age such as 30d ago; OptionError if it is no age."""
    found = re.fullmatch(r"([0-9]+)([smhdw])", age)
    if found is None:
        raise OptionError(
            "--older-than must be a whole number and s, m, h, d or w (seconds to weeks), such as"
            f" 30d, got {age!r:.80}"
        )
    try:
        return datetime.now(timezone.utc) - timedelta(seconds=int(found[1]) * SECONDS[found[2]])
    except (OverflowError, ValueError) as error:
        raise OptionError(f"--older-than {age!r:.80} is before the first possible year") from error


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
