"""Origins: where lines of the input stand in their files, so that they can be read there again.

What a run needs of its input a second time would otherwise wait in a temporary file as large as the
input.  All files form one row of bytes, and the origin of a line is its start in that row.

A file that may have been changed in between is recognised by its size and times.  The time of its
last change of any kind counts, too, which no program can put back.  Then each block of it that is
needed is compared with the checksum of what was read first.
"""

import io
import os
import stat
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from simdb.columns.arrow import TextColumn, joined
from simdb.ground.dtypes import I64
from simdb.outputs.pieces import CsvHead, Lines, changed, content, merged, unreadable
from simdb.storage.codec import checksum_of

# A line without an origin: its source is a pipe, is compressed, or has another encoding.
NOWHERE = -1
# So many files stay open; the others are opened again.
OPEN_FILES = 64
LINE_FEED = b"\n"
# Two changes within one tick of the system's clock leave equal times, and a tick is up to 10 ms; so
# equal times prove nothing of a file that was changed so shortly before it was opened.
TICKS_NS = 20_000_000

# From so many lines to their texts; None if a line is refused.
Parse: TypeAlias = Callable[[bytes, int], TextColumn | None]


@dataclass(slots=True)
class _File:
    """One file: its `start` in the row, its descriptor if it is open, and how to parse its lines.

    `identity` is that when it was opened; `is_same`: whether it was the same when it was read
    again, None before that, and False if equal times would not prove it.
    """

    path: str
    start: int
    identity: tuple[int, ...]
    parse: Parse
    descriptor: int | None
    is_same: bool | None
    table: CsvHead | None


class Origins:
    """The files of one run; `with` closes them."""

    def __init__(self) -> None:
        """Begin without files."""
        self._files: list[_File] = []
        self._starts: list[int] = []
        self._size = 0
        # The start, the size and the checksum of each block.
        self._blocks = array("q"), array("q"), array("Q")
        # Blocks that were as they had been, while their file was what it was then.
        self._checked: set[tuple[int, tuple[int, ...]]] = set()

    def __enter__(self) -> "Origins":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the files."""
        for file in self._files:
            if file.descriptor is not None:
                os.close(file.descriptor)
                file.descriptor = None

    def begin(self, stream: io.BufferedReader, parse: Parse, table: CsvHead | None = None) -> bool:
        """Take a file that is read next; return False if it cannot be read again.

        `parse` makes what `texts` returns.  `table`: see `Lines`.
        """
        raw = getattr(stream, "raw", None)
        if not isinstance(raw, io.FileIO) or not isinstance(raw.name, str):
            return False
        descriptor = raw.fileno()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        own = os.dup(descriptor) if len(self._files) < OPEN_FILES else None
        identity = _identity(descriptor)
        is_fresh = abs(time.time_ns() - identity[-1]) < TICKS_NS
        file = _File(raw.name, self._size, identity, parse, own, False if is_fresh else None, table)
        self._files.append(file)
        self._starts.append(self._size)
        return True

    def add(self, start: int, size: int, checksum: int) -> int:
        """Take a block of whole lines of the latest file; return its start in the row.

        `start`: its start in the file.
        """
        place = self._starts[-1] + start
        starts, sizes, checksums = self._blocks
        starts.append(place)
        sizes.append(size)
        checksums.append(checksum)
        self._size = place + size
        return place

    def texts(self, starts: I64, sizes: I64) -> TextColumn:
        """Return the texts of ascending lines; InputError if one was changed since it was read."""
        found = []
        for lines in self.spans(starts, sizes):
            values = self._files[lines.number].parse(content(lines), lines.count)
            if values is None:
                raise changed(lines.path)
            found.append(values)
        return joined(found) if found else TextColumn(starts.astype(np.uint64), sizes, ())

    def spans(self, starts: I64, sizes: I64) -> Iterator[Lines]:
        """Yield ascending lines file by file, those that touch each other as one range.

        Raises InputError like `texts`.
        """
        files = np.asarray(self._starts, np.int64)
        at = 0
        while at < len(starts):
            number = bisect_right(self._starts, int(starts[at])) - 1
            later = files[number + 1 : number + 2]
            stop = int(np.searchsorted(starts, later[0])) if len(later) else len(starts)
            file = self._files[number]
            with self._opened(file) as descriptor:
                self._check(file, descriptor, starts[at:stop])
                own = starts[at:stop] - file.start
                ranges = merged(own, own + sizes[at:stop])
                yield Lines(file.path, descriptor, *ranges, stop - at, number, file.table)
            at = stop

    @contextmanager
    def _opened(self, file: _File) -> Iterator[int]:
        """Yield the descriptor of a file, opened for a moment if it is not open."""
        descriptor = file.descriptor
        is_own = descriptor is None
        try:
            if descriptor is None:
                descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
            yield descriptor
        except OSError as error:
            raise unreadable(file.path, error) from error
        finally:
            if is_own and descriptor is not None:
                os.close(descriptor)

    def _check(self, file: _File, descriptor: int, starts: I64) -> None:
        """Raise InputError if the file has other bytes than it had around some lines of it."""
        identity = _identity(descriptor)
        if file.is_same is not False:
            file.is_same = identity == file.identity
        if file.is_same:
            return
        firsts, sizes, checksums = self._blocks
        for start in starts.tolist():
            number = bisect_right(firsts, start) - 1
            if (number, identity) in self._checked:
                continue
            block = os.pread(descriptor, sizes[number], firsts[number] - file.start)
            if checksum_of(_ended(block, sizes[number])) != checksums[number]:
                raise changed(file.path)
            self._checked.add((number, identity))


def _identity(descriptor: int) -> tuple[int, ...]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _ended(content: bytes, size: int) -> bytes:
    """Return content with the line feed that readers add to the last line of a file."""
    return content + LINE_FEED if len(content) == size - 1 else content
