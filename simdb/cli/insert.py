"""simdb insert: documents into a database."""

from collections.abc import Iterator
from typing import Annotated

import typer

import simdb
from simdb.cli.insertion import (
    MATCHED_COLUMNS,
    insert_batch,
    insert_matched,
    inserted_note,
    inserted_row,
    matching_options,
)
from simdb.cli.options import arguments
from simdb.cli.output.exit_codes import FINDINGS
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_one, print_rows
from simdb.cli.reading.intake import Intake
from simdb.cli.reading.records import Problem, Record
from simdb.cli.reading.sources import check_sources, read_sources


def insert(
    db: arguments.Database,
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="SOURCE...", help=arguments.SOURCES_HELP)
    ] = None,
    id: Annotated[str | None, typer.Option(metavar="ID", help="The id of one document.")] = None,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="Its text.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace stored documents of the same ids.")
    ] = False,
    metadata: Annotated[
        bool, typer.Option("--metadata", help="Store the other fields of a record with it.")
    ] = False,
    match: arguments.Matched = None,
    similarity: arguments.Similarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    method: arguments.Method = None,
    memory_limit: arguments.MemoryLimit = None,
    id_field: arguments.IdField = "id",
    text_field: arguments.TextField = "text",
    int_ids: arguments.IntIds = False,
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Insert documents, all in one transaction; the database is created where there is none.

    With --match every document is first looked up in what was stored before; the matches are shown
    when all is stored.  Exit code 1 when files or records had to be skipped, 3 when an id is taken:
    then nothing is inserted.
    """
    if (id is None) != (text is None) or (id is None) == (not sources):
        raise simdb.OptionError("insert takes SOURCE..., or --id with --text")
    asked = matching_options(
        match, replace, similarity=similarity, distance=distance, recall=recall, method=method,
        memory_limit=memory_limit,
    )  # fmt: skip
    reading = arguments.make_reading(
        encoding, errors, id_field, text_field, has_int_ids=int_ids, is_whole=metadata
    )
    check_sources(sources or [])
    found: Iterator[Record | Problem] = read_sources(sources or [], reading, excluded=[db])
    if id is not None and text is not None:
        found = iter([arguments.given_record(id, text, int_ids)])
    with Progress("inserting") as progress, simdb.open(db, allow=allow or []) as database:
        intake = Intake(found, progress)
        if asked is None:
            with database.write() as transaction:
                for batch in intake.batches(database.options.sketch):
                    insert_batch(transaction, batch, replace, metadata)
            print_one(inserted_row(intake, len(database)), as_json=json)
        else:
            rows = insert_matched(database, intake, progress, asked, metadata=metadata)
            progress.finish()
            print_rows(rows, MATCHED_COLUMNS, as_json=json)
            progress.note(inserted_note(intake))
    if intake.skipped:
        raise typer.Exit(FINDINGS)
