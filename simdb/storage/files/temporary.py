"""Temporary folders: where a database without a path lies, until it is closed or collected."""

import os
import shutil
import tempfile
import weakref

from simdb.errors import ReadOnlyError
from simdb.storage.files.memory import memory_bytes

# The folder of Linux whose files are in memory, and the room that it must have: small ones, as
# containers have, would be full soon.
MEMORY_FOLDER = "/dev/shm"
ROOM_BYTES = 1 << 30
# The database should take only a part of what this process may use.
MEMORY_LEAST_BYTES = 4 * ROOM_BYTES


class TemporaryFolder:
    """A new folder, in memory where the system has room for it there.

    It is removed by `remove`, when nothing refers to the object any more, and at the end of the
    process that made it; a forked child leaves it to its parent.
    """

    def __init__(self) -> None:
        """Make the folder; ReadOnlyError if none can be made."""
        try:
            self.path = tempfile.mkdtemp(prefix="simdb-", dir=_place())
        except OSError as error:
            raise ReadOnlyError(
                f"no temporary folder can be made: {error}; set TMPDIR to a folder that can be"
                " written, or give simdb.open a path"
            ) from error
        self._removal = weakref.finalize(self, _remove, self.path, os.getpid())

    def remove(self) -> None:
        """Remove the folder with its files; a second call does nothing."""
        self._removal()


def _place() -> str | None:
    """Return the folder in memory if it has room; None for the usual temporary folder."""
    is_usable = os.access(MEMORY_FOLDER, os.W_OK | os.X_OK)
    if not is_usable or memory_bytes() < MEMORY_LEAST_BYTES:
        return None
    state = os.statvfs(MEMORY_FOLDER)
    return MEMORY_FOLDER if state.f_bavail * state.f_frsize >= ROOM_BYTES else None


def _remove(path: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
