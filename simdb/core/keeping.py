"""Keeping: the rules that decide which document of a group of near-duplicates is kept.

A rule is "first", "last", "longest" or "shortest" (in UTF-8), "max:FIELD" or "min:FIELD" (the
greatest or least value of a field), or a function whose greatest result is kept.  If documents are
equal by the rule, the first is kept.

Each value is classed by itself, so one odd value moves no other document.  For "max" as for "min",
the order is:

* numbers, and texts that are numbers, since all values of a CSV file are texts
* all other texts, by their letters, which also sorts ISO dates
* documents without a value: None, NaN and the texts of `NO_VALUE`

If some values are numbers, a note counts the values that are not.

Every front end uses `parse(rule)`, which returns a kind and a field and refuses anything else, and
`order_of`, which sorts documents by preference.  Spark cannot hold all documents in memory, so it
uses `parse` and sorts by itself.
"""

import re
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite
from numbers import Number
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from simdb.core.checks import shown
from simdb.core.dtypes import I64
from simdb.core.errors import InputError, OptionError

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

# Texts that mean a missing value, ignoring case and surrounding spaces.
NO_VALUE = frozenset(
    ("", "-", "--", "null", "none", "nil", "nan", "nat", "na", "<na>", "n/a", "#n/a", "\\n")
)
# A decimal number, with or without an exponent.
NUMBER: Final = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
LONG_DIGITS = 4_000  # Python refuses to make an int of many more digits

Keep: TypeAlias = str | Callable[[Any], Any]


class KeepRule(NamedTuple):
    """A rule: its kind, and the name of the field that `MAX` and `MIN` compare."""

    kind: str
    field: str = ""

    def __str__(self) -> str:
        """Return the rule as users write it."""
        return f"{self.kind}:{self.field}" if self.field else self.kind


def parse(rule: object, name: str = "keep") -> KeepRule:
    """Return the kind and the field of a rule; an OptionError names the argument `name`.

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
    """Return whether a rule of `find_clusters` compares metadata.

    Raises OptionError if the rule is invalid.
    """
    return parse(rule).kind in (*BY_FIELD, FUNCTION)


def order_of(
    rule: KeepRule,
    count: int,
    *,
    sizes: Callable[[], I64],
    values: Callable[[], Sequence[Any]],
    where: Callable[[int], str],
    note: Callable[[str], None] | None = None,
) -> I64:
    """Return the positions of `count` documents in order of preference: int64[count].

    `sizes` returns the bytes of each text, negative for a missing text.  `values` returns the value
    of the field or function for each document.  The rule calls at most one of the two.
    `where` names the document at a position, for a message.  `note` takes a line about values that
    are not numbers; by default it issues a RuntimeWarning.
    """
    if rule.kind in BY_PLACE:
        every = np.arange(count, dtype=np.int64)
        return every if rule.kind == FIRST else every[::-1]
    if rule.kind in BY_SIZE:
        found = sizes()
        keys = found if rule.kind == SHORTEST else -found
        return np.lexsort((keys, found < 0)).astype(np.int64, copy=False)
    return _sorted(rule, values(), where, note or _warn)


def no_value(rule: KeepRule) -> OptionError:
    """Return the error for a rule whose field has no value in any document."""
    return OptionError(
        f"keep={str(rule)!r}: no document has a field {rule.field!r} with a value; name another"
        " field, or another rule"
    )


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or pandas.NA or NaT."""
    if value is None:
        return True
    if isinstance(value, str | bytes):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA is neither equal nor unequal to itself; an array is not a missing value.
        return type(value).__name__ == "NAType"


def _sorted(
    rule: KeepRule, values: Sequence[Any], where: Callable[[int], str], note: Callable[[str], None]
) -> I64:
    """Return the positions sorted by value: stable for equal values, missing values last."""
    numbers: dict[int, Any] = {}
    words: dict[int, Any] = {}
    missing: list[int] = []
    # The first value that is not a number, and the first that is neither number nor text.
    odd, other = -1, -1
    for at, value in enumerate(values):
        if is_missing(value):
            missing.append(at)
        elif isinstance(value, str):
            text = value.strip()
            number = _number(text)
            if number is not None:
                numbers[at] = number
                continue
            if text.casefold() in NO_VALUE:
                missing.append(at)
            else:
                words[at] = value
            odd = at if text and odd < 0 else odd
        elif isinstance(value, Number | np.bool_):
            numbers[at] = value.item() if isinstance(value, np.generic) else value
        elif rule.kind in BY_FIELD and isinstance(value, list | dict | set):
            missing.append(at)
            odd = at if odd < 0 else odd
        else:
            words[at] = value
            other = at if other < 0 else other
    if odd in missing and not isinstance(values[odd], str) and not (numbers or words):
        raise InputError(
            f"{where(odd)}: keep={str(rule)!r} needs numbers or text, and the field {rule.field!r}"
            f" holds a {type(values[odd]).__name__}; name another field"
        )
    if other >= 0 and numbers:
        raise InputError(
            f"{_named(rule)} cannot be ordered: {where(other)} holds a"
            f" {type(values[other]).__name__}, and {where(next(iter(numbers)))} a number"
        )
    if odd >= 0 and numbers:
        told = (values[at] for at in missing if not is_missing(values[at]))
        count = len(words) + sum(not isinstance(each, str) or bool(each.strip()) for each in told)
        note(
            f"{count:,} of {count + len(numbers):,} values of"
            f" {repr(rule.field) if rule.field else 'keep='} are not numbers, such as"
            f" {shown(values[odd])}; they come after all numbers"
        )
    order: list[int] = []
    for keys in (numbers, words):
        try:
            order += sorted(keys, key=keys.__getitem__, reverse=rule.kind in GREATEST)
        except (TypeError, ValueError) as error:
            raise InputError(f"{_named(rule)} cannot be ordered: {error}") from error
    return np.array([*order, *missing], np.int64)


def _number(text: str) -> int | float | Decimal | None:
    """Return a text as a number, exact if it is whole; None if it is not a number."""
    # The first letter excludes most words.
    if not text or text[0] not in "0123456789+-." or not _is_number(text):
        return None
    try:
        if len(text) <= LONG_DIGITS and text.lstrip("+-").isdigit():
            return int(text)
        number = float(text)
        return number if isfinite(number) else Decimal(text)
    except ArithmeticError:  # the exponent has too many digits
        return None


_is_number = re.compile(NUMBER).fullmatch


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _named(rule: KeepRule) -> str:
    """Return the words for the values that a rule compares, to begin a message."""
    if rule.kind == FUNCTION:
        return "keep= is a function whose results"
    return f"keep={str(rule)!r}: the values of the field {rule.field!r}"
