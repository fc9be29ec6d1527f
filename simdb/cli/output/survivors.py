"""Survivors: the input without duplicates, written in the format of the file of --keep.

JSON lines and lists of paths are written at once.  For all other formats the lines wait in a
temporary file beside the output, since a table needs its columns first.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from simdb.cli.output.formats import (
    DELIMITERS,
    FOLDER,
    JSON_LINES,
    PARQUET,
    PATHS,
    TABLES,
    Format,
    output_format,
)
from simdb.cli.output.parquet_file import Part, Place, write_parquet
from simdb.cli.output.render import Row
from simdb.cli.output.spool import Temporary
from simdb.cli.output.table_file import write_separated
from simdb.cli.output.target import Target
from simdb.errors import OptionError

# Marks a line feed in a path, which cannot contain this character.
NUL = b"\0"


def keep_format(keep: str, sources: Mapping[str, bool]) -> Format:
    """Return the format of the survivors; raise OptionError if the sources do not fit it.

    `sources`: whether each source holds records; otherwise it is a folder or one document.
    """
    is_folder = keep.endswith("/") or os.path.isdir(keep)
    form = Format(FOLDER) if is_folder else output_format(keep, "--keep", {**TABLES, ".txt": PATHS})
    records = [source for source, has_records in sources.items() if has_records]
    if form.kind in (FOLDER, PATHS) and records:
        what = "a folder takes" if is_folder else "a .txt file lists"
        raise OptionError(
            f"--keep {keep}: {what} documents that are files, and {records[0]} holds records; let"
            f" FILE end in {', '.join(TABLES)}"
        )
    if is_folder:
        _check_folder(keep, list(sources))
    return form


class Survivors(Temporary):
    """The output of --keep in the making; it takes lines in the order of the input.

    A line is a JSON object, the place of a row of a Parquet file, or the path of a file.
    """

    def __init__(self, target: Target, sources: Sequence[str], *, has_links: bool = False) -> None:
        """Fill `target`; `has_links`: link files into a folder, and do not copy them."""
        self.target = target
        self._sources = sources
        self._has_links = has_links
        # Survivors are used with `with`, so __exit__ closes the file.
        self._file = tempfile.TemporaryFile("w+b", dir=target.folder)  # noqa: SIM115

    def writelines(self, lines: Iterable[bytes]) -> None:
        """Take lines, each with its line feed."""
        kind, stream = self.target.form.kind, self.target.stream
        if kind == JSON_LINES and stream is not None:
            stream.writelines(self._counted(lines))
        elif kind == PATHS and stream is not None:
            stream.writelines(each.replace(NUL, b"\\n") for each in self._counted(lines))
        else:
            self._file.writelines(self._counted(lines))

    def finish(self) -> None:
        """Write what waits; afterwards the target is complete."""
        target = self.target
        kind, stream = target.form.kind, target.stream
        if kind == FOLDER:
            self._fill_folder()
        elif kind == PARQUET and stream is not None:
            parquet = [each for each in self._sources if each.lower().endswith(".parquet")]
            write_parquet(self._parts, stream, [each for each in parquet if os.path.isfile(each)])
        elif kind in DELIMITERS and stream is not None:
            write_separated(self._rows, stream, DELIMITERS[kind])
        target.finish()

    def _counted(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.target.rows += 1
            yield line

    def _lines(self) -> Iterator[bytes]:
        self._file.seek(0)
        yield from self._file

    def _rows(self) -> Iterator[Row]:
        return map(json.loads, map(_decoded, self._lines()))

    def _parts(self) -> Iterator[Part]:
        for line in self._lines():
            value = json.loads(_decoded(line))
            yield Place(*value) if isinstance(value, list) else value

    def _fill_folder(self) -> None:
        """Copy or link the files into the folder, under their paths within their sources."""
        roots = list(map(os.path.normpath, self._sources))
        is_alone = len(roots) == 1 and os.path.isdir(roots[0])
        for line in self._lines():
            path = os.fsdecode(line[:-1].replace(NUL, b"\n"))
            normal = os.path.normpath(path)
            root = next(each for each in roots if _is_within(normal, each))
            inner = os.path.relpath(normal, root)
            name = "" if is_alone else os.path.basename(os.path.realpath(root))
            place = os.path.normpath(os.path.join(self.target.partial, name, inner))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if self._has_links:
                os.link(path, place)
            else:
                shutil.copy2(path, place)


@contextmanager
def surviving(
    target: Target | None, sources: Sequence[str], *, has_links: bool = False
) -> Iterator[Survivors | None]:
    """Yield the survivors that fill `target`; None if there is no target."""
    if target is None:
        yield None
        return
    with Survivors(target, sources, has_links=has_links) as survivors:
        yield survivors


def _check_folder(keep: str, sources: Sequence[str]) -> None:
    """Raise OptionError unless a folder is new or empty, and each source has a name in it."""
    if os.path.isdir(keep) and os.listdir(keep):
        raise OptionError(f"--keep {keep}: the folder is not empty; name a new one")
    if os.path.lexists(keep.rstrip("/")) and not os.path.isdir(keep):
        raise OptionError(f"--keep {keep}: it is a file; name a new folder")
    names: dict[str, str] = {}
    for source in sources:
        name = os.path.basename(os.path.realpath(source))
        if name in names and names[name] != source and len(sources) > 1:
            raise OptionError(
                f"--keep {keep}: {names[name]} and {source} would both be called {name} in it; give"
                " the folder above them as the source"
            )
        names[name] = source


def _is_within(path: str, root: str) -> bool:
    if root == ".":
        return not os.path.isabs(path) and path.partition("/")[0] != ".."
    return path == root or path.startswith(root.rstrip("/") + "/")


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
