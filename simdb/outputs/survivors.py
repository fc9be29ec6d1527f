"""Survivors: the input without duplicates, written in the format of the file of -o.

JSON lines and lists of paths are written at once.  For all other formats the lines wait in a
temporary file beside the output, since a table needs its columns first.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from simdb.errors import OptionError
from simdb.outputs.formats import (
    DELIMITERS,
    FOLDER,
    JSON_LINES,
    PARQUET,
    PATHS,
    SHARDS,
    STANDARD_OUTPUT,
    TABLES,
    Format,
    output_format,
)
from simdb.outputs.parquet_file import Part, Place, write_parquet
from simdb.outputs.remote import is_remote
from simdb.outputs.rows import Row
from simdb.outputs.spool import Temporary
from simdb.outputs.table_file import write_separated
from simdb.outputs.target import BEFORE, Target, written

# Marks a line feed in a path, which cannot contain this character.
NUL = b"\0"
# Ends the number of the source before a line of a shard.
NUMBER_END = b"\0"
PARQUET_END = ".parquet"


def keep_format(output: str, sources: Mapping[str, bool]) -> Format:
    """Return the format of the survivors; raise OptionError if the sources do not fit it.

    `sources`: whether each source holds records; otherwise it is a folder or one document.
    """
    if output == STANDARD_OUTPUT:
        return Format(JSON_LINES if any(sources.values()) else PATHS)
    is_folder = output.endswith("/") or os.path.isdir(output)
    if is_folder and is_remote(output):
        raise OptionError(f"-o {output}: a remote folder cannot be written; name a file")
    if is_folder and sources and all(sources.values()):
        _check_shards(output, list(sources))
        return Format(SHARDS)
    form = (
        Format(FOLDER)
        if is_folder
        else output_format(output, "--output", {**TABLES, ".txt": PATHS})
    )
    records = [source for source, has_records in sources.items() if has_records]
    if form.kind in (FOLDER, PATHS) and records:
        what = "a .txt file lists documents that are files"
        if is_folder:
            what = "a folder takes either documents that are files, or files of records"
        raise OptionError(
            f"-o {output}: {what}, and {records[0]} holds records; let FILE end in"
            f" {', '.join(TABLES)}"
        )
    if is_folder:
        for source in filter(is_remote, sources):
            raise OptionError(f"-o {output}: {source} is remote, and cannot be copied into it")
        _check_folder(output, list(sources))
    return form


class Survivors(Temporary):
    """The output of -o in the making; it takes lines in the order of the input.

    A line is a JSON object, the place of a row of a Parquet file, or the path of a file.  For an
    output with a file for each source, the lines of each source are in a row.
    """

    def __init__(
        self,
        target: Target,
        sources: Sequence[str],
        names: Sequence[str],
        *,
        columns: Callable[[Sequence[str]], Sequence[str]],
        has_links: bool = False,
    ) -> None:
        """Fill `target`; `has_links`: link files into a folder, and do not copy them.

        `names`: what readers call the `sources`.  `columns` returns the columns of a CSV or TSV
        file of some sources that has no survivors.
        """
        self.target = target
        self._sources = sources
        self._has_links = has_links
        self._columns = columns
        self._numbers = {name: number for number, name in enumerate(names)}
        # Where the lines of each source begin and end in the temporary file.
        self._parts_of: dict[int, tuple[int, int]] = {}
        self._size = 0
        # Survivors are used with `with`, so __exit__ closes the file.
        self._file = tempfile.TemporaryFile("w+b", dir=target.folder)  # noqa: SIM115

    def shard_lines(self, names: Sequence[str], lines: Sequence[bytes]) -> Sequence[bytes]:
        """Return lines with the number of the source of each, if the output has shards.

        `names`: of their sources, as readers call them.
        """
        if self.target.form.kind != SHARDS:
            return lines
        return [
            b"%d%b%b" % (self._numbers[name], NUMBER_END, line)
            for name, line in zip(names, lines, strict=True)
        ]

    def writelines(self, lines: Iterable[bytes]) -> None:
        """Take lines, each with its line feed; for shards as `shard_lines` makes them."""
        kind, stream = self.target.form.kind, self.target.stream
        if kind == JSON_LINES and stream is not None:
            stream.writelines(self._counted(lines))
        elif kind == PATHS and stream is not None:
            stream.writelines(each.replace(NUL, b"\\n") for each in self._counted(lines))
        elif kind == SHARDS:
            self._file.writelines(self._sorted_in(self._counted(lines)))
        else:
            self._file.writelines(self._counted(lines))

    def finish(self) -> None:
        """Write what waits; afterwards the target is complete."""
        target = self.target
        if target.form.kind == FOLDER:
            self._fill_folder()
        elif target.form.kind == SHARDS:
            self._write_shards()
        else:
            parquet = [each for each in self._sources if each.lower().endswith(PARQUET_END)]
            known = [each for each in parquet if os.path.isfile(each) or is_remote(each)]
            self._write(target, self._sources, known)
        target.finish()

    def _write(
        self,
        target: Target,
        sources: Sequence[str],
        parquet: Sequence[str],
        part: tuple[int, int] | None = None,
    ) -> None:
        """Write a table of the lines, or of a part of them; `parquet`: sources of its schema."""
        kind, stream = target.form.kind, target.stream
        if stream is None:
            return
        if kind == PARQUET:
            write_parquet(lambda: self._parts(part), stream, parquet)
        elif kind in DELIMITERS:
            columns = self._columns(sources) if target.rows == 0 else ()
            write_separated(lambda: self._rows(part), stream, DELIMITERS[kind], columns)
        elif kind == JSON_LINES and part is not None:
            stream.writelines(self._lines(part))

    def _write_shards(self) -> None:
        """Write the lines of each source into a file of its name."""
        for number in self._numbers.values():
            source = self._sources[number]
            name = os.path.basename(os.path.realpath(source))
            part = self._parts_of.get(number, (0, 0))
            if part[0] == part[1]:
                self.target.without_rows.add(name)
            is_parquet = source.lower().endswith(PARQUET_END)
            path = os.path.join(self.target.partial, name)
            with written(path, output_format(path, "--output")) as shard:
                assert shard is not None, "a path and a format make a target"
                shard.rows = part[1] - part[0]
                self._write(shard, [source], [source] if is_parquet else [], part)

    def _sorted_in(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines without the numbers of their sources; note where those of each are."""
        for line in lines:
            number, _, rest = line.partition(NUMBER_END)
            start, _ = self._parts_of.get(int(number), (self._size, 0))
            self._size += len(rest)
            self._parts_of[int(number)] = start, self._size
            yield rest

    def _counted(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.target.rows += 1
            yield line

    def _lines(self, part: tuple[int, int] | None = None) -> Iterator[bytes]:
        start, stop = (0, None) if part is None else part
        self._file.seek(start)
        if stop is None:
            yield from self._file
            return
        while start < stop:
            line = self._file.readline()
            start += len(line)
            yield line

    def _rows(self, part: tuple[int, int] | None) -> Iterator[Row]:
        return map(json.loads, map(_decoded, self._lines(part)))

    def _parts(self, part: tuple[int, int] | None) -> Iterator[Part]:
        for line in self._lines(part):
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
    target: Target | None,
    sources: Sequence[str],
    names: Sequence[str],
    *,
    columns: Callable[[Sequence[str]], Sequence[str]],
    has_links: bool = False,
) -> Iterator[Survivors | None]:
    """Yield the survivors that fill `target`; None if there is no target.  See `Survivors`."""
    if target is None:
        yield None
        return
    with Survivors(target, sources, names, columns=columns, has_links=has_links) as survivors:
        yield survivors


