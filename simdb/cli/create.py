"""simdb create: an empty database."""

from typing import Annotated, Any

import typer

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.sketch_options import Given, make_sketch, sketched
from simdb.cli.output.render import print_one

OPTIONS = simdb.Options()


@sketched
def create(
    db: Database,
    sketch: Given,
    volatility: Annotated[
        bool | None,
        typer.Option(
            "--volatility/--no-volatility",
            help="Store the weights; without them documents match by distance only.",
        ),
    ] = None,
    blocks: arguments.Blocks = None,
    leading: arguments.Leading = None,
    bands: arguments.Bands = None,
    rows: arguments.Rows = None,
    similarity: Annotated[
        float | None,
        typer.Option(
            help="What a match is, if a query does not say: 0.88 where none is given, 0.90 for"
            " single words by tf-idf, 0.8 with --minhash."
        ),
    ] = None,
    distance: Annotated[
        int | None,
        typer.Option(help="The same for fingerprints without weights; 3 if not given."),
    ] = None,
    recall: Annotated[
        float, typer.Option(help="Share of the matches that must be found.")
    ] = OPTIONS.recall,
    header_offset: Annotated[
        int, typer.Option(help="Width of a header: log2 of a table's documents, and so many bits.")
    ] = OPTIONS.header_offset,
    keep_clusters: Annotated[
        str, typer.Option(help="none, distance or similarity: keep the clusters by that default.")
    ] = OPTIONS.keep_clusters,
    json: Json = False,
) -> None:
    """Create an empty database; its options are stored in it and stay."""
    stored = {} if volatility is None else {"store_volatility": volatility}
    shape = {
        "blocks": blocks, "leading": leading, "bands": bands, "rows": rows, "distance": distance,
        "similarity": similarity,
    }  # fmt: skip
    given: dict[str, Any] = {name: each for name, each in shape.items() if each is not None}
    options = simdb.Options(
        sketch=make_sketch(sketch | stored), recall=recall, header_offset=header_offset,
        keep_clusters=keep_clusters, **given,
    )  # fmt: skip
    with simdb.open(db, "x", options=options) as database:
        print_one({"path": db, "options": database.stats().options}, as_json=json)
