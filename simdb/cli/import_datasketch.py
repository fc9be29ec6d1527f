"""Command import-datasketch: makes a database from a pickle of datasketch."""

from dataclasses import asdict
from typing import Annotated

from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.declare import Argument, Option
from simdb.cli.output.render import print_one
from simdb.compat.importing import import_datasketch as make_database


def import_datasketch(
    db: Database,
    source: Annotated[str, Argument(metavar="PICKLE", help="The pickle file.")],
    threshold: Annotated[
        float | None,
        Option(
            help="Choose bands for this similarity if the pickle is no index; 0.9 if not given."
        ),
    ] = None,
    params: Annotated[
        tuple[int, int] | None,
        Option(metavar="B R", help="B bands of R rows, instead of --threshold."),
    ] = None,
    seed: Annotated[
        int | None,
        Option(help="Seed of the MinHash of an index, which does not store it; 1 if not given."),
    ] = None,
    hashfunc: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="A hash function, package.function, that the pickle may name; never imported.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a new database from a pickled datasketch MinHashLSH, or a dict or list of MinHash.

    No code that the pickle names is imported or run.
    """
    made = make_database(
        source, db, threshold=threshold, params=params, seed=seed, hashfuncs=hashfunc or ()
    )
    print_one({"path": db, **asdict(made)}, as_json=json)
