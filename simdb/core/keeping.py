"""Keeping: the rules that say which document of a group of near-duplicates stays.

A rule is "first", "last", "longest" or "shortest" (in UTF-8), "max:FIELD" or "min:FIELD" (the
greatest or least value of a field), or a function whose greatest result stays.  Of documents that
are equal by the rule the first stays.

Each value is judged by itself, so one odd value moves no other document.  First come the numbers,
and texts that are numbers, as all values of a CSV file are texts; then all other texts, by their
letters, as ISO dates are sorted.  Last come documents without a value: None, NaN and the texts of
`NO_VALUE`.  This is so for the greatest and for the least value.  A note counts the values that are
no numbers where others are.

Every front end uses `parse(rule)`, which gives a kind and a field and refuses what is no rule, and
`order_of`, which puts documents in the order in which they are preferred.  One that cannot hold all
documents in memory, as Spark, takes `parse` alone, and sorts by itself.
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

# Texts that stand for no value, without regard to case and to spaces around them.
NO_VALUE = frozenset(
    ("", "-", "--", "null", "none", "nil", "nan", "nat", "na", "<na>", "n/a", "#n/a", "\\n")
)
# A decimal number, with an exponent or without.
NUMBER: Final = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
# More digits than Python makes an int of.
LONG_DIGITS = 4_000

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
    note: Callable[[str], None] | None = None,
) -> I64:
    """Return the positions of `count` documents, those to be preferred first: int64[count].

    `sizes` returns the bytes of each text, less than 0 for none; `values` the value of the field or
    of the function for each document.  Only what the rule needs is called.  `where` names the
    document at a position, for a message.  `note` takes a line about values that are no numbers; if
    not given, it is a RuntimeWarning.
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
    """Return the error for documents none of which has a value of the field of a rule."""
    return OptionError(
        f"keep={str(rule)!r}: no document has a field {rule.field!r} with a value; name another"
        " field, or another rule"
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


def _sorted(
    rule: KeepRule, values: Sequence[Any], where: Callable[[int], str], note: Callable[[str], None]
) -> I64:
    """Return the positions in the order of the values, equal ones as they came, missing last."""
    numbers: dict[int, Any] = {}
    words: dict[int, Any] = {}
    missing: list[int] = []
    odd, other = -1, -1  # the first that is no number, and the first that is no text either
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
            f" {repr(rule.field) if rule.field else 'keep='} are no numbers, such as"
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
    """Return the number that a text is, whole ones exactly; None if it is none."""
    # Most words fail at their first letter.
    if not text or text[0] not in "0123456789+-." or not _is_number(text):
        return None
    try:
        if len(text) <= LONG_DIGITS and text.lstrip("+-").isdigit():
            return int(text)
        number = float(text)
        return number if isfinite(number) else Decimal(text)
    except ArithmeticError:  # an exponent of very many digits
        return None


_is_number = re.compile(NUMBER).fullmatch


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _named(rule: KeepRule) -> str:
    """Return the name of the values that a rule compares."""
    if rule.kind == FUNCTION:
        return "keep= is a function whose results"
    return f"keep={str(rule)!r}: the values of the field {rule.field!r}"
