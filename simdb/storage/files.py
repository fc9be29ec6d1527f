"""Files: the plain files of a database, their locks, and its directory.

A directory may come from a stranger.  A link in it would make simdb create or overwrite a file
elsewhere, and reading a pipe would never end.  So only plain files are opened.

Files belong to their owner alone, under any umask.  To share a database with a group, make its
directory with the setgid bit and with permissions for the group: `mkdir -m 2750` for reading,
`mkdir -m 2770` also for writing.

A write transaction holds `writer.lock`.  LMDB also has such a lock, but waits for it for ever; this
one supports a timeout.  Every process that has the database open shares the locks of `presence`.
The operating system releases all locks of a process that dies.

A lock belongs to a file, not to its name.  If another file takes over the name, that file has
another lock; `FileLock.is_in_place` detects this.

Waiting with a timeout means polling.  A holder that wants its lock back at once always polls before
a caller that sleeps.  So a caller that has waited for `PATIENCE_SECONDS` leaves a note and renews
it while it waits; later callers do not try meanwhile.  A note that is not renewed expires, so a
caller that dies or is stopped delays nobody for long.  Notes only tell callers whether to try; the
holder of the lock ignores them.

A database needs a directory of its own on a local file system.  A database without a path is in a
temporary folder until it is closed or collected.  A new directory is completed next to its place
and then moved.  Its maker holds a lock on it, so that the next process that makes the same
directory can recognise and remove abandoned ones.
"""

import errno
import fcntl
import io
import os
import re
import shutil
import stat
import struct
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from functools import partial
from glob import escape, glob
from typing import BinaryIO, NoReturn, TypeVar

import lmdb

from simdb.core import errors
from simdb.core.memory import memory_bytes

DATA_FILE = "data.mdb"
LMDB_LOCK = "lock.mdb"  # LMDB's table of readers
WRITER_LOCK = "writer.lock"
PRESENCE_LOCK = "presence.lock"
IDF_FILE = "idf.table"
# Names of unfinished files, which are moved into place when they are complete.
NEW_FILE = "data.mdb.new"
COPY_FILE = "data.mdb.copy"
IDF_TEMPORARY = "idf.table.new"
# Names the databases in a directory that form a sharded database; see `shards_file.py`.
SHARDS_FILE = "shards.json"
OWN_FILES = {
    DATA_FILE, LMDB_LOCK, WRITER_LOCK, PRESENCE_LOCK, IDF_FILE, NEW_FILE, COPY_FILE, IDF_TEMPORARY,
}  # fmt: skip
OWN_MODE = 0o600
GROUP_READS, GROUP_WRITES = 0o040, 0o020
# Even readers write to these.
LOCKS = {LMDB_LOCK, PRESENCE_LOCK, WRITER_LOCK}
LONGEST_PAUSE_SECONDS = 0.02
# Passing the lock on costs a pause, so callers only ask for it after this time.
PATIENCE_SECONDS = 0.1
# The next caller in line tries often, so that the lock is not idle for long.
NEXT_PAUSE_SECONDS = 0.002
RENEWAL_SECONDS = 0.02
# Several renewals, for callers that the system delays.
LAPSE_SECONDS = 0.1
# Times of `time.monotonic` in seconds: the arrival of the caller, and its last renewal.
NOTE = struct.Struct("<dd")
NO_NOTE = 0.0, 0.0
FIRST_SECONDS = 0.0001
Result = TypeVar("Result")

# LMDB needs the locks and shared memory maps of one machine, which these do not offer.
NETWORK_TYPES = {
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse.cephfs", "fuse.glusterfs", "fuse.s3fs",
    "fuse.sshfs", "gfs2", "gpfs", "lustre", "nfs", "nfs4", "ocfs2", "smb3", "smbfs",
}  # fmt: skip
DURABILITIES = ("full", "process", "none")
MOUNTS = "/proc/self/mountinfo"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Linux keeps the files of this folder in memory.  ROOM_BYTES must be free there, since the small
# one of a container would soon be full.
MEMORY_FOLDER = "/dev/shm"
ROOM_BYTES = 1 << 30
# The database may take 1 / MEMORY_PART of the memory of this process.
MEMORY_PART = 4
PREFIX = "simdb-temporary-"
DATABASE = "temporary.simdb"
# A folder of this age without a database is abandoned.
ABANDONED_SECONDS = 60
IMPOSSIBLE = (errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP)


