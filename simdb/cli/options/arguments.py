"""Arguments: the lines of arguments and options that several commands have.

The lines are read by `declare.py`, which says what they mean.

SOURCE...: A file of records (.jsonl, .ndjson, .jl, .json, .csv, .tsv, also with .gz, .zst, .bz2 or
    .xz; .parquet, .arrow), any other file as one document, a folder of files of records, or with
    one document in each file, a pattern such as 'part-*.jsonl.gz', a pipe, or - for standard input.
    The first bytes say what a pipe holds.
--format WORD: What sources hold whose names and first bytes do not say it: jsonl, csv, tsv, parquet
    or arrow; text, one document; or lines, a document in each.
--on-null WORD: Records with null in place of a text, or without the field: keep, drop or error. If
    not given, nulls are kept, and records without the field are skipped and reported.
--existing: Do not create the database; it must exist.
--features: Store the hashed features of documents, 3 bytes each, so that what earlier runs have
    stored is compared exactly, too.
--allow NAME: Allow the import of this tokeniser, which the database names.
--json: Print JSON lines, also on a terminal.
DB: The directory of the database.
ID...: The ids of stored documents.
--int-ids: Treat ids as whole numbers, not as text.
--where FIELD=VALUE: Only documents whose metadata have this value. May be repeated: all must hold.
--delimiter: The character between the cells of CSV and TSV, such as ';' or tab; an output that ends
    in .csv has it, too.
--no-header: CSV and TSV have no first row with names; fields are called 1, 2, and so on, and an
    output that is CSV or TSV has no such row, either.
--pad-rows: Rows of CSV and TSV that are too short get empty cells, and are not skipped.
--encoding: The text encoding of the input, for example latin-1, or guess, by each file.
--errors: For undecodable bytes: strict skips the document, replace inserts U+FFFD.
--on-error WORD: What to do with a record or file that cannot be read: skip (named and counted, exit
    code 1) or raise (exit code 2, and nothing is written or stored).
--on-conflict: If an id is stored already: error, replace, skip, or same (skip the same text and
    refuse another).
--match: Show earlier stored documents that match each document: first or all.
-o, --output FILE: Write the rows to this file: .parquet, .arrow, .jsonl, .csv or .tsv; the last
    three also with .gz or .zst. - is standard output, as JSON lines.
--text-ids: Write all ids as text in Parquet and Arrow files.
--show N: Show the first N characters of each text. Texts of earlier runs need --texts.
--policy: connected: chains of matches form a group; star: all match the representative.
--contained SHARE: Find what contains at least this share of the text, by shared passages of 15
    words; the database must have --passages.
--blocks: Number of blocks of fingerprint bits; 4 if not given.
--leading: Blocks in front of a table key, in C(blocks, leading) tables; 1 if not given.
--bands: Bands of a MinHash signature; chosen by --recall if not given.
--rows: Minima in each band.
--polytopes: Cross-polytope tables, for searches by similarity, 0 to 16; 4 if not given and the
    database stores weights.
--distance-tables: Tables for searches by distance: auto (documents without weights have them, and
    others are compared, or get them in memory) or always. If not given: auto in a new database, and
    as it is in another.
--keep-clusters: Maintain clusters by the default distance or similarity; or none.
--keep-times: Store when documents were inserted, or last seen by a claim too; or none.
--passages: Store passages of texts, for --contained of query and pairs.
--text-field FIELD: The field of a record with its text, "text" if not given: a name, a path
    meta.body, title,body (joined by an empty line), or text|body (the first that there is).
--distance: Largest number of differing bits of a match, 0 to 64.
--recall: Share of the matches that the search must find; 1 finds all.
--id-field FIELD: The field of a record with its id, "id" if not given; otherwise like --text-field.
--max-share SHARE: Write nothing, and end with an error, if a larger share of the input are
    duplicates.
--similarity: Least estimated cosine (Jaccard with MinHash) of a match: above 0 to 1.
--search METHOD[,NAME=NUMBER...]: How to search: auto, exhaustive, bphs, psm, multiprobe, polytope,
    rotation (only for pairs); with MinHash: auto, exhaustive, banding. After commas, what experts
    set: attempts, header_bits (psm, multiprobe), rotations (rotation), memory_limit (batches;
    512M).
--against SOURCE...: Also compare with these, or with one database: all of it stays, and is neither
    written nor stored.
--keep RULE: Which document of a group is kept: first, last, longest, shortest, max:FIELD or
    min:FIELD; with --db, a group within this run.
--verify: exact: texts decide what matches, by all their features; numbers: they must also have the
    same numbers; estimate: sketches decide. exact if not given, unless documents match by
    --distance alone.
--memory SIZE: How much to hold of documents that are read or compared, such as 500M, beside some 64
    bytes of each; more waits in temporary files.
--min-words N: With --unit paragraph, line or sentence: keep those of fewer words wherever they
    occur; 5 if not given.
"""

from typing import Annotated

import click

Natural = Annotated[int, click.IntRange(0)]
Positive = Annotated[int, click.IntRange(1)]
BitCount = Annotated[int, click.IntRange(0, 64)]
