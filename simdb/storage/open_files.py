"""Open files: the locks and the data file of an open database, and their protection.

`Presence` makes sure that all processes with the database open use the same files.  `Watch` makes
sure that LMDB follows no damaged page.
"""

import io
import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

import lmdb

from simdb.core.errors import BusyError, CorruptError, NotFoundError, ReplacedError
from simdb.storage import files
from simdb.storage.pages import check_metas, check_pages, last_commit

# A process creates all lock files at once.
WAIT_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 0.01
IDENTITY_BYTES_MAX = 64
# Much longer than a tick of the clock for modification times of directories.
MOMENT_NANOSECONDS = 200_000_000
MAP_BYTES = 1 << 20  # a later opening enlarges the map
# While another program writes, the file changes all the time; walks then take 1 / REST of the time.
# The same holds for walks before small changes.
REST = 20
# Shorter than the resolution of file times.
BETWEEN_SECONDS = 0.001

Stamp = tuple[int, int]


class OpenFiles:
    """The files that an environment holds open in addition to LMDB's."""

    def __init__(
        self, path: str, *, is_read_only: bool = False, is_synced: bool, timeout: float | None
    ) -> None:
        """Open the locks in the directory `path`; create an empty data file unless read-only.

        `timeout`: seconds to wait while another process replaces the data file.
        """
        self._data_path = os.path.join(path, files.DATA_FILE)
        self._path, self._timeout = path, timeout
        self.writer_lock = files.open_lock(os.path.join(path, files.WRITER_LOCK), is_read_only)
        if self.writer_lock is not None and not is_read_only:
            make_data_file(path, self.writer_lock, is_synced=is_synced, timeout=timeout)
        self.presence = Presence(path, is_read_only=is_read_only, timeout=timeout)
        self.watch = Watch()

    @property
    def can_be_alone(self) -> bool:
        """Whether there are lock files, which show other processes."""
        return self.writer_lock is not None and self.presence.can_be_alone

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the database alone for a `with` block, and keep others from writing until `close`.

        Raises BusyError if another process or handle has it open.
        """
        assert self.writer_lock is not None
        self.writer_lock.take(self._timeout)
        with self.presence.alone() as is_alone:
            if not is_alone:
                raise BusyError(
                    f"other processes or handles have {self._path} open; close the database"
                    " everywhere, then try again"
                )
            yield

    def note_opened(self) -> None:
        """Share and record the files after LMDB has opened its own; raise ReplacedError."""
        files.share_files(self._path)
        self.presence.note_files()
        self.watch.follow(self._data_path)

    def put_in_place(self, replacement: str) -> None:
        """Replace the data file by the file `replacement`, and sync that to the disk."""
        files.share_files(self._path)
        os.replace(replacement, self._data_path)
        self.presence.follow()
        files.sync_directory(self._path)

    def close(self) -> None:
        """Close the files and release the locks; a second call does nothing."""
        self.presence.close()
        self.watch.close()
        if self.writer_lock is not None:
            self.writer_lock.close()


class Presence:
    """The locks and the files of a database that this process has open.

    Every process that has a database open shares two locks.  In the first, `presence.lock`, the
    first process also records the data file in use.  The second is on the data file itself, so that
    it cannot be taken away from its users.  Only a process that holds both locks exclusively may
    replace the data file.

    Files can be renamed, removed or replaced at any time: by `mv`, by a restored backup, by a
    cleaner of temporary files.  LMDB does not notice.  Its reader table would then mix the
    transaction numbers of one file with the pages of another.  So there are three checks:

    * When a process opens, it compares the data file with that of the other processes.
    * When a process finds no lock files, it does not open while others have the data file open.
    * Before a writer acknowledges a commit, it compares every file with the file that it opened.
    """

    def __init__(self, path: str, *, is_read_only: bool, timeout: float | None) -> None:
        """Share the locks of the directory `path`, which has a data file.

        Waits up to `timeout` seconds while another process replaces the data file.  Raises
        FormatError for files that are not plain, ReplacedError if other processes have other files
        open.
        """
        self._path = path
        self._timeout = timeout
        self._data: files.FileLock  # from `_try_enter`
        self._lock: files.FileLock | None = None
        tries = files.pauses(WAIT_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
        with files.translated(path):
            while not self._try_enter(is_read_only):
                if not next(tries, False):
                    raise ReplacedError(
                        f"a lock file of {path} is gone while another process has the database"
                        " open; end that process, then open it again"
                    )
        self._files = {files.DATA_FILE: os.fstat(self._data.descriptor)}
        self._length: tuple[files.FileLock | None, int] = (None, 0)
        self._trusted = (0, 0, 0)

    @property
    def can_be_alone(self) -> bool:
        """Whether there is a presence lock, which a read-only place may lack."""
        return self._lock is not None

    @property
    def data_bytes(self) -> int:
        """Size of the open data file on disk, in bytes."""
        with files.translated(self._path):
            return os.fstat(self._data.descriptor).st_blocks * 512

    def note_files(self) -> None:
        """Record the lock files after LMDB has opened its own; raise ReplacedError.

        Also checks that LMDB, which opens by name, has opened the data file that was locked.
        """
        for name in (files.LMDB_LOCK, files.WRITER_LOCK, files.PRESENCE_LOCK):
            found = files.check_regular(self._name(name), is_alone=True)
            if found is not None:
                self._files[name] = found
        self.check()

    def check(self) -> None:
        """Raise ReplacedError if a file has been replaced since it was opened.

        Raises CorruptError if the data file is shorter than before.
        """
        if not self._is_untouched():
            for name in self._files:
                self._state_of(name)
            # Shortly after a change, another one in the same clock tick would not show.
            found = os.stat(self._path)
            if abs(time.time_ns() - found.st_mtime_ns) > MOMENT_NANOSECONDS:
                self._trusted = found.st_mtime_ns, found.st_ino, found.st_dev
        self._check_length()

    def check_readable(self) -> None:
        """Raise ReplacedError if another data file now uses our reader table of LMDB.

        If the reader table was also replaced, or the data file is gone, the open file is still safe
        to read.  Raises CorruptError if it is shorter than before.
        """
        if not self._is_untouched():
            try:
                self._state_of(files.DATA_FILE)
            except ReplacedError:
                is_gone = not os.path.lexists(self._name(files.DATA_FILE))
                table = self._files.get(files.LMDB_LOCK)
                if (
                    is_gone
                    or table is None
                    or not files.is_same_file(self._name(files.LMDB_LOCK), table)
                ):
                    return
                raise
        self._check_length()

    def is_of(self, path: str) -> bool:
        """Return whether the open data file has the name `path`."""
        return files.is_same_file(path, self._files[files.DATA_FILE])

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold both locks exclusively for a `with` block; yield whether that worked.

        BusyError at the end if another process took a lock meanwhile and remains alone for long.
        """
        if self._lock is None:
            yield False
            return
        with files.alone(self._lock) as is_alone:
            taken = self._data
            try:
                yield is_alone and taken.try_take()
            finally:
                if self._data is taken:
                    taken.share()

    def follow(self) -> None:
        """Use the data file that is now in place; only a process that is alone may replace it."""
        if not self._data.is_in_place:  # a second lock on the same file would wait for ours
            new = files.FileLock(self._name(files.DATA_FILE), is_made=False)
            new.share()
            state = os.fstat(new.descriptor)
            old, self._data, self._files[files.DATA_FILE] = self._data, new, state
            old.close()
        self._write_identity()

    def close(self) -> None:
        """Close all locks; a second call does nothing."""
        self._data.close()
        if self._lock is not None:
            self._lock.close()

    def _try_enter(self, is_read_only: bool) -> bool:
        """Try to share both locks; return False if the next try may work."""
        try:
            self._data = files.FileLock(self._name(files.DATA_FILE), is_made=False)
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no database at {self._path} any more") from error
        if self._lacks_locks() and not self._data.try_take():
            return False
        if self._lock is None:
            self._lock = files.open_lock(self._name(files.PRESENCE_LOCK), is_read_only)
        if self._lock is not None:
            if self._lock.try_take():
                self._write_identity()
            self._lock.share(self._timeout)
        if not self._data.is_in_place:
            return False  # another file has just been put in place
        if self._lock is not None and self._is_of_others():
            raise ReplacedError(
                f"{self._name(files.DATA_FILE)} was replaced while other processes, or other"
                " handles in this process, have the old file open; close those, then open it again"
            )
        self._data.share(self._timeout)
        return True

    def _lacks_locks(self) -> bool:
        """Return whether lock files are missing that opening would create."""
        names = (files.LMDB_LOCK, files.PRESENCE_LOCK)
        is_whole = all(os.path.lexists(self._name(name)) for name in names)
        return not is_whole and os.access(self._path, os.W_OK)

    def _write_identity(self) -> None:
        """Record which data file is used, unless the lock file already has it."""
        assert self._lock is not None
        if self._written_identity() != self._identity():
            os.ftruncate(self._lock.descriptor, 0)
            identity, written = self._identity(), 0
            while written < len(identity):  # a full disk may write only a part
                written += os.pwrite(self._lock.descriptor, identity[written:], written)

    def _is_of_others(self) -> bool:
        """Return whether other processes use another data file."""
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
        """Return the status of a file.

        Raises ReplacedError if it was replaced since it was opened.
        """
        try:
            now = os.lstat(self._name(name))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self._replaced(name) from error
        if not os.path.samestat(now, self._files[name]):
            raise self._replaced(name)
        return now

    def _check_length(self) -> None:
        # Several threads may check while the file grows, so read the old length before the new one.
        data, (known, size_before) = self._data, self._length
        size = os.fstat(data.descriptor).st_size
        if known is data and size < size_before:
            raise CorruptError(
                f"{self._name(files.DATA_FILE)} was cut off from {size_before} to {size} bytes"
                " while it was open; restore it from a copy"
            )
        self._length = data, size

    def _is_untouched(self) -> bool:
        """Return whether no name in the directory has changed since all files were checked."""
        try:
            found = os.stat(self._path)
        except OSError:
            return False
        return (found.st_mtime_ns, found.st_ino, found.st_dev) == self._trusted

    def _replaced(self, name: str) -> ReplacedError:
        what = "replaced" if os.path.lexists(self._name(name)) else "removed"
        return ReplacedError(
            f"{self._name(name)} was {what} while the database was open, so nothing more is"
            " written.  Close the database in every process, then open it again"
        )


