"""simdb rebuild: all tables made anew from the stored columns."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.output.exit_codes import FINDINGS
from simdb.cli.output.render import plain, print_one


def rebuild(
    db: Database,
    drop_damaged: Annotated[
        bool, typer.Option("--drop-damaged", help="Remove documents that cannot be read.")
    ] = False,
    json: Json = False,
) -> None:
    """Make all tables of a database anew, when check has found them damaged.

    Exit code 1 when something was given up, 3 when documents are damaged: nothing is changed then.
    """
    with simdb.open(db, "w") as database:
        report = database.rebuild(drop_damaged=drop_damaged)
    print_one(asdict(report), as_json=json)
    for each in (*report.losses, *report.notes):
        print(plain(each), file=sys.stderr)
    if report.losses or report.notes:
        raise typer.Exit(FINDINGS)
