"""Spools: temporary files in which results, lines and texts wait."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from simdb.columns.text_column import TextColumn, encoded
from simdb.outputs import rows
from simdb.outputs.pieces import I64, LINE_FEED, Lines, merged

# Texts are written to the system so many bytes at a time.
WRITTEN_BYTES = 1 << 20

Kind = TypeVar("Kind", bound="Temporary")


class Temporary:
    """A temporary file, which `with` closes and removes."""

    _file: IO[Any]

    def __enter__(self: Kind) -> Kind:
        """Return the object itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close and remove the file."""
        self._file.close()


class Spool(Temporary):
    """A list of JSON values in a temporary file, which can be read several times."""

    def __init__(self) -> None:
        """Make the temporary file."""
        # Every spool is used with `with`, so __exit__ closes the file.
        self._file = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115

    def add(self, value: Any) -> None:
        """Append one JSON value."""
        self._file.write(json.dumps(value, default=rows.encoded) + "\n")

    def __iter__(self) -> Iterator[Any]:
        """Yield all values appended so far."""
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)
        self._file.seek(0, os.SEEK_END)


class LineSpool(Temporary):
    """A list of lines in a temporary file, byte for byte; lines contain no line feed."""

    def __init__(self, folder: str | None = None) -> None:
        """Make the temporary file in `folder`; None for the folder of temporary files."""
        # Every spool is used with `with`, so __exit__ closes the file.
        self._file = tempfile.TemporaryFile("w+b", dir=folder)  # noqa: SIM115
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


class TextSpool(Temporary):
    """A list of texts in two temporary files, of UTF-8 and of the end of each text in it.

    So its memory does not grow with the number of texts.
    """

    def __init__(self) -> None:
        """Make the temporary files."""
        # Every spool is used with `with`, so __exit__ closes the files.
        self._file = tempfile.TemporaryFile("w+b", WRITTEN_BYTES)  # noqa: SIM115
        self._ends = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        self._size = 0

    def __exit__(self, *error: Any) -> None:
        """Close and remove the files."""
        self._ends.close()
        self._file.close()

    def add(self, texts: Sequence[str] | TextColumn) -> None:
        """Append texts, none of them a null."""
        if isinstance(texts, TextColumn):
            lengths = np.maximum(texts.lengths, 0)
            for part in texts.memory():
                self._file.write(part)
        else:
            contents = list(encoded(texts))
            lengths = np.fromiter(map(len, contents), np.int64, len(contents))
            self._file.write(b"".join(contents))
        ends = self._size + np.cumsum(lengths)
        self._ends.write(ends.tobytes())
        self._size = int(ends[-1]) if len(ends) else self._size

    def texts(self, positions: npt.NDArray[np.uint32]) -> TextColumn:
        """Return the texts at some positions.

        They are read, not mapped: for each text that is read in a map, the system would map many
        pages around it, too.
        """
        self._file.flush()
        self._ends.flush()
        places = positions.astype(np.int64)
        if not len(places):
            return TextColumn(np.empty(0, np.uint64), places, ())
        every = np.memmap(self._ends, np.int64, "r")
        starts = np.where(places > 0, every[places - 1], 0)
        lengths = every[places] - starts
        ends = np.cumsum(lengths)
        room = np.empty(int(ends[-1]), np.uint8)
        file, view = self._file.fileno(), room.data
        parts = zip(starts.tolist(), (ends - lengths).tolist(), ends.tolist(), strict=True)
        for start, at, stop in parts:
            os.preadv(file, [view[at:stop]], start)
        addresses = (ends - lengths + room.ctypes.data).astype(np.uint64)
        return TextColumn(addresses, lengths, (room,), is_binary=True)
