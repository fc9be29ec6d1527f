"""Command cluster: shows the cluster of one stored document."""

from typing import Annotated

import simdb
from simdb.cli.options.arguments import Database, IntIds, Json, given_ids
from simdb.cli.options.declare import Argument
from simdb.cli.output.render import print_one


def cluster(
    db: Database,
    id: Annotated[str, Argument(metavar="ID", help="The id of a stored document.")],
    int_ids: IntIds = False,
    json: Json = False,
) -> None:
    """Show the cluster of one stored document, the representative first.

    Needs a database created with --keep-clusters.  The cluster is read from disk, not searched for.
    """
    with simdb.open(db, "r") as database:
        ids = database.cluster(given_ids([id], int_ids)[0])
        print_one({"representative": ids[0], "size": len(ids), "ids": ids}, as_json=json)
