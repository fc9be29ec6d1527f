"""simdb create: an empty database."""

from typing import Annotated

import typer

import simdb
from simdb.cli.arguments import Database, Json
from simdb.cli.render import print_one
from simdb.options import encode_options

OPTIONS = simdb.Options()
SKETCH = OPTIONS.sketch


def create(
    db: Database,
    unit: Annotated[str, typer.Option(help="Tokens are words or characters.")] = SKETCH.unit,
    shingle: Annotated[
        int, typer.Option(help="How many consecutive tokens make a feature.")
    ] = SKETCH.shingle,
    lowercase: Annotated[
        bool, typer.Option("--lowercase/--no-lowercase", help="Ignore the case of letters.")
    ] = SKETCH.lowercase,
    normalisation: Annotated[
        str, typer.Option(help="Unicode normalisation: none or nfkc.")
    ] = SKETCH.normalisation,
    seed: Annotated[int, typer.Option(help="Seed of the feature hash.")] = SKETCH.seed,
    dimensions: Annotated[
        int, typer.Option(help="Stored weights of a document: 64 or 128.")
    ] = SKETCH.dimensions,
    volatility: Annotated[
        bool,
        typer.Option(
            "--volatility/--no-volatility",
            help="Store the weights; without them documents match by distance only.",
        ),
    ] = SKETCH.store_volatility,
    blocks: Annotated[int, typer.Option(help="Blocks of fingerprint bits.")] = OPTIONS.blocks,
    leading: Annotated[
        int, typer.Option(help="Blocks that lead in a table; C(blocks, leading) tables.")
    ] = OPTIONS.leading,
    similarity: Annotated[
        float, typer.Option(help="What a match is, if a query does not say.")
    ] = OPTIONS.similarity,
    distance: Annotated[
        int, typer.Option(help="The same for fingerprints without weights.")
    ] = OPTIONS.distance,
    recall: Annotated[
        float, typer.Option(help="Share of the matches that must be found.")
    ] = OPTIONS.recall,
    json: Json = False,
) -> None:
    """Create an empty database; its options are stored in it and stay."""
    sketch = simdb.Simhash(
        unit=unit, shingle=shingle, lowercase=lowercase, normalisation=normalisation, seed=seed,
        dimensions=dimensions, store_volatility=volatility,
    )  # fmt: skip
    options = simdb.Options(
        sketch=sketch, blocks=blocks, leading=leading, similarity=similarity, distance=distance,
        recall=recall,
    )  # fmt: skip
    with simdb.open(db, "x", options=options) as database:
        print_one({"path": db, "options": encode_options(database.options)}, as_json=json)
