"""Data: rows in memory, from which the result is made of what a search has found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb.deduplication.evidence import I64, Bools, Evidence, least_of, refusal_of
from simdb.deduplication.question import DedupQuestion
from simdb.deduplication.reference import Reference, either
from simdb.deduplication.result import Deduplicated, InMemory, RowMatches
from simdb.deduplication.rows import DataRows, rows_of
from simdb.deduplication.texts import RowTexts
from simdb.deduplication.vectors import Vectors
from simdb.ground.choices import DROP
from simdb.settings.options import Options
from simdb.values.arrays import object_array


@dataclass(frozen=True, slots=True)
class Data:
    """Some rows with their texts and their names, which are ids or positions.

    `text`: the field of the texts; `reference`: what they were compared with, None for nothing;
    `is_null` bool[n]: the rows without a text, see
    `on_null`; `question`, `options`: what a search was asked, and the options given.
    """

    rows: DataRows
    texts: RowTexts | Vectors
    text: str
    names: Sequence[Any]
    is_null: Bools
    on_null: str
    question: DedupQuestion
    options: Options | None
    reference: Reference | None = None

    def result(self, found: RowMatches) -> Deduplicated:
        """Return what becomes of the rows."""
        kept = np.ones(len(self.is_null), np.bool_)
        kept[found.removed] = False
        staying = self._staying(found, kept) if found.leaders is None else found.leaders
        if self.on_null == DROP:
            kept &= ~self.is_null
        data = self.rows.chosen(kept)
        return Deduplicated(
            survivors=InMemory(
                data, lambda: rows_of(data).records(), self.text, self.question.threads
            ),
            kept=kept,
            groups=found.groups,
            null_count=int(np.count_nonzero(self.is_null)),
            on_null=self.on_null,
            removed_ids=object_array([self.names[row] for row in found.removed.tolist()]),
            representatives=object_array(found.representatives),
            similarities=found.similarities,
            evidence=Evidence(
                found.removed, staying, self._texts_at, self._least(found),
                lambda is_chosen: self.result(found.chosen(is_chosen, self.names)),
                refusal_of(self.question.policy, has_database=found.leaders is None),
                None if self.options is None else self.options.sketch,
            ),
            verification=found.groups.verification,
            is_reference=None if self.reference is None else staying < 0,
        )  # fmt: skip

    def _texts_at(self, rows: I64) -> Any:
        """Return the texts of rows, and of what is in the reference; None for stored documents."""
        other = _unknown if self.reference is None else self.reference.texts
        return either(rows, self.texts.at, other)

    def _least(self, found: RowMatches) -> float | None:
        """Return the least similarity of rows that match; see `Evidence`."""
        options = Options() if self.options is None else self.options
        # A database has options of its own.
        usual = None if found.leaders is None else options.similarity
        return least_of(self.question, found.groups.verification, usual)

    def _staying(self, found: RowMatches, kept: Bools) -> I64:
        """Return the row with the id of each representative, -1 if no row that stays has it."""
        row_of = {self.names[row]: row for row in np.flatnonzero(kept).tolist()}
        rows = [row_of.get(id, -1) for id in found.representatives]
        return np.array(rows, np.int64)


def _unknown(positions: I64) -> list[None]:
    """Return the texts of stored documents, which nobody has given."""
    return [None] * len(positions)