class MapFull(Exception):  # noqa: N818 - not an error: the writer grows the map and goes on
    """A signal that the map has no room for the change."""


def translate(error: Exception, path: str) -> NoReturn:
    """Raise the error of simdb for an error of LMDB or of the system."""
    raise _translation(error, path) from error


def _translation(error: Exception, path: str) -> errors.Error:
    """Return the error of simdb for an error of LMDB or of the system."""
    code = getattr(error, "code", 0) or getattr(error, "errno", 0)
    if isinstance(error, lmdb.DiskError) or code in errors.DISK_FULL:
        return errors.FullError(f"no room on the disk of {path}; nothing was changed: {error}")
    if is_out_of_memory(error):
        return errors.FullError(
            f"the system has no memory left for {path}; nothing was changed: {error}"
        )
    if code == errno.EIO:
        # LMDB reports an I/O error if the disk takes only part of a write.
        return errors.FullError(
            f"no room on the disk of {path}, or it fails; nothing was changed: {error}"
        )
    if isinstance(error, lmdb.CorruptedError | lmdb.PageNotFoundError):
        return errors.CorruptError(f"{path} is damaged: {error}")
    if _is_open_already(error) and not _was_forked:
        return errors.BusyError(
            f"{path} is still open in this process: a snapshot, transaction or iterator of a handle"
            " that was dropped has not ended; end it, and try again"
        )
    if is_left_from_fork(error):
        return errors.ForkedError(
            f"{path} cannot be opened in this process: it was forked while another thread of its"
            " parent was using the database; start processes with 'spawn' or 'forkserver' instead"
        )
    if isinstance(error, lmdb.PanicError):
        return errors.Error(
            f"an earlier commit to {path} could not be completed, so LMDB refuses to go on; close"
            f" the database and open it again: {error}"
        )
    if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
        return errors.FormatError(f"{path} is not a data file that this LMDB can read: {error}")
    if isinstance(error, lmdb.ReadonlyError) or code in (errno.EACCES, errno.EROFS, errno.EPERM):
        return errors.ReadOnlyError(f"{path} cannot be written: {error}")
    return errors.Error(f"{path}: {error}")


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Translate errors of the system in a `with` block so that they name `path`."""
    try:
        yield
    except errors.Error:
        raise
    except OSError as error:
        translate(error, path)


def is_out_of_memory(error: Exception) -> bool:
    """Return whether the system ran out of address space or memory."""
    codes = (getattr(error, "code", 0), getattr(error, "errno", 0))
    return isinstance(error, lmdb.MemoryError) or errno.ENOMEM in codes


def is_left_from_fork(error: Exception) -> bool:
    """Return whether the error comes from an LMDB environment inherited by a fork.

    A thread of the parent, which does not exist in this process, has kept that environment open.
    """
    return _was_forked and _is_open_already(error)


def _is_open_already(error: Exception) -> bool:
    return "already open in this process" in str(error)


def _note_fork() -> None:
    global _was_forked
    _was_forked = True


# This process or an ancestor was forked after loading this module.
_was_forked = False
os.register_at_fork(after_in_child=_note_fork)


def open_regular(path: str, flags: int, *, is_alone: bool) -> io.FileIO:
    """Open the plain file at `path`; raise FormatError or OSError.

    The returned object owns the descriptor, so that it is closed exactly once.  `is_alone`: refuse
    a file with a second name (hard link), because it will be written.
    """
    try:
        # Without O_NONBLOCK, opening a pipe waits for its other end.
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
    return io.FileIO(descriptor, "r+" if flags & os.O_RDWR else "r")


def file_times(path: str) -> tuple[datetime | None, datetime]:
    """Return the times of creation (None if unknown) and of the last write of a database."""
    written = os.stat(os.path.join(path, DATA_FILE)).st_mtime
    # The writer's lock file is created with the database and never written, so its time is that of
    # creation.  If it was missing, a later opening has created it, and its time means nothing.
    lock = os.path.join(path, WRITER_LOCK)
    created = os.stat(lock).st_mtime if os.path.exists(lock) else written + 1
    shown = [datetime.fromtimestamp(each, timezone.utc) for each in (created, written)]
    return shown[0] if created <= written else None, shown[1]


def check_regular(path: str, *, is_alone: bool) -> os.stat_result | None:
    """Return the status of the file at `path`, or None; raise FormatError unless it is regular."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    _check(path, found, is_alone=is_alone)
    return found


