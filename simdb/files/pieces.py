"""Pieces: the ranges of files or spools that hold the documents to write.

A piece is a set of lines of one file, or of rows of one Parquet file.  One system call reads many
ranges of lines and discards the bytes between them.  That is faster than one call per range; with
long ranges, it is as fast as copying inside the system.

A *spool* is a temporary file of results, lines or texts.
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
# Size of a block that one thread copies.
COPIED_BYTES = 1 << 22
LINE_FEED = b"\n"

# Size of the buffer in front of a file of texts.
WRITTEN_BYTES = 1 << 20


class CsvHead(NamedTuple):
    """The header row of a CSV file, with its line end, and the column names in it.

    `start`: offset of the second row in the file.
    """

    header: bytes
    columns: tuple[str, ...]
    delimiter: str
    start: int


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """A set of `count` lines of an open file, in ranges of bytes from `starts` to `stops`.

    The ranges ascend.  Each line ends with a line feed, which the last line of a file may lack.
    `number`: number of the file, for the maker of the piece.  `table`: head of a CSV file, whose
    rows take the place of lines; None if a line is a JSON object or the path of a file.
    `is_waiting`: whether the lines may have NaN and infinite numbers (see `waiting_line`).
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
    """A set of `count` rows of a Parquet file, in ranges from `starts` to `stops`."""

    path: str
    starts: I64
    stops: I64
    count: int


Piece = Lines | RowRange


def merged(starts: I64, stops: I64) -> tuple[I64, I64]:
    """Merge adjacent ones of ascending ranges; return the starts and stops."""
    if len(starts) < 2:
        return starts, stops
    apart = np.flatnonzero(starts[1:] != stops[:-1])
    firsts, lasts = np.zeros(len(apart) + 1, np.intp), np.full(len(apart) + 1, len(starts) - 1)
    firsts[1:], lasts[:-1] = apart + 1, apart
    return starts[firsts], stops[lasts]


def changed(path: str) -> InputError:
    """Return the error for a file that was changed since its first reading."""
    return InputError(
        f"{path} was changed while it was read; run the command again when nothing writes it"
    )


def unreadable(path: str, error: OSError) -> Error:
    """Return the error for a file that cannot be read again."""
    return no_descriptor(error) or InputError(
        f"{path} cannot be read again ({error.strerror}); run the command again when it can be"
    )


class LineBytes(NamedTuple):
    """A block of `size` bytes of lines, in ranges of the file; `is_end`: it is the last one."""

    starts: I64
    stops: I64
    size: int
    is_end: bool


def blocks(lines: Lines, size: int) -> Iterator[LineBytes]:
    """Divide lines into blocks of `size` bytes; yield these.  A long line spans several blocks."""
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
    """Yield the bytes of lines in large blocks; a long line spans several blocks.

    Raises InputError if the file is too short or cannot be read.
    """
    return (_read(lines, each) for each in blocks(lines, BLOCK_BYTES))


def copy(lines: Lines, descriptor: int, place: int, threads: int) -> int:
    """Write lines into a file, starting at offset `place`; return the offset after them.

    Several threads write, each at its own place.  Raises the errors of `contents`.
    """

    def write(at: int, block: LineBytes) -> None:
        write_at(descriptor, at, _read(lines, block))

    parts = list(blocks(lines, COPIED_BYTES))
    if len(parts) == 1:  # perhaps one of very many short pieces
        write(place, parts[0])
        return place + parts[0].size
    places = place + np.cumsum([0, *(each.size for each in parts)])
    run_all(lambda part: write(*part), zip(places.tolist(), parts, strict=False), threads)
    return int(places[-1])


def write_at(descriptor: int, place: int, content: bytes) -> None:
    """Write bytes at an offset of an open file; several threads may call this."""
    left = memoryview(content)
    while left:
        done = os.pwrite(descriptor, left, place)
        left, place = left[done:], place + done


def split_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line with its line feed from blocks that together hold whole lines."""
    held: list[bytes] = []
    for block in blocks:
        whole, feed, rest = block.rpartition(LINE_FEED)
        if feed:
            yield from io.BytesIO(b"".join([*held, whole, feed]))
            held = []
        held.append(rest)


class Spool(ExitStack):
    """A list of JSON values in a temporary file, which can be read several times.

    Like the other spools, it is used in a `with` block, which removes the file.
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
        """Write buffered values, so that a full disk is noticed before anything is committed."""
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
        """Append lines; return their starts and their sizes with line feeds."""
        self._file.write(LINE_FEED.join([*lines, b""]))
        sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + len(LINE_FEED)
        stops = self._size + np.cumsum(sizes)
        self._size += int(sizes.sum())
        return stops - sizes, sizes

    def spans(self, starts: I64, sizes: I64) -> Iterator[Lines]:
        """Yield ascending lines, with adjacent lines as one range."""
        self._file.flush()
        ranges = merged(starts, starts + sizes)
        yield Lines("the temporary file", self._file.fileno(), *ranges, len(starts))


class TextSpool(ExitStack):
    """A list of texts in two temporary files: their UTF-8 bytes, and the end of each text.

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
        """Append texts of the given lengths, whose bytes are `contents`."""
        self._file.writelines(contents)
        self._ends.add(self._size + np.cumsum(lengths))
        self._size += int(lengths.sum())

    def texts(self, positions: U32 | I64) -> TextColumn:
        """Return the texts at some positions.

        They are read, not mapped: the system would also map many pages around each text.
        """
        self._file.flush()
        places = positions.astype(np.int64)
        if not len(places):
            return TextColumn(np.empty(0, np.uint64), places, ())
        if (places[1:] <= places[:-1]).any():  # a file is read from its beginning to its end
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
    """Texts by id in a spool, with 16 bytes of memory each; the last text of an id counts.

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
        """Return the ascending hashes of all ids; set `_places` to where their texts are."""
        if self._hashes is None:
            every = np.concatenate([np.empty(0, np.uint64), *self._added])
            # `np.unique` finds the first of equal hashes; reversed, that is the last one added.
            self._hashes, places = np.unique(every[::-1], return_index=True)
            self._places = (len(every) - 1 - places).astype(np.uint32)
        return self._hashes

    def _hashes_of(self, ids: Sequence[Any]) -> U64:
        """Return hashes of ids under a key of this object, so that no crafted ids collide."""
        return np.asarray(kernel.encode_ids(list(ids), self._key)[2], np.uint64)


def _read(lines: Lines, block: LineBytes) -> bytes:
    """Return the bytes of a block; the last line of the file may lack a line feed."""
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
