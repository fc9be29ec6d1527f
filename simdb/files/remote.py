"""Remote files: names such as `s3://bucket/part-0.jsonl`, which fsspec opens.

Only this module imports fsspec, which needs a package of its own for most protocols, such as s3fs.
"""

import glob
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simdb.core.checks import installed
from simdb.core.errors import Error, InputError, OptionError

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_remote(path: str) -> bool:
    """Return whether a name begins with a protocol and no local file has this name."""
    return SCHEME.match(path) is not None and not os.path.lexists(path)


def check_remote(path: str) -> None:
    """Raise OptionError unless the packages for the protocol of a name are installed."""
    with _explained(path):
        _system(path)


def has_remote_pattern(path: str) -> bool:
    """Return whether a remote name is a pattern; a question mark belongs to an address."""
    return glob.has_magic(path.replace("?", ""))


def matching_files(pattern: str) -> list[str]:
    """Return the sorted names of the remote files that match a pattern or name, perhaps none.

    Raises InputError for a folder.
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
    """Return the canonical name of a remote file."""
    with _explained(path):
        system, inner = _system(path)
        return str(system.unstrip_protocol(inner))


def open_remote(path: str) -> io.RawIOBase:
    """Open a remote file; opening and reading raise OSError on failure."""
    with _reached(path) as (system, inner):
        return RemoteFile(system.open(inner, "rb"))


class RemoteFiles:
    """The operations of outputs on remote files, see `LocalFiles`; all errors are OSErrors."""

    def exists(self, path: str) -> bool:
        """Return whether something is at a path."""
        with _reached(path) as (system, inner):
            return bool(system.exists(inner))

    def send(self, local: str, path: str) -> None:
        """Copy a local file to a path."""
        with _reached(path) as (system, inner):
            system.put_file(local, inner)

    def move(self, path: str, place: str) -> None:
        """Rename a file, and replace any file of the new name."""
        with _reached(path) as (system, inner):
            system.mv(inner, _system(place)[1])

    keep = move

    def remove(self, path: str) -> None:
        """Remove a file."""
        with _reached(path) as (system, inner):
            system.rm_file(inner)

    def is_other(self, old: str, new: str) -> bool:
        """Return whether an old file is not empty and differs in size from a new one."""
        with _reached(old) as (system, inner):
            return system.size(inner) not in (0, system.size(_system(new)[1]))

    def is_same(self, old: str, new: str) -> bool:
        """Return False: their content would have to be read."""
        return False


class RemoteFile(io.RawIOBase):
    """A remote file that is open for reading; all its errors are OSErrors."""

    def __init__(self, file: Any) -> None:
        """Wrap an open `file`, which `close` closes too."""
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the file can be read from any position."""
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position in the file."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the position in the file."""
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


def _system(path: str) -> tuple[Any, str]:
    """Return the file system of a remote file and its name there."""
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
    """Yield the file system of a remote file and its name there; all errors are OSErrors."""
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
