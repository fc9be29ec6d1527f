"""Pieces: consecutive documents that become one run under new ordinals, without the deleted ones.

A compaction cuts all documents into pieces, so that no run, and nothing that is made at once, is
larger than the memory should be.  A piece tells which documents are in it and which ordinals they
get.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simdb.storage.records.tombstones import Bitmap

U32 = npt.NDArray[np.uint32]

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
# For each byte and each bit of it, how many of its lower bits are set.
_BELOW = (np.cumsum(_BITS, axis=1) - _BITS).astype(np.uint8)
_COUNTS = _BITS.sum(axis=1, dtype=np.uint8)


class Piece:
    """The live documents of start .. stop, which get the ordinals first .. first + len."""

    def __init__(self, dead: Bitmap | None, start: int, stop: int, first: int) -> None:
        """`dead`: the tombstones of all documents, None if nothing is deleted."""
        self.start, self.stop, self.first = start, stop, first
        # One bit for each ordinal from the byte of `start` on, set for live documents inside.
        self._low = start >> 3
        self._live = _live_bytes(dead, start, stop)
        self._length = int(_COUNTS[self._live].sum(dtype=np.int64))
        # The live documents before each byte, once they are needed.
        self._before: U32 | None = None

    def __len__(self) -> int:
        """Number of live documents."""
        return self._length

    @property
    def is_whole(self) -> bool:
        """Whether no document of start .. stop is deleted."""
        return self._length == self.stop - self.start

    def left_out(self, ordinal_count: int) -> Bitmap:
        """Return a bitmap with a bit for each ordinal, set for those that are not in the piece."""
        bits = np.full(max(-(-ordinal_count // 8), self._low + len(self._live)), 0xFF, np.uint8)
        bits[self._low : self._low + len(self._live)] = ~self._live
        return bits

    def kept(self) -> U32:
        """Return the ordinals that the documents of the piece have had."""
        if self.is_whole:
            return np.arange(self.start, self.stop, dtype=np.uint32)
        bits = np.unpackbits(self._live, bitorder="little")
        return np.flatnonzero(bits).astype(np.uint32) + np.uint32(8 * self._low)

    def renumbered(self, ordinals: U32) -> U32:
        """Return the new ordinals of documents of the piece, which are given in any order."""
        if self.is_whole:
            return ordinals - np.uint32(self.start - self.first)
        if self._before is None:
            counts = _COUNTS[self._live]
            self._before = np.cumsum(counts, dtype=np.uint32) - counts
        at = (ordinals >> np.uint32(3)) - np.uint32(self._low)
        inside = _BELOW[self._live[at], ordinals & np.uint32(7)]
        found: U32 = self._before[at] + inside + np.uint32(self.first)
        return found


def pieces_of(dead: Bitmap | None, ordinal_count: int, longest: int) -> Iterator[Piece]:
    """Yield the documents below `ordinal_count` in pieces of at most `longest` live documents.

    All but the last piece have that many.  There is no piece without documents.
    """
    start = first = 0
    while start < ordinal_count:
        stop = min(start + longest, ordinal_count)
        piece = Piece(dead, start, stop, first)
        while len(piece) < longest and stop < ordinal_count:
            stop = min(stop + longest - len(piece), ordinal_count)
            piece = Piece(dead, start, stop, first)
        if len(piece):
            yield piece
        start, first = stop, first + len(piece)


def _live_bytes(dead: Bitmap | None, start: int, stop: int) -> Bitmap:
    low, high = start >> 3, -(-stop // 8)
    live = np.full(high - low, 0xFF, np.uint8)
    if dead is not None:
        live = ~dead[low:high]
    if len(live):
        live[0] &= 0xFF << (start & 7) & 0xFF
        if stop & 7:
            live[-1] &= (1 << (stop & 7)) - 1
    return live