class Watch:
    """The pages of a data file, and the time when they were last known to be sound.

    LMDB would follow pages that are damaged while the database is open.  The system records the
    time of every write to a file, and every commit of LMDB has a number.  Suppose the file was
    written, but not by a transaction of this process.  Then either its last commit has a greater
    number, because another process has committed, or its pages are walked again before LMDB reads
    any of them.

    This costs one system call for each commit, and at most one in a millisecond for reads from
    LMDB.  A query of arrays that were fetched before pays nothing.  Three kinds of damage go
    unnoticed: decay without a write, writes within the clock tick of a commit (some milliseconds),
    and damage before a commit of another process.
    """

    def __init__(self) -> None:
        """Start without a file."""
        self._path = ""
        self._file: io.FileIO | None = None
        self._stamp: Stamp = (0, 0)
        self._commit = 0  # the last known commit, or a later transaction without changes
        self._least = 0  # the last commit that certainly exists
        self._is_own = False  # whether a transaction of this process is writing
        self._looks_again = self._rests_until = self._walks_again = 0.0

    def follow(self, path: str) -> None:
        """Trust the file `path` in its present state; `walk` checks it."""
        self.close()
        self._path = path
        self._walks_again = 0.0
        self._file = io.FileIO(path)
        self._stamp = self._now()
        self._commit = self._least = last_commit(self._descriptor) or 0

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    @property
    def _descriptor(self) -> int:
        assert self._file is not None
        return self._file.fileno()

    @property
    def _is_open(self) -> bool:
        return self._file is not None and not self._file.closed

    def look(self) -> None:
        """Raise CorruptError if LMDB must not continue to read; call it inside a transaction."""
        now = monotonic()
        if now >= self._looks_again and not self._is_own and self._is_open:
            stamp = self._now()
            if stamp != self._stamp:
                self._look_closer(stamp)
            self._looks_again = now + BETWEEN_SECONDS

    def walk(self, only: Collection[bytes] | None = None) -> None:
        """Raise CorruptError if pages could make LMDB crash; `only`: check these sub-databases.

        All pages are walked before a copy or a change of everything.  Before something is dropped,
        its sub-databases are walked.
        """
        stamp = self._now()
        commit = check_pages(self._descriptor, self._path, least=self._least, only=only)
        if only is None and not self._is_own:
            self._stamp, self._commit, self._least = stamp, commit, commit

    def walk_rarely(self, only: Collection[bytes]) -> None:
        """Walk like `walk`, unless such walks would take more than a small share of the time.

        `look` notices writes of other programs.  This walk is for pages that decay, before small
        changes in sequence.
        """
        started = monotonic()
        if started >= self._walks_again:
            self.walk(only)
            ended = monotonic()
            self._walks_again = ended + REST * (ended - started)

    def check_metas(self) -> None:
        """Raise CorruptError if the last commit cannot be determined; needs no transaction."""
        check_metas(self._descriptor, self._path, least=self._least)

    def begin_own(self) -> None:
        """Record that a transaction of this process begins to write."""
        self.look()
        self._is_own = True

    def end_own(self, number: int | None) -> None:
        """Record the end of the transaction; `number`: its number if it was committed."""
        if self._is_own and number is not None:
            # A transaction without changes makes no commit, and the next one gets its number.
            self._stamp, self._commit, self._least = self._now(), number, number - 1
        self._is_own = False

    def _now(self) -> Stamp:
        with files.translated(self._path):
            found = os.fstat(self._descriptor)
        # The inode change time, which no program can set, and the size.
        return found.st_ctime_ns, found.st_size

    def _look_closer(self, stamp: Stamp) -> None:
        with files.translated(self._path):
            commit = last_commit(self._descriptor)
        if commit is not None and commit > self._commit:
            self._stamp, self._commit, self._least = stamp, commit, commit
            return
        started = monotonic()
        if started >= self._rests_until:
            self.walk()
            ended = monotonic()
            self._rests_until = ended + REST * (ended - started)


def make_data_file(
    path: str, lock: files.FileLock, *, is_synced: bool, timeout: float | None
) -> None:
    """Create an empty data file in the directory `path` if it has none; raise FullError.

    `lock`: the writer lock, which keeps two processes from creating it at once.  Raises BusyError
    if it is not free within `timeout` seconds.  `is_synced`: sync the file and its name to the
    disk.
    """
    target = os.path.join(path, files.DATA_FILE)
    if os.path.lexists(target):
        return
    made = os.path.join(path, files.NEW_FILE)
    lock.take(timeout)
    try:
        if not os.path.lexists(target):
            _remove(made)
            _make(made, is_synced)
            os.replace(made, target)
            if is_synced:
                files.sync_directory(path)
                with suppress(PermissionError):
                    files.sync_directory(os.path.dirname(os.path.abspath(path)))
    except (lmdb.Error, OSError) as error:
        with suppress(OSError):
            _remove(made)
        files.translate(error, path)
    finally:
        lock.release()


def _make(path: str, is_synced: bool) -> None:
    lmdb.open(os.fsencode(path), subdir=False, lock=False, map_size=MAP_BYTES, mode=0o600).close()
    if is_synced:
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
