"""Commands idf, calibrate and fingerprint: compute weights, measure sketches and show them.

`idf` computes the weights of features.  `calibrate` measures how the sketches of similar documents
differ, and how fast this machine is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import simdb
from simdb import core, files, sketch as sketching
from simdb.cli.options import sketch_options
from simdb.cli.options.declare import BitCount, Natural, Positive
from simdb.cli.options.intake import Intake
from simdb.cli.options.opening import open_idle
from simdb.cli.options.option_groups import TextOptions, given_text
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import FINDINGS, Exit, is_table, print_one, print_rows, time_in_words
from simdb.core.choices import SKIP, ErrorsName, FormatName, OnErrorName

RECALLS = (0.8, 0.9, 0.95, 0.99)
CURVE_COLUMNS = ("recall", "tables", "theta", "probes", "reached", "time")
NANOSECONDS = 1e9
FINGERPRINT_COLUMNS = ("id", "fingerprint", "decimal", "features", "volatile")


def idf(
    sources: list[str],
    chosen: sketch_options.SketchOptions,
    *,
    output: str | None = None,
    db: str | None = None,
    features: Positive | None = None,
    inputs: TextOptions,
    allow: list[str] | None = None,
) -> None:
    """Compute an IDF table from documents: a rare feature gets a high weight."""
    sketch = chosen.given()
    if (output is None) == (db is None) or "idf" in sketch:
        raise simdb.OptionError("idf needs either --output FILE or --db DB, and takes no --idf")
    files.check_sources(sources, inputs.reading())
    if output is not None:
        files.check_place(output)
        files.check_outputs({"--output": output}, sources, {})
    reading = inputs.reading()
    own = [path for path in (output, db) if path is not None]
    with Progress("reading") as progress:
        intake = Intake.of(sources, reading, progress, excluded=own)
        if db is None:
            made = sketch_options.make_sketch(sketch)
            table = simdb.fit_idf(_texts_of(intake, made), made, features_max=features)
            simdb.save_idf(table, output or "")
        else:
            with open_idle(db, sketch_options.allowed(sketch, allow)) as database:
                wanted = database.options.sketch
                sketch_options.check_given(sketch, wanted, db)
                table = database.fit_idf(_texts_of(intake, wanted), features_max=features)
    row = {"documents": table.document_count, "features": len(table), "bytes": table.size_bytes}
    print_one({**row, "skipped": intake.skipped})
    intake.end()


def calibrate(
    db: str,
    *,
    sample: int | None = None,
    documents: list[str] | None = None,
    noise: float | None = None,
    seed: Natural = 0,
    text_field: str | None = None,
    format: FormatName | None = None,
    encoding: str = "utf-8",
    errors: ErrorsName = "strict",
    on_error: OnErrorName = SKIP,
    allow: list[str] | None = None,
) -> None:
    """Learn from a sample how similar documents differ, so that queries need less searching."""
    if sum((sample is not None, bool(documents), noise is not None)) > 1:
        raise simdb.OptionError(
            "calibrate takes only one of --sample N, --documents SOURCE and --noise NUMBER"
        )
    given_as = TextOptions(
        text_field=text_field, format=format, encoding=encoding, errors=errors, on_error=on_error
    )
    reading = given_as.reading()
    if documents:
        files.check_sources(documents, reading)
    with open_idle(db, allow or ()) as database:
        skipped, given = 0, None
        if documents:
            with Progress("reading") as progress:
                intake = Intake.of(documents, reading, progress, excluded=[db])
                given = list(_texts_of(intake, database.options.sketch))
                skipped = intake.skipped
        made = database.calibrate(sample if given is None else given, noise=noise, seed=seed)
        _print_calibration(database, made)
    if skipped:
        raise Exit(FINDINGS)


def fingerprint(
    sources: list[str] | None = None,
    *,
    chosen: sketch_options.SketchOptions,
    text: str | None = None,
    db: str | None = None,
    lines: bool = False,
    bits: BitCount = 8,
    inputs: TextOptions,
    allow: list[str] | None = None,
) -> None:
    """Show the fingerprints of texts: 64 bits, the number of features, the most volatile bits."""
    sketch = chosen.given()
    if (text is None) == (not sources):
        raise simdb.OptionError("fingerprint needs either SOURCE... or --text")
    files.check_sources(sources or [], inputs.reading())
    found: files.Found = files.read_texts(sources or [], inputs.reading(), by_lines=lines)
    if text is not None:
        found = given_text("", text, has_int_ids=False)
    with Progress("reading") as progress, sketch_options.opened(db, sketch, allow) as database:
        sketcher = database.sketcher
        if not isinstance(sketcher, sketching.Sketcher):
            raise simdb.OptionError(
                "fingerprint works only with fingerprints of texts; use explain or query"
            )
        intake = Intake(found, progress)
        rows = _fingerprint_rows(intake, sketcher, bits=bits, errors=inputs.errors)
        print_rows(rows, FINGERPRINT_COLUMNS)
    intake.end()


def _texts_of(intake: Intake, sketch: simdb.TextSketch) -> Iterator[Any]:
    """Yield the texts of all records."""
    for batch in intake.batches(sketch):
        yield from batch.texts


def _print_calibration(database: simdb.Database, made: Any) -> None:
    """Print the counts, the delays of this machine, and the cost of a query for each recall."""
    similarity = database.options.similarity
    least = database.options.scale.compared(similarity)
    counts = {
        "pairs": len(made.pairs),
        **({} if made.noise is None else {"noise": made.noise}),
        "queries": made.query_count,
        "documents": made.document_count,
        "similarity": similarity,
        "matching_pairs": int(made.matching(least, None).sum()),
        "nanoseconds": {
            name: round(seconds * NANOSECONDS, 3) for name, seconds in asdict(made.delays).items()
        },
    }
    curve = list(_curve(database))
    if not is_table():
        print_one({**counts, "recalls": curve})
        return
    print_one(counts)
    print(f"\nRecall of pairs at similarity {similarity:g}, and how much a query searches for it:")
    print_rows(map(_in_words, curve), CURVE_COLUMNS)


def _curve(database: simdb.Database) -> Iterator[files.Row]:
    """Yield a row for each recall in one table and in all; None if no threshold reaches it."""
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


def _in_words(row: files.Row) -> files.Row:
    """Return the row with a `time` that a table can show."""
    known = row["microseconds"] is not None
    return {**row, "time": time_in_words(row["microseconds"]) if known else None}


def _fingerprint_rows(
    intake: Intake, sketcher: sketching.Sketcher, *, bits: int, errors: str
) -> Iterator[files.Row]:
    """Yield a row for each document, with its most volatile `bits`."""
    for batch in intake.batches(sketcher.options):
        weights, counts = sketcher.weigh(batch.texts, errors=errors)
        fingerprints, _ = core.kernel.quantise(weights.copy())
        for at, id in enumerate(batch.ids):
            fingerprint = simdb.Fingerprint(int(fingerprints[at]), weights[at], not counts[at])
            volatile = _volatile(fingerprint, bits)
            yield {
                "id": id,
                "fingerprint": f"0x{fingerprint.bits:016x}",
                "decimal": fingerprint.bits,
                "features": int(counts[at]),
                "volatile": _bits_in_words(volatile) if is_table() else volatile,
            }


def _volatile(fingerprint: simdb.Fingerprint, bits: int) -> list[dict[str, Any]]:
    """Return positions and weights of the most volatile bits; none for an empty document."""
    if fingerprint.is_empty or fingerprint.weights is None:
        return []
    return [
        {"bit": position, "weight": float(fingerprint.weights[position])}
        for position in fingerprint.volatility[:bits].tolist()
    ]


def _bits_in_words(volatile: list[dict[str, Any]]) -> str:
    return ", ".join(f"{each['bit']} ({each['weight']:+.4g})" for each in volatile)
