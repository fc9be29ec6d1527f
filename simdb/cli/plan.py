"""Commands plan and create: explain how queries would be done, and create a database.

`plan` without a database tries the options that `create` takes.
"""

from __future__ import annotations

from typing import Any

import simdb
from simdb import database as databases, files
from simdb.cli.options import sketch_options
from simdb.cli.options.opening import open_either
from simdb.cli.options.option_groups import SearchOptions, given_memory
from simdb.cli.output import render
from simdb.core.choices import ClustersName, TimesName
from simdb.core.values import asdict, dataclass

WAY_FIELDS = (
    "method", "tables", "flips", "table_flips", "header_bits", "theta", "probes",
    "distance", "similarity",
)  # fmt: skip
WAY_COLUMNS = (
    "method", "tables", "flips", "theta", "probes", "recall", "time", "reads", "bytes",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The options about the tables of a database."""

    blocks: int | None = None
    leading: int | None = None
    bands: int | None = None
    rows: int | None = None

    def given(self) -> dict[str, Any]:
        """Return the options with a value by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOptions(TableOptions):
    """The options of a database that `simdb plan` assumes."""

    header_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedOptions(TableOptions):
    """The options of a database that `simdb create` makes."""

    polytopes: int | None = None
    similarity: float | None = None
    distance: int | None = None
    recall: float | None = None
    header_offset: int | None = None
    keep_clusters: ClustersName = "none"
    keep_times: TimesName = "none"
    passages: bool = False
    features: bool = False
    texts: bool = False
    fields: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options with a value by name."""
        given = TableOptions.given(self)
        return given if self.fields is None else given | {"fields": self.fields.split(",")}


def plan(
    db: str | None = None,
    *,
    chosen: sketch_options.SketchOptions,
    bits: int | None = None,
    documents: float | None = None,
    tables: PlannedOptions,
    weights: bool | None = None,
    memory: str | None = None,
    wanted: SearchOptions,
    pairs: bool = False,
) -> None:
    """Show how a query would be answered, at what cost, and why no other method was chosen."""
    sketch, given = chosen.given(bits), tables.given()
    if db is not None:
        if given or weights is not None or memory is not None:
            raise simdb.OptionError(
                "--blocks, --leading, --bands, --rows, --header-offset and --weights are set by DB,"
                " and --memory by the machine; leave them out"
            )
        with open_either(db) as database:
            sketch_options.check_given(sketch, database.options.sketch, db)
            found = database.plan(documents, pairs=pairs, **wanted.criterion)
        _print_plan(found)
        return
    if pairs:
        raise simdb.OptionError("--pairs needs a database; give DB")
    if documents is None:
        raise simdb.OptionError("plan needs either DB or --documents N")
    stored = _stored_weights(None if weights else weights, sketch)
    options = simdb.Options(sketch=sketch_options.make_sketch(sketch | stored), **given)
    question = databases.Question(**wanted.criterion)
    found = databases.plan_without_database(
        options, documents, question, has_weights=weights is not False, memory=given_memory(memory)
    )
    _print_plan(found)


def create(
    db: str,
    chosen: sketch_options.SketchOptions,
    *,
    bits: int | None = None,
    volatility: bool | None = None,
    made: CreatedOptions,
) -> None:
    """Create an empty database; its options are stored with it and cannot be changed."""
    sketch = chosen.given(bits)
    stored = _stored_weights(volatility, sketch)
    options = simdb.Options(sketch=sketch_options.make_sketch(sketch | stored), **made.given())
    with simdb.open(db, "x", options=options) as database:
        render.print_one({"path": db, "options": database.stats().options})


def _print_plan(plan: simdb.Plan) -> None:
    """Print a plan, and all plans considered."""
    words = render.row_in_words(
        {"reason": plan.reason, "choice": plan.choice, "sketching": plan.sketching}
    )
    ways = [_way_row(way) for way in plan.considered]
    smallest = None if plan.smallest is None else _smallest_row(plan.smallest)
    if not render.is_table():
        whole = {**_way_row(plan), **words, "considered": ways, "smallest": smallest}
        render.print_one(whole)
        return
    render.print_one(_way_row(plan))
    for name, each in words.items():
        render.print_text(f"\n{name.capitalize()}: {each}.")
    print("\nConsidered, best first (time and page reads of one query, bytes per document):")
    render.print_rows(map(_in_words, ways), WAY_COLUMNS)
    if smallest is not None:
        render.print_text(f"\nThe smallest database: {smallest['reason']}.")
        render.print_text(f"{smallest['choice'].capitalize()}.")
        render.print_rows([_in_words(smallest)], WAY_COLUMNS)


def _in_words(row: files.Row) -> files.Row:
    """Return the row with its time, page reads and bytes as a table shows them."""
    return {
        **row,
        "time": render.time_in_words(row["microseconds"]),
        "reads": f"{row.get('page_reads', 0.0):.3g}",
        "bytes": f"{row['bytes_per_document']:.1f}",
    }


def _way_row(plan: simdb.Plan) -> files.Row:
    """Return one plan as a row."""
    return {
        **{name: getattr(plan, name) for name in WAY_FIELDS},
        "recall": round(plan.recall, 6),
        **_speed(plan.cost_seconds),
        "page_reads": round(plan.page_reads, 3),
        "bytes_per_document": round(plan.bytes_per_document, 3),
    }


def _smallest_row(plan: simdb.Plan) -> files.Row:
    return {**_way_row(plan), **render.row_in_words({"reason": plan.reason, "choice": plan.choice})}


def _speed(seconds: float) -> dict[str, Any]:
    """Return the time of a query and the queries per second of one core; None for no time."""
    return {
        "microseconds": round(seconds * render.MICROSECONDS, 4),
        "queries_per_second": round(1 / seconds) if seconds > 0 else None,
    }


def _stored_weights(volatility: bool | None, sketch: sketch_options.Given) -> dict[str, bool]:
    """Return the sketch setting of --volatility or --no-weights; empty if not given."""
    if volatility is None:
        return {}
    for other in (sketch_options.MINHASH, sketch_options.BITS):
        if other in sketch:
            raise simdb.OptionError(
                "--volatility, --no-volatility and --no-weights work only with fingerprints of"
                f" texts; leave them or --{other} out"
            )
    return {"store_volatility": volatility}
