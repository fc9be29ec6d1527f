"""Command doctor: gives advice on a database."""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.opening import open_either
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.render import print_rows
from simdb.cli.output.words import row_in_words
from simdb.engine.maintenance.advice import advice_on_place
from simdb.outputs.rows import Row
from simdb.storage.files.location import NETWORK_TYPES, file_system

COLUMNS = ("topic", "message", "reason", "remedy")


def doctor(db: Database, json: Json = False) -> None:
    """Give advice on a database; change nothing.

    Exit code 1 if there is advice.  For damage, use check.
    """
    if print_rows(_advice(db), COLUMNS, as_json=json):
        raise Exit(FINDINGS)
    print("no advice; to look for damage, run simdb check", file=sys.stderr)


def _advice(db: str) -> Iterator[Row]:
    # A database on a network file system cannot be opened, as its memory maps are unsafe there.
    if os.path.isdir(db) and file_system(db) in NETWORK_TYPES:
        yield from map(_row, advice_on_place(db))
        return
    with open_either(db) as database:
        yield from map(_row, database.advice())


def _row(advice: simdb.Advice) -> Row:
    return row_in_words(asdict(advice))
