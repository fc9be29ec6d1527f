"""Compression: streams of Zstandard and gzip, piece by piece, so memory stays bounded.

pyarrow decompresses Zstandard.  It compresses in one thread only; so `compression.zstd` of Python
3.14 does that or, before it, the package zstandard.

A gzip file is written as a row of members, each compressed for itself, which every program reads as
one file.  The members do not depend on the number of threads, and have no name and no time, so
equal content makes equal files.
"""

import io
import zlib
from importlib import import_module
from typing import IO, Any

from simdb.columns.arrow import load_arrow
from simdb.ground.errors import InputError, OptionError
from simdb.running.threads import AHEAD, mapped, thread_count

REMEDY = "needs the package zstandard: pip install zstandard"
LEVEL = 6
MEMBER_BYTES = 1 << 20
# Asks zlib for the header and the checksum of gzip.
WINDOW = 16 + zlib.MAX_WBITS


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
