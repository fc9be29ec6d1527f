"""simdb import-datasketch: a database from a pickle of datasketch."""

from dataclasses import asdict
from typing import Annotated

import typer

from simdb.cli.options.arguments import Database, Json
from simdb.cli.output.render import print_one
from simdb.compat.importing import import_datasketch as make_database


def import_datasketch(
    source: Annotated[str, typer.Argument(metavar="PICKLE", help="The file of pickle.dump.")],
    db: Database,
    threshold: Annotated[
        float | None,
        typer.Option(help="Bands for this similarity, for MinHash without an index; 0.9 if none."),
    ] = None,
    params: Annotated[
        tuple[int, int] | None, typer.Option(metavar="B R", help="The bands themselves.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the MinHash of an index, which does not know it; 1.")
    ] = None,
    hashfunc: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The pickle may name this function, package.function; it is not imported.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a new database of a pickled MinHashLSH, or dict or list of MinHash.

    Nothing that the pickle names is imported or run.
    """
    made = make_database(
        source, db, threshold=threshold, params=params, seed=seed, hashfuncs=hashfunc or ()
    )
    print_one({"path": db, **asdict(made)}, as_json=json)
