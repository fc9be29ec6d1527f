"""Sources: reads the named files and folders as a stream of batches.

A folder stands for its visible files if all of them have endings of record formats.  In any other
folder, each visible file is one document.  Hidden files and files that programs write next to data,
such as `_SUCCESS`, are skipped in folders.

A name with `*`, `?` or `[...]` is a pattern, unless a file has exactly this name.  It stands for
all files and folders that match it, in order of their names.  Remote names can have patterns too,
but a question mark belongs to the address.

The kind of a source follows from the ending of its name.  If that is not a record format, --format
counts or, without it, the first bytes after decompression.  They can be the mark of Parquet or
Arrow, the first line of WARC, the first lines of a mailbox, JSON lines, or a JSON array of objects.
They can also be CSV or TSV, if the first row has the text field and at least one other field, and
most of the next rows fit it.

Any other regular file is one document.  A stream, such as a pipe or standard input, is seldom one
document, so its kind must be given.
"""

import csv
import glob
import io
import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from simdb.core.arrow import load_arrow
from simdb.core.decoding import GUESS, MARK, MARKS, UTF8_MARKED
from simdb.core.errors import FieldError, InputError, OptionError
from simdb.core.fields import distinct, field_named
from simdb.core.previews import counted
from simdb.core.threads import mapped, read_ahead, thread_count
from simdb.files import content, crawls, formats, mail
from simdb.files.json_records import read_json, read_lines as read_json_lines
from simdb.files.origins import Origins
from simdb.files.records import (
    Found,
    InputProblem,
    Record,
    SourceOptions,
    batched,
    byte_count,
    check_id,
    checked,
    made,
    place,
    valid_name,
    valid_text,
)
from simdb.files.remote import (
    check_remote,
    has_remote_pattern,
    is_remote,
    matching_files,
    remote_place,
)
from simdb.files.row_files import read_rows
from simdb.files.rows import as_line
from simdb.files.table_records import read_table
from simdb.storage import is_database

# Files of a folder that one thread reads at a time.
FOLDER_FILES = 64
FILE, OTHER = "file", "other"
# Readers of the records of an open file, by kind.
READERS: dict[str, Callable[[io.BufferedReader, str, SourceOptions], Found]] = {
    formats.JSONL: read_json_lines, formats.JSON: read_json,
    **{kind: partial(read_table, delimiter=each) for kind, each in formats.DELIMITERS.items()},
    formats.LINES: lambda stream, name, reading: batched(read_lines(stream, name, reading)),
    formats.WARC: crawls.read_crawl, formats.MBOX: mail.read_mailbox,
}  # fmt: skip
# Files that Spark, Hive, Delta Lake and Hugging Face's datasets write next to data.
ASIDE = re.compile(
    r"\..*|_SUCCESS|_metadata|_common_metadata|_temporary|_delta_log|_spark_metadata"
    r"|_committed_.*|_started_.*"
)
OF_DATASET = re.compile(r"dataset_info\.json|dataset_dict\.json|state\.json|cache-.*\.arrow")
# Number of skipped entries of each folder, and the name of one such entry.
LEFT_OUT: dict[str, tuple[int, str]] = {}
SNIFFED_LINES = 16
OBJECT_BEGINS = re.compile(r"\{\s*[\"}]")
ARRAY_BEGINS = re.compile(r"\[\s*(?:[{\]]|$)")


def check_sources(sources: Collection[str], reading: SourceOptions) -> None:
    """Raise InputError or OptionError for a source that cannot be read, see `check_source`.

    A stream can be read only once, so it must not appear twice.
    """
    streams = set()
    for source in expanded(sources):
        if source != formats.STANDARD_INPUT:
            check_source(source, reading)
        if not is_remote(source) and is_stream(source):
            if (stream := stream_of(source)) in streams:
                raise InputError(
                    f"{valid_name(source)} appears twice, but a stream can be read only once;"
                    " name it once, or write its content into a file"
                )
            streams.add(stream)


