"""Advisory locks on files: one may have a lock alone, or many share it.

`writer.lock` is held for the length of a write transaction.  LMDB has such a lock, but waits for
it without end; this one can give up after a time.  Locks of presence (`presence`) are shared by
every process that has the database open.  The kernel releases all of them when their process dies.

A lock is on a file, not on its name: who takes a name away and puts another file there has made
another lock.  `is_in_place` tells.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from simdb.errors import BusyError
from simdb.storage.files.pauses import pauses
from simdb.storage.files.plain import is_same_file, open_regular
from simdb.storage.translation import translate

LONGEST_PAUSE_SECONDS = 0.02


class FileLock:
    """One lock file, opened once; taken and given back as often as needed."""

    def __init__(self, path: str, *, is_made: bool = True) -> None:
        """Open the file at `path`, and make it where missing if `is_made`.

        FormatError unless it is a plain file under one name.
        """
        self.path = path
        self.descriptor = -1
        flags = os.O_RDWR | os.O_CREAT if is_made else os.O_RDONLY
        self.descriptor = open_regular(path, flags, is_alone=is_made)

    def take(self, timeout: float | None) -> None:
        """Wait for the lock alone; BusyError when `timeout` seconds did not bring it."""
        self._wait(fcntl.LOCK_EX, timeout, "writing")

    def try_take(self) -> bool:
        """Take the lock alone if nobody has it."""
        return self._try(fcntl.LOCK_EX)

    def share(self, timeout: float | None = None) -> None:
        """Hold the lock together with others; waits while somebody has it alone."""
        self._wait(fcntl.LOCK_SH, timeout, "replacing the data file")

    def release(self) -> None:
        """Give the lock back; nothing where it was closed."""
        if self.descriptor >= 0:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file; the lock goes with it, unless a forked child still has it open."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is open is the one that has its name."""
        return is_same_file(self.path, os.fstat(self.descriptor))

    def __del__(self) -> None:
        """A lock that nobody has any more is given back."""
        if hasattr(self, "descriptor"):
            self.close()

    def _wait(self, kind: int, timeout: float | None, what: str) -> None:
        if timeout is None:
            fcntl.flock(self.descriptor, kind)
            return
        tries = pauses(timeout, longest_seconds=LONGEST_PAUSE_SECONDS)
        while not self._try(kind):
            if not next(tries, False):
                raise BusyError(
                    f"another process has been {what} for {timeout:g} seconds ({self.path});"
                    " try again, or open with a longer timeout="
                )

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def alone(lock: FileLock) -> Iterator[bool]:
    """Turn a shared lock into one held alone, if nobody shares it; yields whether that worked.

    The lock is shared again afterwards.  Turning it can lose it for a moment, which is harmless:
    whoever slips in holds it, and then this does not work.
    """
    is_alone = lock.try_take()
    try:
        yield is_alone
    finally:
        lock.share()


def open_lock(path: str, is_read_only: bool) -> FileLock | None:
    """The lock file; None where a read-only place does not let us make one."""
    try:
        return FileLock(path)
    except OSError as error:
        is_refused = error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOENT)
        if is_read_only and is_refused:
            return None
        translate(error, path)
