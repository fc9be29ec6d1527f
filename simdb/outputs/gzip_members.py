"""Gzip members: compresses what is written in several threads.

A gzip file is a row of members, each compressed for itself, which every program reads as one file.
The members do not depend on the number of threads, and have no name and no time, so equal content
makes equal files.
"""

import io
import zlib
from typing import IO, Any

from simdb.running.threads import AHEAD, mapped, thread_count

LEVEL = 6
MEMBER_BYTES = 1 << 20
# Asks zlib for the header and the checksum of gzip.
WINDOW = 16 + zlib.MAX_WBITS


class GzipWriter(io.RawIOBase):
    """A stream that compresses what is written into another stream, which stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin a gzip file at the end of `file`."""
        self._file = file
        self._threads = thread_count()
        self._held = bytearray()
        self._is_empty = True

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any, /) -> int:
        """Compress some bytes, now or later; return their number."""
        self._held += content
        members = len(self._held) // MEMBER_BYTES
        if members >= AHEAD * self._threads:
            self._write_members(members * MEMBER_BYTES)
        return len(content)

    def close(self) -> None:
        """Compress what is held; a file of nothing has one member."""
        if not self.closed:
            super().close()
            if self._held or self._is_empty:
                self._write_members(max(len(self._held), 1))

    def _write_members(self, stop: int) -> None:
        """Write members of the held bytes up to `stop`, and forget these bytes."""
        parts = [bytes(self._held[at : at + MEMBER_BYTES]) for at in range(0, stop, MEMBER_BYTES)]
        del self._held[:stop]
        self._is_empty = False
        for member in mapped(_member, parts, self._threads):
            self._file.write(member)


def _member(content: bytes) -> bytes:
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW)
    return compressor.compress(content) + compressor.flush()
