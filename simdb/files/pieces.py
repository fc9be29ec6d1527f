"""Pieces: where the documents to write lie, in files or spools, as the largest ranges of them.

A piece is a number of lines of one file, or of rows of one Parquet file.  One call of the system
reads many ranges of lines, and what was left out between them into a place that nobody looks at:
that is faster than one call for each range, and as fast as copying inside the system if the ranges
are long.

A *spool* is a temporary file in which results, lines or texts wait.
"""

import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Id, places_in
from simdb.core.arrow import TextColumn, encoded
from simdb.core.dtypes import I64, U32, U64
from simdb.core.errors import Error, InputError, no_descriptor
from simdb.core.memory import Blocks
from simdb.core.threads import run_all
from simdb.core.values import dataclass
from simdb.files import rows

BLOCK_BYTES = 1 << 20
# What one thread copies at a time.
COPIED_BYTES = 1 << 22
LINE_FEED = b"\n"

# Texts are written to the system so many bytes at a time.
WRITTEN_BYTES = 1 << 20


class CsvHead(NamedTuple):
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
    take the place of lines; None if a line is a JSON object, or the path of a file.  `is_waiting`:
    numbers of these objects for which JSON has no form are as Python reads them (`waiting_line`).
    """

    path: str
    descriptor: int
    starts: I64
    stops: I64
    count: int
    number: int = 0
    table: CsvHead | None = None
    is_waiting: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RowRange:
    """Some rows of a Parquet file: `count` of them, from `starts` to `stops`, counted from 0."""

    path: str
    starts: I64
    stops: I64
    count: int


Piece = Lines | RowRange


def merged(starts: I64, stops: I64) -> tuple[I64, I64]:
    """Return starts and stops of ascending ranges, those that touch each other made one."""
    if len(starts) < 2:
        return starts, stops
    apart = np.flatnonzero(starts[1:] != stops[:-1])
    firsts, lasts = np.zeros(len(apart) + 1, np.intp), np.full(len(apart) + 1, len(starts) - 1)
    firsts[1:], lasts[:-1] = apart + 1, apart
    return starts[firsts], stops[lasts]


def changed(path: str) -> InputError:
    """Return the error for a file that is not what it was when it was read first."""
    return InputError(
        f"{path} was changed while it was read; run the command again when nothing writes it"
    )


def unreadable(path: str, error: OSError) -> Error:
    """Return the error for a file that the system does not let this process read again."""
    return no_descriptor(error) or InputError(
        f"{path} cannot be read again ({error.strerror}); run the command again when it can be"
    )


class LineBytes(NamedTuple):
    """Bytes of some lines: `size` of them, in ranges of the file; `is_end`: the last of all."""

    starts: I64
    stops: I64
    size: int
    is_end: bool


def blocks(lines: Lines, size: int) -> Iterator[LineBytes]:
    """Yield the bytes of lines in blocks of `size`; a long line lies in several of them."""
    starts, stops = np.ascontiguousarray(lines.starts), np.ascontiguousarray(lines.stops)
    ends = np.cumsum(stops - starts)
    whole = int(ends[-1]) if len(ends) else 0
    for done in range(0, whole, size):
        until = min(done + size, whole)
        first, last = int(np.searchsorted(ends, done, "right")), int(np.searchsorted(ends, until))
        some = slice(first, last + 1)
        begins, finishes = starts[some].copy(), stops[some].copy()
        begins[0] = stops[first] - (ends[first] - done)
        finishes[-1] = stops[last] - (ends[last] - until)
        yield LineBytes(begins, finishes, until - done, until == whole)


def contents(lines: Lines) -> Iterator[bytes]:
    """Yield the lines with their line feeds, many at a time; a long line comes in parts.

    Raises InputError if the file is too short or cannot be read.
    """
    return (_read(lines, each) for each in blocks(lines, BLOCK_BYTES))


def copy(lines: Lines, descriptor: int, place: int, threads: int) -> int:
    """Write the lines into a file at `place` in it; return where they end.  Errors: `contents`.

    Several threads write, each at its own place.
    """

    def write(at: int, block: LineBytes) -> None:
        write_at(descriptor, at, _read(lines, block))

    parts = list(blocks(lines, COPIED_BYTES))
    if len(parts) == 1:  # one of very many short pieces, perhaps
        write(place, parts[0])
        return place + parts[0].size
    places = place + np.cumsum([0, *(each.size for each in parts)])
    run_all(lambda part: write(*part), zip(places.tolist(), parts, strict=False), threads)
    return int(places[-1])


def write_at(descriptor: int, place: int, content: bytes) -> None:
    """Write all of some bytes at a place of an open file; several threads may call this."""
    left = memoryview(content)
    while left:
        done = os.pwrite(descriptor, left, place)
        left, place = left[done:], place + done


def split_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line with its line feed, of blocks that together are whole lines."""
    held: list[bytes] = []
    for block in blocks:
        whole, feed, rest = block.rpartition(LINE_FEED)
        if feed:
            yield from io.BytesIO(b"".join([*held, whole, feed]))
            held = []
        held.append(rest)


class Spool(ExitStack):
    """A list of JSON values in a temporary file, which can be read several times.

    `with` removes the file, here and of the other spools.
    """

    def __init__(self) -> None:
        """Make the temporary file."""
        super().__init__()
        self._file = self.enter_context(
            tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115
        )

    def add(self, value: Any) -> None:
        """Append one JSON value."""
        self._file.write(json.dumps(value, default=rows.encoded) + "\n")

    def flush(self) -> None:
        """Write what is held, so that a full disk is noticed before anything is committed."""
        self._file.flush()

    def __iter__(self) -> Iterator[Any]:
        """Yield all values appended so far."""
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)
        self._file.seek(0, os.SEEK_END)


