"""Command rebuild: makes all tables again from the stored columns."""

import sys
from dataclasses import asdict
from typing import Annotated

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.declare import Option
from simdb.cli.options.opening import open_idle
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.render import plain, print_one


def rebuild(
    db: Database,
    drop_damaged: Annotated[
        bool,
        Option("--drop-damaged", help="Remove documents that are damaged beyond repair."),
    ] = False,
    polytopes: Annotated[
        int | None,
        Option(
            help="Number of cross-polytope tables from now on, 0 for none; if not given, it stays"
            " the same."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Repair a database: make all its tables again from the stored documents.

    Exit code 1 if something was lost, 3 if documents are damaged; then nothing is changed.
    """
    with _opened(db) as database:
        report = database.rebuild(drop_damaged=drop_damaged, polytopes=polytopes)
    print_one(asdict(report), as_json=json)
    for each in (*report.losses, *report.notes):
        print(plain(each), file=sys.stderr)
    if report.losses or report.notes:
        raise Exit(FINDINGS)


def _opened(path: str) -> "simdb.Database":
    """Open a database after all who are writing to it now, or at once if it is too damaged."""
    try:
        return open_idle(path)
    except simdb.CorruptError:
        return simdb.open(path, "w")
