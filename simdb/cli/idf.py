"""Command idf: computes the weights of features from many documents."""

from collections.abc import Iterator
from typing import Annotated, Any

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.declare import Option
from simdb.cli.options.opening import open_idle
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch, sketched
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import print_one
from simdb.cli.reading.intake import Intake
from simdb.outputs.target import check_place
from simdb.sources.reading import check_sources, read_sources


@sketched
def idf(
    sources: arguments.Sources,
    sketch: Given,
    output: Annotated[
        str | None, Option(short="-o", metavar="FILE", help="Write the IDF table to this file.")
    ] = None,
    db: Annotated[
        str | None,
        Option(metavar="DB", help="Store the IDF table in this database, which must be empty."),
    ] = None,
    features: Annotated[
        int | None, Option(min=1, help="Keep only this many features, the most frequent.")
    ] = None,
    id_field: arguments.IdField = "id",
    text_field: arguments.TextField = "text",
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Compute an IDF table from documents: a rare feature gets a high weight.

    Exit code 1 if files or records were skipped.
    """
    if (output is None) == (db is None) or "idf" in sketch:
        raise simdb.OptionError("idf needs either --output FILE or --db DB, and takes no --idf")
    check_sources(sources, text_field)
    if output is not None:
        check_place(output)
    reading = arguments.make_reading(encoding, errors, id_field, text_field)
    own = [path for path in (output, db) if path is not None]
    with Progress("reading") as progress:
        intake = Intake(read_sources(sources, reading, excluded=own), progress)
        if db is None:
            made = make_sketch(sketch)
            table = simdb.fit_idf(_texts(intake, made), made, features_max=features)
            simdb.save_idf(table, output or "")
        else:
            with open_idle(db, allowed(sketch, allow)) as database:
                wanted = database.options.sketch
                check_given(sketch, wanted, db)
                table = database.fit_idf(_texts(intake, wanted), features_max=features)
    row = {"documents": table.document_count, "features": len(table), "bytes": table.size_bytes}
    print_one({**row, "skipped": intake.skipped}, as_json=json)
    if intake.skipped:
        raise Exit(FINDINGS)


def _texts(intake: Intake, sketch: simdb.TextSketch) -> Iterator[Any]:
    for batch in intake.batches(sketch):
        yield from batch.texts
