"""Reading: reads the files and folders named on the command line as a stream of batches.

The end of a file name says whether the file holds many records or is one document.  A folder holds
one document in each file; `-` is JSON lines on standard input.  A name with `*`, `?` or `[...]` is
a pattern and stands for all files and folders that match it, in the order of their names, unless
something has exactly this name.  Remote names can have patterns, too, but a question mark is part
of an address.
"""

import glob
import io
import json
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice

from simdb.ground.errors import InputError
from simdb.ground.fields import distinct
from simdb.outputs.formats import (
    COMPRESSIONS,
    check_remote,
    has_remote_pattern,
    is_remote,
    matching_files,
)
from simdb.outputs.rows import as_line
from simdb.outputs.table_file import load_parquet
from simdb.running.threads import mapped, read_ahead, thread_count
from simdb.sources.batch import Found, batched, checked
from simdb.sources.content import (
    AMOUNT,
    CONTENT_ERRORS,
    STANDARD_INPUT,
    explained,
    opened,
    settled_encoding,
)
from simdb.sources.content import read_text as read_content
from simdb.sources.encoding_guess import GUESS
from simdb.sources.record_files import read_json, read_json_lines, read_parquet
from simdb.sources.records import (
    InputProblem,
    Record,
    SourceOptions,
    byte_count,
    check_id,
    valid_name,
    valid_text,
)
from simdb.sources.table_records import read_table

# So many files of a folder are read by one thread at a time.
FOLDER_FILES = 64
FOLDER, FILE, OTHER = "folder", "file", "other"
PARQUET = ".parquet"
DELIMITERS = {".csv": ",", ".tsv": "\t"}
# What reads the records of a file, by the end of its name without that of a compression.
READERS: dict[str, Callable[[str, str, SourceOptions], Found]] = {
    ".jsonl": read_json_lines, ".ndjson": read_json_lines, ".json": read_json,
    **{end: partial(read_table, delimiter=each) for end, each in DELIMITERS.items()},
}  # fmt: skip
RECORDS = (*READERS, PARQUET)

# Endings of files that are no text, and that no reader here takes.
UNREADABLE = (
    ".7z", ".arrow", ".avro", ".br", ".bz2", ".db", ".feather", ".h5", ".ipc", ".lz4", ".lzma",
    ".npy", ".npz", ".ods", ".orc", ".pickle", ".pkl", ".rar", ".sqlite", ".tar", ".tgz",
    ".warc", ".xls", ".xlsx", ".xz", ".zip",
)  # fmt: skip
SNIFFED_BYTES = 1 << 16


def check_sources(sources: Collection[str], text_field: str | None = None) -> None:
    """Raise InputError or OptionError for a source that cannot be read, see `check_source`."""
    for source in expanded(sources):
        check_source(source, text_field)


def check_source(source: str, text_field: str | None = None) -> None:
    """Raise InputError for a source that does not exist or whose ending says no known format.

    Raises OptionError if the package that reads it is missing.  `text_field`: also refuse a file
    that would be one document and holds JSON lines with this field; None for no such look.
    """
    if source == STANDARD_INPUT:
        return
    if is_remote(source):
        check_remote(source)
        if not matching_files(source):
            raise InputError(f"there is no file {valid_name(source)}")
    # A dangling link exists, and is later reported like any unreadable file.
    elif not _exists(source):
        name = valid_name(source)
        if glob.has_magic(source):
            raise InputError(f"there is no file or folder {name}, and none matches it as a pattern")
        raise InputError(f"there is no file or folder {name}")
    if os.path.isdir(source):
        return
    if source.lower().endswith(PARQUET):
        load_parquet("reading Parquet")
    if holds_records(source):
        if unpacked(source).endswith(PARQUET) and not source.lower().endswith(PARQUET):
            raise _unknown(source)
        return
    inner, ending = os.path.splitext(source.lower())
    if ending in UNREADABLE or inner.endswith(RECORDS):
        raise _unknown(source)
    if text_field is not None and _has_json_lines(source, text_field):
        raise InputError(
            f"{valid_name(source)} holds JSON lines, but by its name it is one document; let the"
            " name end in .jsonl, or read it as standard input: - < FILE"
        )


def expanded(sources: Iterable[str]) -> list[str]:
    """Return the sources with patterns replaced by the names that match them, sorted.

    A pattern that nothing matches stays as it is.
    """
    names: list[str] = []
    for source in sources:
        if is_remote(source):
            names += (matching_files(source) if has_remote_pattern(source) else []) or [source]
        elif source == STANDARD_INPUT or os.path.lexists(source) or not glob.has_magic(source):
            names.append(source)
        else:
            names += sorted(glob.glob(source, recursive=True)) or [source]
    return names


def holds_records(source: str) -> bool:
    """Return whether a source holds records; otherwise it is one document, or a folder of them."""
    is_file = unpacked(source).endswith(RECORDS) and not os.path.isdir(source)
    return source == STANDARD_INPUT or is_file


