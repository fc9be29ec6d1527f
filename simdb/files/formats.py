"""Formats: what the name of a file says of its format and its place, and streams that compress.

Zstandard and gzip are compressed piece by piece, so memory stays bounded.  pyarrow decompresses
Zstandard.  It compresses in one thread only; so `compression.zstd` of Python 3.14 does that or,
before it, the package zstandard.

A gzip file is written as a row of members, each compressed for itself, which every program reads as
one file.  The members do not depend on the number of threads, and have no name and no time, so
equal content makes equal files.

Names such as `s3://bucket/part-0.jsonl` are opened by fsspec, which only this module imports.  It
needs a package of its own for most protocols, such as s3fs.
"""

import glob
import io
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import IO, Any, NamedTuple

from simdb.core.arrow import load_arrow
from simdb.core.checks import installed
from simdb.core.errors import Error, InputError, OptionError
from simdb.core.threads import AHEAD, mapped, thread_count

JSON_LINES, COMMAS, TABS = "JSON lines", "CSV", "TSV"
PARQUET, ARROW, ARROW_STREAM = "Parquet", "Arrow", "an Arrow stream"
ROW_FORMATS = (PARQUET, ARROW, ARROW_STREAM)
# How a file of Arrow begins, and either that or a stream of it.
ARROW_FILE = b"ARROW1"
ARROW_MAGICS = (ARROW_FILE, b"\xff\xff\xff\xff")
PAGE = "HTML"
# In place of a path.
STANDARD_OUTPUT = "-"
PATHS, FOLDER, SHARDS = "paths", "folder", "shards"

TABLES = {
    ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".csv": COMMAS, ".tsv": TABS, ".parquet": PARQUET,
    ".arrow": ARROW,
}  # fmt: skip
# Other endings of the same formats, which messages do not list.
ALIASES = {".jl": ".jsonl", ".jsonlines": ".jsonl", ".feather": ".arrow", ".ipc": ".arrow"}
GZIP, ZSTD, BZIP2, XZ = ".gz", ".zst", ".bz2", ".xz"
COMPRESSIONS = (GZIP, ZSTD, BZIP2, XZ)
ANY_COMPRESSION = ".gz, .zst, .bz2 or .xz"
# The classes of the standard library, which some builds of Python lack.
FILES = {GZIP: ("gzip", "GzipFile"), BZIP2: ("bz2", "BZ2File"), XZ: ("lzma", "LZMAFile")}
DELIMITERS = {COMMAS: ",", TABS: "\t"}
REMEDY = "needs the package zstandard: pip install zstandard"
LEVEL = 6
MEMBER_BYTES = 1 << 20
# Asks zlib for the header and the checksum of gzip.
WINDOW = 16 + zlib.MAX_WBITS
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Format(NamedTuple):
    """A format, and the ending of the compression around it; empty if there is none."""

    kind: str
    compression: str = ""


def output_format(path: str, option: str, endings: Mapping[str, str] = TABLES) -> Format:
    """Return the format that the end of a file name says.

    A pipe, a device and standard output take JSON lines.

    Raises OptionError for an ending that is not in `endings`, or if its package is not installed.
    """
    if path == STANDARD_OUTPUT:
        return Format(JSON_LINES)
    name = os.path.basename(path).lower()
    compression = next((each for each in COMPRESSIONS if name.endswith(each)), "")
    inner = plain_ending(name.removesuffix(compression))
    kind = next((endings[each] for each in endings if inner.endswith(each)), None)
    if kind is None and os.path.exists(path) and not os.path.isfile(path):
        kind = None if os.path.isdir(path) else JSON_LINES
    if kind is None:
        raise OptionError(f"{option} must end in {_listed(endings)}, got {path}")
    if is_remote(path):
        check_remote(path)
    if kind in ROW_FORMATS:
        if compression:
            raise OptionError(f"{option}: {kind} files are compressed inside; leave out {name}'s"
                              f" {compression}")  # fmt: skip
        load_arrow(f"writing {path}")
    if compression == ZSTD:
        load_zstd(f"writing {path}")
    return Format(kind, compression)


def plain_ending(name: str) -> str:
    """Return a name with the usual ending of its format in place of another one."""
    ending = os.path.splitext(name)[1]
    return name.removesuffix(ending) + ALIASES.get(ending, ending)


def packed_file(file: IO[bytes], compression: str, mode: str = "rb") -> Any:
    """Return a stream that reads a compressed file, or writes one, but not of ZSTD."""
    if compression == ZSTD:
        return load_arrow("reading .zst").CompressedInputStream(file, "zstd")
    module, name = FILES[compression]
    made = getattr(installed(module, f"{compression} needs the module {module} of Python"), name)
    return made(fileobj=file, mode=mode) if compression == GZIP else made(file, mode)


def load_zstd(purpose: str) -> Any:
    """Return a module with Zstandard; the OptionError if there is none names `purpose`."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise OptionError(f"{purpose} {REMEDY}")


class Unclosed(io.RawIOBase):
    """A stream that writes into another stream, and leaves that open."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin at the end of `file`."""
        self._file = file

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any, /) -> int:
        """Write some bytes; return their number."""
        return self._file.write(content)


