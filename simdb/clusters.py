"""Clusters as users get them: ids in one array, divided by offsets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import arrow
from simdb.values import Id

CHUNK_MEMBERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of documents that match: the representative, ids[0], and the others in order.

    The order is that of insertion, or by the field of metadata that was asked for.
    """

    ids: list[Id]

    @property
    def representative(self) -> Id:
        """The first member; of a star, the one that all others match."""
        return self.ids[0]

    def __len__(self) -> int:
        """Number of members."""
        return len(self.ids)

    def __iter__(self) -> Iterator[Id]:
        """The members in order."""
        return iter(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Clusters(Sequence[Cluster]):
    """Clusters of two and more documents, in the order of their representatives.

    Members of cluster i: ids[offsets[i]:offsets[i + 1]]; `offsets` int64[c + 1], `ids` object[k].
    """

    offsets: npt.NDArray[np.int64]
    ids: npt.NDArray[np.object_]

    def __len__(self) -> int:
        """Number of clusters."""
        return len(self.offsets) - 1

    def __getitem__(self, position: Any) -> Any:
        """One cluster, or a list of them for a slice."""
        if isinstance(position, slice):
            return [self[each] for each in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(f"cluster {position} of {len(self)}")
        position %= len(self)
        return Cluster(list(self.ids[self.offsets[position] : self.offsets[position + 1]]))

    def to_batches(self, *, ids: str = "auto") -> Any:
        """The members of all clusters as a pyarrow.RecordBatchReader.

        Columns id, representative and cluster int64, the number of the cluster.  Ids are of the
        kind of the first; `ids="text"` makes text of all.  Raises OptionError without pyarrow,
        InputError, while it is read, for ids of several kinds.
        """
        empty = self._columns(0, 0)
        return arrow.read_batches(
            self.column_chunks(), empty, id_columns=["id", "representative"], ids=ids
        )

    def to_arrow(self, *, ids: str = "auto") -> Any:
        """The members of all clusters as a pyarrow.Table; see `to_batches`."""
        return self.to_batches(ids=ids).read_all()

    def column_chunks(self) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Members in parts: id and representative object[k], cluster int64[k]."""
        for start in range(0, len(self.ids), CHUNK_MEMBERS):
            yield self._columns(start, min(start + CHUNK_MEMBERS, len(self.ids)))

    def _columns(self, start: int, stop: int) -> dict[str, npt.NDArray[Any]]:
        cluster = np.searchsorted(self.offsets, np.arange(start, stop), side="right") - 1
        return {
            "id": self.ids[start:stop],
            "representative": self.ids[self.offsets[cluster]],
            "cluster": cluster.astype(np.int64),
        }

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of members of each: int64[c]."""
        return np.diff(self.offsets)

    @property
    def representatives(self) -> npt.NDArray[np.object_]:
        """The first member of each: object[c]."""
        return self.ids[self.offsets[:-1]]