def records_hint(sources: Iterable[str]) -> str | None:
    """Return the hint for the first folder in which files of records lie, or None."""
    # Remote names are no folders, and a pattern of them would be looked up once more.
    for source in filter(os.path.isdir, expanded(each for each in sources if not is_remote(each))):
        with suppress(OSError), os.scandir(source) as entries:
            found = next(filter(None, (_records_ending(entry.name) for entry in entries)), None)
            if found is not None:
                return (
                    f"{valid_name(source)}: in a folder each file is one document, also those that"
                    f" end in {found}; for their records name the files:"
                    f" {shlex.quote(os.path.join(valid_name(source), '*' + found))}"
                )
    return None


def read_sources(
    sources: Collection[str], reading: SourceOptions, *, excluded: Collection[str] = ()
) -> Found:
    """Yield all records of all sources in order, each file once.

    A source can be a pattern.  Files and folders in `excluded` are left out when a folder is read.
    If there are several threads, one reads a little ahead.  Raises InputError at the end if records
    without the field with the text were taken for nulls, and no record has the field.
    """
    return checked(_all_sources(sources, reading, excluded))


def read_texts(sources: Collection[str], reading: SourceOptions, *, by_lines: bool) -> Found:
    """Yield the records of sources like `read_sources`, but read standard input as one text.

    `by_lines`: each line of a source is a document.
    """
    every = expanded(sources)
    AMOUNT.expect(every)
    for source in every:
        name = valid_name(source)
        if by_lines:
            yield from _guarded(name, batched(read_lines(source, name, reading)))
        elif source == STANDARD_INPUT:
            yield from batched([read_document(source, reading)])
        else:
            yield from read_sources([source], reading)


