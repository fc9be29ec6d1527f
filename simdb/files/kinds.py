"""Kinds: what a source holds, by the end of its name, by --format, or by its first bytes.

A name that ends like one of the record formats decides.  Otherwise --format does, if it is given,
and otherwise the first bytes of the content, decompressed if they are compressed:

* the marks of Parquet and Arrow;
* JSON lines, or one JSON array of objects;
* CSV or TSV, if the first row has the field with the text and at least one other field, and most of
  the next rows have as many cells.

Any other regular file is one document.  A stream, such as a pipe or standard input, is never taken
for one document, since it seldom is one: its kind must be given.
"""

import csv
import io
import json
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

from simdb.core.decoding import MARK, MARKS
from simdb.core.encoding_guess import GUESS, UTF8_MARKED
from simdb.core.errors import InputError, OptionError
from simdb.core.fields import field_named
from simdb.files import content
from simdb.files.content import CONTENT_ERRORS, SNIFFED_BYTES, STANDARD_INPUT, explained, opened
from simdb.files.formats import ANY_COMPRESSION, ARROW_MAGICS, COMPRESSIONS
from simdb.files.records import SourceOptions, valid_name

JSONL, JSON, CSV, TSV, PARQUET, ARROW = "jsonl", "json", "csv", "tsv", "parquet", "arrow"
TEXT, LINES = "text", "lines"
# What the first bytes must show when they are read.
UNDECIDED = ""
ENDINGS = {
    ".jsonl": JSONL, ".ndjson": JSONL, ".jl": JSONL, ".jsonlines": JSONL, ".json": JSON,
    ".csv": CSV, ".tsv": TSV, ".parquet": PARQUET, ".arrow": ARROW, ".feather": ARROW,
    ".ipc": ARROW,
}  # fmt: skip
DELIMITERS = {CSV: ",", TSV: "\t"}
ROWS = (PARQUET, ARROW)

# Endings of files that are no text, and that no reader here takes.
UNREADABLE = (
    ".7z", ".avro", ".br", ".db", ".h5", ".lz4", ".lzma", ".npy", ".npz", ".ods", ".orc",
    ".pickle", ".pkl", ".rar", ".sqlite", ".tar", ".tgz", ".warc", ".xls", ".xlsx", ".zip",
)  # fmt: skip
SNIFFED_LINES = 16
OBJECT_BEGINS = re.compile(r"\{\s*[\"}]")
ARRAY_BEGINS = re.compile(r"\[\s*(?:[{\]]|$)")


def check_name(source: str, reading: SourceOptions) -> None:
    """Raise InputError for a file whose name says that no reader here takes it."""
    inner, ending = os.path.splitext(source.lower())
    is_other = named(inner) and not (named(source) or reading.format)
    if not is_other and ending not in UNREADABLE:
        return
    raise InputError(
        f"{valid_name(source)} ends in {os.path.splitext(source)[1]}, which is not read; records"
        f" are in files that end in {', '.join(ENDINGS)}, all but the last four also with"
        f" {ANY_COMPRESSION}, and any other file of text is one document"
    )


def named(source: str) -> str:
    """Return the kind that the end of a name says, `UNDECIDED` if it says none."""
    inner = unpacked(source)
    kind = ENDINGS.get(os.path.splitext(inner)[1], UNDECIDED)
    return UNDECIDED if kind in ROWS and inner != source.lower() else kind


def unpacked(source: str) -> str:
    """Return a name in lower case, without the ending of a compression."""
    name = source.lower()
    return name.removesuffix(next((each for each in COMPRESSIONS if name.endswith(each)), ""))


def is_stream(source: str) -> bool:
    """Return whether a source can be read only once: standard input, a pipe or a device."""
    if source == STANDARD_INPUT:
        return True
    return os.path.exists(source) and not os.path.isfile(source) and not os.path.isdir(source)


def stream_of(source: str) -> object:
    """Return what all names of one stream have in common, such as - and /dev/stdin."""
    try:
        found = os.fstat(0) if source == STANDARD_INPUT else os.stat(source)
    except OSError:
        return source
    return source if stat.S_ISCHR(found.st_mode) else (found.st_dev, found.st_ino)


