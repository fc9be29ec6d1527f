"""Remembered pairs: exact similarities that texts have decided, so that no text is read twice."""

import numpy as np
import numpy.typing as npt

# More pairs are not kept: 12 bytes each.
REMEMBERED_MOST = 1 << 20

F32 = npt.NDArray[np.float32]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


class Remembered:
    """The exact similarities of at most `most` pairs of documents, the first that are added.

    They hold as long as no document changes.
    """

    def __init__(self, most: int = REMEMBERED_MOST) -> None:
        """Begin without pairs."""
        self._room = most
        self._added: list[tuple[U64, F32]] = []
        self._keys, self._values = np.empty(0, np.uint64), np.empty(0, np.float32)

    def add(self, left: U32, right: U32, values: F32) -> None:
        """Take pairs of ordinals with their similarities."""
        if self._room and len(values):
            self._added.append((_keys(left, right)[: self._room], values[: self._room]))
            self._room -= len(self._added[-1][1])

    def find(self, left: U32, right: U32) -> F32:
        """Return the similarity of each pair, NaN for one that is not known."""
        if self._added:
            keys, values = zip((self._keys, self._values), *self._added, strict=True)
            self._keys, first = np.unique(np.concatenate(keys), return_index=True)
            self._values = np.concatenate(values)[first]
            self._added.clear()
        found = np.full(len(left), np.nan, np.float32)
        if len(self._keys):
            wanted = _keys(left, right)
            at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            is_known = self._keys[at] == wanted
            found[is_known] = self._values[at[is_known]]
        return found


def _keys(left: U32, right: U32) -> U64:
    """Return a key for each pair, whichever of the two documents comes first."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    return low.astype(np.uint64) << np.uint64(32) | high
