"""Temporary folders: where a database without a path lies, until it is closed or collected."""

import os
import shutil
import tempfile
import time
import weakref
from glob import escape, glob

from simdb.ground.errors import FormatError, ReadOnlyError
from simdb.running.memory import memory_bytes
from simdb.storage.files.locks import FileLock
from simdb.storage.files.names import PRESENCE_LOCK

# The folder of Linux whose files are in memory, and the room that it must have: small ones, as
# containers have, would be full soon.
MEMORY_FOLDER = "/dev/shm"
ROOM_BYTES = 1 << 30
# The database should take only a part of what this process may use: one in so many.
MEMORY_PART = 4
PREFIX = "simdb-temporary-"
DATABASE = "temporary.simdb"
# A folder of this age has its locks, so that its owner is known to live or not.
ABANDONED_SECONDS = 60


class TemporaryFolder:
    """A new folder, in memory where the system has room for it there.

    It is removed by `remove`, when nothing refers to the object any more, and at the end of the
    process that made it; a forked child leaves it to its parent.  The folder of a process that was
    killed is removed when the next one is made.

    `database`: the path for the database in it.
    """

    def __init__(self, room_bytes: int = ROOM_BYTES) -> None:
        """Make the folder; ReadOnlyError if none can be made.

        `room_bytes`: it is in memory only if so much is free there.
        """
        try:
            place = _place(max(room_bytes, ROOM_BYTES)) or tempfile.gettempdir()
            _remove_abandoned(place)
            self.path = tempfile.mkdtemp(prefix=PREFIX, dir=place)
        except OSError as error:
            raise ReadOnlyError(
                f"no temporary folder can be made: {error}; set TMPDIR to a folder that can be"
                " written, or give simdb.open a path"
            ) from error
        self.database = os.path.join(self.path, DATABASE)
        self._removal = weakref.finalize(self, _remove, self.path, os.getpid())

    def remove(self) -> None:
        """Remove the folder with its files; a second call does nothing."""
        self._removal()


def _place(room_bytes: int) -> str | None:
    """Return the folder in memory if it has room; None for the usual temporary folder."""
    is_usable = os.access(MEMORY_FOLDER, os.W_OK | os.X_OK)
    if not is_usable or memory_bytes() < MEMORY_PART * room_bytes:
        return None
    state = os.statvfs(MEMORY_FOLDER)
    return MEMORY_FOLDER if state.f_bavail * state.f_frsize >= room_bytes else None


def _remove(path: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


def _remove_abandoned(place: str) -> None:
    """Remove the folders of processes of this user that were killed: nobody holds their locks."""
    for path in glob(os.path.join(escape(place), f"{PREFIX}*", DATABASE, PRESENCE_LOCK)):
        folder = os.path.dirname(os.path.dirname(path))
        try:
            state = os.lstat(folder)
            is_old = time.time() - state.st_mtime >= ABANDONED_SECONDS
            if is_old and state.st_uid == os.getuid() and FileLock(path, is_made=False).try_take():
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, FormatError):
            continue
