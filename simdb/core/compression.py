"""Compression: blocks compressed with Zstandard, or with zlib where Zstandard is missing.

Zstandard comes from pyarrow, from `compression.zstd` of Python 3.14, or from the package zstandard.
Without all three, zlib compresses a block; that takes up to a tenth more room, and two to three
times as long.  The first bytes of a block tell the two formats apart.
"""

import io
import zlib
from importlib import import_module
from typing import IO, Any

from simdb.core.arrow import has_arrow, load_arrow
from simdb.core.errors import OptionError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_LEVEL, ZLIB_LEVEL = 3, 1
MODULES = ("compression.zstd", "zstandard")


def load_zstd(purpose: str) -> Any:
    """Return a module with Zstandard; if there is none, an OptionError names `purpose`."""
    for name in MODULES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise OptionError(f"{purpose} needs the package zstandard: pip install zstandard")


def compressed(content: bytes) -> bytes:
    """Compress a block."""
    if has_arrow():
        return bytes(_arrow_codec().compress(content, asbytes=True))
    try:
        module = load_zstd("")
    except OptionError:
        return zlib.compress(content, ZLIB_LEVEL)
    return bytes(module.compress(content, ZSTD_LEVEL))


def decompressed(content: bytes, size: int) -> bytes:
    """Decompress a block of `size` bytes, taking no more memory; raise ValueError if it is damaged.

    Raises OptionError if Zstandard is needed and not installed.
    """
    failures: tuple[type[Exception], ...] = (OSError, zlib.error)
    try:
        if not content.startswith(ZSTD_MAGIC):
            found = zlib.decompressobj().decompress(content, size + 1)
        elif has_arrow():
            found = bytes(_arrow_codec().decompress(content, size))
        else:
            module = load_zstd("what Zstandard has compressed")
            failures = (module.ZstdError, EOFError)
            with _stream(module, io.BytesIO(content)) as stream:
                found = stream.read(size + 1)
    except failures as error:
        raise ValueError(str(error)) from error
    if len(found) != size:
        raise ValueError(f"it has {len(found)} bytes, not {size}")
    return found


def _stream(module: Any, file: IO[bytes]) -> Any:
    """Return a stream that decompresses a file.

    The stream of the package zstandard does not notice a missing end, so the caller must check the
    size.
    """
    if hasattr(module, "ZstdFile"):
        return module.ZstdFile(file)
    return module.ZstdDecompressor().stream_reader(file)


def _arrow_codec() -> Any:
    return load_arrow("Zstandard").Codec("zstd", compression_level=ZSTD_LEVEL)
