"""Two advisory locks beside LMDB's own: who writes, and whether anybody else is here.

`writer.lock` is held for the length of a write transaction.  LMDB has such a lock, but waits for
it without end; this one can give up after a time.  `presence.lock` is held shared by every
process that has the database open; only a process that can have it alone may put another file in
the place of the data file.  Both are released by the kernel when their process dies.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from simdb.errors import BusyError, FullError, ReadOnlyError

WRITER_LOCK = "writer.lock"
PRESENCE_LOCK = "presence.lock"
FIRST_PAUSE_SECONDS = 0.0005
LONGEST_PAUSE_SECONDS = 0.02


class FileLock:
    """One lock file, opened once; taken and given back as often as needed."""

    def __init__(self, path: str) -> None:
        """Open, and make where missing, the file at `path`."""
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, timeout: float | None) -> None:
        """Wait for the lock alone; BusyError when `timeout` seconds did not bring it."""
        if timeout is None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            return
        deadline = time.monotonic() + timeout
        pause = FIRST_PAUSE_SECONDS
        while not self.try_take():
            if time.monotonic() >= deadline:
                raise BusyError(
                    f"another process has been writing for {timeout:g} seconds ({self.path});"
                    " try again, or open with a longer timeout="
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def try_take(self) -> bool:
        """Take the lock alone if nobody has it."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def share(self) -> None:
        """Hold the lock together with others; waits while somebody has it alone."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def release(self) -> None:
        """Give the lock back."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file; the lock goes with it, unless a forked child still has it open."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


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
        if is_read_only and error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOENT):
            return None
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise ReadOnlyError(f"{path} may not be written: {error}") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FullError(f"no room for {path}: {error}") from error
        raise