def check_source(source: str, reading: SourceOptions) -> None:
    """Raise InputError for a source that does not exist or has an unsupported ending.

    Raises OptionError if the package that reads it is missing.
    """
    name = valid_name(source)
    if is_remote(source):
        check_remote(source)
        if not matching_files(source):
            raise InputError(f"there is no file {name}")
    # A dangling link exists, and is later reported like any unreadable file.
    elif not _exists(source):
        matched = ", and none matches it as a pattern" if glob.has_magic(source) else ""
        raise InputError(f"there is no file or folder {name}{matched}")
    if is_database(source):
        raise InputError(
            f"{name} is a database of simdb, which has no texts to read; name the sources of its"
            " documents; db= and against= take a database"
        )
    if not os.path.isdir(source):
        if formats.named(source) in formats.ROWS:
            load_arrow(f"reading {name}")
        check_name(source, reading)


def expanded(sources: Iterable[str]) -> list[str]:
    """Return the sources, with each pattern replaced by the sorted names that match it.

    A folder of records is replaced by its files.  A pattern that nothing matches is kept.
    """
    names: list[str] = []
    for source in sources:
        if is_remote(source):
            names += (matching_files(source) if has_remote_pattern(source) else []) or [source]
        elif (
            source == formats.STANDARD_INPUT
            or os.path.lexists(source)
            or not glob.has_magic(source)
        ):
            names.append(source)
        else:
            names += sorted(glob.glob(source, recursive=True)) or [source]
    return [file for name in names for file in (_record_files(name) or [name])]


def source_hints(
    sources: Collection[str], reading: SourceOptions, *, notes_logs: bool = True
) -> Iterator[str]:
    """Yield a hint for the first folder in which files of records lie, and for the first log.

    `notes_logs`: give a hint for a log that is read as one document.
    """
    # Remote names are not folders, and a pattern of them would be looked up again.
    folders = filter(os.path.isdir, expanded(each for each in sources if not is_remote(each)))
    yield from islice(filter(None, map(_records_hint, folders)), 1)
    for source in sources if notes_logs else ():
        is_log = formats.unpacked(source).endswith(".log")
        if is_log and not holds_records(source, reading):
            yield (
                f"{valid_name(source)} is read as one document; a list of its lines, or --format"
                " lines, has a document in each, and unit='line' drops lines that occur again"
            )
            return


def _records_hint(folder: str) -> str | None:
    with suppress(OSError), os.scandir(folder) as entries:
        found = next(filter(None, (_records_ending(entry.name) for entry in entries)), None)
        if found is not None:
            return (
                f"{valid_name(folder)}: in a folder each file is one document, also those that end"
                f" in {found}, unless all of them hold records; for their records name the files:"
                f" {shlex.quote(os.path.join(valid_name(folder), '*' + found))}"
            )
    return None


def left_out_note() -> str | None:
    """Return a line about files and records skipped since the last call; None if none were."""
    notes = [
        f"{valid_name(folder)}: {count} hidden {'file' if count == 1 else 'files or folders'}"
        f" left out, such as {valid_name(name)}"
        for folder, (count, name) in LEFT_OUT.items()
    ]
    if others := content.AMOUNT.left_out:
        notes.append(f"{counted(others, 'record')} of crawls left out: neither page nor text")
    LEFT_OUT.clear()
    content.AMOUNT.left_out = 0
    return "; ".join(notes) or None


def read_sources(
    sources: Collection[str], reading: SourceOptions, *, excluded: Collection[str] = ()
) -> Found:
    """Yield all records of all sources in order, each file once.

    A source can be a pattern.  Files and folders in `excluded` are skipped when a folder is read.
    With several threads, one of them reads slightly ahead.  Raises FieldError at the end if no
    record has a requested field, see `checked`.
    """
    return checked(_all_sources(sources, reading, excluded), reading)


def read_texts(sources: Collection[str], reading: SourceOptions, *, by_lines: bool) -> Found:
    """Yield the records of sources like `read_sources`, but read standard input as one text.

    `by_lines`: each line of a source is a document.
    """
    every = expanded(sources)
    content.AMOUNT.expect(every)
    for source in every:
        if by_lines or source == formats.STANDARD_INPUT:
            kind = formats.LINES if by_lines else formats.TEXT
            yield from checked(_read_file(source, reading, kind), reading)
        else:
            yield from read_sources([source], reading)


