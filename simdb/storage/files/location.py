"""Location: the directory of a database, which must be its own and on a local file system.

A database without a path lies in a temporary folder until it is closed or collected.
"""

import errno
import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from glob import escape, glob
from typing import BinaryIO, TypeVar

from simdb.core.errors import (
    DISK_FULL,
    ClosedError,
    ExistsError,
    ForbiddenError,
    FormatError,
    FullError,
    InputError,
    NotFoundError,
    OptionError,
    ReadOnlyError,
)
from simdb.core.memory import memory_bytes
from simdb.storage.files.locks import FileLock, lock_directory, make_locked
from simdb.storage.files.plain import (
    DATA_FILE,
    LMDB_LOCK,
    OWN_FILES,
    PRESENCE_LOCK,
    SHARDS_FILE,
    check_regular,
)

Result = TypeVar("Result")

# LMDB needs locks and shared memory maps of one machine, which these do not give.
NETWORK_TYPES = {
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse.cephfs", "fuse.glusterfs", "fuse.s3fs",
    "fuse.sshfs", "gfs2", "gpfs", "lustre", "nfs", "nfs4", "ocfs2", "smb3", "smbfs",
}  # fmt: skip
DURABILITIES = ("full", "process", "none")
MOUNTS = "/proc/self/mountinfo"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# The folder of Linux whose files are in memory, and the room that it must have: small ones, as
# containers have, would be full soon.
MEMORY_FOLDER = "/dev/shm"
ROOM_BYTES = 1 << 30
# The database should take only a part of what this process may use: one in so many.
MEMORY_PART = 4
PREFIX = "simdb-temporary-"
DATABASE = "temporary.simdb"
# At this age there is no database in a folder because there will be none.
ABANDONED_SECONDS = 60


def directory_of(path: str | os.PathLike[str]) -> str:
    """Return a path as text; InputError if it is none."""
    try:
        return os.fsdecode(path)
    except TypeError as error:
        raise InputError(f"path must be a str or a path, got {type(path).__name__}") from error


def prepare(path: str, mode: str) -> None:
    """Make the directory if `mode` allows it; raise an error if `path` cannot be a database."""
    if not path:
        raise NotFoundError("the path of the database is empty")
    if os.path.exists(path) and not os.path.isdir(path):
        raise FormatError(
            f"{path} is a file",
            python="a simdb database is a directory",
            command="a database is a directory; simdb dedup finds near-duplicates in files",
        )
    exists = _has_data_file(path, mode)
    if not exists and os.path.lexists(os.path.join(path, SHARDS_FILE)):
        raise FormatError(
            f"{path} is a sharded database",
            python="open it with simdb.open_sharded, or one of its shards",
            command="get, query, lookup, pairs, clusters, explain, plan, stats, check and doctor"
            " take it whole, all others one of its shards",
        )
    if mode in ("r", "w") and not exists:
        raise NotFoundError(
            f"there is no database at {path}",
            python="mode 'c' creates one",
            command=f"simdb create {path} makes one",
        )
    if mode == "x" and exists:
        raise ExistsError(
            f"there is a database at {path} already",
            python="mode 'w' opens it",
            command=f"simdb insert {path} SOURCE adds to it",
        )
    if not exists:
        check_name(path)
        _make(path)
    kind = file_system(path)
    if kind in NETWORK_TYPES:
        raise OptionError(
            f"{path} lies on a network file system ({kind}), where memory maps and locks are not"
            " safe; keep the database on a local disk"
        )


def check_name(path: str) -> None:
    """Raise an error for the name of a new database that surely means something else."""
    if path == ":memory:":
        raise OptionError(
            "a database is a directory on a local disk", python="one in memory is simdb.open(None)"
        )
    if URL.match(path):
        raise OptionError(
            f"{path} is no directory: a database is a directory on a local disk; copy it there,"
            " and open the copy"
        )


def is_new(path: str, mode: str) -> bool:
    """Whether opening with `mode` must create the database."""
    return mode in ("c", "x") and not os.path.lexists(os.path.join(path, DATA_FILE))


def is_database(path: str) -> bool:
    """Whether a directory holds a database, or a sharded one."""
    return any(os.path.lexists(os.path.join(path, name)) for name in (DATA_FILE, SHARDS_FILE))


def closed(path: str) -> ClosedError:
    """Return what to raise for a use of the database at `path`, which was closed."""
    if os.path.basename(os.path.dirname(path)).startswith(PREFIX):
        return ClosedError(
            "the temporary database is closed, and nothing of it is left; use it before it is"
            " closed, or give simdb.open a path"
        )
    return ClosedError(f"{path} is closed; use it before it is closed, or open it again")


