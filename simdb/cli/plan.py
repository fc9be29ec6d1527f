"""simdb plan: which way a query would be answered, why, and at what cost."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.match_options import MatchOptions
from simdb.cli.options.sketch_options import Given, check_given, make_sketch, sketched
from simdb.cli.output.render import (
    MICROSECONDS,
    Row,
    is_table,
    print_one,
    print_rows,
    time_in_words,
)
from simdb.engine.search.planning import ModelCost, paper_costs

OPTIONS = simdb.Options()
WAY_COLUMNS = ("method", "tables", "flips", "theta", "probes", "recall", "time", "bytes")
MODEL_COLUMNS = ("name", "setting", "tables", "time", "bytes")


@sketched
def plan(
    db: Annotated[
        str | None, typer.Argument(metavar="DB", help="A database; none with --documents.")
    ] = None,
    *,
    sketch: Given,
    documents: Annotated[
        float | None, typer.Option(metavar="N", help="As if so many were stored: 8e9.")
    ] = None,
    blocks: arguments.Blocks = None,
    leading: arguments.Leading = None,
    bands: arguments.Bands = None,
    rows: arguments.Rows = None,
    header_offset: Annotated[
        int | None, typer.Option(help="Width of a header, as in create, without DB.")
    ] = None,
    weights: Annotated[
        bool | None,
        typer.Option("--weights/--no-weights", help="Documents have weights, without DB."),
    ] = None,
    similarity: arguments.Similarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    method: arguments.Method = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="All pairs, costs for one document; needs DB.")
    ] = False,
    rotations: arguments.Rotations = None,
    json: arguments.Json = False,
) -> None:
    """Plan a query: the method, all that were considered, and why; without DB for any number.

    Without DB the cost model of the paper stands beside it.
    """
    shape = {"blocks": blocks, "leading": leading, "bands": bands, "rows": rows}
    shape |= {"header_offset": header_offset}
    given: dict[str, Any] = {name: each for name, each in shape.items() if each is not None}
    if db is not None:
        if given or weights is not None:
            raise simdb.OptionError(
                "--blocks, --leading, --bands, --rows, --header-offset and --weights are those of"
                " DB; leave them out"
            )
        matching = MatchOptions(similarity, distance, recall, method)
        found = _plan_in(db, sketch, documents, matching, pairs=pairs, rotations=rotations)
        _print_plan(found, [], documents, as_json=json)
        return
    if pairs or rotations is not None:
        raise simdb.OptionError("--pairs and --rotations are of a database; name one")
    if documents is None:
        raise simdb.OptionError("plan takes a database, or --documents N without one")
    options = simdb.Options(sketch=make_sketch(sketch), **given)
    found = simdb.plan(
        documents, options, has_weights=weights is not False, similarity=similarity,
        distance=distance, recall=recall, method=method,
    )  # fmt: skip
    model = paper_costs(found, options, documents, recall or options.recall)
    _print_plan(found, model, documents, as_json=json)


def _plan_in(
    db: str,
    sketch: Given,
    documents: float | None,
    matching: MatchOptions,
    *,
    pairs: bool,
    rotations: int | None,
) -> simdb.Plan:
    """Plan with the options and the calibration of the database `db`."""
    with simdb.open(db, "r") as database:
        check_given(sketch, database.options.sketch, db)
        return database.plan(
            documents, pairs=pairs, rotations=rotations, similarity=matching.similarity,
            distance=matching.distance, recall=matching.recall, method=matching.method,
        )  # fmt: skip


def _print_plan(
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
