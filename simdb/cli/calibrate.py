"""simdb calibrate: learn how similar documents differ, and how fast this machine is."""

from typing import Annotated

import typer

import simdb
from simdb.cli.calibrating import print_calibration, texts
from simdb.cli.options import arguments
from simdb.cli.output.exit_codes import FINDINGS
from simdb.cli.output.progress import Progress
from simdb.cli.reading.intake import Intake
from simdb.cli.reading.sources import check_sources, read_sources


def calibrate(
    db: arguments.Database,
    sample: Annotated[
        int | None, typer.Option(help="Ask about so many stored documents, drawn at random.")
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE", help="Also about these, like those that will be queries."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the drawing.")] = 0,
    text_field: arguments.TextField = "text",
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Calibrate a database: compare a sample with everything, and store what that teaches.

    Prints how far a query goes for some recalls.  Exit code 1 when records had to be skipped.
    """
    if sample is not None and documents:
        raise simdb.OptionError("calibrate takes --sample N or --documents SOURCE, not both")
    reading = arguments.make_reading(
        encoding, errors, "id", text_field, has_int_ids=False, is_whole=False
    )
    if documents:
        check_sources(documents)
    with simdb.open(db, "w", allow=allow or ()) as database:
        skipped, given = 0, None
        if documents:
            with Progress("reading") as progress:
                intake = Intake(read_sources(documents, reading, excluded=[db]), progress)
                given = texts(intake, database.options.sketch)
                skipped = intake.skipped
        made = database.calibrate(sample if given is None else given, seed=seed)
        print_calibration(database, made, as_json=json)
    if skipped:
        raise typer.Exit(FINDINGS)