def check_directory(path: str) -> bool:
    """Return whether the directory `path` exists; raise FormatError if it is a file."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise errors.FormatError(f"{path} is {_kind(found.st_mode)}; it must be a directory")
    return True


def is_same_file(path: str, before: os.stat_result) -> bool:
    """Return whether the file with the status `before` still has the name `path`."""
    try:
        now = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(now, before)


def is_shared(path: str) -> bool:
    """Return whether the directory of a database is shared with its group."""
    mode = os.stat(path).st_mode
    return bool(mode & stat.S_ISGID and mode & GROUP_READS)


def file_mode(path: str, name: str) -> int:
    """Return the mode of the file `name` in the directory of a database."""
    if not is_shared(path):
        return OWN_MODE
    writes = GROUP_WRITES if name in LOCKS else os.stat(path).st_mode & GROUP_WRITES
    return OWN_MODE | GROUP_READS | writes


def share_files(path: str) -> None:
    """Set the group permissions of this user's files in a shared directory."""
    if not is_shared(path):
        return
    for name in OWN_FILES:
        wanted = file_mode(path, name)
        # The files of other users are shared by them, and some places cannot be changed.
        with (
            suppress(OSError),
            open_regular(os.path.join(path, name), os.O_RDONLY, is_alone=False) as file,
        ):
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) != wanted:
                os.fchmod(file.fileno(), wanted)


