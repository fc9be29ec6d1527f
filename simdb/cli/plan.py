"""simdb plan: which way a query would be answered, why, and at what cost."""

from typing import Annotated, Any

import typer

import simdb
from simdb.cli import arguments
from simdb.cli.planning import print_plan
from simdb.engine.planning import paper_costs

OPTIONS = simdb.Options()


def plan(
    db: Annotated[
        str | None, typer.Argument(metavar="DB", help="A database; none with --documents.")
    ] = None,
    documents: Annotated[
        float | None, typer.Option(metavar="N", help="As if so many were stored: 8e9.")
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(help="Blocks of fingerprint bits, without DB.")
    ] = None,
    leading: Annotated[
        int | None, typer.Option(help="Blocks that lead in a table, without DB.")
    ] = None,
    header_offset: Annotated[
        int | None, typer.Option(help="Width of a header, as in create, without DB.")
    ] = None,
    weights: Annotated[
        bool | None,
        typer.Option("--weights/--no-weights", help="Documents have weights, without DB."),
    ] = None,
    similarity: arguments.Similarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    method: arguments.Method = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="All pairs, costs for one document; needs DB.")
    ] = False,
    rotations: arguments.Rotations = None,
    json: arguments.Json = False,
) -> None:
    """Plan a query: the method, all that were considered, and why; without DB for any number.

    Without DB the cost model of the paper stands beside it.
    """
    shape = {"blocks": blocks, "leading": leading, "header_offset": header_offset}
    given: dict[str, Any] = {name: each for name, each in shape.items() if each is not None}
    if db is not None:
        if given or weights is not None:
            raise simdb.OptionError(
                "--blocks, --leading, --header-offset and --weights are those of DB; leave them out"
            )
        with simdb.open(db, "r") as database:
            found = database.plan(
                documents, similarity=similarity, distance=distance, recall=recall, method=method,
                pairs=pairs, rotations=rotations,
            )  # fmt: skip
        print_plan(found, [], documents, as_json=json)
        return
    if pairs or rotations is not None:
        raise simdb.OptionError("--pairs and --rotations are of a database; name one")
    if documents is None:
        raise simdb.OptionError("plan takes a database, or --documents N without one")
    options = simdb.Options(**given)
    found = simdb.plan(
        documents, options, similarity=similarity, distance=distance, recall=recall, method=method,
        has_weights=weights is not False,
    )  # fmt: skip
    wanted = options.recall if recall is None else recall
    print_plan(found, paper_costs(found, options, documents, wanted), documents, as_json=json)
