"""Survivors: writes the input without duplicates, in the format of the output of -o.

The documents to write are given as pieces of files.  JSON lines and lists of paths are copied byte
for byte.  For a table the pieces are read twice, since its columns must be known first.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Protocol

import numpy as np

from simdb.core.arrow import rows_with_bytes
from simdb.core.dtypes import I64
from simdb.core.errors import OptionError
from simdb.core.threads import read_ahead, thread_count
from simdb.files import formats, table_file
from simdb.files.outputs import BEFORE, Staying, Target, check_staying, written
from simdb.files.pieces import LINE_FEED, Piece, RowRange, contents, copy, split_lines
from simdb.files.records import SourceOptions, valid_name
from simdb.files.remote import is_remote
from simdb.files.row_files import chosen_rows, is_arrow_stream
from simdb.files.rows import Row, as_line, may_have_odd_numbers, waiting_line
from simdb.files.sources import columns_of, holds_records

# Marks a line feed in a path, which cannot contain this character.
NUL = b"\0"


class KeptPlaces(Protocol):
    """A function that yields the pieces of documents in order; each call begins again."""

    def __call__(self, *, source: int | None = None) -> Iterator[Piece]:
        """Yield the pieces of all sources, or of one source, given by its number."""


def keep_format(
    output: str, sources: Sequence[str], reading: SourceOptions, staying: Staying
) -> formats.Format:
    """Return the format of the survivors; raise OptionError if the sources do not fit it.

    `staying`: files and folders that survivors must not replace, see `check_staying`.
    """
    records = [source for source in sources if holds_records(source, reading)]
    if output == formats.STANDARD_OUTPUT:
        return formats.Format(formats.JSONL if records else formats.PATHS)
    is_folder = output.endswith("/") or os.path.isdir(output)
    if is_folder and is_remote(output):
        raise OptionError(f"{output}: a remote folder cannot be written; name a file")
    if is_folder and os.path.lexists(output.rstrip("/")) and not os.path.isdir(output):
        raise OptionError(f"{output}: it is a file; name a new folder")
    if is_folder and records and len(records) == len(sources):
        check_staying(_check_shards(output, sources), staying, has_folders=True)
        return formats.Format(formats.SHARDS)
    form = (
        formats.Format(formats.FOLDER)
        if is_folder
        else formats.output_format(output, "the output", {**formats.TABLES, ".txt": formats.PATHS})
    )
    if form.has_paths and records:
        what = "a .txt file lists documents that are files"
        if is_folder:
            what = "a folder takes either documents that are files, or files of records"
        raise OptionError(
            f"{output}: {what}, and {records[0]} holds records; let FILE end in"
            f" {', '.join(formats.TABLES)}"
        )
    if form.kind == formats.PATHS:
        check_staying([output], {"a source": sources})
    if is_folder:
        for source in filter(is_remote, sources):
            raise OptionError(f"{output}: {source} is remote, and cannot be copied into it")
        _check_folder(output, sources)
    return form


class SurvivorOutput:
    """The output of -o, which takes the documents to keep, in the order of the input.

    A line is a JSON object, or the path of a file.
    """

    def __init__(
        self,
        target: Target,
        sources: Sequence[str],
        reading: SourceOptions,
        *,
        has_links: bool = False,
    ) -> None:
        """Write documents that were read with `reading` into `target`.

        Without a target, only `numbers` can be used.  `has_links`: link files into a folder instead
        of copying them.
        """
        self.target = target
        self.sources = sources
        self._has_links, self._reading = has_links, reading
        if target is not None:
            target.is_source = os.path.realpath(target.path) in map(os.path.realpath, sources)
        self._numbers: dict[str, int] = {}
        for number, source in enumerate(sources):
            self._numbers.setdefault(valid_name(source), number)

    @property
    def folder(self) -> str | None:
        """The folder for lines to be written later; None for the folder of temporary files."""
        return self.target.folder if self.target else None

    def numbers(self, names: Sequence[str]) -> I64:
        """Return the number of the source that each name means, -1 for an unknown name."""
        if names and names.count(names[0]) == len(names):
            return np.full(len(names), self._numbers.get(names[0], -1), np.int64)
        found = (self._numbers.get(name, -1) for name in names)
        return np.fromiter(found, np.int64, len(names))

    def write(self, pieces: KeptPlaces) -> None:
        """Write all documents, see `KeptPlaces`."""
        target = self.target
        if target.form.kind == formats.FOLDER:
            self._fill_folder(pieces())
        elif target.form.kind == formats.SHARDS:
            self._write_shards(pieces)
        else:
            self._write(target, pieces, self.sources)

    def spare_source(self) -> None:
        """Keep any source that the output replaces, under another name."""
        self.target.is_sparing = self.target.is_source

    def finish(self) -> None:
        """Complete the target."""
        self.target.finish()

    def _write(self, target: Target, pieces: KeptPlaces, sources: Sequence[str]) -> None:
        """Write the documents of some sources into one file."""
        kind, stream = target.form.kind, target.stream
        assert stream is not None, "only folders have no stream"

        def counted() -> Iterator[Piece]:
            for each in pieces():
                target.rows += each.count
                yield each

        names: Mapping[str, str | None] = {}
        if kind in formats.ROWS or kind in formats.DELIMITERS:
            target.rows = sum(each.count for each in pieces())
            names = columns_of(self._reading, sources)
        if kind in formats.ROWS:
            files = list(filter(_holds_rows, sources))
            table_file.write_parquet(pieces, stream, files, names, kind=kind)
        elif kind in formats.DELIMITERS:
            own = (kind == formats.CSV and self._reading.delimiter) or formats.DELIMITERS[kind]
            table = table_file.shared_table(pieces(), own)
            if table is not None:
                table_file.copy_rows(pieces(), table, stream)
            else:
                table_file.write_separated(lambda: all_rows(pieces()), stream, own, names, names)
        elif kind != formats.PATHS and target.descriptor is not None:
            _copy(stream, target.descriptor, counted())
        else:
            # One thread reads while the other writes.
            for content in read_ahead(_contents(counted()), thread_count()):
                stream.write(content.replace(NUL, b"\\n") if kind == formats.PATHS else content)

    def _write_shards(self, pieces: KeptPlaces) -> None:
        """Write the documents of each source into a file of its name."""
        shards = _shards(self.sources)
        for number in self._numbers.values():
            source = self.sources[number]
            path = os.path.join(self.target.partial, shards[source])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            name = os.path.join(self.target.path, shards[source])
            form = formats.output_format(path, "the output")
            if _holds_rows(source) and is_arrow_stream(source):
                form = form._replace(kind=formats.ARROW_STREAM)
            with written(path, form, name) as shard:
                self._write(shard, partial(pieces, source=number), [source])
            self.target.rows += shard.rows
            if not shard.rows:
                self.target.without_rows.add(shards[source])

    def _fill_folder(self, pieces: Iterator[Piece]) -> None:
        """Copy or link the files into the folder, under their paths within their sources."""
        roots = list(map(os.path.normpath, self.sources))
        shared = _shared_folder(self.sources)
        is_alone = len(roots) == 1 and os.path.isdir(roots[0])
        for line in split_lines(_contents(pieces)):
            self.target.rows += 1
            path = os.fsdecode(line[:-1].replace(NUL, b"\n"))
            normal = os.path.normpath(path)
            root = shared or next(each for each in roots if _is_within(normal, each))
            inner = os.path.relpath(normal, root)
            name = "" if is_alone or shared else os.path.basename(os.path.realpath(root))
            place = os.path.normpath(os.path.join(self.target.partial, name, inner))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            try:
                (os.link if self._has_links else shutil.copy2)(path, place)
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK):
                    raise
                raise OptionError(
                    f"{path} cannot be linked into {self.target.path} ({error.strerror}); leave out"
                    " --link"
                ) from error


def _holds_rows(source: str) -> bool:
    """Return whether a source is a Parquet or Arrow file."""
    return formats.named(source) in formats.ROWS and (os.path.isfile(source) or is_remote(source))


def _copy(stream: IO[bytes], descriptor: int, pieces: Iterator[Piece]) -> None:
    """Write the lines of pieces into a file; several threads copy JSON lines."""
    threads = thread_count()
    for piece in pieces:
        if isinstance(piece, RowRange) or piece.table is not None or piece.is_waiting:
            stream.writelines(_contents(iter([piece])))
        else:
            stream.flush()
            stream.seek(copy(piece, descriptor, stream.tell(), threads))


def _contents(pieces: Iterator[Piece]) -> Iterator[bytes]:
    """Yield the lines of pieces in large blocks; a row of a table becomes a JSON line."""
    for piece in pieces:
        if isinstance(piece, RowRange):
            for batch in chosen_rows(piece):
                yield b"".join(as_line(row) + LINE_FEED for row in rows_with_bytes(batch))
        elif piece.table is not None:
            yield from (as_line(row) + LINE_FEED for row in table_file.rows_of(piece))
        elif piece.is_waiting:
            yield from map(_written_line, split_lines(contents(piece)))
        else:
            yield from contents(piece)


def _written_line(line: bytes) -> bytes:
    """Return a waiting line without NaN and infinite numbers, which few lines have."""
    return as_line(table_file.loaded(line)) + LINE_FEED if may_have_odd_numbers(line) else line


def all_rows(pieces: Iterator[Piece]) -> Iterator[Row]:
    """Yield the rows of pieces."""
    for piece in pieces:
        if isinstance(piece, RowRange):
            for batch in chosen_rows(piece):
                yield from (table_file.loaded(waiting_line(row)) for row in rows_with_bytes(batch))
        else:
            yield from table_file.rows_of(piece)


def _shards(sources: Sequence[str]) -> dict[str, str]:
    """Return the path of the output of each source in the output folder.

    It is the path of the source below the folder that all sources share.  `.jsonl` is added to the
    name if its format is never written.
    """
    places = {each: os.path.abspath(each.replace("://", "/")) for each in sources}
    shared = os.path.commonpath([os.path.dirname(place) for place in places.values()])
    return {each: _named(os.path.relpath(place, shared)) for each, place in places.items()}


def _named(path: str) -> str:
    """Return the path of the output for a source with `path`."""
    stop = len(formats.unpacked(path))
    is_other = formats.named(path) in formats.READ_ONLY
    return f"{path[:stop]}.jsonl{path[stop:]}" if is_other else path


def _check_shards(output: str, sources: Sequence[str]) -> list[str]:
    """Return the places of the outputs of sources in a folder.

    Raises OptionError unless each source can have a file of its name there.
    """
    if "-" in sources:
        raise OptionError(
            f"{output}: its files are named after the sources, and standard input has"
            f" no name; choose a FILE that ends in {', '.join(formats.TABLES)}"
        )
    shards = _shards(sources)
    places = [os.path.join(output, name) for name in shards.values()]
    for place in places:
        formats.output_format(place, f"{output}: the name of each source")
    # Output of earlier runs of these sources, complete or not, may be overwritten.  If that output
    # is complete, any other file came later and is kept.
    names = {name.partition("/")[0] for name in shards.values()}
    others = set(os.listdir(output)) if os.path.isdir(output) else set()
    others = {each for each in others if each.partition(BEFORE)[0] not in names}
    if others and not all(map(os.path.lexists, places)):
        raise OptionError(
            f"{output}: the folder holds other files, such as {min(others)}; name a new one"
        )
    return places


def _check_folder(output: str, sources: Sequence[str]) -> None:
    """Raise OptionError unless a folder is new or empty, and each source has a name in it."""
    if os.path.isdir(output) and os.listdir(output):
        raise OptionError(f"{output}: the folder is not empty; name a new one")
    names: dict[str, str] = {}
    for source in () if _shared_folder(sources) else sources:
        name = os.path.basename(os.path.realpath(source))
        if name in names and names[name] != source and len(sources) > 1:
            raise OptionError(
                f"{output}: {names[name]} and {source} would both be called {name} in it; give"
                " the folder above them as the source"
            )
        names[name] = source


def _shared_folder(sources: Sequence[str]) -> str | None:
    """Return the folder below which files keep their paths if some share a name, else None."""
    places = set(map(os.path.abspath, sources))
    if len(set(map(os.path.basename, places))) == len(places) or any(map(os.path.isdir, places)):
        return None
    return os.path.commonpath(list(map(os.path.dirname, places)))


def _is_within(path: str, root: str) -> bool:
    if root == ".":
        return not os.path.isabs(path) and path.partition("/")[0] != ".."
    return path == root or path.startswith(root.rstrip("/") + "/")
