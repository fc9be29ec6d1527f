"""Command check: looks for damage in a database."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.declare import Option
from simdb.cli.options.opening import open_either
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.render import print_rows
from simdb.cli.output.words import row_in_words
from simdb.outputs.rows import Row

RESTORE = "run simdb rebuild, or restore the database from a copy or a dump"


def check(
    db: Database,
    deep: Annotated[
        bool, Option("--deep", help="Read every byte and make every table again.")
    ] = False,
    json: Json = False,
) -> None:
    """Look for damage in a database, and say how to repair it.

    Exit code 1 if there is any.
    """
    if print_rows(_findings(db, deep), ("place", "message", "remedy"), as_json=json):
        raise Exit(FINDINGS)
    note = "no problem found" if deep else "no problem found; --deep makes every table again"
    print(note, file=sys.stderr)


def _findings(db: str, deep: bool) -> Iterator[Row]:
    try:
        with open_either(db) as database:
            yield from (row_in_words(asdict(finding)) for finding in database.check(deep))
    except simdb.CorruptError as error:
        yield row_in_words({"place": "database", "message": str(error), "remedy": RESTORE})
