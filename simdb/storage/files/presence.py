"""Presence: who has a database open, and that all of them mean the same files.

Whoever has a database open shares two locks.  One is on `presence.lock`, which also says which data
file is meant: who comes first writes that down.  The other is on the data file itself, which nobody
can take away from under its users.  Only a process that can have both alone may put another file in
the place of the data file.

Names can be taken away, and given to other files, at any time: by `mv`, by a restored backup, by a
cleaner of temporary files.  LMDB does not notice, and its table of readers would then join what
does not belong together: numbers of transactions of one file with the pages of another.  So:

* who opens compares the data file that is there with the one that the others have open;
* who opens and finds no lock files does not go on while others have the data file open;
* who commits compares every file with the one that it opened, just before it is acknowledged.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from simdb.errors import CorruptError, Error, NotFoundError, ReplacedError
from simdb.storage.files.locks import FileLock, alone, open_lock
from simdb.storage.files.names import DATA_FILE, LMDB_LOCK, PRESENCE_LOCK, WRITER_LOCK
from simdb.storage.files.pauses import pauses
from simdb.storage.files.plain import check_regular, is_same_file
from simdb.storage.translation import translate

# Who makes the lock files does so at once.
WAIT_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 0.01
IDENTITY_BYTES_MAX = 64
# Many times longer than a tick of the clock by which the system notes that a name was changed.
MOMENT_NANOSECONDS = 200_000_000


class Presence:
    """The right of this process to have a database open, and the files that it means."""

    def __init__(self, path: str, *, is_read_only: bool, timeout: float | None) -> None:
        """Share the database in the directory `path`, which has a data file.

        Waits up to `timeout` seconds while another process puts another data file in place.
        FormatError for files that are not plain, ReplacedError where others have other files open.
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
        self._size_bytes = 0
        self._trusted = (0, 0, 0)

    @property
    def can_be_alone(self) -> bool:
        """Whether there are locks to tell; a read-only place may have none."""
        return self._lock is not None

    @property
    def data_bytes(self) -> int:
        """Bytes of the data file that is open, on the disk."""
        return os.fstat(self._data.descriptor).st_blocks * 512

    def note_files(self) -> None:
        """Remember the lock files, now that LMDB has opened its own; ReplacedError.

        Also that the data file, which LMDB opened by its name, is the one that was meant.
        """
        for name in (LMDB_LOCK, WRITER_LOCK, PRESENCE_LOCK):
            found = check_regular(self._name(name), is_alone=True)
            if found is not None:
                self._files[name] = found
        self.check()

    def check(self) -> None:
        """Raise ReplacedError unless every file is the one that was opened.

        CorruptError when the data file is shorter than before.
        """
        if not self._is_untouched():
            for name in self._files:
                self._state_of(name)
            self._trust()
        self._check_length()

    def check_readable(self) -> None:
        """Raise ReplacedError when another data file shares LMDB's table of readers with ours.

        Where the table is another one as well, or the data file is gone, ours is by itself, and
        what it holds can be read.  CorruptError when it is shorter than before.
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
        """Whether the data file that is open has the name `path`."""
        return is_same_file(path, self._files[DATA_FILE])

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Keep all others out for a `with` statement; yields whether that worked.

        BusyError afterwards where somebody else, who came in meanwhile, stays alone for long.
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
        """Mean the data file that is in place now; only who is alone may put another one there."""
        if self._data.is_in_place:
            return  # nothing was put there; a second lock on this file would wait for ours
        new = FileLock(self._name(DATA_FILE), is_made=False)
        new.share()
        old, self._data = self._data, new
        self._files[DATA_FILE] = os.fstat(new.descriptor)
        self._size_bytes = 0
        self._write_identity()
        old.close()

    def close(self) -> None:
        """Let go of all locks; again is fine."""
        self._data.close()
        if self._lock is not None:
            self._lock.close()

    def _entered(self, is_read_only: bool) -> bool:
        """Whether both locks are shared; errors of the system in our words."""
        try:
            return self._try_enter(is_read_only)
        except Error:
            raise
        except OSError as error:
            translate(error, self._path)

    def _try_enter(self, is_read_only: bool) -> bool:
        """Share both locks; False where that can be different in a moment."""
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
            return False  # it was put in place a moment ago
        if self._lock is not None and self._is_of_others():
            raise ReplacedError(
                f"{self._name(DATA_FILE)} was put in place while other processes, or handles of"
                " this one, have the file before it open; close these, then open it again"
            )
        self._data.share(self._timeout)
        return True

    def _lacks_locks(self) -> bool:
        """Whether lock files are missing that would be made anew."""
        names = (LMDB_LOCK, PRESENCE_LOCK)
        is_whole = all(os.path.lexists(self._name(name)) for name in names)
        return not is_whole and os.access(self._path, os.W_OK)

    def _write_identity(self) -> None:
        """Say which data file is meant, unless that is what stands there."""
        assert self._lock is not None
        if self._written_identity() != self._identity():
            os.ftruncate(self._lock.descriptor, 0)
            identity, written = self._identity(), 0
            while written < len(identity):  # a full disk can take a part
                written += os.pwrite(self._lock.descriptor, identity[written:], written)

    def _is_of_others(self) -> bool:
        """Whether those who are here mean another data file."""
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
        """What the system says of a file; ReplacedError unless it is the one that was opened."""
        try:
            now = os.lstat(self._name(name))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self._replaced(name) from error
        if not os.path.samestat(now, self._files[name]):
            raise self._replaced(name)
        return now

    def _check_length(self) -> None:
        size = os.fstat(self._data.descriptor).st_size
        if size < self._size_bytes:
            raise CorruptError(
                f"{self._name(DATA_FILE)} was cut off from {self._size_bytes} to {size} bytes while"
                " it is open; restore it from a copy"
            )
        self._size_bytes = size

    def _is_untouched(self) -> bool:
        """Whether no name in the directory has changed since all files were looked at."""
        try:
            found = os.stat(self._path)
        except OSError:
            return False
        return (found.st_mtime_ns, found.st_ino, found.st_dev) == self._trusted

    def _trust(self) -> None:
        """Remember when a name was last changed, now that all files were looked at.

        Not where that was a moment ago: the clock of the system may not have gone on since.
        """
        found = os.stat(self._path)
        if abs(time.time_ns() - found.st_mtime_ns) > MOMENT_NANOSECONDS:
            self._trusted = found.st_mtime_ns, found.st_ino, found.st_dev

    def _replaced(self, name: str) -> ReplacedError:
        what = "replaced" if os.path.lexists(self._name(name)) else "removed"
        return ReplacedError(
            f"{self._name(name)} was {what} while the database is open; nothing is written any"
            " more.  Close the database in every process, then open it again"
        )
