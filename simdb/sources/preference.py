"""Preference: which document of a group is kept, as a rule says."""

from typing import Any

import numpy as np

from simdb.columns.text_column import TextColumn
from simdb.settings import keeping
from simdb.sources.batch import I64, Batch


class Preference:
    """The documents of a run in the order in which a rule prefers them."""

    def __init__(self, rule: keeping.Rule) -> None:
        """Order by `rule`, which is no function."""
        self._rule = rule
        self._sizes: list[I64] = []
        self._values: list[Any] = []
        self._count = 0

    def add(self, batch: Batch) -> None:
        """Take what the rule compares of the documents of a batch: sizes, or values of a field."""
        self._count += len(batch)
        if self._rule.kind in keeping.BY_SIZE:
            texts = batch.texts
            lengths = texts.lengths if isinstance(texts, TextColumn) else map(len, batch.contents())
            self._sizes.append(np.fromiter(lengths, np.int64, len(batch)))
        elif self._rule.field:
            fields = batch.fields or [None] * len(batch)
            self._values += [(each or {}).get(self._rule.field) for each in fields]

    def order(self, where: Any) -> I64 | None:
        """Return the positions of all documents, those to be preferred first: int64[n].

        None for the order of the input.  `where` names the document at a position, for a message.
        """
        rule = self._rule
        if rule.kind == keeping.FIRST:
            return None
        if rule.field and self._count and all(map(keeping.is_missing, self._values)):
            raise keeping.no_value(rule)
        return keeping.order_of(
            rule, self._count,
            sizes=lambda: np.concatenate([np.empty(0, np.int64), *self._sizes]),
            values=lambda: self._values, where=where,
        )  # fmt: skip
