"""Every exception of the package.

All derive from `Error`; each also is the built-in exception that a reader would catch.  A message
names the thing that is wrong, what was found and what would help.
"""


class Error(Exception):
    """Anything that simdb raises on purpose."""


class OptionError(Error, ValueError):
    """An option has no such value, contradicts another or differs from the stored one."""


class InputError(Error, ValueError):
    """A document, id or array cannot be taken as it is."""


class NotFoundError(Error, KeyError):
    """No document has this id, or no database is at this path."""

    def __str__(self) -> str:
        """The message itself; a KeyError would print its repr."""
        return str(self.args[0]) if self.args else ""


class ExistsError(Error, KeyError):
    """A document with this id, or a database at this path, is there already."""

    def __str__(self) -> str:
        """The message itself; a KeyError would print its repr."""
        return str(self.args[0]) if self.args else ""


class ReadOnlyError(Error):
    """A write was asked of a database that was opened for reading."""


class ClosedError(Error):
    """The database, snapshot or transaction was closed before."""


class BusyError(Error, TimeoutError):
    """Somebody else holds what is needed: the write lock, or a snapshot that must end first."""


class ForkedError(Error):
    """The database was opened by the parent process; open it again in this one."""


class ReplacedError(Error, RuntimeError):
    """A file of the open database was replaced or removed; close it everywhere, open it again."""


class FullError(Error):
    """The disk, or the largest allowed size of the database, has no room; nothing was changed."""


class FormatError(Error):
    """The directory is no simdb database, or of a version that this program cannot read."""


class CorruptError(Error):
    """Stored bytes are not what was written."""
