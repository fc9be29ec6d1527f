"""Translation: LMDB's errors raised as errors of simdb."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import lmdb

from simdb.core.errors import (
    DISK_FULL,
    BusyError,
    CorruptError,
    Error,
    ForkedError,
    FormatError,
    FullError,
    ReadOnlyError,
)


class MapFull(Exception):  # noqa: N818 - not an error: the writer grows the map and goes on
    """The map has no room for the change."""


def translate(error: Exception, path: str) -> NoReturn:
    """Raise an error of simdb in place of one of LMDB or of the system."""
    code = getattr(error, "code", 0) or getattr(error, "errno", 0)
    if isinstance(error, lmdb.DiskError) or code in DISK_FULL:
        raise FullError(f"no room on the disk of {path}; nothing was changed: {error}") from error
    if is_out_of_memory(error):
        raise FullError(
            f"the system has no memory left for {path}; nothing was changed: {error}"
        ) from error
    if code == errno.EIO:
        # LMDB reports an I/O error if the disk takes only the first part of a write.
        raise FullError(
            f"no room on the disk of {path}, or it fails; nothing was changed: {error}"
        ) from error
    if isinstance(error, lmdb.CorruptedError | lmdb.PageNotFoundError):
        raise CorruptError(f"{path} is damaged: {error}") from error
    if _is_open_already(error) and not _was_forked:
        raise BusyError(
            f"{path} is still open in this process: a snapshot, transaction or iterator of a handle"
            " that was dropped has not ended; end it, and try again"
        ) from error
    if is_left_from_fork(error):
        raise ForkedError(
            f"{path} cannot be opened in this process: it was forked while another thread of its"
            " parent was using the database; start processes with 'spawn' or 'forkserver' instead"
        ) from error
    if isinstance(error, lmdb.PanicError):
        raise Error(
            f"an earlier commit to {path} could not be completed, so LMDB refuses to go on; close"
            f" the database and open it again: {error}"
        ) from error
    if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
        raise FormatError(f"{path} is no data file that this LMDB can read: {error}") from error
    if isinstance(error, lmdb.ReadonlyError) or code in (errno.EACCES, errno.EROFS, errno.EPERM):
        raise ReadOnlyError(f"{path} cannot be written: {error}") from error
    raise Error(f"{path}: {error}") from error


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Translate errors of the system in a `with` block, so that they name `path`."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        translate(error, path)


def is_out_of_memory(error: Exception) -> bool:
    """Whether the system had no address space or memory."""
    codes = (getattr(error, "code", 0), getattr(error, "errno", 0))
    return isinstance(error, lmdb.MemoryError) or errno.ENOMEM in codes


def is_left_from_fork(error: Exception) -> bool:
    """Whether the error comes from an LMDB environment that was inherited across a fork.

    A thread that does not exist in this process has kept that environment open.
    """
    return _was_forked and _is_open_already(error)


def _is_open_already(error: Exception) -> bool:
    return "already open in this process" in str(error)


def _note_fork() -> None:
    global _was_forked
    _was_forked = True


# Whether this process, or a process before it, was forked from one that had loaded this module.
_was_forked = False
os.register_at_fork(after_in_child=_note_fork)
