"""Formats: the format and the compression of an output file, by the end of its name."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from simdb.columns.arrow import load_arrow
from simdb.ground.errors import OptionError
from simdb.outputs.compression import load_zstd
from simdb.outputs.remote import check_remote, is_remote

JSON_LINES, COMMAS, TABS = "JSON lines", "CSV", "TSV"
PARQUET, ARROW = "Parquet", "Arrow"
PAGE = "HTML"
# In place of a path.
STANDARD_OUTPUT = "-"
PATHS, FOLDER, SHARDS = "paths", "folder", "shards"

TABLES = {
    ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".csv": COMMAS, ".tsv": TABS, ".parquet": PARQUET,
}  # fmt: skip
GZIP, ZSTD = ".gz", ".zst"
COMPRESSIONS = (GZIP, ZSTD)
DELIMITERS = {COMMAS: ",", TABS: "\t"}


class Format(NamedTuple):
    """A format, and the ending of the compression around it; empty if there is none."""

    kind: str
    compression: str = ""


def output_format(path: str, option: str, endings: Mapping[str, str] = TABLES) -> Format:
    """Return the format that the end of a file name says.

    A pipe, a device and standard output take JSON lines.

    Raises OptionError for an ending that is not in `endings`, or if its package is not installed.
    """
    if path == STANDARD_OUTPUT:
        return Format(JSON_LINES)
    name = os.path.basename(path).lower()
    compression = next((each for each in COMPRESSIONS if name.endswith(each)), "")
    inner = name.removesuffix(compression)
    kind = next((endings[each] for each in endings if inner.endswith(each)), None)
    if kind is None and os.path.exists(path) and not os.path.isfile(path):
        kind = None if os.path.isdir(path) else JSON_LINES
    if kind is None:
        raise OptionError(f"{option} must end in {_listed(endings)}, got {path}")
    if is_remote(path):
        check_remote(path)
    if kind in (PARQUET, ARROW):
        if compression:
            raise OptionError(f"{option}: {kind} files are compressed inside; leave out {name}'s"
                              f" {compression}")  # fmt: skip
        load_arrow(f"writing {path}")
    if compression == ZSTD:
        load_zstd(f"writing {path}")
    return Format(kind, compression)


def _listed(endings: Mapping[str, str]) -> str:
    """Return the known endings in words."""
    packed = [each for each, kind in endings.items() if kind not in (PARQUET, ARROW)]
    whole = [each for each in endings if each not in packed]
    return f"{', '.join(packed)} (each also with {' or '.join(COMPRESSIONS)}) or {', '.join(whole)}"
