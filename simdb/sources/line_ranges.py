"""Line ranges: cuts a plain file into ranges of whole lines, which several threads then read.

To find the end of a range takes a few bytes, so what one thread does for all others is little.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from simdb.sources.amount import AMOUNT
from simdb.sources.content import DOCUMENT_BYTES_MAX

LINE_FEED = b"\n"
# The end of a line is looked for in so many bytes at a time, and longer lines in more.
SOUGHT_BYTES, SOUGHT_MOST = 1 << 12, 1 << 20
# If reading fails, the lines before are read in pieces of so many bytes.
PIECE_BYTES = 1 << 16


class Range(NamedTuple):
    """The bytes of a file from `start` up to, not including, `stop`, of which `size` are read.

    What is not read is the rest of a line that is longer than DOCUMENT_BYTES_MAX.
    """

    start: int
    stop: int
    size: int


class Content(NamedTuple):
    """Whole lines, each with a line feed; and the error that kept the lines after them away."""

    lines: bytes
    failure: OSError | None


def line_ranges(descriptor: int, size_least: int) -> Iterator[Range]:
    """Yield ranges of whole lines of a file; each but the last has at least `size_least` bytes."""
    start, is_last = 0, False
    # What was looked at to learn the encoding has been counted.
    counted = os.lseek(descriptor, 0, os.SEEK_CUR)
    while not is_last:
        stop, is_last = _line_end(descriptor, start + size_least)
        if stop > start:
            AMOUNT.add(max(stop, counted) - max(start, counted))
            yield Range(start, stop, min(stop - start, size_least + DOCUMENT_BYTES_MAX + 1))
        start = stop


def read_range(descriptor: int, wanted: Range) -> Content:
    """Return the lines of a range; a line feed is added if the last one has none."""
    failure: OSError | None = None
    try:
        found = _read(descriptor, wanted.start, wanted.size, wanted.size)
    except OSError as error:
        failure = error
        found = _before_failure(descriptor, wanted)
    if found and not found.endswith(LINE_FEED):
        found += LINE_FEED
    return Content(found, failure)


def _line_end(descriptor: int, at: int) -> tuple[int, bool]:
    """Return where the line ends that has the byte before `at`, and whether the file ends there."""
    start, size = at - 1, SOUGHT_BYTES
    while some := os.pread(descriptor, size, start):
        feed = some.find(LINE_FEED)
        if feed >= 0:
            return start + feed + 1, False
        start += len(some)
        size = min(2 * size, SOUGHT_MOST)
    return min(start, os.fstat(descriptor).st_size), True


def _read(descriptor: int, start: int, size: int, piece_bytes: int) -> bytes:
    """Return `size` bytes, or fewer at the end of the file; OSError."""
    found: list[bytes] = []
    left = size
    while left and (piece := os.pread(descriptor, min(left, piece_bytes), start + size - left)):
        found.append(piece)
        left -= len(piece)
    return found[0] if len(found) == 1 else b"".join(found)


def _before_failure(descriptor: int, wanted: Range) -> bytes:
    """Return the whole lines of a range before the first piece that cannot be read."""
    found: list[bytes] = []
    for start in range(wanted.start, wanted.start + wanted.size, PIECE_BYTES):
        size = min(PIECE_BYTES, wanted.start + wanted.size - start)
        try:
            found.append(_read(descriptor, start, size, size))
        except OSError:
            break
    lines = b"".join(found)
    return lines[: lines.rfind(LINE_FEED) + 1]
