"""Rows: the matches of consecutive queries as arrays, with ordinals in place of ids."""

import numpy as np
import numpy.typing as npt

from simdb.values import offsets_of

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]

# Up to this many matches of one query are made as objects at once, more of them as arrays.
MANY = 512


class Rows:
    """Matches of consecutive queries: offsets, ordinals, distances and similarities."""

    __slots__ = ("distances", "offsets", "ordinals", "similarities")

    def __init__(self, offsets: I64, ordinals: U32, distances: U8, similarities: F32) -> None:
        """`offsets` int64[m + 1]; the other arrays of length k; an unknown similarity is NaN."""
        self.offsets = offsets
        self.ordinals = ordinals
        self.distances = distances
        self.similarities = similarities

    @property
    def queries(self) -> I64:
        """The position of the query of each match: int64[k]."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def chosen(self, order: npt.NDArray[np.integer]) -> "Rows":
        """Return the matches at the positions `order`, which must be grouped by query."""
        counts = np.bincount(self.queries[order], minlength=len(self.offsets) - 1)
        return Rows(
            offsets_of(counts),
            self.ordinals[order],
            self.distances[order],
            self.similarities[order],
        )

    def limited(self, limit: int) -> "Rows":
        """Return at most the first `limit` matches of each query."""
        counts = np.minimum(np.diff(self.offsets), min(limit, len(self.ordinals)))
        if counts.sum() == len(self.ordinals):
            return self
        offsets = offsets_of(counts)
        first = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], counts)
        return Rows(offsets, self.ordinals[first], self.distances[first], self.similarities[first])


def no_rows(count: int) -> Rows:
    """Return rows of `count` queries without any match."""
    offsets = np.zeros(count + 1, np.int64)
    nothing = np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.float32)
    return Rows(offsets, *nothing)


def joined(parts: list[Rows]) -> Rows:
    """Return the rows of consecutive batches as one object."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return Rows(
        offsets_of(counts),
        np.concatenate([part.ordinals for part in parts]),
        np.concatenate([part.distances for part in parts]),
        np.concatenate([part.similarities for part in parts]),
    )
