"""Locks on files: held by one process alone, or shared by many.

`writer.lock` is held during a write transaction.  LMDB has a lock for this too, but waits for it
for ever; this lock can give up after a timeout.  The locks of `presence` are shared by every
process that has the database open.  The operating system releases all locks of a process that dies.

A lock belongs to a file, not to its name: if another file takes over the name, it has another lock.
`FileLock.is_in_place` says whether that has happened.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from simdb.ground.errors import BusyError
from simdb.storage.files.plain import is_same_file, open_regular
from simdb.storage.files.waits import Processes, pauses, wait
from simdb.storage.translation import translate

LONGEST_PAUSE_SECONDS = 0.02


class FileLock:
    """One lock file, opened once; taken and released as often as needed."""

    def __init__(self, path: str, *, is_made: bool = True) -> None:
        """Open the file at `path`; `is_made`: create it if it is missing.

        FormatError unless it is a plain file with only one name.
        """
        self.path = path
        flags = os.O_RDWR | os.O_CREAT if is_made else os.O_RDONLY
        self._file = open_regular(path, flags, is_alone=is_made)

    @property
    def descriptor(self) -> int:
        """The descriptor of the file; ValueError if it was closed."""
        return self._file.fileno()

    @property
    def is_closed(self) -> bool:
        """Whether the file was closed."""
        return self._file.closed

    def take(self, timeout: float | None) -> None:
        """Wait for the lock alone; BusyError after `timeout` seconds.

        A process that has waited long goes before one that comes.
        """
        board = Processes(self._file)
        if not wait(self.try_take, timeout, board, longest_seconds=LONGEST_PAUSE_SECONDS):
            raise self._busy(timeout, "writing")

    def try_take(self) -> bool:
        """Take the lock alone if it is free; return whether that worked."""
        return self._try(fcntl.LOCK_EX)

    def share(self, timeout: float | None = None) -> None:
        """Share the lock with others; wait while another process holds it alone."""
        if timeout is None:
            fcntl.flock(self.descriptor, fcntl.LOCK_SH)
            return
        tries = pauses(timeout, longest_seconds=LONGEST_PAUSE_SECONDS)
        while not self._try(fcntl.LOCK_SH):
            if not next(tries, False):
                raise self._busy(timeout, "replacing the data file")

    def release(self) -> None:
        """Release the lock; do nothing if it was closed."""
        if not self.is_closed:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, which releases the lock unless a forked child still has it open."""
        self._file.close()

    @property
    def is_in_place(self) -> bool:
        """Whether the open file is the one that now has its name."""
        return is_same_file(self.path, os.fstat(self.descriptor))

    def __del__(self) -> None:
        """Close the file when the object is deleted."""
        if hasattr(self, "_file"):
            self.close()

    def _busy(self, timeout: float | None, what: str) -> BusyError:
        return BusyError(
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
    """Hold a shared lock alone for a `with` statement, if no other process shares it.

    Yields whether that worked; the lock is shared again afterwards.  The change can drop the lock
    for a moment, which is harmless: if another process takes it then, this yields False.
    """
    is_alone = lock.try_take()
    try:
        yield is_alone
    finally:
        lock.share()


def open_lock(path: str, is_read_only: bool) -> FileLock | None:
    """Open the lock file; None if the place is read-only and the file is missing."""
    try:
        return FileLock(path)
    except OSError as error:
        is_refused = error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOENT)
        if is_read_only and is_refused:
            return None
        translate(error, path)
