"""Formats: recognises the format and compression of a file by its name.

A kind is a format in the words of `--format`.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from simdb.core.arrow import load_arrow
from simdb.core.compression import load_zstd
from simdb.core.errors import OptionError
from simdb.files.remote import check_remote, is_remote

JSONL, JSON, CSV, TSV, PARQUET, ARROW = "jsonl", "json", "csv", "tsv", "parquet", "arrow"
TEXT, LINES = "text", "lines"
WARC, MBOX = "warc", "mbox"
# The kind of a source that its first bytes must determine.
UNDECIDED = ""
# Kinds of outputs only.
ARROW_STREAM, PATHS, FOLDER, SHARDS = "Arrow stream", "paths", "folder", "shards"
ENDINGS = {
    ".jsonl": JSONL, ".ndjson": JSONL, ".jl": JSONL, ".jsonlines": JSONL, ".json": JSON,
    ".csv": CSV, ".tsv": TSV, ".warc": WARC, ".wet": WARC, ".mbox": MBOX,
    ".parquet": PARQUET, ".arrow": ARROW, ".feather": ARROW, ".ipc": ARROW,
}  # fmt: skip
# Endings of binary formats that no reader here supports.
UNREADABLE = (
    ".7z", ".avro", ".br", ".db", ".h5", ".lz4", ".lzma", ".npy", ".npz", ".ods", ".orc",
    ".pickle", ".pkl", ".rar", ".sqlite", ".tar", ".tgz", ".xls", ".xlsx", ".zip",
)  # fmt: skip
READ_ONLY = (WARC, MBOX)
# A file with one message, which is one document.
MAIL = ".eml"
DELIMITERS = {CSV: ",", TSV: "\t"}
ROWS = (PARQUET, ARROW, ARROW_STREAM)
# Endings of outputs, as messages list them.
TABLES = {e: ENDINGS[e] for e in (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow")}
# First bytes of an Arrow file, and of either an Arrow file or an Arrow stream.
ARROW_FILE = b"ARROW1"
ARROW_MAGICS = (ARROW_FILE, b"\xff\xff\xff\xff")
# The path that stands for a standard stream.
STANDARD_INPUT = STANDARD_OUTPUT = "-"
GZIP, ZSTD, BZIP2, XZ = ".gz", ".zst", ".bz2", ".xz"
COMPRESSIONS = (GZIP, ZSTD, BZIP2, XZ)
ANY_COMPRESSION = ".gz, .zst, .bz2 or .xz"


class Format(NamedTuple):
    """A format and the ending of its compression, which is empty if there is none."""

    kind: str
    compression: str = ""

    @property
    def has_types(self) -> bool:
        """Whether its columns have types."""
        return self.kind in ROWS

    @property
    def has_paths(self) -> bool:
        """Whether it lists or copies documents that are files."""
        return self.kind in (FOLDER, PATHS)


def output_format(path: str, option: str, endings: Mapping[str, str] = TABLES) -> Format:
    """Return the format that the ending of a file name stands for.

    A pipe, a device and standard output take JSON lines.

    Raises OptionError for an ending that is not in `endings`, or if its package is not installed.
    """
    if path == STANDARD_OUTPUT:
        return Format(JSONL)
    inner = unpacked(path)
    compression = path.lower()[len(inner) :]
    kind = next((endings[each] for each in endings if inner.endswith(each)), named(path))
    if kind not in endings.values():
        is_special = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
        if not is_special:
            raise OptionError(f"{option} must end in {_listed(endings)}, got {path}")
        kind = JSONL
    if is_remote(path):
        check_remote(path)
    if kind in ROWS:
        if compression:
            raise OptionError(
                f"{option}: {kind.capitalize()} files are compressed inside; leave out"
                f" {os.path.basename(path).lower()}'s {compression}"
            )
        load_arrow(f"writing {path}")
    if compression == ZSTD:
        load_zstd(f"writing {path}")
    return Format(kind, compression)


def named(source: str) -> str:
    """Return the kind that the ending of a name stands for, or `UNDECIDED`."""
    if is_mail(source):
        return TEXT
    inner = unpacked(source)
    kind = ENDINGS.get(os.path.splitext(inner)[1], UNDECIDED)
    return UNDECIDED if kind in ROWS and inner != source.lower() else kind


def is_mail(source: str) -> bool:
    """Return whether a name ends like that of a file with one mail message."""
    return unpacked(source).endswith(MAIL)


def names_output(name: str) -> bool:
    """Return whether a name ends like the file or folder of an output."""
    return name.lower().endswith((*TABLES, *COMPRESSIONS, ".txt", "/"))


def unpacked(source: str) -> str:
    """Return a name in lower case without its compression ending."""
    name = source.lower()
    return name.removesuffix(next((each for each in COMPRESSIONS if name.endswith(each)), ""))


def _listed(endings: Mapping[str, str]) -> str:
    """Return the known endings in words."""
    packed = [each for each, kind in endings.items() if kind not in ROWS]
    whole = [each for each in endings if each not in packed]
    return f"{', '.join(packed)} (each also with {ANY_COMPRESSION}) or {', '.join(whole)}"
