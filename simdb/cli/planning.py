"""Planning: a `Plan` as one object, or as tables for a person."""

from collections.abc import Sequence
from typing import Any

import simdb
from simdb.cli.output.render import Row, is_table, print_one, print_rows
from simdb.engine.search.planning import ModelCost

WAY_COLUMNS = ("method", "tables", "flips", "theta", "probes", "recall", "time", "bytes")
MODEL_COLUMNS = ("name", "setting", "tables", "time", "bytes")
MICROSECONDS = 1e6
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def print_plan(
    plan: simdb.Plan, model: Sequence[ModelCost], documents: float | None, *, as_json: bool
) -> None:
    """Print a plan, the ways that were considered, and the paper's model of so many documents."""
    words = {"reason": plan.reason, "choice": plan.choice, "sketching": plan.sketching}
    ways = [_way_row(way) for way in plan.considered]
    models = [] if documents is None else [_model_row(each, documents) for each in model]
    if not is_table(as_json):
        whole = {**_way_row(plan), **words, "considered": ways, "model": models}
        print_one(whole, as_json=as_json)
        return
    print_one(_way_row(plan), as_json=as_json)
    for name, each in words.items():
        print(f"\n{name.capitalize()}: {each}.")
    print("\nConsidered, the best first (time of a query, bytes a document):")
    print_rows(map(_in_words, ways), WAY_COLUMNS, as_json=as_json)
    if models:
        print("\nBy the cost model of the paper:")
        print_rows(map(_in_words, models), MODEL_COLUMNS, as_json=as_json)


def time_in_words(microseconds: float) -> str:
    """A time with a unit that leaves few digits before the point."""
    seconds = microseconds / MICROSECONDS
    size, unit = next((each for each in UNITS if seconds >= each[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def _in_words(row: Row) -> Row:
    """The row with what a table shows of it."""
    return {
        **row,
        "time": time_in_words(row["microseconds"]),
        "bytes": f"{row['bytes_per_document']:.1f}",
    }


def _way_row(plan: simdb.Plan) -> Row:
    """One way to search, as a row."""
    return {
        "method": plan.method,
        "tables": plan.tables,
        "flips": plan.flips,
        "header_bits": plan.header_bits,
        "theta": plan.theta,
        "probes": plan.probes,
        "compared": plan.compared,
        "distance": plan.distance,
        "similarity": plan.similarity,
        "recall": round(plan.recall, 6),
        **_speed(plan.cost_seconds),
        "bytes_per_document": round(plan.bytes_per_document, 3),
    }


def _model_row(model: ModelCost, documents: float) -> Row:
    return {
        "name": model.name,
        "setting": model.setting,
        "tables": round(model.cost.tables, 3),
        "header_bits": round(model.cost.header_bits, 3),
        **_speed(model.cost.seconds),
        "bytes_per_document": round(model.cost.size_bytes / documents, 3),
    }


def _speed(seconds: float) -> dict[str, Any]:
    """Time of a query, and queries a second of one core; None where they cost nothing."""
    return {
        "microseconds": round(seconds * MICROSECONDS, 4),
        "queries_per_second": round(1 / seconds) if seconds > 0 else None,
    }
