"""simdb plan: which way a query would be answered, why, and at what cost."""

from typing import Annotated, Any

import typer

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.sketch_options import Given, check_given, make_sketch, sketched
from simdb.cli.planning import print_plan
from simdb.engine.search.planning import paper_costs

OPTIONS = simdb.Options()


@sketched
def plan(
    db: Annotated[
        str | None, typer.Argument(metavar="DB", help="A database; none with --documents.")
    ] = None,
    *,
    sketch: Given,
    documents: Annotated[
        float | None, typer.Option(metavar="N", help="As if so many were stored: 8e9.")
    ] = None,
    blocks: arguments.Blocks = None,
    leading: arguments.Leading = None,
    bands: arguments.Bands = None,
    rows: arguments.Rows = None,
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
    shape = {"blocks": blocks, "leading": leading, "bands": bands, "rows": rows}
    shape |= {"header_offset": header_offset}
    given: dict[str, Any] = {name: each for name, each in shape.items() if each is not None}
    asked: dict[str, Any] = {
        "similarity": similarity, "distance": distance, "recall": recall, "method": method,
    }  # fmt: skip
    if db is not None:
        if given or weights is not None:
            raise simdb.OptionError(
                "--blocks, --leading, --bands, --rows, --header-offset and --weights are those of"
                " DB; leave them out"
            )
        with simdb.open(db, "r") as database:
            check_given(sketch, database.options.sketch, db)
            found = database.plan(documents, pairs=pairs, rotations=rotations, **asked)
        print_plan(found, [], documents, as_json=json)
        return
    if pairs or rotations is not None:
        raise simdb.OptionError("--pairs and --rotations are of a database; name one")
    if documents is None:
        raise simdb.OptionError("plan takes a database, or --documents N without one")
    options = simdb.Options(sketch=make_sketch(sketch), **given)
    found = simdb.plan(documents, options, has_weights=weights is not False, **asked)
    model = paper_costs(found, options, documents, recall or options.recall)
    print_plan(found, model, documents, as_json=json)