def _check(path: str, found: os.stat_result, *, is_alone: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise errors.FormatError(
            f"{path} is {_kind(found.st_mode)}; the files of a database are plain files in its own"
            " directory"
        )
    if is_alone and found.st_nlink > 1:
        raise errors.FormatError(
            f"{path} is one file under {found.st_nlink} names (hard links), and writing it would"
            " change all of them; give the database a copy of its own"
        )


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISREG(mode):
        return "a file"
    return "a pipe" if stat.S_ISFIFO(mode) else "no plain file"


class FileLock:
    """A lock file, opened once, that can be taken and released repeatedly."""

    def __init__(self, path: str, *, is_made: bool = True) -> None:
        """Open the file at `path`; `is_made`: create it if it is missing.

        Raises FormatError unless it is a plain file with a single name.
        """
        self.path = path
        flags = os.O_RDWR | os.O_CREAT if is_made else os.O_RDONLY
        self._file = open_regular(path, flags, is_alone=is_made)

    @property
    def descriptor(self) -> int:
        """Descriptor of the file; raise ValueError if it was closed."""
        return self._file.fileno()

    @property
    def is_closed(self) -> bool:
        """Whether the file was closed."""
        return self._file.closed

    def take(self, timeout: float | None) -> None:
        """Wait for the exclusive lock; BusyError after `timeout` seconds.

        A process that has waited long precedes a new one.
        """
        board = Board(self._file)
        if not wait(self.try_take, timeout, board, longest_seconds=LONGEST_PAUSE_SECONDS):
            raise self._busy(timeout, "writing")

    def try_take(self) -> bool:
        """Try to take the exclusive lock; return whether that worked."""
        return self._try(fcntl.LOCK_EX)

    def share(self, timeout: float | None = None) -> None:
        """Take the shared lock; wait while another process holds the exclusive one."""
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
        """Whether the open file still has its name."""
        return is_same_file(self.path, os.fstat(self.descriptor))

    def __del__(self) -> None:
        """Close the file when the object is deleted."""
        if hasattr(self, "_file"):
            self.close()

    def _busy(self, timeout: float | None, what: str) -> errors.BusyError:
        return errors.BusyError(
            f"another process has been {what} for {timeout:g} seconds ({self.path})",
            python="try again, or open with a longer timeout=",
            command="try again later",
        )

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def make_locked(parent: str, prefix: str, suffix: str, locks: ExitStack) -> str:
    """Make a new directory, lock it until `locks` is closed, and return its path."""
    while True:
        path = tempfile.mkdtemp(suffix, prefix, parent)
        # Until it is locked it looks abandoned, and another process may remove it.
        with suppress(FileNotFoundError, BlockingIOError):
            try:
                state = lock_directory(path, locks)
            except (FileNotFoundError, BlockingIOError):
                raise
            except OSError:
                return path  # this file system has no such locks, so nobody removes it
            if is_same_file(path, state):
                return path
        with suppress(OSError):
            os.rmdir(path)


def lock_directory(directory: str, locks: ExitStack) -> os.stat_result:
    """Lock a directory until `locks` is closed; raise OSError, BlockingIOError if it is locked.

    Returns the status of the locked directory.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    locks.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return os.fstat(descriptor)


@contextmanager
def alone(lock: FileLock) -> Iterator[bool]:
    """Make a shared lock exclusive for a `with` block, unless another process shares it.

    Yields whether that worked; afterwards the lock is shared again.  The change may release the
    lock for a moment.  If another process takes it then, this yields False.
    """
    is_alone = lock.try_take()
    try:
        yield is_alone
    finally:
        lock.share()


def open_lock(path: str, is_read_only: bool) -> FileLock | None:
    """Open the lock file; None if it is missing in a read-only place."""
    try:
        return FileLock(path)
    except OSError as error:
        is_refused = error.errno in (errno.EACCES, errno.EROFS, errno.EPERM)
        if is_read_only and (is_refused or error.errno == errno.ENOENT):
            return None
        if is_refused:
            raise errors.ReadOnlyError(
                f"{path} cannot be written: {error}",
                python="to read the database, open it in mode 'r'",
                command="get, query, lookup and stats only read it",
            ) from error
        translate(error, path)


class Board:
    """A place for one note with two times: a caller's arrival and its last renewal, in seconds.

    For threads of one process it is in memory.  For processes it is in the first bytes of an open
    file, whose modification time is preserved.
    """

    def __init__(self, file: BinaryIO | None = None) -> None:
        """Start without a note; `file`: use its first bytes."""
        self._note = NO_NOTE
        self._file = file

    def read(self) -> tuple[float, float]:
        """Return the note; two zeros if there is none."""
        if self._file is None:
            return self._note
        data = os.pread(self._file.fileno(), NOTE.size, 0)
        if len(data) < NOTE.size:
            return NO_NOTE
        came, seen = NOTE.unpack(data)
        return came, seen

    def write(self, came: float, seen: float) -> None:
        """Replace the note."""
        if self._file is None:
            self._note = came, seen
            return
        # Use the object, since the number of a closed file may belong to another file.
        descriptor = self._file.fileno()
        before = os.fstat(descriptor)
        os.pwrite(descriptor, NOTE.pack(came, seen), 0)
        os.utime(descriptor, ns=(before.st_atime_ns, before.st_mtime_ns))


def wait(
    is_taken: Callable[[], bool], timeout: float | None, board: Board, *, longest_seconds: float
) -> bool:
    """Call `is_taken` until it returns True; return False after `timeout` seconds (None: never).

    Sleeps at most `longest_seconds` between two calls.  Lets an earlier caller with a note on the
    board go first.
    """
    came = time.monotonic()
    tries = pauses(timeout, longest_seconds=longest_seconds)
    noted = 0.0
    try:
        while not _is_next(came, board) or not is_taken():
            if not next(tries, False):
                return False
            now = time.monotonic()
            if now - came < PATIENCE_SECONDS or not _is_next(came, board):
                continue
            if not noted:
                left = None if timeout is None else timeout - (now - came)
                tries = pauses(left, longest_seconds=NEXT_PAUSE_SECONDS)
            if now - noted >= RENEWAL_SECONDS:
                noted = now
                board.write(came, now)
        return True
    finally:
        if noted and board.read()[0] == came:
            board.write(*NO_NOTE)


def _is_next(came: float, board: Board) -> bool:
    """Return whether no earlier caller has an unexpired note."""
    earlier, seen = board.read()
    if not seen or earlier >= came:
        return True
    # A note from before the last boot can be in the future.
    return not 0 <= time.monotonic() - seen < LAPSE_SECONDS


def pauses(timeout: float | None, *, longest_seconds: float) -> Iterator[bool]:
    """Sleep before each item, each time twice as long; end after `timeout` seconds.

    Each item is True, so `next(pauses, False)` says whether to try again.  No sleep exceeds
    `longest_seconds`.  Without a timeout this never ends.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    seconds = FIRST_SECONDS
    while deadline is None or time.monotonic() < deadline:
        time.sleep(seconds)
        seconds = min(2 * seconds, longest_seconds)
        yield True


def directory_of(path: str | os.PathLike[str]) -> str:
    """Return a path as text; raise InputError for other types."""
    try:
        return os.fsdecode(path)
    except TypeError as error:
        raise errors.InputError(
            f"path must be a str or a path, got {type(path).__name__}"
        ) from error


def prepare(path: str, mode: str) -> None:
    """Create the directory if `mode` allows it; raise an error if `path` cannot be a database."""
    if not path:
        raise errors.NotFoundError("the path of the database is empty")
    if os.path.exists(path) and not os.path.isdir(path):
        raise errors.FormatError(
            f"{path} is a file",
            python="a simdb database is a directory",
            command="a database is a directory; simdb dedup finds near-duplicates in files",
        )
    exists = _has_data_file(path, mode)
    if not exists and os.path.lexists(os.path.join(path, SHARDS_FILE)):
        raise errors.FormatError(
            f"{path} is a sharded database",
            python="open it with simdb.open_sharded, or one of its shards",
            command="get, query, lookup, pairs, clusters, explain, plan, stats, check and doctor"
            " take it whole, all others one of its shards",
        )
    if mode in ("r", "w") and not exists:
        raise errors.NotFoundError(
            f"there is no database at {path}",
            python="mode 'c' creates one",
            command=f"simdb create {path} makes one",
        )
    if mode == "x" and exists:
        raise errors.ExistsError(
            f"there is a database at {path} already",
            python="mode 'w' opens it",
            command=f"simdb insert {path} SOURCE adds to it",
        )
    if not exists:
        check_name(path)
        _make(path)
    kind = file_system(path)
    if kind in NETWORK_TYPES:
        raise errors.OptionError(
            f"{path} lies on a network file system ({kind}), where memory maps and locks are not"
            " safe; keep the database on a local disk"
        )


def check_name(path: str) -> None:
    """Raise an error for a name of a new database that clearly means something else."""
    if path == ":memory:":
        raise errors.OptionError(
            "a database is a directory on a local disk", python="one in memory is simdb.open(None)"
        )
    if URL.match(path):
        raise errors.OptionError(
            f"{path} is not a directory: a database is a directory on a local disk; copy it there,"
            " and open the copy"
        )


def is_new(path: str, mode: str) -> bool:
    """Return whether opening with `mode` must create the database."""
    return mode in ("c", "x") and not os.path.lexists(os.path.join(path, DATA_FILE))


def is_database(path: str) -> bool:
    """Return whether a directory holds a database or a sharded database."""
    return any(os.path.lexists(os.path.join(path, name)) for name in (DATA_FILE, SHARDS_FILE))


def closed(path: str) -> errors.ClosedError:
    """Return the error for using a closed database at `path`."""
    if os.path.basename(os.path.dirname(path)).startswith(PREFIX):
        return errors.ClosedError(
            "the temporary database is closed, and nothing of it is left; use it before it is"
            " closed, or give simdb.open a path"
        )
    return errors.ClosedError(f"{path} is closed; use it before it is closed, or open it again")


def file_system(path: str) -> str:
    """Return the file system type of `path`; "" if unknown."""
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
    """Write the file `path` with `write`, completely and synced or not at all; return its result.

    Until then the file is called `temporary`, in the same directory.  `mode`: permissions of a new
    file.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        with open(path, "wb") as file:  # a pipe or a device must not be replaced by a file
            return write(file)
    # The file owns its descriptor from the start, so no interruption leaves it open.
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
    """A new folder, in memory if the system has enough room there.

    It is removed by `remove`, by the end of a `with` block, by garbage collection, or at the end of
    the process that made it.  A forked child leaves it to its parent.  The process holds a lock on
    its folder.  If it is killed, the next process that makes a folder removes it.

    `database`: the path for the database in it.
    """

    def __init__(self, room_bytes: int | None = ROOM_BYTES) -> None:
        """Make the folder; raise ReadOnlyError if that is impossible.

        `room_bytes`: free memory needed to put it in memory; None puts it on disk.
        """
        locks = ExitStack()
        try:
            in_memory = None if room_bytes is None else _place(max(room_bytes, ROOM_BYTES))
            place = in_memory or tempfile.gettempdir()
            _remove_folders(place)
            self.path = make_locked(place, PREFIX, "", locks)
        except OSError as error:
            raise errors.ReadOnlyError(
                f"no temporary folder can be made: {error}; set TMPDIR to a folder that can be"
                " written, or give simdb.open a path"
            ) from error
        self.database = os.path.join(self.path, DATABASE)
        self._removal = weakref.finalize(self, _remove_folder, self.path, os.getpid(), locks)

    def remove(self) -> None:
        """Remove the folder and its files; a second call does nothing."""
        self._removal()

    def __enter__(self) -> str:
        """Return the path of the folder."""
        return self.path

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Remove the folder."""
        self.remove()


def _has_data_file(path: str, mode: str) -> bool:
    """Return whether a data file exists; raise FormatError if it is empty, or a file is not plain.

    LMDB opens the data file and its lock file by name, so it would follow a link or wait for a
    pipe.
    """
    data_file = os.path.join(path, DATA_FILE)
    try:
        check_regular(os.path.join(path, LMDB_LOCK), is_alone=True)
        found = check_regular(data_file, is_alone=mode != "r")
        may_read = found is None or os.access(data_file, os.R_OK)
    except PermissionError:
        may_read, found = False, None
    except (OSError, ValueError):
        return False  # creating the directory then raises an error with the reason
    if not may_read:
        raise errors.ForbiddenError(
            f"{path} may not be read by this user; its owner can let others read the directory and"
            " its files"
        )
    if found is not None and not found.st_size:
        raise errors.FormatError(
            f"{data_file} is empty, which a data file never is: its content was cut off.  Restore"
            " the database from a copy, or remove its directory to make a new one"
        )
    return found is not None


def _make(path: str) -> None:
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        strangers = sorted(set(os.listdir(path)) - OWN_FILES)
    except ValueError as error:
        raise errors.InputError(f"{path!r} is not a path: {error}") from error
    except OSError as error:
        if error.errno in errors.DISK_FULL:
            raise errors.FullError(f"no room for {path}: {error}") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise errors.ReadOnlyError(f"{path} cannot be created: {error}") from error
        raise errors.InputError(f"{path} cannot be created: {error}") from error
    if strangers:
        raise errors.FormatError(
            f"{path} holds other files ({strangers[0]!r}); a database needs a directory of its own"
        )


def _place(room_bytes: int) -> str | None:
    """Return the folder in memory if it has room; None for the usual temporary folder."""
    is_usable = os.access(MEMORY_FOLDER, os.W_OK | os.X_OK)
    if not is_usable or memory_bytes() < MEMORY_PART * room_bytes:
        return None
    state = os.statvfs(MEMORY_FOLDER)
    return MEMORY_FOLDER if state.f_bavail * state.f_frsize >= room_bytes else None


def _remove_folder(path: str, process: int, locks: ExitStack) -> None:
    with locks:
        if os.getpid() == process:
            shutil.rmtree(path, ignore_errors=True)


def _remove_folders(place: str) -> None:
    """Remove the folders of this user's killed processes, whose locks are free."""
    for folder in glob(os.path.join(escape(place), f"{PREFIX}*")):
        with suppress(OSError, errors.FormatError), ExitStack() as locks:
            state = lock_directory(folder, locks)
            if state.st_uid == os.getuid() and _is_unused(os.path.join(folder, DATABASE), state):
                shutil.rmtree(folder, ignore_errors=True)


def _is_unused(database: str, state: os.stat_result) -> bool:
    """Return whether no process has the database open, by opening or by unpickling it."""
    presence = os.path.join(database, PRESENCE_LOCK)
    if os.path.lexists(presence):
        return FileLock(presence, is_made=False).try_take()
    return time.time() - state.st_mtime >= ABANDONED_SECONDS


def made_beside(
    target: str,
    suffix: str,
    make: Callable[[str], Result],
    *,
    settle: Callable[[Result], Result] | None = None,
) -> Result:
    """Let `make` fill a new directory, move that to `target`, and return the result of `make`.

    `make` must sync everything and leave nothing open.  Until it returns, the directory is called
    TARGET.*SUFFIX.  If `make` fails, the directory is removed; if the process is killed, the next
    call for `target` removes it.  Raises ExistsError if `target` exists.

    With `settle`, `target` may exist or appear meanwhile.  Then it is kept, the new directory is
    removed, and `settle` turns the result of `make` into the result.  Several machines may then
    make `target` at once.  Since not all file systems show the locks of other machines, no other
    unfinished directory is removed.
    """
    place = os.path.abspath(target)
    parent = os.path.dirname(place)
    try:
        if settle is None:
            _refuse_existing(target, place)
            _remove_abandoned(place, suffix)
        os.makedirs(parent, exist_ok=True)
        with ExitStack() as locks:
            temporary = make_locked(parent, os.path.basename(place) + ".", suffix, locks)
            try:
                result = make(temporary)
                sync_directory(temporary)
                if settle is None:
                    _refuse_existing(target, place)  # another process may have been faster
                if _has_moved(temporary, place, may_lose=settle is not None):
                    sync_directory(parent)
                    return result
            except BaseException:
                _remove_unfinished(temporary)
                raise
            _remove_unfinished(temporary)
    except errors.FullError as error:
        raise errors.FullError(
            f"{target} was not made, and nothing of it remains: {error}"
        ) from error
    except errors.Error:
        raise
    except OSError as error:
        if error.errno in IMPOSSIBLE:
            raise errors.InputError(f"{target} cannot be created: {error}") from error
        translate(error, target)
    assert settle is not None
    return settle(result)


def _remove_abandoned(place: str, suffix: str) -> None:
    """Remove the unfinished directories for `place` that no living process has locked."""
    parent, name = os.path.split(place)
    unfinished = re.compile(rf"{re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(suffix)}")
    with suppress(OSError):
        for each in filter(unfinished.fullmatch, os.listdir(parent)):
            path = os.path.join(parent, each)
            with suppress(OSError), ExitStack() as locks:
                lock_directory(path, locks)
                _remove_unfinished(path)


def _has_moved(temporary: str, place: str, *, may_lose: bool) -> bool:
    """Move the directory; return False if it `may_lose` and its place is taken."""
    if may_lose and os.path.lexists(place):
        return False
    try:
        os.rename(temporary, place)
    except OSError as error:
        if may_lose and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _remove_unfinished(directory: str) -> None:
    """Remove the unfinished directory, even if no file descriptors are free."""
    for name in OWN_FILES:
        with suppress(OSError):
            os.unlink(os.path.join(directory, name))
    with suppress(OSError):
        os.rmdir(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _refuse_existing(target: str, place: str) -> None:
    if os.path.lexists(place):
        raise errors.ExistsError(f"{target} exists already; remove it, or give another path")
