"""Arguments: options that several commands share, each with its help."""

from collections.abc import Collection
from typing import Annotated

import typer

from simdb.cli.reading.content import known_encoding
from simdb.cli.reading.records import Reading, Record, as_int_id, byte_count
from simdb.errors import OptionError

SOURCES_HELP = (
    "Files (.jsonl, .ndjson, .json, .csv, .tsv: also .gz; .parquet: records; any other: one"
    " document), folders (one document for each file), or - (JSON lines on standard input)."
)

Database = Annotated[str, typer.Argument(metavar="DB", help="The directory of the database.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of stored documents.")]
Sources = Annotated[list[str], typer.Argument(metavar="SOURCE...", help=SOURCES_HELP)]

Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Import this tokeniser, which the database names."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON lines, on a terminal too.")]
IntIds = Annotated[bool, typer.Option("--int-ids", help="Ids are whole numbers, not text.")]
Similarity = Annotated[
    float | None,
    typer.Option(help="Match at this estimated cosine, or Jaccard, or more: above 0 to 1."),
]
Distance = Annotated[
    int | None, typer.Option(help="Match at this number of differing bits or fewer, 0 to 64.")
]
Recall = Annotated[
    float | None, typer.Option(help="Share of the matches that must be found; 1 is exact.")
]
Matched = Annotated[
    str | None, typer.Option(help="Show what was stored before and matches: first or all.")
]
MemoryLimit = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Memory for matching, for example 512M.")
]
Method = Annotated[
    str | None,
    typer.Option(
        help="auto, exhaustive, bphs, psm, multiprobe; rotation (pairs); banding (MinHash)."
    ),
]
Blocks = Annotated[int | None, typer.Option(help="Blocks of fingerprint bits; 4 if not given.")]
Leading = Annotated[
    int | None, typer.Option(help="Blocks that lead in a table, of C(blocks, leading); usually 1.")
]
Bands = Annotated[
    int | None,
    typer.Option(help="Bands of a MinHash signature; not given: as many as find enough."),
]
Rows = Annotated[int | None, typer.Option(help="Minima of each band.")]
Rotations = Annotated[int | None, typer.Option(help="Sorted orders of --method rotation, 1 to 64.")]
Output = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write .parquet, .arrow, .jsonl or .csv.")
]
TextIds = Annotated[
    bool, typer.Option("--text-ids", help="Ids of any kind as text in Parquet and Arrow files.")
]
Policy = Annotated[
    str, typer.Option(help="connected: by chains of matches; star: all match the representative.")
]

IdField = Annotated[str, typer.Option(help="The field of a record that holds its id.")]
TextField = Annotated[str, typer.Option(help="The field of a record that holds its text.")]
Encoding = Annotated[str, typer.Option(help="The encoding of the sources, for example latin-1.")]
Errors = Annotated[
    str, typer.Option(help="strict reports what cannot be decoded; replace puts U+FFFD there.")
]


def make_reading(
    encoding: str,
    errors: str,
    id_field: str,
    text_field: str,
    *,
    has_int_ids: bool,
    is_whole: bool,
) -> Reading:
    """How to read sources, from the options of a command; OptionError for what cannot be."""
    check_errors(errors)
    return Reading(
        encoding=known_encoding(encoding),
        errors=errors,
        id_field=id_field,
        text_field=text_field,
        has_int_ids=has_int_ids,
        is_whole=is_whole,
    )


def check_errors(errors: str) -> None:
    """Raise OptionError for a way to treat undecodable bytes that there is not."""
    if errors not in ("strict", "replace"):
        raise OptionError(f"--errors is strict or replace, not {errors}")


def given_record(id: str, text: str, has_int_ids: bool) -> Record:
    """A document that stands on the command line itself."""
    return Record(
        id=given_ids([id], has_int_ids)[0],
        text=text,
        source="--text",
        position=0,
        line=id,
        size_bytes=byte_count(text),
    )


def given_ids(ids: Collection[str], has_int_ids: bool) -> list[str | int]:
    """The ids on the command line as they are stored."""
    return [as_int_id(id) if has_int_ids else id for id in ids]


def given_bits(fingerprint: str) -> int:
    """A fingerprint on the command line as a number."""
    try:
        return int(fingerprint, 0)
    except ValueError as error:
        raise OptionError(
            f"a fingerprint is a whole number, decimal or 0x..., not {fingerprint!r}"
        ) from error
