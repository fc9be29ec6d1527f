"""Command stats: shows a database in numbers."""

from dataclasses import asdict

from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.door import open_either
from simdb.cli.output.render import print_one


def stats(db: Database, json: Json = False) -> None:
    """Show counts, sizes, runs, readers and options of a database."""
    with open_either(db) as database:
        print_one(asdict(database.stats()), as_json=json)
