"""Zstandard: streams that compress and decompress, piece by piece, so memory stays bounded.

pyarrow decompresses.  It compresses in one thread only; so `compression.zstd` of Python 3.14 does
that or, before it, the package zstandard.
"""

import io
from importlib import import_module
from typing import IO, Any

from simdb.columns.arrow import load_arrow
from simdb.ground.errors import InputError, OptionError
from simdb.running.threads import thread_count

REMEDY = "needs the package zstandard: pip install zstandard"


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
        """Read `file`."""
        self._stream = load_arrow("reading .zst").CompressedInputStream(file, "zstd")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Decompress as many bytes as fit; return their number, 0 at the end."""
        try:
            content: bytes = self._stream.read(len(buffer))
        except OSError as error:
            # The errors of the system have a number, and those of pyarrow have none.
            if error.errno is not None:
                raise
            what = (
                "cut off zstd data" if "Truncated" in str(error) else f"damaged zstd data ({error})"
            )
            raise InputError(f"{what}; create or download the file again") from error
        buffer[: len(content)] = content
        return len(content)


def _compressing(module: Any, threads: int) -> Any:
    """Return an object that compresses one frame, piece by piece."""
    if hasattr(module, "CompressionParameter"):
        workers = module.CompressionParameter.nb_workers
        return module.ZstdCompressor(options={workers: min(threads, workers.bounds()[1])})
    return module.ZstdCompressor(threads=threads).compressobj()
