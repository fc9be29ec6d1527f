"""Unclosed streams: let a wrapper be closed while the stream inside stays open."""

import io
from typing import IO, Any


class Unclosed(io.RawIOBase):
    """A stream whose `close` leaves the inner stream open."""

    def __init__(self, stream: IO[bytes]) -> None:
        """Pass everything on to `stream`."""
        self._stream = stream

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any, /) -> int:
        """Write some bytes; return their number."""
        return self._stream.write(content)
