"""Open files: the locks, the presence and the data file of one open database, and a watch over it.

LMDB would follow pages that are damaged while the database is open.  The system records when a file
was written, and every commit of LMDB has a number.  If the file was written, but not by a
transaction of this process, then either its last commit has a greater number, because another
process has committed, or its pages are walked again before LMDB reads any of them.

That costs one system call for each commit, and at most one in a millisecond for reads from LMDB; a
query in arrays that were fetched before pays nothing.  The watch does not see pages that decay
without a write, writes within the same clock tick as a commit (some milliseconds), and damage that
is followed by the commit of another process.
"""

import io
import os
from collections.abc import Collection
from contextlib import suppress
from time import monotonic

import lmdb

from simdb.storage.files.location import sync_directory
from simdb.storage.files.locks import FileLock, open_lock
from simdb.storage.files.pages import check_metas, check_pages, last_commit
from simdb.storage.files.plain import DATA_FILE, NEW_FILE, WRITER_LOCK, share_files
from simdb.storage.files.presence import Presence
from simdb.storage.translation import translate

MAP_BYTES = 1 << 20  # opening the file later asks for more
# While another program writes, the file changes all the time; walks take 1 / REST of the time.  The
# same holds for walks before small changes.
REST = 20
# Shorter than a tick of the clock with which the system records writes.
BETWEEN_SECONDS = 0.001

Stamp = tuple[int, int]


class OpenFiles:
    """The files that an environment holds open beside LMDB."""

    def __init__(
        self, path: str, *, is_read_only: bool, is_synced: bool, timeout: float | None
    ) -> None:
        """Open the locks in the directory `path`; make an empty data file unless read-only.

        `timeout`: seconds to wait while another process replaces the data file.
        """
        self._data_path = os.path.join(path, DATA_FILE)
        self._path = path
        self.writer_lock = open_lock(os.path.join(path, WRITER_LOCK), is_read_only)
        if self.writer_lock is not None and not is_read_only:
            make_data_file(path, self.writer_lock, is_synced=is_synced, timeout=timeout)
        self.presence = Presence(path, is_read_only=is_read_only, timeout=timeout)
        self.watch = Watch()

    @property
    def can_be_alone(self) -> bool:
        """Whether there are lock files, which tell whether other processes are here."""
        return self.writer_lock is not None and self.presence.can_be_alone

    def note_opened(self) -> None:
        """Share and remember the files after LMDB has opened its own; ReplacedError."""
        share_files(self._path)
        self.presence.note_files()
        self.watch.follow(self._data_path)

    def put_in_place(self, replacement: str) -> None:
        """Move the file `replacement` to the place of the data file, and to the disk."""
        share_files(self._path)
        os.replace(replacement, self._data_path)
        self.presence.follow()
        sync_directory(self._path)

    def close(self) -> None:
        """Close the files and give the locks back; a second call does nothing."""
        self.presence.close()
        self.watch.close()
        if self.writer_lock is not None:
            self.writer_lock.close()


class Watch:
    """The pages of one data file, and when they were last known to be sound."""

    def __init__(self) -> None:
        """Start without a file."""
        self._path = ""
        self._file: io.FileIO | None = None
        self._stamp: Stamp = (0, 0)
        self._commit = 0  # the last known commit, or a later transaction that changed nothing
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
        """Raise CorruptError if LMDB must not read on; call this inside a transaction."""
        now = monotonic()
        if now >= self._looks_again and not self._is_own and self._is_open:
            stamp = self._now()
            if stamp != self._stamp:
                self._look_closer(stamp)
            self._looks_again = now + BETWEEN_SECONDS

    def walk(self, only: Collection[bytes] | None = None) -> None:
        """Raise CorruptError if the pages could make LMDB crash; `only`: in these sub-databases.

        All are walked before a copy or a change of everything, and those in which something is
        dropped before that.
        """
        stamp = self._now()
        commit = check_pages(self._descriptor, self._path, least=self._least, only=only)
        if only is None and not self._is_own:
            self._stamp, self._commit, self._least = stamp, commit, commit

    def walk_rarely(self, only: Collection[bytes]) -> None:
        """Do what `walk` does, but not again before such walks take a small share of the time.

        Writes of another program are noticed by `look`, so this is for pages that decay, before
        small changes that follow each other.
        """
        started = monotonic()
        if started >= self._walks_again:
            self.walk(only)
            ended = monotonic()
            self._walks_again = ended + REST * (ended - started)

    def check_metas(self) -> None:
        """Raise CorruptError if the last commit cannot be told; this needs no transaction."""
        check_metas(self._descriptor, self._path, least=self._least)

    def begin_own(self) -> None:
        """Note that a transaction of this process begins to write."""
        self.look()
        self._is_own = True

    def end_own(self, number: int | None) -> None:
        """Note that the transaction has ended; `number`: its number if it was committed."""
        if self._is_own and number is not None:
            # A transaction without changes leaves no commit; the next one gets its number.
            self._stamp, self._commit, self._least = self._now(), number, number - 1
        self._is_own = False

    def _now(self) -> Stamp:
        found = os.fstat(self._descriptor)
        # The change time, which no program can set, and the size.
        return found.st_ctime_ns, found.st_size

    def _look_closer(self, stamp: Stamp) -> None:
        commit = last_commit(self._descriptor)
        if commit is not None and commit > self._commit:
            self._stamp, self._commit, self._least = stamp, commit, commit
            return
        started = monotonic()
        if started >= self._rests_until:
            self.walk()
            ended = monotonic()
            self._rests_until = ended + REST * (ended - started)


def make_data_file(path: str, lock: FileLock, *, is_synced: bool, timeout: float | None) -> None:
    """Make an empty data file in the directory `path` unless there is one; FullError.

    `lock`: the writer lock, so that no two processes make it at once; BusyError if it is not free
    within `timeout` seconds.  `is_synced`: sync the file and its name to the disk.
    """
    target = os.path.join(path, DATA_FILE)
    if os.path.lexists(target):
        return
    made = os.path.join(path, NEW_FILE)
    lock.take(timeout)
    try:
        if not os.path.lexists(target):
            _remove(made)
            _make(made, is_synced)
            os.replace(made, target)
            if is_synced:
                sync_directory(path)
                with suppress(PermissionError):
                    sync_directory(os.path.dirname(os.path.abspath(path)))
    except (lmdb.Error, OSError) as error:
        with suppress(OSError):
            _remove(made)
        translate(error, path)
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
