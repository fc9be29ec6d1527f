"""Amount: how many bytes of the sources have been read, and how many there are.

Compressed files count as they are on the disk.  A process runs one command, which reads its sources
in one go, so there is one amount: opened files add to it wherever they are read.
"""

import io
import os
from collections.abc import Collection
from typing import Any

BUFFER_BYTES = 1 << 16
# A document of a collection whose size is not known, and a collection.
USUAL_BYTES, USUAL_DOCUMENTS = 1000, 1e6


class Amount:
    """The bytes read since `begin`, and their total if all sources are files."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.begin()

    def begin(self) -> None:
        """Start again at nothing, before sources are read."""
        self.read_bytes = 0
        self._total_bytes: int | None = None
        self._is_expected = False

    def expect(self, sources: Collection[str]) -> None:
        """Take the sizes of `sources` as the total; a second call before `begin` does nothing.

        The total is not known if one of them is a folder, a pipe or standard input.
        """
        if self._is_expected:
            return
        self._is_expected = True
        self._total_bytes = _bytes_of(sources)

    def add(self, count: int) -> None:
        """Count bytes that were read."""
        self.read_bytes += count

    @property
    def expected_documents(self) -> float:
        """About how many documents there are, by the sizes of the sources."""
        return _documents_in(self._total_bytes)

    def share(self) -> float | None:
        """Return the share of the total that was read, 0 to 1; None if it is not known."""
        if not self._total_bytes or self.read_bytes > self._total_bytes:
            return None
        return self.read_bytes / self._total_bytes


AMOUNT = Amount()


def expected_documents(sources: Collection[str]) -> float:
    """Return about how many documents there are in `sources`, by their sizes."""
    return _documents_in(_bytes_of(sources))


def _bytes_of(sources: Collection[str]) -> int | None:
    places = {os.path.realpath(source) for source in sources}
    return sum(map(os.path.getsize, places)) if all(map(os.path.isfile, places)) else None


def _documents_in(size: int | None) -> float:
    return USUAL_DOCUMENTS if size is None else max(size / USUAL_BYTES, 1.0)


def open_counted(path: str) -> io.BufferedReader:
    """Open a file for reading; what is read of it adds to the amount."""
    return io.BufferedReader(_Counted(path), BUFFER_BYTES)


class _Counted(io.FileIO):
    """A file that adds to the amount what is read of it."""

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        AMOUNT.add(count or 0)
        return count

    def readall(self) -> bytes:
        content = super().readall()
        AMOUNT.add(len(content))
        return content
