"""Command stats: shows a database in numbers."""

from dataclasses import asdict

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.output.render import print_one


def stats(db: Database, json: Json = False) -> None:
    """Show counts, sizes, runs, readers and options of a database."""
    with simdb.open(db, "r") as database:
        print_one(asdict(database.stats()), as_json=json)
