"""Keeping: the rules that say which document of a group of near-duplicates stays.

A rule is "first", "last", "longest" or "shortest" (in UTF-8), "max:FIELD" or "min:FIELD" (the
greatest or least value of a field), or a function whose greatest result stays.  Of documents that
are equal by the rule the first stays, and one without a value (None, NaN or an empty text) stays
only if all have none.  Texts that are numbers, as all values of a CSV file are texts, are compared
as numbers if every value is one.

Every front end uses `parse(rule)`, which gives a kind and a field and refuses what is no rule, and
`order_of`, which puts documents in the order in which they are preferred.  One that cannot hold all
documents in memory, as Spark, takes `parse` alone, and sorts by itself.
"""

from collections.abc import Callable, Sequence
from math import isfinite
from numbers import Number
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from simdb.ground.checks import shown
from simdb.ground.dtypes import I64
from simdb.ground.errors import InputError, OptionError

FIRST: Final = "first"
LAST: Final = "last"
LONGEST: Final = "longest"
SHORTEST: Final = "shortest"
# The kinds of "max:FIELD" and "min:FIELD", and of a function.
MAX: Final = "max"
MIN: Final = "min"
FUNCTION: Final = "function"

BY_PLACE = (FIRST, LAST)
BY_SIZE = (LONGEST, SHORTEST)
BY_FIELD = (MAX, MIN)
GREATEST = (LONGEST, MAX, FUNCTION)

Keep: TypeAlias = str | Callable[[Any], Any]


class KeepRule(NamedTuple):
    """A rule: one of the kinds above, and the name of the field that `MAX` and `MIN` compare."""

    kind: str
    field: str = ""

    def __str__(self) -> str:
        """Give the rule as users write it."""
        return f"{self.kind}:{self.field}" if self.field else self.kind


def parse(rule: object, name: str = "keep") -> KeepRule:
    """Return the kind and the field of a rule; OptionError, with the argument `name`, for others.

    The field is empty unless the kind is `MAX` or `MIN`.
    """
    if callable(rule):
        return KeepRule(FUNCTION)
    if isinstance(rule, str):
        if rule in BY_PLACE + BY_SIZE:
            return KeepRule(rule)
        kind, _, field = rule.partition(":")
        if kind in BY_FIELD and field:
            return KeepRule(kind, field)
    raise OptionError(
        f"{name} must be 'first', 'last', 'longest', 'shortest', 'max:FIELD', 'min:FIELD' or, in"
        f" Python, a function whose greatest result is kept; got {shown(rule)}"
    )


def needs_metadata(rule: object) -> bool:
    """Return whether a rule of `find_clusters` compares metadata; OptionError if it is none."""
    return parse(rule).kind in (*BY_FIELD, FUNCTION)


def order_of(
    rule: KeepRule,
    count: int,
    *,
    sizes: Callable[[], I64],
    values: Callable[[], Sequence[Any]],
    where: Callable[[int], str],
) -> I64:
    """Return the positions of `count` documents, those to be preferred first: int64[count].

    `sizes` returns the bytes of each text, less than 0 for none; `values` the value of the field or
    of the function for each document.  Only what the rule needs is called.  `where` names the
    document at a position, for a message.
    """
    if rule.kind in BY_PLACE:
        every = np.arange(count, dtype=np.int64)
        return every if rule.kind == FIRST else every[::-1]
    if rule.kind in BY_SIZE:
        found = sizes()
        keys = found if rule.kind == SHORTEST else -found
        return np.lexsort((keys, found < 0)).astype(np.int64, copy=False)
    return _sorted(rule, values(), where)


def no_value(rule: KeepRule) -> OptionError:
    """Return the error for documents none of which has a value of the field of a rule."""
    return OptionError(
        f"keep={str(rule)!r}: no document has a field {rule.field!r} with a value; name another"
        " field, or another rule"
    )


def check_value(rule: KeepRule, value: Any, where: Callable[[], str]) -> None:
    """Raise InputError if a field holds what has no order: a list or an object."""
    if isinstance(value, list | dict | set):
        raise InputError(
            f"{where()}: keep={str(rule)!r} needs numbers or text, and the field {rule.field!r}"
            f" holds a {type(value).__name__}; name another field"
        )


def is_missing(value: Any) -> bool:
    """Tell whether a value is missing: None, NaN, or what pandas has in place of them."""
    if value is None:
        return True
    if isinstance(value, str | bytes):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA is neither equal nor unequal to itself; an array is no missing value.
        return type(value).__name__ == "NAType"


def _is_empty(value: Any) -> bool:
    return isinstance(value, str) and not value


def _sorted(rule: KeepRule, values: Sequence[Any], where: Callable[[int], str]) -> I64:
    """Return the positions in the order of the values, equal ones as they came, missing last."""
    known: list[int] = []
    unknown: list[int] = []
    for at, value in enumerate(values):
        (unknown if is_missing(value) or _is_empty(value) else known).append(at)
    if rule.kind in BY_FIELD and not {type(values[at]) for at in known} <= {str, int, float, bool}:
        for at in known:
            check_value(rule, values[at], lambda at=at: where(at))  # type: ignore[misc]
    keys = _keys(rule, values, known, where)
    try:
        known.sort(key=keys.__getitem__, reverse=rule.kind in GREATEST)
    except (TypeError, ValueError) as error:
        raise InputError(f"{_named(rule)} cannot be ordered: {error}") from error
    return np.array([*known, *unknown], np.int64)


def _keys(
    rule: KeepRule, values: Sequence[Any], known: list[int], where: Callable[[int], str]
) -> Sequence[Any]:
    """Return what is compared in place of the `known` values: the numbers that texts are."""
    texts = [at for at in known if isinstance(values[at], str)]
    if not texts:
        return values
    keys = list(values)
    for at in texts:
        number = _number(values[at])
        if number is None:
            numeric = next((at for at in known if isinstance(values[at], Number)), None)
            if numeric is None:
                return values
            raise InputError(
                f"{_named(rule)} cannot be ordered: numbers and text have no order; {where(at)}"
                f" holds {values[at][:40]!r}, and {where(numeric)} a number"
            )
        keys[at] = number
    return keys


def _number(text: str) -> int | float | None:
    """Return the finite number that a text is; None if it is none."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _named(rule: KeepRule) -> str:
    """Return the name of the values that a rule compares."""
    if rule.kind == FUNCTION:
        return "keep= is a function whose results"
    return f"keep={str(rule)!r}: the values of the field {rule.field!r}"
