"""Command load: makes a new database from a dump."""

import sys
from typing import Annotated

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.declare import Argument
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_one, quantity


def load(
    db: Database,
    source: Annotated[str, Argument(metavar="FILE", help="The dump to read; - is standard input.")],
    json: Json = False,
) -> None:
    """Make a new database from a dump, completely or not at all."""
    with Progress("loading") as progress:
        count = simdb.load(
            sys.stdin.buffer if source == "-" else source,
            db,
            progress=lambda done: progress.show(quantity(done, "document")),
        )
    print_one({"path": db, "documents": count}, as_json=json)
