"""Command fingerprint: shows the fingerprints of texts and their most volatile bits."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.declare import Argument, Option
from simdb.cli.options.sketch_options import Given, fingerprinting, opened_sketcher, sketched
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import FINDINGS, Exit, is_table, print_rows
from simdb.cli.reading.intake import Intake
from simdb.outputs.rows import Row
from simdb.running import kernel
from simdb.sketch.sketcher import Sketcher
from simdb.sources.batch import Found
from simdb.sources.reading import check_sources, read_texts
from simdb.values.arrays import Fingerprint

COLUMNS = ("id", "fingerprint", "decimal", "features", "volatile")


@sketched
def fingerprint(
    sketch: Given,
    sources: Annotated[
        list[str] | None,
        Argument(metavar="SOURCE...", help="As for dedup, but - reads standard input as one text."),
    ] = None,
    text: Annotated[str | None, Option(metavar="TEXT", help="Fingerprint this text.")] = None,
    db: Annotated[
        str | None, Option(metavar="DB", help="Use the sketch options of the database DB.")
    ] = None,
    lines: Annotated[bool, Option("--lines", help="Treat each line as a document.")] = False,
    bits: Annotated[int, Option(min=0, max=64, help="Show this many bits, the most volatile.")] = 8,
    id_field: arguments.IdField = "id",
    text_field: arguments.TextField = "text",
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Show the fingerprints of texts: 64 bits, the number of features, the most volatile bits.

    Exit code 1 if files or records were skipped.
    """
    if (text is None) == (not sources):
        raise simdb.OptionError("fingerprint needs either SOURCE... or --text")
    reading = arguments.make_reading(encoding, errors, id_field, text_field)
    check_sources(sources or [], None if lines else text_field)
    found: Found = read_texts(sources or [], reading, by_lines=lines)
    if text is not None:
        found = iter([arguments.given_batch("", text, has_int_ids=False)])
    with Progress("reading") as progress, opened_sketcher(db, sketch, allow) as made:
        sketcher = fingerprinting(made)
        intake = Intake(found, progress)
        rows = _fingerprint_rows(
            intake, sketcher, bits=bits, errors=errors, is_table=is_table(json)
        )
        print_rows(rows, COLUMNS, as_json=json)
    if intake.skipped:
        raise Exit(FINDINGS)


def _fingerprint_rows(
    intake: Intake, sketcher: Sketcher, *, bits: int, errors: str, is_table: bool
) -> Iterator[Row]:
    """Yield a row for each document, with as many volatile bits as `bits` says."""
    for batch in intake.batches(sketcher.options):
        weights, counts = sketcher.weigh(batch.texts, errors=errors)
        fingerprints, _ = kernel.quantise(np.ascontiguousarray(weights))
        for at, id in enumerate(batch.ids):
            fingerprint = Fingerprint(int(fingerprints[at]), weights[at], not counts[at])
            volatile = _volatile(fingerprint, bits)
            yield {
                "id": id,
                "fingerprint": f"0x{fingerprint.bits:016x}",
                "decimal": fingerprint.bits,
                "features": int(counts[at]),
                "volatile": _in_words(volatile) if is_table else volatile,
            }


def _volatile(fingerprint: Fingerprint, bits: int) -> list[dict[str, Any]]:
    """Return positions and weights of the most volatile bits; none for an empty document."""
    if fingerprint.is_empty or fingerprint.weights is None:
        return []
    return [
        {"bit": position, "weight": float(fingerprint.weights[position])}
        for position in fingerprint.volatility[:bits].tolist()
    ]


def _in_words(volatile: list[dict[str, Any]]) -> str:
    return ", ".join(f"{each['bit']} ({each['weight']:+.4g})" for each in volatile)
