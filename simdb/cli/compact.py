"""simdb compact: merge everything into one run and shrink the file."""

from dataclasses import asdict

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.output.render import print_one


def compact(db: Database, json: Json = False) -> None:
    """Merge the runs of a database, drop what is deleted, and shrink its file."""
    with simdb.open(db, "w") as database:
        print_one(asdict(database.compact()), as_json=json)
