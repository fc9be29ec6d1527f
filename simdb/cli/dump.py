"""Command dump: writes everything in a database in a portable form."""

import os
import sys
from typing import Annotated

import simdb
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.declare import Option
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_one, quantity
from simdb.outputs.formats import STANDARD_OUTPUT


def dump(
    db: Database,
    output: Annotated[
        str,
        Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output."),
    ] = STANDARD_OUTPUT,
    json: Json = False,
) -> None:
    """Write everything in a database to one portable file; other processes can keep writing."""
    if output == STANDARD_OUTPUT and sys.stdout.isatty():
        raise simdb.OptionError(
            "a dump is binary and would garble the terminal; use -o FILE, or a pipe"
        )
    with Progress("dumping") as progress, simdb.open(db, "r") as database:
        stored = max(len(database), 1)

        def show(count: int) -> None:
            # Other processes can keep writing, so that there are more by now.
            progress.show(quantity(count, "document"), min(count / stored, 1.0))

        if output == STANDARD_OUTPUT:
            count = database.dump(sys.stdout.buffer, show)
            sys.stdout.buffer.flush()
        else:
            count = database.dump(output, show)
    if output == STANDARD_OUTPUT:
        print(f"dumped {quantity(count, 'document')}", file=sys.stderr)
    else:
        row = {"path": output, "documents": count, "bytes": os.path.getsize(output)}
        print_one(row, as_json=json)
