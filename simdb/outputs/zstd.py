"""Zstandard: streams that compress and decompress, by whichever library is installed.

Python 3.14 has `compression.zstd`; before it, the package zstandard does the same.  Both make
objects that compress or decompress one frame, piece by piece, so memory stays bounded.
"""

import io
from importlib import import_module
from typing import IO, Any

from simdb.errors import InputError, OptionError
from simdb.threads import thread_count

REMEDY = "needs the package zstandard: pip install zstandard"
# So few bytes never decompress to more than 128 MiB.
PIECE_BYTES = 1 << 12


def load_zstd(purpose: str) -> Any:
    """Return a module with Zstandard; the OptionError if there is none names `purpose`."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise OptionError(f"{purpose} {REMEDY}")


class ZstdWriter(io.RawIOBase):
    """A stream that compresses what is written into another stream, which stays open.

    It makes one frame, since many programs read no more than the first frame of a file.  The
    library compresses parts of the frame in threads of its own, which end with the stream.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Begin a frame at the end of `file`."""
        self._frame = _compressing(load_zstd("writing .zst"), thread_count())
        self._file = file

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any, /) -> int:
        """Compress some bytes; return their number."""
        self._file.write(self._frame.compress(content))
        return len(content)

    def close(self) -> None:
        """End the frame."""
        if not self.closed:
            super().close()
            self._file.write(self._frame.flush())


class ZstdReader(io.RawIOBase):
    """The decompressed bytes of a stream of one or more frames; InputError if it is damaged."""

    def __init__(self, file: IO[bytes]) -> None:
        """Read `file`, which stays open."""
        self._file = file
        self._module = load_zstd("reading .zst")
        self._frame: Any = None
        self._held = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Decompress as many bytes as fit; return their number, 0 at the end."""
        while not self._held:
            piece = self._file.read(PIECE_BYTES)
            if not piece:
                if self._frame is not None:
                    raise InputError("cut off zstd data; create or download the file again")
                return 0
            self._held = memoryview(self._decompressed(piece))
        size = min(len(buffer), len(self._held))
        buffer[:size], self._held = self._held[:size], self._held[size:]
        return size

    def _decompressed(self, piece: bytes) -> bytes:
        parts = []
        try:
            while piece:
                if self._frame is None:
                    made = self._module.ZstdDecompressor()
                    self._frame = getattr(made, "decompressobj", lambda made=made: made)()
                parts.append(self._frame.decompress(piece))
                piece = b""
                if self._frame.eof:
                    piece, self._frame = self._frame.unused_data, None
        except self._module.ZstdError as error:
            raise InputError(
                f"damaged zstd data ({error}); create or download the file again"
            ) from error
        return b"".join(parts)


def _compressing(module: Any, threads: int) -> Any:
    """Return an object that compresses one frame, piece by piece."""
    if hasattr(module, "CompressionParameter"):
        workers = module.CompressionParameter.nb_workers
        return module.ZstdCompressor(options={workers: min(threads, workers.bounds()[1])})
    return module.ZstdCompressor(threads=threads).compressobj()