def _check_shards(output: str, sources: Sequence[str]) -> None:
    """Raise OptionError unless each source can have a file of its name in a folder."""
    if os.path.lexists(output.rstrip("/")) and not os.path.isdir(output):
        raise OptionError(f"-o {output}: it is a file; name a new folder")
    names: dict[str, str] = {}
    others = set(os.listdir(output)) if os.path.isdir(output) else set()
    for source in sources:
        if source == "-":
            raise OptionError(
                f"-o {output}: the files in it are called as the sources, and standard input has"
                f" no name; let FILE end in {', '.join(TABLES)}"
            )
        name = os.path.basename(os.path.realpath(source))
        if names.setdefault(name, os.path.realpath(source)) != os.path.realpath(source):
            raise OptionError(
                f"-o {output}: {names[name]} and {source} would both be called {name} in it;"
                " give them to two runs, or rename one"
            )
        place = os.path.join(output, name)
        if os.path.realpath(place) == os.path.realpath(source):
            raise OptionError(f"-o {output}: it is the folder of {source}; name another one")
        output_format(place, f"-o {output}: the name of each source")
    # What earlier runs of these sources left, complete or not, may be replaced; what else is there
    # beside a whole result of theirs came later, and stays.
    others -= {name + end for name in names for end in ("", BEFORE)}
    if others and not all(os.path.lexists(os.path.join(output, name)) for name in names):
        raise OptionError(
            f"-o {output}: the folder holds other files, such as {min(others)}; name a new one"
        )


def _check_folder(output: str, sources: Sequence[str]) -> None:
    """Raise OptionError unless a folder is new or empty, and each source has a name in it."""
    if os.path.isdir(output) and os.listdir(output):
        raise OptionError(f"-o {output}: the folder is not empty; name a new one")
    if os.path.lexists(output.rstrip("/")) and not os.path.isdir(output):
        raise OptionError(f"-o {output}: it is a file; name a new folder")
    names: dict[str, str] = {}
    for source in sources:
        name = os.path.basename(os.path.realpath(source))
        if name in names and names[name] != source and len(sources) > 1:
            raise OptionError(
                f"-o {output}: {names[name]} and {source} would both be called {name} in it; give"
                " the folder above them as the source"
            )
        names[name] = source


def _is_within(path: str, root: str) -> bool:
    if root == ".":
        return not os.path.isabs(path) and path.partition("/")[0] != ".."
    return path == root or path.startswith(root.rstrip("/") + "/")


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
