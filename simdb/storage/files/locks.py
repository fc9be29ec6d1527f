"""Locks on files: held by one process alone, or shared by many.

`writer.lock` is held during a write transaction.  LMDB has a lock for this too, but waits for it
for ever; this lock can give up after a timeout.  The locks of `presence` are shared by every
process that has the database open.  The operating system releases all locks of a process that dies.

A lock belongs to a file, not to its name: if another file takes over the name, it has another lock.
`FileLock.is_in_place` says whether that has happened.

Waiting with a timeout means trying again and again, and a holder that wants its lock back at once
always tries before a caller that sleeps.  So a caller that has waited for `PATIENCE_SECONDS` leaves
a note, and renews it as long as it waits; others that came later do not try meanwhile.  A note
that is not renewed lapses, so a caller that dies or is stopped holds up nobody for long.  Only who
tries depends on notes: who has the lock never does.
"""

import errno
import fcntl
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO, Protocol

from simdb.core.errors import BusyError, ReadOnlyError
from simdb.storage.files.plain import is_same_file, open_regular
from simdb.storage.translation import translate

LONGEST_PAUSE_SECONDS = 0.02
# Passing the lock on costs a pause, so callers that wait for less do not ask for it.
PATIENCE_SECONDS = 0.1
# The one caller that is next tries often, so that the lock is not idle for long.
NEXT_PAUSE_SECONDS = 0.002
RENEWAL_SECONDS = 0.02
# Several times longer, for callers that the system lets wait.
LAPSE_SECONDS = 0.1
# Seconds of the clock `time.monotonic`: when the caller came, and when it wrote this.
NOTE = struct.Struct("<dd")
NO_NOTE = 0.0, 0.0
FIRST_SECONDS = 0.0001


class FileLock:
    """One lock file, opened once; taken and released as often as needed."""

    def __init__(self, path: str, *, is_made: bool = True) -> None:
        """Open the file at `path`; `is_made`: create it if it is missing.

        FormatError unless it is a plain file with only one name.
        """
        self.path = path
        flags = os.O_RDWR | os.O_CREAT if is_made else os.O_RDONLY
        self._file = open_regular(path, flags, is_alone=is_made)

    @property
    def descriptor(self) -> int:
        """The descriptor of the file; ValueError if it was closed."""
        return self._file.fileno()

    @property
    def is_closed(self) -> bool:
        """Whether the file was closed."""
        return self._file.closed

    def take(self, timeout: float | None) -> None:
        """Wait for the lock alone; BusyError after `timeout` seconds.

        A process that has waited long goes before one that comes.
        """
        board = Processes(self._file)
        if not wait(self.try_take, timeout, board, longest_seconds=LONGEST_PAUSE_SECONDS):
            raise self._busy(timeout, "writing")

    def try_take(self) -> bool:
        """Take the lock alone if it is free; return whether that worked."""
        return self._try(fcntl.LOCK_EX)

    def share(self, timeout: float | None = None) -> None:
        """Share the lock with others; wait while another process holds it alone."""
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
        """Whether the open file is the one that now has its name."""
        return is_same_file(self.path, os.fstat(self.descriptor))

    def __del__(self) -> None:
        """Close the file when the object is deleted."""
        if hasattr(self, "_file"):
            self.close()

    def _busy(self, timeout: float | None, what: str) -> BusyError:
        return BusyError(
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
        # Before it is locked it looks abandoned, and another process may remove it.
        with suppress(FileNotFoundError, BlockingIOError):
            try:
                state = lock_directory(path, locks)
            except (FileNotFoundError, BlockingIOError):
                raise
            except OSError:
                return path  # a file system without such locks; then nobody removes it
            if is_same_file(path, state):
                return path
        with suppress(OSError):
            os.rmdir(path)


def lock_directory(directory: str, locks: ExitStack) -> os.stat_result:
    """Lock a directory until `locks` is closed; BlockingIOError if it is locked, OSError.

    Returns the status of the directory that was locked.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    locks.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return os.fstat(descriptor)


@contextmanager
def alone(lock: FileLock) -> Iterator[bool]:
    """Hold a shared lock alone for a `with` statement, if no other process shares it.

    Yields whether that worked; the lock is shared again afterwards.  The change can drop the lock
    for a moment, which is harmless: if another process takes it then, this yields False.
    """
    is_alone = lock.try_take()
    try:
        yield is_alone
    finally:
        lock.share()


def open_lock(path: str, is_read_only: bool) -> FileLock | None:
    """Open the lock file; None if the place is read-only and the file is missing."""
    try:
        return FileLock(path)
    except OSError as error:
        is_refused = error.errno in (errno.EACCES, errno.EROFS, errno.EPERM)
        if is_read_only and (is_refused or error.errno == errno.ENOENT):
            return None
        if is_refused:
            raise ReadOnlyError(
                f"{path} cannot be written: {error}",
                python="to read the database, open it in mode 'r'",
                command="get, query, lookup and stats only read it",
            ) from error
        translate(error, path)


class Board(Protocol):
    """A place for one note: when a caller came, and when it was last seen, both in seconds."""

    def read(self) -> tuple[float, float]:
        """Return the note; two zeros for none."""

    def write(self, came: float, seen: float) -> None:
        """Replace the note."""


class Threads:
    """A board for the threads of one process."""

    def __init__(self) -> None:
        """Start without a note."""
        self._note = NO_NOTE

    def read(self) -> tuple[float, float]:
        """Return the note."""
        return self._note

    def write(self, came: float, seen: float) -> None:
        """Replace the note."""
        self._note = came, seen


class Processes:
    """A board for processes, in a file that they have open; its time of change stays."""

    def __init__(self, file: BinaryIO) -> None:
        """Use the first bytes of an open file."""
        self._file = file

    def read(self) -> tuple[float, float]:
        """Return the note."""
        data = os.pread(self._file.fileno(), NOTE.size, 0)
        if len(data) < NOTE.size:
            return NO_NOTE
        came, seen = NOTE.unpack(data)
        return came, seen

    def write(self, came: float, seen: float) -> None:
        """Replace the note."""
        # By its object, not by its number: that of a closed file can be another file's.
        descriptor = self._file.fileno()
        before = os.fstat(descriptor)
        os.pwrite(descriptor, NOTE.pack(came, seen), 0)
        os.utime(descriptor, ns=(before.st_atime_ns, before.st_mtime_ns))


def wait(
    is_taken: Callable[[], bool], timeout: float | None, board: Board, *, longest_seconds: float
) -> bool:
    """Call `is_taken` until it returns True; return False after `timeout` seconds (None: never).

    Sleeps in between, at most `longest_seconds` at once.  Leaves the turn to a caller that came
    earlier and has a note on the board.
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
    """Return whether no caller that came earlier has a note which has not lapsed."""
    earlier, seen = board.read()
    if not seen or earlier >= came:
        return True
    # A note from before the system was started can lie in the future.
    return not 0 <= time.monotonic() - seen < LAPSE_SECONDS


def pauses(timeout: float | None, *, longest_seconds: float) -> Iterator[bool]:
    """Sleep before each item, twice as long as before; end after `timeout` seconds.

    Each item is True, so that `next(pauses, False)` says whether to try again.  No sleep is longer
    than `longest_seconds`; None as the timeout never ends.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    seconds = FIRST_SECONDS
    while deadline is None or time.monotonic() < deadline:
        time.sleep(seconds)
        seconds = min(2 * seconds, longest_seconds)
        yield True
