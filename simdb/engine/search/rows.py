"""Rows: the matches of consecutive queries as arrays, by ordinal."""

import numpy as np
import numpy.typing as npt

from simdb.values import offsets_of

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]

# More matches of one query than this are taken as arrays, and fewer as objects.
MANY = 512


class Rows:
    """Matches of consecutive queries: offsets, ordinals, distances and similarities."""

    __slots__ = ("distances", "offsets", "ordinals", "similarities")

    def __init__(self, offsets: I64, ordinals: U32, distances: U8, similarities: F32) -> None:
        """offsets int64[m + 1]; the others of length k; NaN for an unknown similarity."""
        self.offsets = offsets
        self.ordinals = ordinals
        self.distances = distances
        self.similarities = similarities

    @property
    def queries(self) -> I64:
        """The query that each match belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def chosen(self, order: npt.NDArray[np.integer]) -> "Rows":
        """The matches at positions `order`, which are grouped by query."""
        counts = np.bincount(self.queries[order], minlength=len(self.offsets) - 1)
        return Rows(
            offsets_of(counts),
            self.ordinals[order],
            self.distances[order],
            self.similarities[order],
        )

    def limited(self, limit: int) -> "Rows":
        """At most the first `limit` matches of each query."""
        counts = np.minimum(np.diff(self.offsets), min(limit, len(self.ordinals)))
        if counts.sum() == len(self.ordinals):
            return self
        offsets = offsets_of(counts)
        kept = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], counts)
        return Rows(offsets, self.ordinals[kept], self.distances[kept], self.similarities[kept])


def no_rows(count: int) -> Rows:
    """No match of any of `count` queries."""
    offsets = np.zeros(count + 1, np.int64)
    nothing = np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.float32)
    return Rows(offsets, *nothing)


def joined(parts: list[Rows]) -> Rows:
    """The rows of batches that follow each other."""
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return Rows(
        offsets_of(counts),
        np.concatenate([part.ordinals for part in parts]),
        np.concatenate([part.distances for part in parts]),
        np.concatenate([part.similarities for part in parts]),
    )
