"""Result: what `simdb.deduplicate` gives back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.arrow import checked_arrow, read_batches
from simdb.choices import DROP
from simdb.clusters import Clusters
from simdb.errors import OptionError
from simdb.values import Id, object_array
from simdb.verification import Verification


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deduplicated:
    """The survivors of some data, and what became of the other rows.

    `data`: the survivors, in their order and of the kind that was given.  `kept`: bool[n], whether
    each row survived.  `groups`: the rows that are alike, the survivor of each group first, by
    their ids, or by their positions if no ids were given.  `null_count`: the rows without a text,
    which were kept or dropped by `on_null`.  `verification`: what texts have decided, with
    verify="exact"; otherwise None.

    `removed_ids`, `representatives` object[k] and `similarities` float32[k]: the duplicates in the
    order of the data, the row (or stored document) that stands for each, and how similar they are;
    `removed` has them as a table.
    """

    data: Any
    kept: npt.NDArray[np.bool_]
    groups: Clusters
    null_count: int
    on_null: str
    removed_ids: npt.NDArray[np.object_]
    representatives: npt.NDArray[np.object_]
    similarities: npt.NDArray[np.float32]
    verification: Verification | None = None

    @property
    def removed(self) -> Any:
        """The duplicates as a pyarrow.Table: id, kept (what stays for it), similarity float32.

        A row without a text that was dropped is not among them.  Ids of several types become text.
        Without pyarrow, a dict of three arrays.
        """
        columns = {
            "id": self.removed_ids,
            "kept": self.representatives,
            "similarity": self.similarities,
        }
        kinds = {type(id) for id in (*self.removed_ids, *self.representatives)}
        ids = "auto" if kinds in ({str}, {bytes}, {int}) else "text"
        try:
            checked_arrow(ids)
        except OptionError:
            return columns
        id_columns = ["id", "kept"]
        if not kinds:
            columns = {name: values[:0] for name, values in columns.items()}
        return read_batches([columns], columns, id_columns=id_columns, ids=ids).read_all()

    def __len__(self) -> int:
        """Count the survivors."""
        return int(np.count_nonzero(self.kept))

    def __repr__(self) -> str:
        """Return the counts in two lines."""
        count, groups = len(self.removed_ids), len(self.groups)
        noun = "group" if groups == 1 else "groups"
        first = (
            f"<simdb.Deduplicated: {len(self):,} of {len(self.kept):,} rows kept, {count:,} removed"
            f" in {groups:,} {noun}"
        )
        done = "dropped" if self.on_null == DROP else "kept"
        parts = [f"{self.null_count:,} without text {done}"]
        if self.verification is not None:
            judged = self.verification.judged
            parts.append(
                f"{self.verification.measure} similarity of at least {self.verification.least:g},"
                f" {judged:,} {'pair' if judged == 1 else 'pairs'} decided by their texts"
            )
        return f"{first}\n {'; '.join(parts)}>"


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found out about rows, by positions or the ids of documents.

    `removed` int64[k]: the rows that are duplicates; `representatives` object[k] and `similarities`
    float32[k]: what stands for each.
    """

    removed: npt.NDArray[np.int64]
    representatives: list[Id]
    similarities: npt.NDArray[np.float32]
    groups: Clusters

    def renamed(self, names: Sequence[Any]) -> "Found":
        """Return the same by the names of the rows, where this has their positions."""
        groups = replace(self.groups, ids=object_array([names[row] for row in self.groups.ids]))
        representatives = [names[int(row)] for row in self.representatives]
        return replace(self, representatives=representatives, groups=groups)
