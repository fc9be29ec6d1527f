"""Preference: which document of a group is kept, as `--keep-by` says.

The documents are stored with metadata that sort them, the preferred one first.  A text that is a
number, as all values of CSV are text, is sorted as a number if every value of its field is one.
"""

from math import isfinite
from typing import Any

from simdb.cli.options.keep_rule import FIRST, GREATEST, LAST, LONGEST, field_of
from simdb.cli.reading.batch import Batch
from simdb.errors import InputError

# Names of metadata: values that are numbers, and values that are text.
NUMBER, TEXT = "number", "text"
WHOLE_MAX = 2**63 - 1
REVERSED = bytes(range(255, -1, -1))


class Preference:
    """The rule by which the representative of a group is chosen."""

    def __init__(self, rule: str) -> None:
        """Sort by `rule`, which `check_keep_rule` accepts."""
        self.field = field_of(rule)
        self._rule = rule
        self._is_descending = rule.startswith(GREATEST)
        self._count = 0
        self._numbers = 0
        self._texts = 0
        self._example = ""

    def metadata(self, batch: Batch) -> list[Any] | None:
        """Return what to store with each document of the next batch; None for nothing."""
        start = self._count
        self._count += len(batch)
        if self._rule == FIRST:
            return None
        if self._rule == LAST:
            return [{NUMBER: -(start + at)} for at in range(len(batch))]
        if self._rule == LONGEST:
            return [{NUMBER: -len(content)} for content in batch.contents()]
        return [self._sorting(batch, at) for at in range(len(batch))]

    def representative(self) -> str:
        """Return the field of the metadata that sorts the documents, when all were stored."""
        if self._rule == FIRST or not self._count:
            return FIRST
        if self.field is None:
            return NUMBER
        if not self._numbers and not self._texts:
            raise InputError(f"--keep-by {self._rule}: no document has a field {self.field!r}")
        if self._numbers and self._example:
            raise InputError(
                f"--keep-by {self._rule}: the field holds numbers and text, which have no order;"
                f" {self._example}"
            )
        return TEXT if self._example else NUMBER

    def _sorting(self, batch: Batch, at: int) -> dict[str, Any] | None:
        """Return what sorts a document by the value of its field; None without a value."""
        value = self._value(batch, at)
        if value is None or value == "" or value != value:
            return None
        if isinstance(value, int | float):
            self._numbers += 1
            return {NUMBER: self._number(value)}
        if not isinstance(value, str):
            raise InputError(
                f"{batch.where(at)}: --keep-by {self._rule} needs numbers or text, and the field"
                f" {self.field!r} holds {'a list' if isinstance(value, list) else 'an object'}"
            )
        self._texts += 1
        sorting: dict[str, Any] = {TEXT: self._text(value)}
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if isfinite(number):
            sorting[NUMBER] = -number if self._is_descending else number
        elif not self._example:
            self._example = f"{batch.where(at)} holds {value[:40]!r}"
        return sorting

    def _value(self, batch: Batch, at: int) -> Any:
        fields = batch.fields[at] if batch.fields is not None else None
        return None if fields is None or self.field is None else fields.get(self.field)

    def _number(self, value: float) -> float:
        """Return a number that sorts as the rule says, and that metadata can hold."""
        if isinstance(value, int) and abs(value) > WHOLE_MAX:
            value = float(value)
        return -value if self._is_descending else value

    def _text(self, value: str) -> Any:
        """Return a value that sorts as the rule says."""
        if not self._is_descending:
            return value
        # In the order of the reversed bytes, a text comes before its own beginnings.
        return value.encode("utf-8", "surrogatepass").translate(REVERSED) + b"\xff"
