"""Waits: tries for a lock, in which a caller that has waited long goes before one that comes.

Waiting with a timeout means trying again and again, and a holder that wants its lock back at once
always tries before a caller that sleeps.  So a caller that has waited for `PATIENCE_SECONDS` leaves
a note, and renews it as long as it waits; others that came later do not try meanwhile.  A note
that is not renewed lapses, so a caller that dies or is stopped holds up nobody for long.  Only who
tries depends on notes: who has the lock never does.
"""

import os
import struct
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

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
