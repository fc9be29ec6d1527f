"""Source names: which sources a name stands for, and what the end of a name says.

A name with `*`, `?` or `[...]` is a pattern and stands for all files and folders that match it, in
the order of their names, unless something has exactly this name.  Remote names can have patterns,
too, but a question mark is part of an address.
"""

import glob
import json
import os
from collections.abc import Iterable

from simdb.ground.errors import InputError
from simdb.outputs.formats import COMPRESSIONS
from simdb.outputs.parquet_file import load_parquet
from simdb.outputs.remote import check_remote, has_remote_pattern, is_remote, matching_files
from simdb.sources.content import CONTENT_ERRORS, STANDARD_INPUT, opened
from simdb.sources.records import valid_name

JSON_LINES = (".jsonl", ".ndjson")
JSON = ".json"
COMMAS = ".csv"
TABS = ".tsv"
PARQUET = ".parquet"
RECORDS = (*JSON_LINES, JSON, COMMAS, TABS, PARQUET)

# Endings of files that are no text, and that no reader here takes.
UNREADABLE = (
    ".7z", ".arrow", ".avro", ".br", ".bz2", ".db", ".feather", ".h5", ".ipc", ".lz4", ".lzma",
    ".npy", ".npz", ".ods", ".orc", ".pickle", ".pkl", ".rar", ".sqlite", ".tar", ".tgz",
    ".warc", ".xls", ".xlsx", ".xz", ".zip",
)  # fmt: skip
SNIFFED_BYTES = 1 << 16


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


def unpacked(source: str) -> str:
    """Return a name in lower case, without the ending of a compression."""
    name = source.lower()
    return name.removesuffix(next((each for each in COMPRESSIONS if name.endswith(each)), ""))


def holds_records(source: str) -> bool:
    """Return whether a source holds records; otherwise it is one document, or a folder of them."""
    is_file = unpacked(source).endswith(RECORDS) and not os.path.isdir(source)
    return source == STANDARD_INPUT or is_file


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
