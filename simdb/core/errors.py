"""Errors: every exception that simdb raises on purpose.

All derive from `Error`, and each also inherits the built-in exception that a reader would catch.  A
message names the thing that is wrong, the value found, and what to do.  `undoing` calls a function
if an exception ends a `with` block.
"""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# The disk is full, the quota is used up, or the file exceeds a limit of the file system or process.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
DISK_FAILS = (errno.EIO, errno.EROFS, errno.ENXIO, errno.ESTALE)
TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)


class Error(Exception):
    """The base class of every error that simdb raises on purpose.

    `at_command` is the message of the command line, which may have a different remedy.  Arguments
    in it, such as recall=0.5, become options there.
    """

    def __init__(self, message: str = "", *, python: str = "", command: str = "") -> None:
        """Take the problem, and the remedies in a program and at the command line."""
        super().__init__(f"{message}; {python}" if python else message)
        self.at_command = f"{message}; {command}" if command else message

    def __str__(self) -> str:
        """Return the message itself; a KeyError would return its repr."""
        return Exception.__str__(self)


class OptionError(Error, ValueError):
    """An option has an impossible value, contradicts another or differs from the stored value."""


class InputError(Error, ValueError):
    """A document, an id or an array has a form that simdb does not accept."""


class FieldError(InputError):
    """A source has no field with the given name, or several."""


class NotFoundError(Error, KeyError):
    """No document has this id, or no database is at this path."""


class ExistsError(Error, KeyError):
    """A document with this id, or a database at this path, exists already."""


class ForbiddenError(Error, PermissionError):
    """The system does not let this user read the database."""


class ReadOnlyError(Error):
    """A database that was opened for reading was asked to write."""


class ClosedError(Error):
    """The database, snapshot or transaction is closed already."""


class BusyError(Error, TimeoutError):
    """Another user holds the write lock, or a snapshot that must end first."""


class ForkedError(Error):
    """The parent process began this or opened it to write; do that again in this process."""


class NotPickledError(Error, TypeError):
    """An object that reads from an open database or from files was pickled or copied."""


class ReplacedError(Error, RuntimeError):
    """A file of the open database was replaced or removed; close and open it everywhere."""


class FullError(Error):
    """The disk, the memory or the largest allowed size has no room; nothing was changed."""


class FormatError(Error):
    """The directory is not a simdb database, or has a version that this program cannot read."""


class CorruptError(Error):
    """Stored bytes differ from what was written."""


# Tracebacks show the names that users catch.
for _error in (Error, *Error.__subclasses__()):
    _error.__module__ = "simdb"


def no_descriptor(error: BaseException) -> FullError | None:
    """Return the error to raise if the process may open no more files; None for another cause."""
    if getattr(error, "errno", None) not in TOO_MANY_FILES:
        return None
    return FullError("the process may open no more files; raise this limit, as with ulimit -n 1024")


def full_disk(error: OSError, place: str) -> FullError | None:
    """Return the error to raise if writing `place` failed for want of room; None for other causes.

    The message mentions temporary files, which may have failed instead: the system often names no
    file.
    """
    said = f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
    if error.errno in DISK_FULL:
        what = f"no room on the disk of {place}, or on that of temporary files, whose folder TMPDIR"
        return FullError(f"{what} names: {said}")
    if error.errno in DISK_FAILS:
        return FullError(f"the disk of {place}, or that of temporary files, fails: {said}")
    return no_descriptor(error)


@contextmanager
def undoing(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if an exception leaves the `with` block."""
    try:
        yield
    except BaseException:
        undo()
        raise
