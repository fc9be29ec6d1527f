"""Text spool: a temporary file of the texts that were read, which can be read again by position."""

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.text_column import TextColumn, encoded
from simdb.outputs.spool import Temporary

# Texts are written to the system so many bytes at a time.
WRITTEN_BYTES = 1 << 20


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
