"""Line spool: a temporary file of lines, of which some are copied at the end."""

import tempfile
from collections.abc import Iterator, Sequence

import numpy as np

from simdb.outputs.pieces import I64, LINE_FEED, Lines, merged
from simdb.outputs.spool import Temporary


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