class ZstdWriter(Unclosed):
    """A stream that compresses what is written into another stream, which stays open.

    It makes one frame, since many programs read no more than the first frame of a file.  The
    library compresses parts of the frame in threads of its own, which end with the stream.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Begin a frame at the end of `file`."""
        super().__init__(file)
        self._frame = _compressing(load_zstd("writing .zst"), thread_count())

    def write(self, content: Any, /) -> int:
        """Compress some bytes; return their number."""
        self._file.write(self._frame.compress(content))
        return len(content)

    def close(self) -> None:
        """End the frame."""
        if not self.closed:
            super().close()
            self._file.write(self._frame.flush())


class GzipWriter(Unclosed):
    """A stream that compresses what is written into another stream, which stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin a gzip file at the end of `file`."""
        super().__init__(file)
        self._threads = thread_count()
        self._held = bytearray()
        self._is_empty = True

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


def is_remote(path: str) -> bool:
    """Return whether a name begins with a protocol; a local file with this name counts more."""
    return SCHEME.match(path) is not None and not os.path.lexists(path)


def check_remote(path: str) -> None:
    """Raise OptionError unless the packages for the protocol of a name are installed."""
    with _explained(path):
        _system(path)


def has_remote_pattern(path: str) -> bool:
    """Return whether a remote name is a pattern; a question mark is part of an address."""
    return glob.has_magic(path.replace("?", ""))


def matching_files(pattern: str) -> list[str]:
    """Return the names of the remote files that match a pattern, sorted; or of one file.

    No name if nothing matches; InputError for a folder.
    """
    with _explained(pattern):
        system, inner = _system(pattern)
        if has_remote_pattern(pattern):
            found = [each for each in system.glob(inner) if not system.isdir(each)]
            return sorted(str(system.unstrip_protocol(each)) for each in found)
        if system.isdir(inner):
            raise InputError(f"{pattern} is a remote folder; name its files, or {pattern}/*")
        return [pattern] if system.exists(inner) else []


def remote_place(path: str) -> str:
    """Return the one name of a remote file that can be written in several ways."""
    with _explained(path):
        system, inner = _system(path)
        return str(system.unstrip_protocol(inner))


def open_remote(path: str) -> io.RawIOBase:
    """Open a remote file for reading; OSError if it cannot be opened, and later if not read."""
    with _reached(path) as (system, inner):
        return RemoteFile(system.open(inner, "rb"))


class RemoteFiles:
    """What outputs do with remote files; all errors are OSErrors, see `LocalFiles`."""

    def exists(self, path: str) -> bool:
        """Return whether something is at a path."""
        with _reached(path) as (system, inner):
            return bool(system.exists(inner))

    def send(self, local: str, path: str) -> None:
        """Copy a local file to a path."""
        with _reached(path) as (system, inner):
            system.put_file(local, inner)

    def move(self, path: str, place: str) -> None:
        """Give a file another name, and take that of what is there."""
        with _reached(path) as (system, inner):
            system.mv(inner, _system(place)[1])

    keep = move

    def remove(self, path: str) -> None:
        """Remove a file."""
        with _reached(path) as (system, inner):
            system.rm_file(inner)

    def is_other(self, old: str, new: str) -> bool:
        """Return whether an old file has another size than a new one, and is not empty."""
        with _reached(old) as (system, inner):
            return system.size(inner) not in (0, system.size(_system(new)[1]))

    def is_same(self, old: str, new: str) -> bool:
        """Return False: their content would have to be read."""
        return False


class RemoteFile(io.RawIOBase):
    """A remote file that is read; all its errors are OSErrors."""

    def __init__(self, file: Any) -> None:
        """Read an open `file`, and close it at the end."""
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the file can be read from any place."""
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place of the file."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the place in the file."""
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        with _as_os_error():
            content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()


def _listed(endings: Mapping[str, str]) -> str:
    """Return the known endings in words."""
    packed = [each for each, kind in endings.items() if kind not in ROW_FORMATS]
    whole = [each for each in endings if each not in packed]
    return f"{', '.join(packed)} (each also with {ANY_COMPRESSION}) or {', '.join(whole)}"


def _compressing(module: Any, threads: int) -> Any:
    """Return an object that compresses one frame, piece by piece.

    If the system does not have so many threads, the thread that writes compresses.
    """
    if hasattr(module, "CompressionParameter"):
        workers = module.CompressionParameter.nb_workers
        options = {workers: min(threads, workers.bounds()[1])}
        make = partial(module.ZstdCompressor, options=options)
    else:
        make = module.ZstdCompressor(threads=threads).compressobj
    try:
        make().compress(b" ")  # starts the threads
    except module.ZstdError:
        return _compressing(module, 0)
    return make()


def _member(content: bytes) -> bytes:
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW)
    return compressor.compress(content) + compressor.flush()


def _system(path: str) -> tuple[Any, str]:
    """Return the file system of a remote file, and its name there."""
    core = installed("fsspec.core", f"{path} needs the package fsspec: pip install fsspec")
    try:
        system, inner = core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise OptionError(f"{path} cannot be reached: {error}") from error
    return system, str(inner)


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Turn errors of a protocol into an OSError."""
    try:
        yield
    except (OSError, Error):
        raise
    except Exception as error:  # each protocol has errors of its own
        raise OSError(f"{type(error).__name__}: {error}") from error


@contextmanager
def _reached(path: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system of a remote file, and its name there; all errors are OSErrors."""
    with _as_os_error():
        yield _system(path)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn errors of a protocol into an InputError that names the file."""
    try:
        yield
    except Error:
        raise
    except Exception as error:  # each protocol has errors of its own
        raise InputError(f"{path} cannot be reached: {error or type(error).__name__}") from error