def read_lines(
    stream: io.BufferedReader, name: str, reading: SourceOptions
) -> Iterator[Record | InputProblem]:
    """Yield each line of a stream as a document with the id `FILE:LINE`."""

    def make(line: str, position: int) -> Record:
        where, text = place(name, position), valid_text(line.rstrip("\n"), "", reading)
        return Record(
            id=where, text=reading.read_as(text), source=name, position=position,
            size_bytes=byte_count(line),
            line=_line("", where, text, reading) if reading.has_lines else None,
        )  # fmt: skip

    return made(io.TextIOWrapper(stream, reading.encoding, reading.stream_errors), name, make)


def read_folder(
    folder: str, reading: SourceOptions, passed: Collection[str] = (), *, ending: str = ""
) -> Iterator[Record | InputProblem]:
    """Yield a document for each file under `folder` with this `ending` that is not in `passed`.

    Several threads read some files each, except where guesses of encodings must be counted.
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


def walk(
    folder: str, passed: Collection[str] = (), *, has_links: bool = False
) -> Iterator[str | InputProblem]:
    """Yield the paths of all regular files under `folder`, sorted.

    Links are not followed, except links to record files with `has_links`.
    """
    LEFT_OUT.pop(folder, None)
    passed_names = {os.path.basename(path) for path in passed}
    pending = [(folder, formats.FOLDER)]
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
                found, aside = _entries(path, has_links=has_links)
            except OSError as error:
                yield InputProblem("", valid_name(path), content.explained(error))
                continue
            pending += found
            _leave_out(folder, aside)


def read_document(path: str, reading: SourceOptions) -> Record | InputProblem:
    """Return a file as one document, with the path as its id and the content as its text."""
    name = valid_name(path)
    try:
        check_id(name)
        with content.opened(path) as stream:
            if formats.is_mail(path):
                message = stream.read(content.DOCUMENT_BYTES_MAX + 1)
                found = mail.read_message(name, reading, message)
                line = _line(path, "", "", reading) if reading.has_paths else found.line
                return replace(found, line=line)
            text, size = content.read_text(stream, reading.encoding, reading.errors)
        document = reading.read_as(text.strip() if reading.digits else text)
    except content.CONTENT_ERRORS as error:
        return InputProblem("", name, content.explained(error))
    return Record(
        id=name, text=document, source=name, position=0, size_bytes=size,
        line=_line(path, name, text, reading) if reading.has_lines else None,
    )  # fmt: skip


def columns_of(reading: SourceOptions, sources: Collection[str]) -> dict[str, str | None]:
    """Map the fields of the tables among `sources` to their column names.

    A field that tables call by different names keeps its own name.  If all sources are tables
    without a header, the names are None.  Without tables, the fields are id and text.
    """
    headers = {} if reading.origins is None else reading.origins.headers
    found: dict[str, str | None] = {}
    for source in sources:
        header = headers.get(valid_name(source), ())
        for name, given in zip(distinct(header), header, strict=True):
            found[name] = given if found.get(name, given) == given else name
    if reading.origins is not None and reading.origins.nameless.issuperset(
        map(valid_name, sources)
    ):
        found = dict.fromkeys(found)
    usual = [field_named(name).label for name in (reading.id_field, reading.text_field)]
    return found or dict(zip(usual, usual, strict=True))


def check_apart(sources: Collection[str], against: Collection[str]) -> None:
    """Raise InputError for a source that is also in `against`, or a database in `against`."""
    own = {_place(source): source for source in sources}
    for each in against:
        if is_database(each):
            raise InputError(
                f"{valid_name(each)} is a database, which is a reference by itself; give it alone"
            )
        place = _place(each)
        twice = [source for at, source in own.items() if is_under(at, [place])]
        if twice or is_under(place, own):
            raise InputError(
                f"{valid_name(twice[0] if twice else each)} is both in the data and in the"
                " reference, so all of it would be removed; name it in one of the two"
            )


def source_places(sources: Collection[str]) -> list[bytes] | None:
    """Return the sorted places of sources; None if one is a stream, which has no fixed content."""
    if any(map(is_stream, sources)):
        return None
    places = (remote_place(each) if is_remote(each) else os.path.realpath(each) for each in sources)
    return sorted(set(map(os.fsencode, places)))


def _place(source: str) -> str:
    return source if source == formats.STANDARD_INPUT else os.path.realpath(source)


def is_under(place: str, passed: Collection[str]) -> bool:
    """Return whether a path is in `passed`, or inside a folder in `passed`."""
    while place not in passed:
        place, inner = os.path.dirname(place), place
        if place == inner:
            return False
    return True


def _all_sources(
    sources: Collection[str], reading: SourceOptions, excluded: Collection[str]
) -> Found:
    """Yield the records of `read_sources`, before its checks."""
    every = expanded(sources)
    content.AMOUNT.expect(every)
    threads = thread_count(reading.threads)
    passed: set[str] = set()
    hidden = {os.path.realpath(path) for path in excluded}
    for source in every:
        if source == formats.STANDARD_INPUT:
            yield from _read_file(source, reading)
            continue
        place = os.path.realpath(source)
        if is_under(place, passed):
            continue
        if os.path.isdir(source):
            yield from read_ahead(batched(read_folder(source, reading, passed | hidden)), threads)
        else:
            # A pipe can block its reader for ever, so only the caller's thread reads it.
            number = threads if os.path.isfile(source) else 1
            yield from read_ahead(_read_file(source, reading), number)
        passed.add(place)


def _line(path: str, name: str, text: str, reading: SourceOptions) -> bytes:
    """Return the line of a file that is one document; in a path, NUL stands for a line feed."""
    if reading.has_paths:
        return os.fsencode(path).replace(b"\n", b"\0")
    label = field_named(reading.text_field).label
    return as_line({field_named(reading.id_field).label: name, label: text})


def _read_file(path: str, reading: SourceOptions, kind: str | None = None) -> Found:
    """Yield the records of a file or a stream; `kind`: its kind, if known."""
    name = valid_name(path)
    kind = kind_of(path, reading) if kind is None else kind
    if kind == formats.TEXT:
        return batched([read_document(path, reading)])
    found = _guarded(name, _records(path, name, kind, reading))
    is_checked = reading.given and kind != formats.LINES
    return checked(found, reading, reading.given) if is_checked else found


def _records(path: str, name: str, kind: str, reading: SourceOptions) -> Found:
    """Yield the records of a file or a stream of a `kind`, which may be `UNDECIDED`."""
    if kind in formats.ROWS and not is_stream(path):
        yield from read_rows(path, name, reading)
        return
    with content.opened(path) as stream, ExitStack() as held:
        kind = kind or stream_kind(stream, name, reading)
        if kind in formats.ROWS:
            origins = reading.origins or held.enter_context(Origins())
            yield from read_rows(origins.spooled(path, stream), name, reading)
        else:
            if kind not in formats.READ_ONLY:  # their records have encodings of their own
                encoding = content.settled_encoding(stream, reading.encoding)
                reading = replace(reading, encoding=encoding)
            yield from READERS[kind](stream, name, reading)


def _guarded(name: str, found: Found) -> Found:
    """Yield all of `found`, then a problem if the rest of the source is unreadable."""
    try:
        yield from found
    except FieldError:
        raise
    except content.CONTENT_ERRORS as error:
        yield InputProblem("", name, content.explained(error))


def _record_files(folder: str) -> list[str]:
    """Return the sorted files of a folder if all visible files hold records; otherwise none.

    A .json file counts as records only next to Spark's mark `_SUCCESS`: other programs write one
    document per .json file.
    """
    if not os.path.isdir(folder) or is_database(folder):
        return []
    is_marked = os.path.lexists(os.path.join(folder, "_SUCCESS"))
    endings = tuple(each for each in formats.ENDINGS if is_marked or each != ".json")
    found = []
    for each in walk(folder, has_links=True):
        if isinstance(each, InputProblem):
            return []
        if OF_DATASET.fullmatch(os.path.basename(each)):
            _leave_out(folder, [each])
        elif formats.unpacked(each).endswith(endings):
            found.append(each)
        else:
            return []
    return found


def _leave_out(folder: str, paths: list[str]) -> None:
    """Count skipped entries of a folder."""
    if paths:
        count, name = LEFT_OUT.get(folder, (0, os.path.basename(paths[0])))
        LEFT_OUT[folder] = count + len(paths), name


def _entries(folder: str, *, has_links: bool) -> tuple[list[tuple[str, str]], list[str]]:
    """Return path and kind of each visible entry of a folder, descending, and skipped paths.

    Links are in neither list, except as `has_links` says, see `walk`.
    """
    with os.scandir(folder) as entries:
        every = [
            (entry.path, FILE if entry.is_symlink() else _kind(entry))
            for entry in entries
            if not entry.is_symlink()
            or (has_links and _records_ending(entry.name) and entry.is_file())
        ]
    aside = sorted(path for path, kind in every if not kind)
    return sorted((each for each in every if each[1]), reverse=True), aside


def _kind(entry: os.DirEntry[str]) -> str:
    """Return the kind of an entry; an empty string means that it is skipped."""
    if ASIDE.fullmatch(entry.name):
        return ""
    if entry.is_dir(follow_symlinks=False):
        return "" if is_database(entry.path) else formats.FOLDER
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


def _exists(source: str) -> bool:
    """Return whether a source exists; raise InputError if this user is not permitted to look."""
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
    """Return the ending of the name of a record file; an empty string for any other file.

    That includes .json, since such a file is often one document.
    """
    stem, ending = os.path.splitext(formats.unpacked(name))
    return name[len(stem) :] if ending in formats.ENDINGS and ending != ".json" else ""


def check_name(source: str, reading: SourceOptions) -> None:
    """Raise InputError for a file whose ending no reader supports."""
    inner, ending = os.path.splitext(source.lower())
    is_other = formats.named(inner) and not (formats.named(source) or reading.format)
    if not is_other and ending not in formats.UNREADABLE:
        return
    raise InputError(
        f"{valid_name(source)} ends in {os.path.splitext(source)[1]}, which is not read; records"
        f" are in files that end in {', '.join(formats.ENDINGS)}, all but the last four also with"
        f" {formats.ANY_COMPRESSION}, and any other file of text is one document"
    )


def is_stream(source: str) -> bool:
    """Return whether a source can be read only once: standard input, a pipe or a device."""
    if source == formats.STANDARD_INPUT:
        return True
    return os.path.exists(source) and not os.path.isfile(source) and not os.path.isdir(source)


def stream_of(source: str) -> object:
    """Return a key that all names of one stream share, such as - and /dev/stdin."""
    try:
        found = os.fstat(0) if source == formats.STANDARD_INPUT else os.stat(source)
    except OSError:
        return source
    return source if stat.S_ISCHR(found.st_mode) else (found.st_dev, found.st_ino)


def kind_of(source: str, reading: SourceOptions) -> str:
    """Return the kind of a file or stream; `UNDECIDED` for a stream that must be opened.

    A stream is not opened here, because the bytes read from it would be lost.
    """
    known = formats.named(source) or reading.format
    if known or is_stream(source):
        return known
    try:
        with content.opened(source, is_counted=False) as stream:
            kind = _sniffed(stream, reading, is_named=bool(os.path.splitext(source)[1]))
            return (
                kind if kind not in formats.ROWS or content.is_plain(stream) else formats.UNDECIDED
            )
    except content.CONTENT_ERRORS as error:
        content.explained(error)  # raises an error that is not the fault of the source
        return formats.TEXT  # whose reader reports what is wrong


def holds_records(source: str, reading: SourceOptions) -> bool:
    """Return whether a source holds records; otherwise it is one document, or a folder of them."""
    if os.path.isdir(source):
        return False
    return is_stream(source) or kind_of(source, reading) != formats.TEXT


def read_one(path: str, reading: SourceOptions) -> str:
    """Return the text of a file or a stream that is one document; raise InputError for records."""
    if formats.is_mail(path):
        found = read_document(path, reading)
        if isinstance(found, InputProblem):
            raise InputError(f"{found.where}: {found.reason}")
        return found.text
    try:
        with content.opened(path) as stream:
            if _sniffed(stream, reading, is_named=True) == formats.TEXT:
                return content.read_text(stream, reading.encoding, reading.errors)[0]
    except content.CONTENT_ERRORS as error:
        raise InputError(f"{valid_name(path)}: {content.explained(error)}") from error
    raise InputError(f"{valid_name(path)} holds records, not one text; use lookup for them")


def stream_kind(stream: io.BufferedReader, name: str, reading: SourceOptions) -> str:
    """Return the kind of an open stream by its first bytes, which are not consumed.

    Raises OptionError if they do not show it, and InputError for binary content.
    """
    kind = _sniffed(stream, reading, is_named=None)
    if kind:
        return kind
    content.settled_encoding(stream, reading.encoding)
    raise OptionError(
        f"{name}: the first bytes do not show whether these are records, with the field"
        f" {field_named(reading.text_field).label!r}, or text",
        python="copy it into a file whose name ends in .jsonl, .csv, .tsv, .parquet or .arrow, or"
        " give a list of texts",
        command="say which by --format jsonl, csv, tsv, parquet, arrow, warc, mbox, text (one"
        " document) or lines",
    )


def _sniffed(stream: io.BufferedReader, reading: SourceOptions, *, is_named: bool | None) -> str:
    """Return the kind that the first bytes show.

    `is_named`: whether the name of a file has an (unknown) ending; None for a stream, which is
    `UNDECIDED` where a file would be one document.
    """
    head = stream.peek(content.SNIFFED_BYTES)
    if head.startswith(content.PARQUET_MAGIC):
        return formats.PARQUET
    if head.startswith(formats.ARROW_MAGICS):
        return formats.ARROW
    for beginning, kind in ((crawls.FIRST_LINE, formats.WARC), (mail.MAILBOX, formats.MBOX)):
        if beginning.match(head):
            return kind
    text = _decoded(head, reading.encoding)
    is_whole = is_named is not None and len(head) < content.BUFFER_BYTES
    whole = text if is_whole else text.rpartition("\n")[0] or text  # the last line may be cut off
    first = text.lstrip()
    if is_named is None:
        if not first or OBJECT_BEGINS.match(first):
            return formats.JSONL
        if ARRAY_BEGINS.match(first):
            return formats.JSON
    else:
        objects = _objects(whole.lstrip().split("\n")[:2], is_whole=True)
        if len(objects) == 2 and (not is_named or all(map(reading.has_text, objects))):
            return formats.JSONL
        objects = _objects([first[1:]], is_whole=False)
        if ARRAY_BEGINS.match(first) and any(map(reading.has_text, objects)):
            return formats.JSON
    usual = formats.UNDECIDED if is_named is None else formats.TEXT
    if reading.digits:
        usual = formats.LINES  # one hash in each
    return next((kind for kind in formats.DELIMITERS if _is_table(whole, kind, reading)), usual)


def _decoded(head: bytes, encoding: str) -> str:
    """Return the first bytes of a source as text, without its byte order mark."""
    usual = UTF8_MARKED if encoding == GUESS else encoding
    marked = next((name for mark, name in MARKS if head.startswith(mark)), usual)
    return head.decode(marked, "replace").removeprefix(MARK)


def _objects(texts: Iterable[str], *, is_whole: bool) -> list[Any]:
    """Return the JSON objects at the start of texts; `is_whole`: nothing may follow."""
    found = []
    for text in map(str.strip, texts):
        with suppress(ValueError, RecursionError):
            value, stop = json.JSONDecoder().raw_decode(text)
            if isinstance(value, dict) and (stop == len(text) or not is_whole):
                found.append(value)
    return found


def _is_table(text: str, kind: str, reading: SourceOptions) -> bool:
    """Return whether the first row names the text field, and the next rows fit the first."""
    delimiter = (kind == formats.CSV and reading.delimiter) or formats.DELIMITERS[kind]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header, *others = [row for row in islice(rows, SNIFFED_LINES) if row] or [[]]
    except csv.Error:
        return False
    fitting = sum(len(row) == len(header) for row in others)
    is_fit = len(header) > 1 and 2 * fitting >= len(others)
    numbers = map(str, range(1, len(header) + 1))
    return is_fit and reading.has_text(dict.fromkeys(header if reading.has_header else numbers))
