"""Remote files: the only import of fsspec, for names such as `s3://bucket/part-0.jsonl`.

fsspec needs a package of its own for most protocols, such as s3fs.
"""

import glob
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from simdb.ground.errors import Error, InputError, OptionError

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


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
    try:
        system, inner = _system(path)
        return RemoteFile(system.open(inner, "rb"))
    except (OSError, Error):
        raise
    except Exception as error:  # each protocol has errors of its own
        raise OSError(f"{type(error).__name__}: {error}") from error


def put_remote(local: str, path: str, *, saved_as: str | None) -> bool:
    """Copy a local file to a remote one; return whether the old one was moved to `saved_as`.

    That happens if `saved_as` is a name and the old file has another size, which is not 0.
    """
    with _explained(path):
        system, inner = _system(path)
        is_saved = False
        if saved_as is not None and system.exists(inner):
            is_saved = system.size(inner) not in (0, os.path.getsize(local))
            if is_saved:
                system.mv(inner, _system(saved_as)[1])
        system.put_file(local, inner)
    return is_saved


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
        try:
            content = self._file.read(len(buffer))
        except OSError:
            raise
        except Exception as error:  # each protocol has errors of its own
            raise OSError(f"{type(error).__name__}: {error}") from error
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()


def _system(path: str) -> tuple[Any, str]:
    """Return the file system of a remote file, and its name there."""
    try:
        core = import_module("fsspec.core")
    except ImportError as error:
        raise OptionError(f"{path} needs the package fsspec: pip install fsspec") from error
    try:
        system, inner = core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise OptionError(f"{path} cannot be reached: {error}") from error
    return system, str(inner)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn errors of a protocol into an InputError that names the file."""
    try:
        yield
    except Error:
        raise
    except Exception as error:  # each protocol has errors of its own
        raise InputError(f"{path} cannot be reached: {error or type(error).__name__}") from error
