"""Keep rule: the value of `--keep-by`, which says which document of a group is kept."""

from simdb.errors import OptionError

FIRST, LAST, LONGEST = "first", "last", "longest"
GREATEST, LEAST = "max:", "min:"


def check_keep_rule(rule: str) -> None:
    """Raise OptionError unless `rule` is one that --keep-by takes."""
    if rule not in (FIRST, LAST, LONGEST) and not field_of(rule):
        raise OptionError(
            f"--keep-by must be {FIRST}, {LAST}, {LONGEST}, {GREATEST}FIELD or {LEAST}FIELD, got"
            f" {rule!r}"
        )


def field_of(rule: str) -> str | None:
    """Return the field by which a rule chooses; None if it chooses by none."""
    return rule[len(LEAST) :] if rule.startswith((GREATEST, LEAST)) else None
