"""Plain files: the names of a database's files, opened only if they are no link, pipe or device.

A directory may come from a stranger.  A link in it would lead to a file elsewhere, which opening
would create or overwrite; a pipe would never answer.

Files are their owner's alone, whatever the umask is.  Who wants to share a database with a group
makes its directory, sets the bit that gives new files the group of the directory (setgid), and
grants the group what it may do: `mkdir -m 2750` lets it read, `mkdir -m 2770` also write.
"""

import errno
import io
import os
import stat
from contextlib import suppress
from datetime import datetime, timezone

from simdb.core.errors import FormatError

DATA_FILE = "data.mdb"
LMDB_LOCK = "lock.mdb"  # LMDB's table of readers
WRITER_LOCK = "writer.lock"
PRESENCE_LOCK = "presence.lock"
IDF_FILE = "idf.table"
# Names of unfinished files; each file is moved into place when it is complete.
NEW_FILE = "data.mdb.new"
COPY_FILE = "data.mdb.copy"
IDF_TEMPORARY = "idf.table.new"
# Says which databases in a directory are one sharded database; see `shards_file.py`.
SHARDS_FILE = "shards.json"
OWN_FILES = {
    DATA_FILE, LMDB_LOCK, WRITER_LOCK, PRESENCE_LOCK, IDF_FILE, NEW_FILE, COPY_FILE, IDF_TEMPORARY,
}  # fmt: skip
OWN_MODE = 0o600
GROUP_READS, GROUP_WRITES = 0o040, 0o020
# A reader notes in these that it reads.
LOCKS = {LMDB_LOCK, PRESENCE_LOCK, WRITER_LOCK}


def open_regular(path: str, flags: int, *, is_alone: bool) -> io.FileIO:
    """Open the plain file at `path`; FormatError, OSError.

    The object that is returned owns the descriptor, so that it is closed once, whoever closes it.
    `is_alone`: the file may have no second name, because it will be written.
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
    """Return when a database was created at its place, None if unknown, and when it was written."""
    written = os.stat(os.path.join(path, DATA_FILE)).st_mtime
    # The lock file of writers is made with the database, and nothing is ever written to it.
    # Opening makes it again if it is missing, and then it tells nothing.
    lock = os.path.join(path, WRITER_LOCK)
    created = os.stat(lock).st_mtime if os.path.exists(lock) else written + 1
    shown = [datetime.fromtimestamp(each, timezone.utc) for each in (created, written)]
    return shown[0] if created <= written else None, shown[1]


def check_regular(path: str, *, is_alone: bool) -> os.stat_result | None:
    """Return the status of the plain file at `path`, None if there is none; FormatError."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    _check(path, found, is_alone=is_alone)
    return found


def check_directory(path: str) -> bool:
    """Return whether `path` is a directory, False if nothing is there; FormatError for a link."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise FormatError(f"{path} is {_kind(found.st_mode)}; it must be a directory")
    return True


def is_same_file(path: str, before: os.stat_result) -> bool:
    """Whether the file with the status `before` still has the name `path`."""
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
    """Give the files of this user in a shared directory their modes; do nothing in another."""
    if not is_shared(path):
        return
    for name in OWN_FILES:
        wanted = file_mode(path, name)
        # Another user shares the files that are theirs, and some places cannot be changed.
        with (
            suppress(OSError),
            open_regular(os.path.join(path, name), os.O_RDONLY, is_alone=False) as file,
        ):
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) != wanted:
                os.fchmod(file.fileno(), wanted)


def _check(path: str, found: os.stat_result, *, is_alone: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(
            f"{path} is {_kind(found.st_mode)}; the files of a database are plain files in its own"
            " directory"
        )
    if is_alone and found.st_nlink > 1:
        raise FormatError(
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
