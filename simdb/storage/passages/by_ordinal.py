"""By ordinal: the grains of documents one after the other, from entries that are sorted by hash.

To find the grains of any documents takes a look at all entries.  So the grains of a block of
documents are found at once and kept until others are asked for.
"""

import numpy as np

from simdb.storage.passages.passages import Passages
from simdb.storage.runs.source import Source
from simdb.values.arrays import Grains

# The grains of a block, 8 bytes each, and as much again while they are sorted.
BLOCK_ENTRIES = 1 << 23


class GrainsByOrdinal:
    """The grains of the documents below an ordinal, for who goes through them in order."""

    def __init__(self, passages: Passages, stop: int, source: Source) -> None:
        """Read nothing yet."""
        self._passages, self._stop, self._source = passages, stop, source
        blocks = max(-(-passages.entry_count // BLOCK_ENTRIES), 1)
        self.block_documents = max(-(-stop // blocks), 1)
        self._start = 0
        self._block = Grains(np.zeros(1, np.int64), np.empty(0, np.uint64))

    def grains(self, start: int, stop: int) -> Grains:
        """Return the grains of the documents start .. stop, deleted or not."""
        if start < self._start or stop > self._start + len(self._block):
            self._start = start
            last = max(min(start + self.block_documents, self._stop), stop)
            self._block = self._passages.grains(start, last, self._source)
        return self._block.taken(slice(start - self._start, stop - self._start))