def read_lines(path: str, name: str, reading: SourceOptions) -> Iterator[Record | InputProblem]:
    """Yield each line of a file as a document with the id `FILE:LINE`."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        lines = io.TextIOWrapper(stream, reading.encoding, reading.stream_errors)
        for position, line in enumerate(lines, 1):
            where = f"{name}:{position}"
            size = byte_count(line)
            try:
                text = valid_text(line.rstrip("\n"), "", reading)
            except InputError as error:
                yield InputProblem(name, where, str(error))
                continue
            yield Record(id=where, text=text, source=name, position=position, size_bytes=size)


def read_folder(
    folder: str, reading: SourceOptions, passed: Collection[str] = (), *, ending: str = ""
) -> Iterator[Record | InputProblem]:
    """Yield a document for each file under `folder` with this `ending` that is not in `passed`.

    Several threads read some files each, unless encodings are guessed, which counts the guesses.
    """

    def read(found: list[str | InputProblem]) -> list[Record | InputProblem]:
        return [
            each if isinstance(each, InputProblem) else read_document(each, reading)
            for each in found
        ]

    threads = 1 if reading.encoding == GUESS else thread_count(reading.threads)
    wanted = (
        each
        for each in walk(folder, passed)
        if isinstance(each, InputProblem) or each.endswith(ending)
    )
    for some in mapped(read, iter(lambda: list(islice(wanted, FOLDER_FILES)), []), threads):
        for each in some:
            is_record = isinstance(each, Record)
            yield each if is_record else replace(each, source=valid_name(folder))


def walk(folder: str, passed: Collection[str] = ()) -> Iterator[str | InputProblem]:
    """Yield the paths of all regular files under `folder`, sorted; do not follow links."""
    passed_names = {os.path.basename(path) for path in passed}
    pending = [(folder, FOLDER)]
    while pending:
        path, kind = pending.pop()
        # realpath is slow, so it is called only for names that occur in `passed`.
        if os.path.basename(path) in passed_names and os.path.realpath(path) in passed:
            continue
        if kind == FILE:
            yield path
        elif kind == OTHER:
            yield InputProblem("", valid_name(path), "not a regular file; leave it out")
        else:
            try:
                pending += _entries(path)
            except OSError as error:
                yield InputProblem("", valid_name(path), explained(error))


def read_document(path: str, reading: SourceOptions) -> Record | InputProblem:
    """Return a file as one document: its id is the path, its text the content."""
    name = valid_name(path)
    try:
        check_id(name)
        with opened(path) as stream:
            text, size = read_content(stream, reading.encoding, reading.errors)
    except CONTENT_ERRORS as error:
        return InputProblem("", name, explained(error))
    return Record(
        id=name,
        text=text,
        source=name,
        position=0,
        size_bytes=size,
        line=_line(path, name, text, reading) if reading.has_lines else None,
    )


def columns_of(reading: SourceOptions, sources: Collection[str]) -> dict[str, str]:
    """Return the fields of the tables among `sources` that were read, and what these call them.

    Tables that call a field by different names leave it its own.  Without tables, id and text.
    """
    headers = {} if reading.origins is None else reading.origins.headers
    found: dict[str, str] = {}
    for source in sources:
        header = headers.get(valid_name(source), ())
        for name, given in zip(distinct(header), header, strict=True):
            found[name] = given if found.get(name, given) == given else name
    return found or {name: name for name in (reading.id_field, reading.text_field)}


def unpacked(source: str) -> str:
    """Return a name in lower case, without the ending of a compression."""
    name = source.lower()
    return name.removesuffix(next((each for each in COMPRESSIONS if name.endswith(each)), ""))


def is_under(place: str, passed: Collection[str]) -> bool:
    """Return whether a path is in `passed`, or inside a folder in `passed`."""
    return any(place == each or place.startswith(each.rstrip("/") + "/") for each in passed)


def _all_sources(
    sources: Collection[str], reading: SourceOptions, excluded: Collection[str]
) -> Found:
    """Yield what `read_sources` does."""
    every = expanded(sources)
    AMOUNT.expect(every)
    threads = thread_count(reading.threads)
    passed: set[str] = set()
    hidden = {os.path.realpath(path) for path in excluded}
    for source in every:
        if source == STANDARD_INPUT:
            yield from _guarded(source, read_json(source, source, reading))
            continue
        place = os.path.realpath(source)
        if is_under(place, passed):
            continue
        if os.path.isdir(source):
            yield from read_ahead(batched(read_folder(source, reading, passed | hidden)), threads)
        else:
            # A pipe can let a reader wait for ever, so only the caller's thread reads it.
            number = threads if os.path.isfile(source) else 1
            yield from read_ahead(_read_file(source, reading), number)
        passed.add(place)


def _line(path: str, name: str, text: str, reading: SourceOptions) -> bytes:
    """Return the line of a file that is one document; in a path, NUL stands for a line feed."""
    if reading.has_paths:
        return os.fsencode(path).replace(b"\n", b"\0")
    return as_line({reading.id_field: name, reading.text_field: text})


def _read_file(path: str, reading: SourceOptions) -> Found:
    """Return the records of a file, read in the format that the end of its name says."""
    name = valid_name(path)
    if name.lower().endswith(PARQUET):
        return _guarded(name, read_parquet(path, name, reading))
    read = next((READERS[end] for end in READERS if unpacked(name).endswith(end)), None)
    if read is None:
        return batched([read_document(path, reading)])
    return _guarded(name, read(path, name, reading))


def _guarded(name: str, found: Found) -> Found:
    """Yield what was found, and at last a problem if the rest of the source is unreadable."""
    try:
        yield from found
    except CONTENT_ERRORS as error:
        yield InputProblem("", name, explained(error))


def _entries(folder: str) -> list[tuple[str, str]]:
    """Return path and kind of each entry of a folder except links, in reverse order of names."""
    with os.scandir(folder) as entries:
        found = [(entry.path, _kind(entry)) for entry in entries if not entry.is_symlink()]
    return sorted(found, reverse=True)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_dir(follow_symlinks=False):
        return FOLDER
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


def _exists(source: str) -> bool:
    """Return whether something has this name; InputError if this user may not know."""
    try:
        os.lstat(source)
    except PermissionError as error:
        raise InputError(
            f"{valid_name(source)} may not be read by this user: a folder above it is closed"
        ) from error
    except (OSError, ValueError):
        return False
    return True


def _records_ending(name: str) -> str:
    """Return how the name of a file of records ends; nothing for others, and for .json.

    A file that ends in .json is as often one document.
    """
    bare = unpacked(name)
    ending = os.path.splitext(bare)[1]
    if ending not in RECORDS or ending == ".json":
        return ""
    return name[-len(ending + name.lower()[len(bare) :]) :]


def _unknown(source: str) -> InputError:
    return InputError(
        f"{valid_name(source)} ends in {os.path.splitext(source)[1]}, which is not read; records"
        f" are in files that end in {', '.join(RECORDS)}, all but the last also with"
        f" {' or '.join(COMPRESSIONS)}, and any other file of text is one document"
    )


def _has_json_lines(path: str, text_field: str) -> bool:
    """Return whether the first two lines of a regular file are JSON objects with a text."""
    if not (os.path.isfile(path) or is_remote(path)):
        return False
    try:
        with opened(path) as stream:
            head = stream.read(SNIFFED_BYTES)
            is_whole = not stream.peek(1)
    except CONTENT_ERRORS:
        return False
    lines = [line for line in head.split(b"\n") if line.strip()]
    whole = lines if is_whole else lines[:-1]
    if len(whole) < 2 or not whole[0].lstrip().startswith(b"{"):
        return False
    try:
        values = [json.loads(line) for line in whole[:2]]
    except (ValueError, RecursionError):
        return False
    return all(isinstance(value, dict) and text_field in value for value in values)
