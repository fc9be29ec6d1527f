"""Command calibrate: learns how similar documents differ, and how fast this machine is."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.declare import Option
from simdb.cli.options.opening import open_idle
from simdb.cli.output.exit_codes import FINDINGS, Exit
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import is_table, print_one, print_rows, time_in_words
from simdb.cli.reading.intake import Intake
from simdb.outputs.rows import Row
from simdb.sources.reading import check_sources, read_sources

RECALLS = (0.8, 0.9, 0.95, 0.99)
CURVE_COLUMNS = ("recall", "tables", "theta", "probes", "reached", "time")
NANOSECONDS = 1e9


def calibrate(
    db: arguments.Database,
    sample: Annotated[
        int | None,
        Option(help="Compare this many stored documents, drawn at random, with all."),
    ] = None,
    documents: Annotated[
        list[str] | None,
        Option(
            metavar="SOURCE",
            help="Instead of a sample: documents like later queries. May be repeated.",
        ),
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the random draw.")] = 0,
    text_field: arguments.TextField = "text",
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Learn from a sample how similar documents differ, so that queries need less searching.

    Compares the sample with all stored documents, measures the speed of this machine, and stores
    both results in the database.  Prints how much a query searches for several recalls.

    Exit code 1 if records were skipped.
    """
    if sample is not None and documents:
        raise simdb.OptionError("calibrate takes either --sample N or --documents SOURCE, not both")
    reading = arguments.make_reading(encoding, errors, "id", text_field)
    if documents:
        check_sources(documents, text_field)
    with open_idle(db, allow or ()) as database:
        skipped, given = 0, None
        if documents:
            with Progress("reading") as progress:
                intake = Intake(read_sources(documents, reading, excluded=[db]), progress)
                given = _texts(intake, database.options.sketch)
                skipped = intake.skipped
        made = database.calibrate(sample if given is None else given, seed=seed)
        _print_calibration(database, made, as_json=json)
    if skipped:
        raise Exit(FINDINGS)


def _print_calibration(database: simdb.Database, made: Any, *, as_json: bool) -> None:
    """Print the counts, the delays of this machine, and the cost of a query for each recall."""
    similarity = database.options.similarity
    counts = {
        "pairs": len(made.pairs),
        "queries": made.query_count,
        "documents": made.document_count,
        "similarity": similarity,
        "matching_pairs": int(made.matching(database.options.compared(similarity), None).sum()),
        "nanoseconds": {
            name: round(seconds * NANOSECONDS, 3) for name, seconds in asdict(made.delays).items()
        },
    }
    curve = list(_curve(database))
    if not is_table(as_json):
        print_one({**counts, "recalls": curve}, as_json=as_json)
        return
    print_one(counts, as_json=as_json)
    print(f"\nRecall of pairs at similarity {similarity:g}, and how much a query searches for it:")
    print_rows(map(_in_words, curve), CURVE_COLUMNS, as_json=as_json)


def _texts(intake: Intake, sketch: simdb.TextSketch) -> list[Any]:
    """Return the texts of all records."""
    return [text for batch in intake.batches(sketch) for text in batch.texts]


def _curve(database: simdb.Database) -> Iterator[Row]:
    """Yield a row for each recall in one table and in all; None where no threshold reaches it."""
    every = database.options.table_count
    for recall in RECALLS:
        plan = database.plan(similarity=database.options.similarity, recall=recall)
        for tables in sorted({1, every}):
            ways = (
                way for way in plan.considered if way.theta is not None and way.tables == tables
            )
            way = next(ways, None)
            yield {
                "recall": recall,
                "tables": tables,
                "theta": None if way is None else way.theta,
                "probes": None if way is None else way.probes,
                "reached": None if way is None else round(way.recall, 4),
                "microseconds": None if way is None else round(way.cost_seconds * 1e6, 3),
                "reason": "no threshold reaches it" if way is None else way.reason,
            }


def _in_words(row: Row) -> Row:
    """Return the row with a `time` that a table can show."""
    known = row["microseconds"] is not None
    return {**row, "time": time_in_words(row["microseconds"]) if known else None}
