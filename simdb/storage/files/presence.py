"""Presence: which processes have a database open, and that all of them use the same files.

Every process that has a database open shares two locks.  One is on `presence.lock`, in which the
first process also writes which data file it uses.  The other is on the data file itself, because
that lock cannot be taken away from its users.  Only a process that holds both locks alone may
replace the data file.

Files can be renamed, removed or replaced at any time: by `mv`, by a restored backup, by a cleaner
of temporary files.  LMDB does not notice, and its reader table would then mix two databases: the
transaction numbers of one file with the pages of another.  So:

* a process that opens compares the data file with the one that the other processes have open;
* a process that finds no lock files does not open while others have the data file open;
* a writer compares every file with the one that it opened, just before its commit is acknowledged.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from simdb.ground.errors import CorruptError, Error, NotFoundError, ReplacedError
from simdb.storage.files.locks import FileLock, alone, open_lock, pauses
from simdb.storage.files.plain import (
    DATA_FILE,
    LMDB_LOCK,
    PRESENCE_LOCK,
    WRITER_LOCK,
    check_regular,
    is_same_file,
)
from simdb.storage.translation import translate

# A process that creates the lock files does so at once.
WAIT_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 0.01
IDENTITY_BYTES_MAX = 64
# Many times longer than a tick of the clock for the change times of a directory.
MOMENT_NANOSECONDS = 200_000_000


class Presence:
    """The locks that show that this process has a database open, and the files that it uses."""

    def __init__(self, path: str, *, is_read_only: bool, timeout: float | None) -> None:
        """Share the locks of the directory `path`, which has a data file.

        Waits up to `timeout` seconds while another process replaces the data file.  FormatError for
        files that are not plain, ReplacedError if other processes have other files open.
        """
        self._path = path
        self._timeout = timeout
        self._data: FileLock  # from `_try_enter`
        self._lock: FileLock | None = None
        tries = pauses(WAIT_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
        while not self._entered(is_read_only):
            if not next(tries, False):
                raise ReplacedError(
                    f"a lock file of {path} is gone while another process has the database open;"
                    " end that process, then open it again"
                )
        self._files = {DATA_FILE: os.fstat(self._data.descriptor)}
        self._length: tuple[FileLock | None, int] = (None, 0)
        self._trusted = (0, 0, 0)

    @property
    def can_be_alone(self) -> bool:
        """Whether there is a presence lock; a read-only place may have none."""
        return self._lock is not None

    @property
    def data_bytes(self) -> int:
        """Bytes that the open data file takes on the disk."""
        return os.fstat(self._data.descriptor).st_blocks * 512

    def note_files(self) -> None:
        """Remember the lock files, after LMDB has opened its own; ReplacedError.

        Also checks that the data file, which LMDB opened by name, is the one that was locked.
        """
        for name in (LMDB_LOCK, WRITER_LOCK, PRESENCE_LOCK):
            found = check_regular(self._name(name), is_alone=True)
            if found is not None:
                self._files[name] = found
        self.check()

    def check(self) -> None:
        """Raise ReplacedError unless every file is the one that was opened.

        CorruptError if the data file is shorter than before.
        """
        if not self._is_untouched():
            for name in self._files:
                self._state_of(name)
            self._trust()
        self._check_length()

    def check_readable(self) -> None:
        """Raise ReplacedError if another data file now shares LMDB's reader table with ours.

        If the reader table was replaced as well, or if the data file is gone, the open file can
        still be read safely.  CorruptError if it is shorter than before.
        """
        if not self._is_untouched():
            try:
                self._state_of(DATA_FILE)
            except ReplacedError:
                is_gone = not os.path.lexists(self._name(DATA_FILE))
                table = self._files.get(LMDB_LOCK)
                if is_gone or table is None or not is_same_file(self._name(LMDB_LOCK), table):
                    return
                raise
        self._check_length()

    def is_of(self, path: str) -> bool:
        """Whether the open data file has the name `path`."""
        return is_same_file(path, self._files[DATA_FILE])

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold both locks alone for a `with` statement; yield whether that worked.

        BusyError afterwards if another process has come in meanwhile and stays alone for long.
        """
        if self._lock is None:
            yield False
            return
        with alone(self._lock) as is_alone:
            taken = self._data
            try:
                yield is_alone and taken.try_take()
            finally:
                if self._data is taken:
                    taken.share()

    def follow(self) -> None:
        """Use the data file that is in place now; only a process that is alone may replace it."""
        if self._data.is_in_place:
            return  # nothing was replaced; a second lock on this file would wait for ours
        new = FileLock(self._name(DATA_FILE), is_made=False)
        new.share()
        old, self._data = self._data, new
        self._files[DATA_FILE] = os.fstat(new.descriptor)
        self._write_identity()
        old.close()

    def close(self) -> None:
        """Close all locks; a second call does nothing."""
        self._data.close()
        if self._lock is not None:
            self._lock.close()

    def _entered(self, is_read_only: bool) -> bool:
        """Try to share both locks, and translate errors of the system; return whether it worked."""
        try:
            return self._try_enter(is_read_only)
        except Error:
            raise
        except OSError as error:
            translate(error, self._path)

    def _try_enter(self, is_read_only: bool) -> bool:
        """Try to share both locks; return False if the next try may work."""
        try:
            self._data = FileLock(self._name(DATA_FILE), is_made=False)
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no database at {self._path} any more") from error
        if self._lacks_locks() and not self._data.try_take():
            return False
        if self._lock is None:
            self._lock = open_lock(self._name(PRESENCE_LOCK), is_read_only)
        if self._lock is not None:
            if self._lock.try_take():
                self._write_identity()
            self._lock.share(self._timeout)
        if not self._data.is_in_place:
            return False  # another file was put in place a moment ago
        if self._lock is not None and self._is_of_others():
            raise ReplacedError(
                f"{self._name(DATA_FILE)} was replaced while other processes, or other handles in"
                " this process, have the old file open; close those, then open it again"
            )
        self._data.share(self._timeout)
        return True

    def _lacks_locks(self) -> bool:
        """Whether lock files are missing that opening would create."""
        names = (LMDB_LOCK, PRESENCE_LOCK)
        is_whole = all(os.path.lexists(self._name(name)) for name in names)
        return not is_whole and os.access(self._path, os.W_OK)

    def _write_identity(self) -> None:
        """Write which data file is used, unless the lock file says so already."""
        assert self._lock is not None
        if self._written_identity() != self._identity():
            os.ftruncate(self._lock.descriptor, 0)
            identity, written = self._identity(), 0
            while written < len(identity):  # a full disk can take a part
                written += os.pwrite(self._lock.descriptor, identity[written:], written)

    def _is_of_others(self) -> bool:
        """Whether the other processes use another data file."""
        return self._written_identity() not in (b"", self._identity())

    def _written_identity(self) -> bytes:
        assert self._lock is not None
        return os.pread(self._lock.descriptor, IDENTITY_BYTES_MAX, 0)

    def _identity(self) -> bytes:
        state = os.fstat(self._data.descriptor)
        return f"device {state.st_dev:x} inode {state.st_ino:x}\n".encode("ascii")

    def _name(self, name: str) -> str:
        return os.path.join(self._path, name)

    def _state_of(self, name: str) -> os.stat_result:
        """Return the status of a file; ReplacedError unless it is the one that was opened."""
        try:
            now = os.lstat(self._name(name))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self._replaced(name) from error
        if not os.path.samestat(now, self._files[name]):
            raise self._replaced(name)
        return now

    def _check_length(self) -> None:
        # Several threads check at once while the file grows, so what was known comes first.
        data, (known, size_before) = self._data, self._length
        size = os.fstat(data.descriptor).st_size
        if known is data and size < size_before:
            raise CorruptError(
                f"{self._name(DATA_FILE)} was cut off from {size_before} to {size} bytes while it"
                " was open; restore it from a copy"
            )
        self._length = data, size

    def _is_untouched(self) -> bool:
        """Whether no name in the directory has changed since all files were checked."""
        try:
            found = os.stat(self._path)
        except OSError:
            return False
        return (found.st_mtime_ns, found.st_ino, found.st_dev) == self._trusted

    def _trust(self) -> None:
        """Remember the change time of the directory, after all files were checked.

        Do not if it changed a moment ago: another change in the same tick of the clock would not
        show.
        """
        found = os.stat(self._path)
        if abs(time.time_ns() - found.st_mtime_ns) > MOMENT_NANOSECONDS:
            self._trusted = found.st_mtime_ns, found.st_ino, found.st_dev

    def _replaced(self, name: str) -> ReplacedError:
        what = "replaced" if os.path.lexists(self._name(name)) else "removed"
        return ReplacedError(
            f"{self._name(name)} was {what} while the database was open, so nothing more is"
            " written.  Close the database in every process, then open it again"
        )
