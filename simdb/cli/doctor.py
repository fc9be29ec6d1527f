"""simdb doctor: what would do a database good."""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict

import typer

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.output.exit_codes import FINDINGS
from simdb.cli.output.render import Row, print_rows
from simdb.engine.maintenance.advice import advice_on_place
from simdb.storage.files.location import NETWORK_TYPES, file_system

COLUMNS = ("topic", "message", "reason", "remedy")


def doctor(db: Database, json: Json = False) -> None:
    """Give advice on a database, and change nothing.  Exit code 1 when there is some."""
    if print_rows(_advice(db), COLUMNS, as_json=json):
        raise typer.Exit(FINDINGS)
    print("no advice; simdb check says whether it is sound", file=sys.stderr)


def _advice(db: str) -> Iterator[Row]:
    # Where it must not lie it is not opened either.
    if os.path.isdir(db) and file_system(db) in NETWORK_TYPES:
        yield from map(asdict, advice_on_place(db))
        return
    with simdb.open(db, "r") as database:
        yield from map(asdict, database.advice())
