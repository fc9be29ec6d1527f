"""Polytope reach: how far a search of cross-polytope tables must go to find a share of the matches.

A search looks up every header of a table that costs the query at most a *threshold*
(`polytope_costs` in `simdb_ext/_search.pyi` defines costs).  The threshold for a share is
**universal**: it holds for any documents, because it is that of pairs that are exactly as similar
as asked, the hardest of all; `polytope_table.py` has it from a simulation.  So the share is found
of every kind of documents, and a lower similarity or a greater share never finds less.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from simdb.plan.polytope_table import (
    COSTS,
    LEAST_COSTS,
    MEETING_COSTS,
    PROBES,
    SHARES,
    SIMILARITIES,
    THRESHOLD_STEP,
)

# The table is for exact similarities, and between them the costs are not quite straight.
SIMILARITY_CAUTION = 0.002
# One document sees the header of the other, either sees that of the other, both see some header.
SEEN, EITHER, MEETING = ("seen", "either", "meeting")
TABLES: dict[str, Any] = {SEEN: COSTS, EITHER: LEAST_COSTS, MEETING: MEETING_COSTS}


@dataclass(frozen=True, slots=True, eq=False)
class PolytopeRun:
    """The cross-polytope tables of one run: `count` entries each, under headers of `width` bits."""

    count: int
    width: int


def universal(similarity: float, share: float, *, width: int, tables: int, either: bool) -> float:
    """Return the threshold that finds the share of documents at a similarity; infinite if unknown.

    Rotations are independent, so a search of several tables misses what each of them misses.
    """
    return _universal(similarity, share, width, tables, EITHER if either else SEEN)


def meeting(similarity: float, share: float, *, width: int, tables: int) -> float:
    """Return the threshold with which a share of pairs look up a common header; see `universal`."""
    return _universal(similarity, share, width, tables, MEETING)


def thresholds(
    runs: Sequence[PolytopeRun], similarity: float, share: float, *, tables: int, either: bool
) -> list[float]:
    """Return the threshold for each run."""
    return [
        universal(similarity, share, width=run.width, tables=tables, either=either) for run in runs
    ]


def probe_count(threshold: float, width: int) -> float:
    """Return the mean number of headers of one table that cost at most `threshold`."""
    known = PROBES[width]
    at = threshold / THRESHOLD_STEP
    return float(np.exp(np.interp(at, np.arange(len(known)), np.log(known))))


@lru_cache(4096)
def _universal(similarity: float, share: float, width: int, tables: int, kind: str) -> float:
    cautious = min(similarity - SIMILARITY_CAUTION, SIMILARITIES[-1])
    of_one = 1.0 - (1.0 - share) ** (1.0 / tables)
    if cautious < SIMILARITIES[0] or of_one > SHARES[-1]:
        return math.inf
    at_similarity = [np.interp(of_one, SHARES, row) for row in TABLES[kind][width]]
    return float(np.interp(cautious, SIMILARITIES, at_similarity))
