"""Fingerprinting: the rows that `fingerprint` shows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from simdb import kernel
from simdb.cli.output.render import Row
from simdb.cli.reading.intake import Intake
from simdb.sketch.sketcher import Sketcher
from simdb.values import Fingerprint

COLUMNS = ("id", "fingerprint", "decimal", "features", "volatile")


def fingerprint_rows(
    intake: Intake, sketcher: Sketcher, *, bits: int, errors: str, is_table: bool
) -> Iterator[Row]:
    """The fingerprint of each document, with so many `bits`, the most volatile first."""
    for batch in intake.batches(sketcher.options):
        weights, counts = sketcher.weigh([record.text for record in batch], errors=errors)
        fingerprints, _ = kernel.quantise(np.ascontiguousarray(weights))
        for at, record in enumerate(batch):
            fingerprint = Fingerprint(int(fingerprints[at]), weights[at], not counts[at])
            volatile = _volatile(fingerprint, bits)
            yield {
                "id": record.id,
                "fingerprint": f"0x{fingerprint.bits:016x}",
                "decimal": fingerprint.bits,
                "features": int(counts[at]),
                "volatile": _in_words(volatile) if is_table else volatile,
            }


def _volatile(fingerprint: Fingerprint, bits: int) -> list[dict[str, Any]]:
    """Positions and weights of the most volatile bits; of a document without features none."""
    if fingerprint.is_empty or fingerprint.weights is None:
        return []
    return [
        {"bit": position, "weight": float(fingerprint.weights[position])}
        for position in fingerprint.volatility[:bits].tolist()
    ]


def _in_words(volatile: list[dict[str, Any]]) -> str:
    return ", ".join(f"{each['bit']} ({each['weight']:+.4g})" for each in volatile)
