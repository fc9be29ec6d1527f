"""Clusters: groups of matching documents as users get them, ids in one array."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, overload

import numpy as np
import numpy.typing as npt

from simdb.columns import arrow
from simdb.ground import previews
from simdb.ground.ids import IdT
from simdb.results.verification import Verification

CHUNK_MEMBERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Cluster(Generic[IdT]):
    """A group of documents that match: `ids[0]` is the representative, the other members follow.

    Members are in order of insertion, or of the metadata field given to `find_clusters`.
    """

    ids: list[IdT]

    @property
    def representative(self) -> IdT:
        """The first member; with policy="star", every other member matches it."""
        return self.ids[0]

    def __len__(self) -> int:
        """Count the members."""
        return len(self.ids)

    def __iter__(self) -> Iterator[IdT]:
        """Give the members in order."""
        return iter(self.ids)

    def __repr__(self) -> str:
        """Return the number of members, and the first ones."""
        size = previews.counted(len(self.ids), "document")
        return f"<simdb.Cluster of {size}: {previews.first_of(self.ids, len(self.ids))}>"


@dataclass(frozen=True, slots=True, eq=False)
class Clusters(Generic[IdT]):
    """Clusters of two or more documents, in the order of their representatives.

    They have a length, can be iterated and have positions and slices, as a list of `Cluster`.
    Members of cluster i: ids[offsets[i]:offsets[i + 1]]; `offsets` int64[c + 1], `ids` object[k].
    `verification`: what texts have decided, with verify="exact"; otherwise None.
    """

    offsets: npt.NDArray[np.int64]
    ids: npt.NDArray[np.object_]
    verification: Verification | None = None

    def __len__(self) -> int:
        """Count the clusters."""
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Cluster[IdT]]:
        """Give one cluster at a time."""
        for position in range(len(self)):
            yield self[position]

    @overload
    def __getitem__(self, position: int) -> Cluster[IdT]: ...

    @overload
    def __getitem__(self, position: slice) -> list[Cluster[IdT]]: ...

    def __getitem__(self, position: int | slice) -> Cluster[IdT] | list[Cluster[IdT]]:
        """Give one cluster; for a slice, a list of clusters."""
        if isinstance(position, slice):
            return [self[each] for each in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(f"cluster {position} of {len(self)}")
        position %= len(self)
        return Cluster(list(self.ids[self.offsets[position] : self.offsets[position + 1]]))

    def __repr__(self) -> str:
        """Return the numbers of clusters and documents, and the first representatives."""
        first = previews.first_of(self.representatives[: previews.SHOWN_VALUES], len(self))
        return f"<simdb.Clusters: {self._size}{': ' if len(self) else ''}{first}>"

    def _repr_html_(self) -> str:
        """Return a table of the first clusters, for notebooks."""
        rows = (
            (
                cluster.representative,
                len(cluster),
                previews.first_of(cluster.ids[1:], len(cluster) - 1),
            )
            for cluster in self[: previews.SHOWN_ROWS]
        )
        columns = ("representative", "size", "other members")
        return previews.table(self._size, columns, rows, len(self))

    @property
    def _size(self) -> str:
        documents = previews.counted(len(self.ids), "document")
        return f"{previews.counted(len(self), 'cluster')} of {documents}"

    def to_batches(self, *, ids: str = "auto") -> Any:
        """Give the members of all clusters as a pyarrow.RecordBatchReader.

        The columns are id, representative and cluster (int64, the number of the cluster).  All ids
        must have the type of the first id; `ids="text"` turns every id into text.  Raises
        OptionError if pyarrow is not installed, and InputError, while the reader is read, for an id
        of another type.
        """
        empty = self._columns(0, 0)
        return arrow.read_batches(
            self.column_chunks(), empty, id_columns=["id", "representative"], ids=ids
        )

    def to_arrow(self, *, ids: str = "auto") -> Any:
        """Give the members of all clusters as a pyarrow.Table; see `to_batches`."""
        return self.to_batches(ids=ids).read_all()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the members to libraries that read Arrow tables; see `to_batches`."""
        return arrow.stream(self.to_arrow(), requested_schema)

    def column_chunks(self) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Give the members in parts: id and representative object[k], cluster int64[k]."""
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
        """The number of members of each cluster: int64[c]."""
        return np.diff(self.offsets)

    @property
    def representatives(self) -> npt.NDArray[np.object_]:
        """The first member of each cluster: object[c]."""
        return self.ids[self.offsets[:-1]]
