"""Clusters: groups of matching documents as users get them, with all ids in one array.

For fingerprints in an array, pairs and clusters hold positions in that array.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from simdb.core import arrow, previews
from simdb.core.arrays import IdT, RowSequence
from simdb.core.choices import MeasureName
from simdb.core.dtypes import I64
from simdb.core.matches import JACCARD, Pair, ReadOnce, Verification
from simdb.core.values import dataclass

CHUNK_MEMBERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Cluster(Generic[IdT]):
    """A group of documents that match.

    Attributes
    ----------
    ids : list
        Ids of the members, in order of insertion, or by the `keep` rule of `find_clusters`.  The
        first is the representative.
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
        """Return an iterator over the ids, in order."""
        return iter(self.ids)

    def __repr__(self) -> str:
        """Return the number of members and the first ones."""
        size = previews.counted(len(self.ids), "document")
        return f"<simdb.Cluster of {size}: {previews.first_of(self.ids, len(self.ids))}>"


@dataclass(frozen=True, slots=True, eq=False)
class Clusters(RowSequence[Cluster[IdT]]):
    """The clusters of two or more documents, in the order of their representatives.

    They can be counted, iterated, indexed and sliced like a list of `Cluster`.

    Attributes
    ----------
    offsets : ndarray
        The members of cluster i are `ids[offsets[i]:offsets[i + 1]]`: int64[c + 1].
    ids : ndarray
        Ids of the members of all clusters, object[k].
    verification : Verification or None
        The counts of pairs whose texts were compared, with verify="exact".
    measure : {"jaccard", "cosine"} or None
        The measure of the similarity by which documents match; None for hashes.
    """

    KIND = "cluster"

    offsets: npt.NDArray[np.int64]
    ids: npt.NDArray[np.object_]
    verification: Verification | None = None
    measure: MeasureName = JACCARD

    def _row(self, start: int, stop: int) -> Cluster[IdT]:
        return Cluster(list(self.ids[start:stop]))

    def __repr__(self) -> str:
        """Return the number of clusters and of documents, and the first representatives."""
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
        """Return the members of all clusters as a pyarrow.RecordBatchReader.

        Parameters
        ----------
        ids : {"auto", "text"}, default "auto"
            With "auto", all ids must have the type of the first id.  "text" turns every id into
            text; see `Pairs.to_batches`.

        Returns
        -------
        pyarrow.RecordBatchReader
            The columns id, representative and cluster (int64, the number of the cluster).  Reading
            it raises InputError for an id of another type.

        Raises
        ------
        OptionError
            If pyarrow is not installed, or `ids` is another word.
        """
        empty = self._columns(0, 0)
        return arrow.read_batches(
            self.column_chunks(), empty, id_columns=["id", "representative"], ids=ids
        )

    def to_arrow(self, *, ids: str = "auto") -> Any:
        """Return the members of all clusters as a pyarrow.Table.

        Parameters
        ----------
        ids : {"auto", "text"}, default "auto"
            The type of the ids; see `to_batches`.

        Returns
        -------
        pyarrow.Table
            The columns of `to_batches`.

        Raises
        ------
        OptionError
            If pyarrow is not installed, or `ids` is another word.
        InputError
            If an id has another type.
        """
        return self.to_batches(ids=ids).read_all()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the members to libraries that read Arrow tables; see `to_batches`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def column_chunks(self) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Yield the members of all clusters in parts.

        Yields
        ------
        dict of str to ndarray
            The columns id and representative, object[k], and cluster, int64[k].
        """
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


@dataclass(frozen=True, slots=True, eq=False)
class PairPositions:
    """Pairs of elements of an array, by position.

    Attributes
    ----------
    left, right : ndarray
        Positions, left < right: int64[k].
    distance : ndarray
        Hamming distances, uint8[k].
    """

    left: I64
    right: I64
    distance: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.distance)

    def __iter__(self) -> Iterator[Pair]:
        """Yield each pair of positions as a `Pair`."""
        columns = (self.left.tolist(), self.right.tolist(), self.distance.tolist())
        for left, right, distance in zip(*columns, strict=True):
            yield Pair(left, right, distance)

    def __repr__(self) -> str:
        """Return the number of pairs and the first ones."""
        first = zip(
            self.left[: previews.SHOWN_VALUES].tolist(),
            self.right[: previews.SHOWN_VALUES].tolist(),
            strict=True,
        )
        size = previews.counted(len(self), "pair")
        shown = previews.first_of(first, len(self))
        return f"<simdb.PairPositions: {size}{': ' if shown else ''}{shown}>"


class ArrayPairs(ReadOnce[PairPositions, Pair]):
    """All pairs of near fingerprints in an array, found while they are read.

    Iterate over them, a `Pair` of positions at a time, or over `chunks()`: once, in bounded memory.
    Or use the arrays, which gather all pairs first.

    Attributes
    ----------
    left, right : ndarray
        The smaller and the greater position of each pair: int64[k].
    distance : ndarray
        The number of differing bits of each pair: uint8[k].
    """

    def __repr__(self) -> str:
        """Return the number of pairs if they were gathered; reads no pairs."""
        if self._gathered is not None:
            return repr(self._gathered).replace("PairPositions", "ArrayPairs", 1)
        return f"<simdb.ArrayPairs, {'streamed' if self._stream is None else 'not read yet'}>"

    @property
    def left(self) -> I64:
        """The smaller position of each pair: int64[k]."""
        return self._all().left

    @property
    def right(self) -> I64:
        """The greater position of each pair: int64[k]."""
        return self._all().right

    @property
    def distance(self) -> npt.NDArray[np.uint8]:
        """The number of differing bits of each pair: uint8[k]."""
        return self._all().distance

    def _joined(self, chunks: list[PairPositions]) -> PairPositions:
        return PairPositions(
            np.concatenate([np.empty(0, np.int64), *(chunk.left for chunk in chunks)]),
            np.concatenate([np.empty(0, np.int64), *(chunk.right for chunk in chunks)]),
            np.concatenate([np.empty(0, np.uint8), *(chunk.distance for chunk in chunks)]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ArrayClusters(RowSequence[I64], Sequence[I64]):
    """Connected sets of two or more positions of an array, in the order of their first members.

    Attributes
    ----------
    offsets : ndarray
        The members of cluster i, ascending, are `positions[offsets[i]:offsets[i + 1]]`: int64[c +
        1].
    positions : ndarray
        Positions of the members of all clusters, int64[k].
    """

    KIND = "cluster"

    offsets: I64
    positions: I64

    def _row(self, start: int, stop: int) -> I64:
        return self.positions[start:stop]

    def __repr__(self) -> str:
        """Return the number of clusters and the number of positions."""
        positions = previews.counted(len(self.positions), "position")
        return f"<simdb.ArrayClusters: {previews.counted(len(self), 'cluster')} of {positions}>"

    @property
    def sizes(self) -> I64:
        """The number of members of each cluster: int64[c]."""
        return np.diff(self.offsets)

    @property
    def representatives(self) -> I64:
        """The first member of each cluster: int64[c]."""
        return self.positions[self.offsets[:-1]]
