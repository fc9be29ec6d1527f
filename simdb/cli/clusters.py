"""simdb clusters: groups of stored documents that are connected by matches."""

import typer

import simdb
from simdb.cli.arguments import Database, Distance, Json, Method, Recall, Similarity
from simdb.cli.codes import FINDINGS
from simdb.cli.render import print_rows


def clusters(
    db: Database,
    similarity: Similarity = None,
    distance: Distance = None,
    recall: Recall = None,
    method: Method = None,
    json: Json = False,
) -> None:
    """Show the groups of stored documents that matches connect, the first stored of each first.

    Exit code 1 when there are any.
    """
    with simdb.open(db, "r") as database:
        found = database.find_clusters(
            similarity=similarity, distance=distance, recall=recall, method=method
        )
    rows = (
        {"representative": each.representative, "size": len(each), "ids": each.ids}
        for each in found
    )
    if print_rows(rows, ("representative", "size", "ids"), as_json=json):
        raise typer.Exit(FINDINGS)
