"""Spools: results that wait on disk until all of them are known."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Any

from simdb.cli.output.render import encoded

PARTIAL = ".partial"


class Spool:
    """Objects in order, in a temporary file; take them out as often as needed."""

    def __init__(self, beside: IO[bytes] | None = None) -> None:
        """The file is `beside` one that will hold much of it, or where temporary files are."""
        is_named = beside is not None and beside.name.endswith(PARTIAL)
        folder = os.path.dirname(beside.name) if beside is not None and is_named else None
        # Closed by __exit__, as every spool is used with `with`.
        self._file = tempfile.TemporaryFile("w+", encoding="ascii", dir=folder)  # noqa: SIM115

    def add(self, value: Any) -> None:
        """Put one more object, of what JSON knows."""
        self._file.write(json.dumps(value, default=encoded) + "\n")

    def __iter__(self) -> Iterator[Any]:
        """Each object put so far."""
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> "Spool":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The file is gone."""
        self._file.close()


def write_lines(rows: Iterable[Any], file: IO[bytes] | None) -> None:
    """Write objects as lines of JSON, if there is a file for them."""
    if file is not None:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


@contextmanager
def written(path: str | None) -> Iterator[IO[bytes] | None]:
    """A file to write, which appears under its name when all went well; None for none."""
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
