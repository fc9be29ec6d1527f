"""Line spool: a temporary file of lines, of which some are copied at the end."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Protocol

from simdb.outputs.spool import Temporary


class Lines(Protocol):
    """Takes lines."""

    def writelines(self, lines: Iterator[bytes], /) -> None:
        """Take lines, each with its line feed."""


class LineSpool(Temporary):
    """A list of lines in a temporary file, byte for byte; lines contain no line feed."""

    def __init__(self, folder: str | None = None) -> None:
        """Make the temporary file in `folder`; None for the folder of temporary files."""
        # Every spool is used with `with`, so __exit__ closes the file.
        self._file = tempfile.TemporaryFile("w+b", dir=folder)  # noqa: SIM115

    def add(self, lines: Sequence[bytes]) -> None:
        """Append lines."""
        if lines:
            self._file.write(b"\n".join(lines) + b"\n")

    def __iter__(self) -> Iterator[bytes]:
        """Yield all lines, each with its line feed."""
        self._file.seek(0)
        yield from self._file
        self._file.seek(0, os.SEEK_END)

    def copy(self, is_chosen: Iterable[object], target: Lines) -> None:
        """Write the lines with a true value in `is_chosen` to `target`, each with a line feed.

        `is_chosen` has a value for each line, in the order in which the lines were added.
        """
        target.writelines(compress(self, is_chosen))
