"""Keeping: the rules of `keep=`, which say which document of a group stays."""

from typing import Any

from simdb.checks import shown
from simdb.errors import OptionError

FIRST, LAST, LONGEST, SHORTEST = RULES = ("first", "last", "longest", "shortest")
GREATEST, LEAST = BY_FIELD = ("max:", "min:")


def parse(rule: Any) -> tuple[str, str | None]:
    """Return the kind of a rule, and the field of "max:FIELD" and "min:FIELD", else None."""
    if isinstance(rule, str):
        if rule in RULES:
            return rule, None
        for kind in BY_FIELD:
            if rule.startswith(kind) and rule != kind:
                return kind, rule[len(kind) :]
    raise OptionError(
        "keep must be 'first', 'last', 'longest', 'shortest', 'max:FIELD' or 'min:FIELD', got"
        f" {shown(rule)}"
    )
