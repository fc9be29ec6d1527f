"""Spools: temporary files in which results wait."""

import json
import os
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any, TypeVar

from simdb.outputs.rows import encoded

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
