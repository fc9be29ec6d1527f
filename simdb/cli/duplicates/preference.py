"""Preference: which document of a group is kept, as `--keep` says.

The documents are stored with what the rule compares as metadata, so that `find_clusters` can choose
by it.
"""

from typing import Any

from simdb import keeping
from simdb.sources.batch import Batch

# Metadata hold whole numbers up to this one.
WHOLE_MAX = 2**63 - 1
# The field of the metadata that has the size of a text.
SIZE = "bytes"


class Preference:
    """The rule by which the representative of a group is chosen."""

    def __init__(self, keep: str) -> None:
        """Choose by `keep`, which `keeping.parse` accepts."""
        self.rule = keeping.parse(keep, "--keep")

    def stored_rule(self) -> str:
        """Return the rule that chooses by what `metadata` gives."""
        if self.rule.kind in keeping.BY_SIZE:
            kind = keeping.MIN if self.rule.kind == keeping.SHORTEST else keeping.MAX
            return str(keeping.Rule(kind, SIZE))
        return str(self.rule)

    def metadata(self, batch: Batch) -> list[Any] | None:
        """Return what to store with each document of the next batch; None for nothing."""
        if self.rule.kind in keeping.BY_PLACE:
            return None
        name = SIZE if self.rule.kind in keeping.BY_SIZE else self.rule.field
        return [None if value is None else {name: value} for value in self.values(batch)]

    def values(self, batch: Batch) -> list[Any]:
        """Return what the rule compares, of each document of a batch: a size, or a value."""
        if self.rule.kind in keeping.BY_PLACE:
            return []
        if self.rule.kind in keeping.BY_SIZE:
            return [len(content) for content in batch.contents()]
        return [self._value(batch, at) for at in range(len(batch))]

    def _value(self, batch: Batch, at: int) -> Any:
        fields = batch.fields[at] if batch.fields is not None else None
        value = None if fields is None else fields.get(self.rule.field)
        keeping.check_value(self.rule, value, lambda: batch.where(at))
        if isinstance(value, int) and abs(value) > WHOLE_MAX:
            return float(value)
        return value
