"""Calibrating: what a calibration says, as one object or as tables for a person."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import simdb
from simdb.cli.output.render import Row, is_table, print_one, print_rows
from simdb.cli.planning import time_in_words
from simdb.cli.reading.intake import Intake

RECALLS = (0.8, 0.9, 0.95, 0.99)
CURVE_COLUMNS = ("recall", "tables", "theta", "probes", "reached", "time")
NANOSECONDS = 1e9


def print_calibration(database: simdb.Database, made: Any, *, as_json: bool) -> None:
    """Print how much was learnt, the delays of the machine, and how far queries have to go."""
    similarity = database.options.similarity
    learnt = {
        "pairs": len(made.pairs),
        "queries": made.query_count,
        "documents": made.document_count,
        "similarity": similarity,
        "matching_pairs": int(made.matching(similarity, None).sum()),
        "nanoseconds": {
            name: round(seconds * NANOSECONDS, 3) for name, seconds in asdict(made.delays).items()
        },
    }
    curve = list(_curve(database))
    if not is_table(as_json):
        print_one({**learnt, "recalls": curve}, as_json=as_json)
        return
    print_one(learnt, as_json=as_json)
    print(f"\nRecall of pairs at similarity {similarity:g}, and how far a query goes for it:")
    print_rows(map(_in_words, curve), CURVE_COLUMNS, as_json=as_json)


def texts(intake: Intake, sketch: simdb.TextSketch) -> list[str]:
    """The texts of all records."""
    return [record.text for batch in intake.batches(sketch) for record in batch]


def _curve(database: simdb.Database) -> Iterator[Row]:
    """What one table and all tables have to be asked for each recall; None where it is too much."""
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
    """The row with its time as a table shows it."""
    known = row["microseconds"] is not None
    return {**row, "time": time_in_words(row["microseconds"]) if known else None}
