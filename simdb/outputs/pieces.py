"""Pieces: where the documents to write lie, as the largest ranges between those that are left out.

A piece is a number of lines of one file, or of rows of one Parquet file.  Lines are read in large
blocks, and what was left out between them is dropped in memory: that is faster than one call of the
system for each range, and as fast as copying inside the system if the ranges are long.
"""

import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.errors import InputError

BLOCK_BYTES = 1 << 20
# Reading and dropping so much takes as long as another call of the system.
GAP_BYTES = 1 << 15
# More than that is never read at once.
SPARSE_BYTES = 1 << 24
LINE_FEED = b"\n"

I64 = npt.NDArray[np.int64]


class Table(NamedTuple):
    """The first row of a CSV file, with its line end, and what its cells call the columns.

    `start`: where the second row starts in the file.
    """

    header: bytes
    columns: tuple[str, ...]
    delimiter: str
    start: int


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Some lines of an open file: `count` of them, in ranges of bytes from `starts` to `stops`.

    The ranges ascend.  Each line ends with a line feed, which the last line of a file may lack.
    `number`: that of the file, for whoever made the piece.  `table`: of a CSV file, whose rows then
    take the place of lines; None if a line is a JSON object, or the path of a file.
    """

    path: str
    descriptor: int
    starts: I64
    stops: I64
    count: int
    number: int = 0
    table: Table | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows of a Parquet file: `count` of them, from `starts` to `stops`, counted from 0."""

    path: str
    starts: I64
    stops: I64
    count: int


Piece = Lines | Rows


def merged(starts: I64, stops: I64) -> tuple[I64, I64]:
    """Return starts and stops of ascending ranges, those that touch each other made one."""
    if not len(starts):
        return starts, stops
    is_apart = starts[1:] != stops[:-1]
    return starts[np.r_[True, is_apart]], stops[np.r_[is_apart, True]]


def changed(path: str) -> InputError:
    """Return the error for a file that is not what it was when it was read first."""
    return InputError(
        f"{path} was changed while it was read; run the command again when nothing writes it"
    )


def unreadable(path: str, error: OSError) -> InputError:
    """Return the error for a file that the system does not let this process read again."""
    return InputError(
        f"{path} cannot be read again ({error.strerror}); run the command again when it can be"
    )


def contents(lines: Lines) -> Iterator[bytes]:
    """Yield the lines with their line feeds, many at a time; a long line comes in parts.

    Raises InputError if the file is too short or cannot be read.
    """
    if is_sparse(lines):
        yield _each_read(lines)
        return
    buffer = memoryview(bytearray(BLOCK_BYTES))
    for starts, stops in _blocks(lines.starts, lines.stops):
        first, size = starts[0], stops[-1] - starts[0]
        try:
            read = os.preadv(lines.descriptor, [buffer[:size]], first)
        except OSError as error:
            raise unreadable(lines.path, error) from error
        if read == size - 1 and stops[-1] == lines.stops[-1]:
            buffer[read : read + 1] = LINE_FEED
        elif read < size:
            raise changed(lines.path)
        ranges = zip(starts, stops, strict=True)
        yield b"".join([buffer[start - first : stop - first] for start, stop in ranges])


def is_sparse(lines: Lines) -> bool:
    """Return whether the ranges are few and short, and far apart: then each is read alone."""
    size = int((lines.stops - lines.starts).sum())
    count = len(lines.starts)
    spread = int(lines.stops[-1] - lines.starts[0]) if count else 0
    return 0 < size <= SPARSE_BYTES and spread - size > GAP_BYTES * count


def _each_read(lines: Lines) -> bytes:
    """Return the lines, of which each range is read by one call."""
    read, descriptor = os.pread, lines.descriptor
    ranges = zip(lines.starts.tolist(), (lines.stops - lines.starts).tolist(), strict=True)
    try:
        parts = [read(descriptor, size, start) for start, size in ranges]
    except OSError as error:
        raise unreadable(lines.path, error) from error
    missing = int((lines.stops - lines.starts).sum()) - sum(map(len, parts))
    if missing == 1 and not parts[-1].endswith(LINE_FEED):
        parts.append(LINE_FEED)
    elif missing:
        raise changed(lines.path)
    return b"".join(parts)


def _blocks(starts: I64, stops: I64) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the ranges that are read together; a long range comes in parts.

    They begin and end within `BLOCK_BYTES`, and no gap between them is longer than `GAP_BYTES`.
    """
    if not len(starts):
        return
    wide = np.append(np.flatnonzero(starts[1:] - stops[:-1] > GAP_BYTES) + 1, len(starts))
    at, start, gap = 0, int(starts[0]), 0
    while at < len(starts):
        while wide[gap] <= at:
            gap += 1
        # Of the ranges from `at` on, the first begins at `start`: what is before it was yielded.
        end = min(int(np.searchsorted(stops, start + BLOCK_BYTES, "right")), int(wide[gap]))
        if end > at:
            yield [start, *starts[at + 1 : end].tolist()], stops[at:end].tolist()
            at = end
            start = int(starts[at]) if at < len(starts) else 0
        else:
            yield [start], [start + BLOCK_BYTES]
            start += BLOCK_BYTES


def split_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line with its line feed, of blocks that together are whole lines."""
    held: list[bytes] = []
    for block in blocks:
        whole, feed, rest = block.rpartition(LINE_FEED)
        if feed:
            yield from io.BytesIO(b"".join([*held, whole, feed]))
            held = []
        held.append(rest)
