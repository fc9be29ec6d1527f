"""Command copy: makes a compacted copy of a database."""

from typing import Annotated

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.declare import Argument
from simdb.cli.output.render import print_one


def copy(
    db: Database,
    target: Annotated[str, Argument(metavar="TARGET", help="The directory to create.")],
    json: Json = False,
) -> None:
    """Copy the current state of a database to a new directory; other processes can keep writing."""
    with simdb.open(db, "r") as database:
        database.copy(target)
    with simdb.open(target, "r") as copied:
        print_one({"path": target, "documents": len(copied)}, as_json=json)
