"""Arguments: the arguments and options that several commands share, each with its help."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import numpy as np

from simdb import sources
from simdb.cli.options.declare import Argument, Option
from simdb.ground.errors import OptionError
from simdb.settings.options import METHODS, MINHASH_METHODS

if TYPE_CHECKING:
    from simdb.ground.choices import (
        ClustersName,
        ConflictName,
        ErrorsName,
        MatchName,
        PolicyName,
        TimesName,
        VerifyName,
    )
else:
    # The type of the value that click gives; the command checks the word.
    ClustersName = ConflictName = ErrorsName = MatchName = PolicyName = TimesName = VerifyName = str

if TYPE_CHECKING:
    from simdb.sources.batch import Batch
    from simdb.sources.records import InputId

SOURCES_HELP = (
    "A file of records (.jsonl, .ndjson, .json, .csv, .tsv, also with .gz or .zst; .parquet), any"
    " other file as one document, a folder with one document in each file, a pattern such as"
    " 'part-*.jsonl.gz', or - for JSON lines on standard input."
)

Database = Annotated[str, Argument(metavar="DB", help="The directory of the database.")]
Ids = Annotated[list[str], Argument(metavar="ID...", help="The ids of stored documents.")]
Sources = Annotated[list[str], Argument(metavar="SOURCE...", help=SOURCES_HELP)]

Allow = Annotated[
    list[str] | None,
    Option(metavar="NAME", help="Allow the import of this tokeniser, which the database names."),
]
Json = Annotated[bool, Option("--json", help="Print JSON lines, also on a terminal.")]
IntIds = Annotated[bool, Option("--int-ids", help="Treat ids as whole numbers, not as text.")]
Similarity = Annotated[
    float | None,
    Option(help="Least estimated cosine (Jaccard with MinHash) of a match: above 0 to 1."),
]
DecidedSimilarity = Annotated[
    float | None,
    Option(
        help="Least similarity of a match, above 0 to 1. Exact Jaccard similarity, 0.8 if not"
        " given; with --verify estimate, estimated cosine, 0.889 if not given."
    ),
]
Distance = Annotated[
    int | None, Option(help="Largest number of differing bits of a match, 0 to 64.")
]
Recall = Annotated[
    float | None, Option(help="Share of the matches that the search must find; 1 finds all.")
]
OnConflict = Annotated[
    ConflictName,
    Option(
        help="If an id is stored already: error, replace, skip, or same (skip the same text and"
        " refuse another)."
    ),
]
Matched = Annotated[
    MatchName | None,
    Option(help="Show earlier stored documents that match each document: first or all."),
]
Search = Annotated[
    str | None,
    Option(
        metavar="METHOD[,NAME=NUMBER...]",
        help=f"How to search: {', '.join(METHODS)} (only for pairs);"
        f" with MinHash: {', '.join(MINHASH_METHODS)}. After commas, what experts set: attempts,"
        " header_bits (psm, multiprobe), rotations (rotation), memory_limit (batches; 512M).",
    ),
]
Blocks = Annotated[int | None, Option(help="Number of blocks of fingerprint bits; 4 if not given.")]
Leading = Annotated[
    int | None,
    Option(help="Blocks in front of a table key, in C(blocks, leading) tables; 1 if not given."),
]
Bands = Annotated[
    int | None, Option(help="Bands of a MinHash signature; chosen by --recall if not given.")
]
Rows = Annotated[int | None, Option(help="Minima in each band.")]
Polytopes = Annotated[
    int | None,
    Option(
        help="Cross-polytope tables, for searches by similarity, 0 to 16; 4 if not given and the"
        " database stores weights."
    ),
]
KeepClusters = Annotated[
    ClustersName, Option(help="Maintain clusters by the default distance or similarity; or none.")
]
KeepTimes = Annotated[
    TimesName,
    Option(help="Store when documents were inserted, or last seen by a claim too; or none."),
]
Passages = Annotated[
    bool, Option("--passages", help="Store passages of texts, for --contained of query and pairs.")
]
Features = Annotated[
    bool,
    Option(
        "--features",
        help="Store the hashed features of documents, 3 bytes each, so that what earlier runs have"
        " stored is compared exactly, too.",
    ),
]
Contained = Annotated[
    float | None,
    Option(
        metavar="SHARE",
        help="Find what contains at least this share of the text, by shared passages of 15 words;"
        " the database must have --passages.",
    ),
]
Where = Annotated[
    list[str] | None,
    Option(
        metavar="FIELD=VALUE",
        help="Only documents whose metadata have this value. May be repeated: all must hold.",
    ),
]
Output = Annotated[
    str | None,
    Option(
        short="-o",
        metavar="FILE",
        help="Write the rows to this file: .parquet, .arrow, .jsonl, .csv or .tsv; the last three"
        " also with .gz or .zst. - is standard output, as JSON lines.",
    ),
]
TextIds = Annotated[
    bool, Option("--text-ids", help="Write all ids as text in Parquet and Arrow files.")
]
Policy = Annotated[
    PolicyName,
    Option(help="connected: chains of matches form a group; star: all match the representative."),
]

Against = Annotated[
    list[str] | None,
    Option(
        metavar="SOURCE...",
        takes_all=True,
        help="Also compare with these, or with one database: all of it stays, and is neither"
        " written nor stored.",
    ),
]
EarlierRuns = Annotated[
    str | None, Option(metavar="DB", help="Also compare with earlier runs, stored in DB.")
]
Existing = Annotated[bool, Option("--existing", help="Do not create the database; it must exist.")]
Run = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The name of this run in --db, made of the sources if not given. A run that is"
        " repeated keeps the same again.",
    ),
]
Show = Annotated[
    int | None,
    Option(
        metavar="N",
        min=1,
        help="Show the first N characters of each text. Texts of earlier runs need --texts.",
    ),
]
Keep = Annotated[
    str,
    Option(
        metavar="RULE",
        help="Which document of a group is kept: first, last, longest, shortest, max:FIELD or"
        " min:FIELD; with --db, a group within this run.",
    ),
]
Verify = Annotated[
    VerifyName | None,
    Option(
        help="exact: texts decide what matches, by all their features; numbers: they must also have"
        " the same numbers; estimate: sketches decide. exact if not given, unless documents match"
        " by --distance alone."
    ),
]
EarlierTexts = Annotated[
    list[str] | None,
    Option(metavar="SOURCE", help="Texts, by id, of documents that the database has already."),
]
StoredTexts = Annotated[
    list[str] | None,
    Option(
        metavar="SOURCE",
        help="Where the texts of stored documents are, by id: they decide what matches, and --show"
        " shows them.",
    ),
]
StoredVerify = Annotated[
    VerifyName | None,
    Option(
        help="exact: the texts of --texts decide what matches; numbers: they must also have the"
        " same numbers; estimate: sketches decide. exact with --texts if not given, unless"
        " documents match by --distance alone."
    ),
]
OnNull = Annotated[
    str | None,
    Option(
        metavar="WORD",
        help="Records with null in place of a text, or without the field: keep, drop or error. If"
        " not given, nulls are kept, and records without the field are skipped and reported.",
    ),
]
OnNullSkipped = Annotated[
    str | None,
    Option(
        metavar="WORD",
        help="Records with null in place of a text, or without the field: keep, drop or error. If"
        " not given, they are skipped and reported.",
    ),
]
MinWords = Annotated[
    int | None,
    Option(
        metavar="N",
        help="With --unit paragraph, line or sentence: keep those of fewer words wherever they"
        " occur; 5 if not given.",
    ),
]
MaxShare = Annotated[
    float | None,
    Option(
        metavar="SHARE",
        help="Write nothing, and end with an error, if a larger share of the input are duplicates.",
    ),
]

Memory = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="How much to hold of documents that are read or compared, such as 500M, beside some"
        " 64 bytes of each; more waits in temporary files.",
    ),
]

IdField = Annotated[str, Option(help="The field of a record with its id.")]
TextField = Annotated[str, Option(help="The field of a record with its text.")]
Encoding = Annotated[
    str, Option(help="The text encoding of the input, for example latin-1, or guess, by each file.")
]
Errors = Annotated[
    ErrorsName,
    Option(help="For undecodable bytes: strict skips the document, replace inserts U+FFFD."),
]


def check_errors(errors: str) -> None:
    """Raise OptionError unless `errors` is a known way to treat undecodable bytes."""
    if errors not in ("strict", "replace"):
        raise OptionError(f"--errors must be strict or replace, got {errors!r}")


def given_batch(id: str, text: str, has_int_ids: bool) -> "Batch":
    """Return the batch of one document whose text was given with --text."""
    return sources.batch.Batch(
        ids=given_ids([id], has_int_ids),
        texts=[text],
        sources=["--text"],
        positions=np.zeros(1, np.int64),
        sizes=np.array([sources.records.byte_count(text)]),
    )


def given_ids(ids: Collection[str], has_int_ids: bool) -> "list[InputId]":
    """Return ids from the command line as a database stores them, text or int."""
    return [sources.records.as_int_id(id) if has_int_ids else id for id in ids]


def given_bits(fingerprint: str) -> int:
    """Return the number that a fingerprint on the command line means."""
    try:
        return int(fingerprint, 0)
    except ValueError as error:
        raise OptionError(
            f"--fingerprint must be a whole number, decimal or 0x..., got {fingerprint!r}"
        ) from error