class LineSpool(ExitStack):
    """A list of lines in a temporary file, byte for byte; lines contain no line feed."""

    def __init__(self, folder: str | None = None) -> None:
        """Make the temporary file in `folder`; None for the folder of temporary files."""
        super().__init__()
        self._file = self.enter_context(tempfile.TemporaryFile("w+b", dir=folder))  # noqa: SIM115
        self._size = 0

    def add(self, lines: Sequence[bytes]) -> tuple[I64, I64]:
        """Append lines; return where each of them starts, and its size with its line feed."""
        self._file.write(LINE_FEED.join([*lines, b""]))
        sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + len(LINE_FEED)
        stops = self._size + np.cumsum(sizes)
        self._size += int(sizes.sum())
        return stops - sizes, sizes

    def spans(self, starts: I64, sizes: I64) -> Iterator[Lines]:
        """Yield ascending lines, those that touch each other as one range."""
        self._file.flush()
        ranges = merged(starts, starts + sizes)
        yield Lines("the temporary file", self._file.fileno(), *ranges, len(starts))


class TextSpool(ExitStack):
    """A list of texts in two temporary files, of UTF-8 and of the end of each text in it.

    So its memory does not grow with the number of texts.
    """

    def __init__(self, memory: int | None = 0) -> None:
        """Make the temporary files; `memory`: see `Blocks`, for the ends."""
        super().__init__()
        self._file = self.enter_context(
            tempfile.TemporaryFile("w+b", WRITTEN_BYTES)  # noqa: SIM115
        )
        self._ends = self.enter_context(Blocks(memory))
        self._size = 0

    def add(self, texts: Sequence[str] | TextColumn) -> None:
        """Append texts, none of them a null."""
        if isinstance(texts, TextColumn):
            self.append(np.maximum(texts.lengths, 0), texts.memory())
        else:
            contents = list(encoded(texts))
            self.append(np.fromiter(map(len, contents), np.int64, len(contents)), contents)

    def append(self, lengths: I64, contents: Iterable[Any]) -> None:
        """Append texts of some lengths, whose bytes are `contents`."""
        self._file.writelines(contents)
        self._ends.add(self._size + np.cumsum(lengths))
        self._size += int(lengths.sum())

    def texts(self, positions: U32 | I64) -> TextColumn:
        """Return the texts at some positions.

        They are read, not mapped: for each text that is read in a map, the system would map many
        pages around it, too.
        """
        self._file.flush()
        places = positions.astype(np.int64)
        if not len(places):
            return TextColumn(np.empty(0, np.uint64), places, ())
        if (places[1:] <= places[:-1]).any():  # files are read from their beginnings to their ends
            distinct, back = np.unique(places, return_inverse=True)
            return self.texts(distinct).chosen(back)
        every = self._ends.whole()
        stops = every[places]
        lengths = stops - np.where(places > 0, every[places - 1], 0)
        ranges = (each[lengths > 0] for each in (stops - lengths, stops))
        content = np.frombuffer(kernel.read_ranges(self._file.fileno(), *ranges), np.uint8)
        addresses = np.cumsum(lengths) - lengths + content.ctypes.data
        return TextColumn(addresses.astype(np.uint64), lengths, (content,))


class TextsById(ExitStack):
    """Texts in a spool, with 16 bytes of memory for each; a later text of an id counts.

    `with` removes the spool.
    """

    def __init__(self) -> None:
        """Begin without texts."""
        super().__init__()
        self._spool = self.enter_context(TextSpool())
        self._added: list[U64] = []
        self._key = kernel.new_id_key()
        self._hashes: U64 | None = None
        self._places = np.empty(0, np.uint32)

    def add(self, ids: Sequence[Any], texts: Sequence[str] | TextColumn) -> None:
        """Add documents."""
        self._spool.add(texts)
        self._added.append(self._hashes_of(ids))
        self._hashes = None

    def texts(self, ids: Sequence[Id]) -> Sequence[Any]:
        """Return the text of each id, None for an unknown one."""
        at = places_in(self._sorted(), self._hashes_of(ids))
        known = iter(self._spool.texts(self._places[at[at >= 0]]))
        return [None if place < 0 else next(known) for place in at.tolist()]

    def _sorted(self) -> U64:
        """Return the hashes of all ids, ascending, after finding the place of each."""
        if self._hashes is None:
            every = np.concatenate([np.empty(0, np.uint64), *self._added])
            # The last of equal hashes comes first in the reversed order.
            self._hashes, places = np.unique(every[::-1], return_index=True)
            self._places = (len(every) - 1 - places).astype(np.uint32)
        return self._hashes

    def _hashes_of(self, ids: Sequence[Any]) -> U64:
        """Return hashes of ids under a key of this object, so that no input can make them equal."""
        return np.asarray(kernel.encode_ids(list(ids), self._key)[2], np.uint64)


def _read(lines: Lines, block: LineBytes) -> bytes:
    """Return the bytes of a block; the last line of all may lack its line feed."""
    try:
        found: bytes = kernel.read_ranges(lines.descriptor, block.starts, block.stops)
    except OSError as error:
        raise unreadable(lines.path, error) from error
    missing = block.size - len(found)
    if missing == 1 and block.is_end and not found.endswith(LINE_FEED):
        return found + LINE_FEED
    if missing:
        raise changed(lines.path)
    return found
