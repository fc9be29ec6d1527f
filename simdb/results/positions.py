"""Positions: pairs and clusters found in an array of fingerprints, as positions in the array."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.ground import previews
from simdb.ground.errors import ClosedError
from simdb.results.matches import Pair

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PairPositions:
    """Some pairs of an array: positions left < right, int64[k], and distance uint8[k]."""

    left: I64
    right: I64
    distance: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.distance)

    def __iter__(self) -> Iterator[Pair]:
        """Give one `Pair` of positions at a time."""
        columns = (self.left.tolist(), self.right.tolist(), self.distance.tolist())
        for left, right, distance in zip(*columns, strict=True):
            yield Pair(left, right, distance)

    def __repr__(self) -> str:
        """Return the number of pairs, and the first ones."""
        first = zip(
            self.left[: previews.SHOWN_VALUES].tolist(),
            self.right[: previews.SHOWN_VALUES].tolist(),
            strict=True,
        )
        size = previews.counted(len(self), "pair")
        shown = previews.first_of(first, len(self))
        return f"<simdb.PairPositions: {size}{': ' if shown else ''}{shown}>"


class ArrayPairs:
    """All pairs of near fingerprints in an array, found while they are read.

    Read the pairs once, in bounded memory: with `chunks()`, or by iterating, one `Pair` of
    positions at a time.  Or use the arrays `left`, `right` and `distance`, which gather all pairs
    first.
    """

    def __init__(self, stream: Iterator[PairPositions]) -> None:
        """Wrap `stream`, which gives the chunks."""
        self._stream: Iterator[PairPositions] | None = stream
        self._gathered: PairPositions | None = None

    def chunks(self) -> Iterator[PairPositions]:
        """Give the pairs in chunks of arrays; works once, unless the pairs were gathered before."""
        if self._gathered is not None:
            return iter([self._gathered])
        if self._stream is None:
            raise ClosedError("these pairs were read already; call find_all again")
        stream, self._stream = self._stream, None
        return stream

    def __iter__(self) -> Iterator[Pair]:
        """Give one pair at a time."""
        for chunk in self.chunks():
            yield from chunk

    def __len__(self) -> int:
        """Count the pairs, after gathering them."""
        return len(self._all())

    def __repr__(self) -> str:
        """Return the number of pairs if they are gathered; it reads none."""
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

    def _all(self) -> PairPositions:
        if self._gathered is None:
            chunks = list(self.chunks())
            self._gathered = PairPositions(
                np.concatenate([np.empty(0, np.int64), *(chunk.left for chunk in chunks)]),
                np.concatenate([np.empty(0, np.int64), *(chunk.right for chunk in chunks)]),
                np.concatenate([np.empty(0, np.uint8), *(chunk.distance for chunk in chunks)]),
            )
        return self._gathered


@dataclass(frozen=True, slots=True, eq=False)
class ArrayClusters(Sequence[I64]):
    """Connected sets of two or more positions of an array, in the order of their first members.

    Members of cluster i, ascending: positions[offsets[i]:offsets[i + 1]]; `offsets` int64[c + 1],
    `positions` int64[k].
    """

    offsets: I64
    positions: I64

    def __len__(self) -> int:
        """Count the clusters."""
        return len(self.offsets) - 1

    def __getitem__(self, number: Any) -> Any:
        """Give the positions of one cluster, int64[m]; for a slice, a list of such arrays."""
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"cluster {number} of {len(self)}")
        number %= len(self)
        return self.positions[self.offsets[number] : self.offsets[number + 1]]

    def __repr__(self) -> str:
        """Return the numbers of clusters and positions."""
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
