"""Command compact: merges all runs into one and shrinks the file."""

from dataclasses import asdict

from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.opening import open_idle
from simdb.cli.output.render import print_one


def compact(db: Database, json: Json = False) -> None:
    """Merge all runs of a database into one, drop deleted documents, and shrink the file."""
    with open_idle(db) as database:
        print_one(asdict(database.compact()), as_json=json)
