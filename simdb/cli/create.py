"""simdb create: an empty database."""

from typing import Annotated

import typer

import simdb
from simdb.cli.arguments import Database, Json
from simdb.cli.render import print_one
from simdb.cli.sketching import Given, make_sketch, sketched

OPTIONS = simdb.Options()


@sketched
def create(
    db: Database,
    sketch: Given,
    volatility: Annotated[
        bool,
        typer.Option(
            "--volatility/--no-volatility",
            help="Store the weights; without them documents match by distance only.",
        ),
    ] = OPTIONS.sketch.store_volatility,
    blocks: Annotated[int, typer.Option(help="Blocks of fingerprint bits.")] = OPTIONS.blocks,
    leading: Annotated[
        int, typer.Option(help="Blocks that lead in a table; C(blocks, leading) tables.")
    ] = OPTIONS.leading,
    similarity: Annotated[
        float | None,
        typer.Option(
            help="What a match is, if a query does not say: 0.88 where none is given, 0.90 for"
            " single words by tf-idf."
        ),
    ] = None,
    distance: Annotated[
        int, typer.Option(help="The same for fingerprints without weights.")
    ] = OPTIONS.distance,
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
    made = make_sketch(sketch | {"store_volatility": volatility})
    options = simdb.Options(
        sketch=made, blocks=blocks, leading=leading, distance=distance, recall=recall,
        similarity=made.usual_similarity if similarity is None else similarity,
        header_offset=header_offset, keep_clusters=keep_clusters,
    )  # fmt: skip
    with simdb.open(db, "x", options=options) as database:
        print_one({"path": db, "options": database.stats().options}, as_json=json)
