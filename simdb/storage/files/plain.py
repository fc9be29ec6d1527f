"""Plain files, and nothing else: no links, pipes, devices or directories under their names.

A directory may come from a stranger.  A link in it would lead out of it, to a file that opening
overwrites or makes; a pipe would never answer.
"""

import errno
import os
import stat

from simdb.errors import FormatError


def open_regular(path: str, flags: int, *, is_alone: bool) -> int:
    """A descriptor of the plain file at `path`; OSError of the system, FormatError otherwise.

    `is_alone`: it may have no second name either, since it will be written.
    """
    try:
        # Without O_NONBLOCK a pipe would wait for its other end.
        wanted = flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, wanted, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EMLINK):
            _check(path, os.lstat(path), is_alone=is_alone)
        raise
    try:
        _check(path, os.fstat(descriptor), is_alone=is_alone)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_regular(path: str, *, is_alone: bool) -> os.stat_result | None:
    """What the system says of the plain file at `path`, None where there is none; FormatError."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    _check(path, found, is_alone=is_alone)
    return found


def is_same_file(path: str, before: os.stat_result) -> bool:
    """Whether the file that was described by `before` still has the name `path`."""
    try:
        now = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(now, before)


def _check(path: str, found: os.stat_result, *, is_alone: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(
            f"{path} is {_kind(found.st_mode)}; the files of a database are plain files in its own"
            " directory"
        )
    if is_alone and found.st_nlink > 1:
        raise FormatError(
            f"{path} is one file under {found.st_nlink} names (hard links), and writing it would"
            " change all of them; give the database a copy of its own"
        )


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a pipe" if stat.S_ISFIFO(mode) else "no plain file"
