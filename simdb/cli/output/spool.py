"""Spools: temporary files in which results wait, and files that appear when complete."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Any, TypeVar

from simdb.cli.output.render import encoded

PARTIAL = ".partial"

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
        self._file.write(json.dumps(value, default=encoded) + "\n")

    def __iter__(self) -> Iterator[Any]:
        """Yield all values appended so far."""
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)
        self._file.seek(0, os.SEEK_END)


def write_lines(rows: Iterable[Any], file: IO[bytes] | None) -> None:
    """Write rows as JSON lines to `file`, unless it is None."""
    if file is not None:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


@contextmanager
def written(path: str | None) -> Iterator[IO[bytes] | None]:
    """Yield a file to write, which gets its name `path` at the end; None if `path` is None.

    After an error the file is removed, and what was at `path` before remains.
    """
    if path is None:
        yield None
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:  # a pipe or a device
            yield file
        return
    place = os.path.realpath(path)
    try:
        with open(place + PARTIAL, "wb") as file:
            yield file
        os.replace(place + PARTIAL, place)
    except BaseException:
        if os.path.exists(place + PARTIAL):
            os.remove(place + PARTIAL)
        raise