def file_system(path: str) -> str:
    """Return the file system type of `path`; "" if the system does not tell."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)
    best, found = "", ""
    for line in lines:
        fields, _, details = line.partition(" - ")
        mount = fields.split()[4].replace("\\040", " ")
        is_under = real == mount or real.startswith(mount.rstrip("/") + "/")
        if is_under and len(mount) >= len(best):
            best, found = mount, details.split()[0]
    return found


def write_whole(
    path: str, temporary: str, write: Callable[[BinaryIO], Result], *, mode: int = 0o600
) -> Result:
    """Write the file `path` with `write`, complete and synced or not at all; return its result.

    Until then the file is called `temporary`, in the same directory.  `mode`: of a new file.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        with open(path, "wb") as file:  # a pipe or a device, which a file would replace
            return write(file)
    # The file owns its descriptor from the first moment, so no interruption leaves it open.
    opener = partial(os.open, mode=mode)
    try:
        with open(temporary, "wb", opener=opener) as file:
            result = write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_directory(os.path.dirname(os.path.abspath(path)))
    return result


def sync_directory(path: str) -> None:
    """Sync a directory, so that the names in it survive power loss."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class TemporaryFolder:
    """A new folder, in memory where the system has room for it there.

    It is removed by `remove`, after a `with` block, when nothing refers to the object any more, and
    at the end of the process that made it; a forked child leaves it to its parent.  The folder of a
    process that was killed is removed when the next one is made: the process held a lock on it.

    `database`: the path for the database in it.
    """

    def __init__(self, room_bytes: int | None = ROOM_BYTES) -> None:
        """Make the folder; ReadOnlyError if none can be made.

        `room_bytes`: it is in memory only if so much is free there; None puts it on the disk.
        """
        locks = ExitStack()
        try:
            in_memory = None if room_bytes is None else _place(max(room_bytes, ROOM_BYTES))
            place = in_memory or tempfile.gettempdir()
            _remove_abandoned(place)
            self.path = make_locked(place, PREFIX, "", locks)
        except OSError as error:
            raise ReadOnlyError(
                f"no temporary folder can be made: {error}; set TMPDIR to a folder that can be"
                " written, or give simdb.open a path"
            ) from error
        self.database = os.path.join(self.path, DATABASE)
        self._removal = weakref.finalize(self, _remove, self.path, os.getpid(), locks)

    def remove(self) -> None:
        """Remove the folder with its files; a second call does nothing."""
        self._removal()

    def __enter__(self) -> str:
        """Return the path of the folder."""
        return self.path

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Remove the folder."""
        self.remove()


def _has_data_file(path: str, mode: str) -> bool:
    """Whether there is a data file; FormatError if it is empty, or if a file is not plain.

    LMDB opens the data file and its lock file by name, and would follow a link or wait for a pipe.
    """
    data_file = os.path.join(path, DATA_FILE)
    try:
        check_regular(os.path.join(path, LMDB_LOCK), is_alone=True)
        found = check_regular(data_file, is_alone=mode != "r")
        may_read = found is None or os.access(data_file, os.R_OK)
    except PermissionError:
        may_read, found = False, None
    except (OSError, ValueError):
        return False  # making the directory then raises an error with the reason
    if not may_read:
        raise ForbiddenError(
            f"{path} may not be read by this user; its owner can let others read the directory and"
            " its files"
        )
    if found is not None and not found.st_size:
        raise FormatError(
            f"{data_file} is empty, which a data file never is: its content was cut off.  Restore"
            " the database from a copy, or remove its directory to make a new one"
        )
    return found is not None


def _make(path: str) -> None:
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        strangers = sorted(set(os.listdir(path)) - OWN_FILES)
    except ValueError as error:
        raise InputError(f"{path!r} is no path: {error}") from error
    except OSError as error:
        if error.errno in DISK_FULL:
            raise FullError(f"no room for {path}: {error}") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ReadOnlyError(f"{path} cannot be made: {error}") from error
        raise InputError(f"{path} cannot be made: {error}") from error
    if strangers:
        raise FormatError(
            f"{path} holds other files ({strangers[0]!r}); a database needs a directory of its own"
        )


def _place(room_bytes: int) -> str | None:
    """Return the folder in memory if it has room; None for the usual temporary folder."""
    is_usable = os.access(MEMORY_FOLDER, os.W_OK | os.X_OK)
    if not is_usable or memory_bytes() < MEMORY_PART * room_bytes:
        return None
    state = os.statvfs(MEMORY_FOLDER)
    return MEMORY_FOLDER if state.f_bavail * state.f_frsize >= room_bytes else None


def _remove(path: str, process: int, locks: ExitStack) -> None:
    with locks:
        if os.getpid() == process:
            shutil.rmtree(path, ignore_errors=True)


def _remove_abandoned(place: str) -> None:
    """Remove the folders of processes of this user that were killed: nobody holds their locks."""
    for folder in glob(os.path.join(escape(place), f"{PREFIX}*")):
        with suppress(OSError, FormatError), ExitStack() as locks:
            state = lock_directory(folder, locks)
            if state.st_uid == os.getuid() and _is_unused(os.path.join(folder, DATABASE), state):
                shutil.rmtree(folder, ignore_errors=True)


def _is_unused(database: str, state: os.stat_result) -> bool:
    """Whether no process, such as one that a pickle went to, has the database in a folder open."""
    presence = os.path.join(database, PRESENCE_LOCK)
    if os.path.lexists(presence):
        return FileLock(presence, is_made=False).try_take()
    return time.time() - state.st_mtime >= ABANDONED_SECONDS
