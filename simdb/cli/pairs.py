"""simdb pairs: all pairs of stored documents that match."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

import simdb
from simdb.cli.arguments import Database, Distance, Json, Method, Recall, Rotations, Similarity
from simdb.cli.codes import FINDINGS
from simdb.cli.render import Row, print_rows, rounded


def pairs(
    db: Database,
    similarity: Similarity = None,
    distance: Distance = None,
    recall: Recall = None,
    method: Method = None,
    rotations: Rotations = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say first how, and which share is found.")
    ] = False,
    json: Json = False,
) -> None:
    """Show every pair of stored documents that match.  Exit code 1 when there are any."""
    with simdb.open(db, "r") as database:
        found = database.find_all(
            similarity=similarity, distance=distance, recall=recall, method=method,
            rotations=rotations,
        )  # fmt: skip
        if explain:
            plan = found.plan
            print(f"{plan.method}, recall {plan.recall:.4g}: {plan.reason}", file=sys.stderr)
        count = print_rows(_rows(found), ("left", "right", "distance", "similarity"), as_json=json)
    if count:
        raise typer.Exit(FINDINGS)


def _rows(found: simdb.Pairs) -> Iterator[Row]:
    for pair in found:
        yield {
            "left": pair.left,
            "right": pair.right,
            "distance": pair.distance,
            "similarity": rounded(pair.similarity),
        }