def kind_of(source: str, reading: SourceOptions) -> str:
    """Return what a source that is no folder holds; `UNDECIDED` for a stream that must be opened.

    A stream is not opened here, because what is read of it would be lost.
    """
    known = named(source) or reading.format
    if known or is_stream(source):
        return known
    try:
        with opened(source, is_counted=False) as stream:
            kind = _sniffed(stream, reading, is_named=bool(os.path.splitext(source)[1]))
            return kind if kind not in ROWS or content.is_plain(stream) else UNDECIDED
    except CONTENT_ERRORS as error:
        explained(error)  # raises what is no fault of the source
        return TEXT  # and whoever reads it says what is wrong


def holds_records(source: str, reading: SourceOptions) -> bool:
    """Return whether a source holds records; otherwise it is one document, or a folder of them."""
    if os.path.isdir(source):
        return False
    return is_stream(source) or kind_of(source, reading) != TEXT


def read_one(path: str, reading: SourceOptions) -> str:
    """Return the text of a file or a stream that is one document; InputError for records."""
    try:
        with opened(path) as stream:
            if _sniffed(stream, reading, is_named=True) == TEXT:
                return content.read_text(stream, reading.encoding, reading.errors)[0]
    except CONTENT_ERRORS as error:
        raise InputError(f"{valid_name(path)}: {explained(error)}") from error
    raise InputError(f"{valid_name(path)} holds records, not one text; look them up by lookup")


def stream_kind(stream: io.BufferedReader, name: str, reading: SourceOptions) -> str:
    """Return what an open stream holds, by its first bytes, none of which are lost.

    Raises OptionError if they do not say it, and InputError for binary content.
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
        command="say which by --format jsonl, csv, tsv, parquet, arrow, text (one document) or"
        " lines",
    )


def _sniffed(stream: io.BufferedReader, reading: SourceOptions, *, is_named: bool | None) -> str:
    """Return the kind that the first bytes show.

    `is_named`: whether the name of a file has an ending, which then is not known; None for a
    stream, whose kind stays `UNDECIDED` where a file is a document.
    """
    head = stream.peek(SNIFFED_BYTES)
    if head.startswith(content.PARQUET_MAGIC):
        return PARQUET
    if head.startswith(ARROW_MAGICS):
        return ARROW
    text = _decoded(head, reading.encoding)
    is_whole = is_named is not None and len(head) < content.BUFFER_BYTES
    whole = text if is_whole else text.rpartition("\n")[0] or text  # the last line may be cut off
    first = text.lstrip()
    if is_named is None:
        if not first or OBJECT_BEGINS.match(first):
            return JSONL
        if ARRAY_BEGINS.match(first):
            return JSON
    else:
        objects = _objects(whole.lstrip().split("\n")[:2], is_whole=True)
        if len(objects) == 2 and (not is_named or all(map(reading.has_text, objects))):
            return JSONL
        objects = _objects([first[1:]], is_whole=False)
        if ARRAY_BEGINS.match(first) and any(map(reading.has_text, objects)):
            return JSON
    kind = next((kind for kind in DELIMITERS if _is_table(whole, kind, reading)), UNDECIDED)
    return kind or (UNDECIDED if is_named is None else TEXT)


def _decoded(head: bytes, encoding: str) -> str:
    """Return the first bytes of a source as text, without its byte order mark."""
    usual = UTF8_MARKED if encoding == GUESS else encoding
    marked = next((name for mark, name in MARKS if head.startswith(mark)), usual)
    return head.decode(marked, "replace").removeprefix(MARK)


def _objects(texts: Iterable[str], *, is_whole: bool) -> list[Any]:
    """Return the JSON objects with which texts begin; `is_whole`: and with which they end."""
    found = []
    for text in map(str.strip, texts):
        with suppress(ValueError, RecursionError):
            value, stop = json.JSONDecoder().raw_decode(text)
            if isinstance(value, dict) and (stop == len(text) or not is_whole):
                found.append(value)
    return found


def _is_table(text: str, kind: str, reading: SourceOptions) -> bool:
    """Return whether the first row names the field with the text, and the next rows fit it."""
    delimiter = (kind == CSV and reading.delimiter) or DELIMITERS[kind]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header, *others = [row for row in islice(rows, SNIFFED_LINES) if row] or [[]]
    except csv.Error:
        return False
    fitting = sum(len(row) == len(header) for row in others)
    is_fit = len(header) > 1 and 2 * fitting >= len(others)
    numbers = map(str, range(1, len(header) + 1))
    return is_fit and reading.has_text(dict.fromkeys(header if reading.has_header else numbers))
