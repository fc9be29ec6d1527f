"""Polytope reach: how far a search of cross-polytope tables must go to find a share of the matches.

A search looks up every header of a table that costs the query at most a *threshold*
(`polytope_costs` in `simdb_ext/_search.pyi` defines costs).  There are two thresholds for a share:

* the **universal** one holds for any documents.  It is the threshold for pairs that are exactly as
  similar as asked, the hardest of all; `polytope_table.py` has it from a simulation.
* the **learnt** one holds for the documents of one run.  When a run is written, some of its
  documents are looked up in it with a universal threshold that finds nearly all matches, and what
  each match costs is stored as the run's sample.  The learnt threshold is the one that reaches the
  share of these matches; it is lower, since most matches are more similar than asked.

A learnt threshold must reach more than the share of the sample, since the next matches differ from
the sample by chance.  The matches of one document resemble each other, so the margin is that of as
many independent draws as there are documents with matches (one-sided normal bound).

Documents of another kind, whose matches are harder to find, are mostly inserted at another time.
So a large sample is cut into parts by the order of insertion, and the threshold must also reach the
share in each part, there without a margin.  Parts are small, so that a kind with few documents is
not hidden by the others in its part.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.plan.polytope_table import (
    COSTS,
    LEAST_COSTS,
    MEETING_COSTS,
    PROBES,
    SHARES,
    SIMILARITIES,
    THRESHOLD_STEP,
)

# The share of the matches that the documents of a sample are looked up with.
SAMPLING_RECALL = 0.995
# With matches of fewer documents nothing is learnt.
DOCUMENTS_LEAST = 100
# A part of a sample has matches of so many documents or more, and there are so many parts at most.
PART_DOCUMENTS = 100
PARTS_MOST = 8
# Standard deviations that the sampled share must be above the wanted one: 95 % confidence.
MARGIN = 1.645
# The table is for exact similarities, and between them the costs are not quite straight.
SIMILARITY_CAUTION = 0.002
# One document sees the header of the other, either sees that of the other, both see some header.
SEEN, EITHER, MEETING = ("seen", "either", "meeting")
TABLES: dict[str, Any] = {SEEN: COSTS, EITHER: LEAST_COSTS, MEETING: MEETING_COSTS}

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


class Sample:
    """The sample of a run: what it costs to find each match of some of its documents.

    `rows` float32[k, 4], one for each match: the place of the sampled document in the run, the
    similarity, the cost of the match as the document sees it, and the cost of the document as the
    match sees it.  `least` is the least similarity of the matches.
    """

    def __init__(self, rows: F32, least: float) -> None:
        """Take the rows as they are stored."""
        self._rows = rows
        self._least = least
        self._known: dict[tuple[float, float, bool], float] = {}

    def threshold(self, similarity: float, share: float, *, either: bool) -> float:
        """Return the learnt threshold; infinite if the sample is too small for one.

        `either`: it is enough that one of the two documents finds the other.
        """
        key = (similarity, share, either)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._learnt(similarity, share, either)
        return found

    def _learnt(self, similarity: float, share: float, either: bool) -> float:
        if np.float32(similarity) < np.float32(self._least):
            return math.inf
        rows = self._rows[self._rows[:, 1] >= np.float32(similarity)]
        # Without the positions, np.unique would import numpy.ma, which takes longer than all else.
        documents, _ = np.unique(rows[:, 0], return_index=True)
        if len(documents) < DOCUMENTS_LEAST:
            return math.inf
        wanted = share / SAMPLING_RECALL
        margin = MARGIN * math.sqrt(max(wanted * (1 - wanted), 0.0) / len(documents))
        if wanted + margin >= 1 - 1 / len(documents):
            return math.inf
        count = min(max(len(documents) // PART_DOCUMENTS, 1), PARTS_MOST)
        ends = documents[np.arange(1, count) * len(documents) // count]
        which = np.searchsorted(ends, rows[:, 0], side="right")
        parts = [_threshold(rows[which == part], wanted, either) for part in range(count)]
        return max(_threshold(rows, wanted + margin, either), *parts)


@dataclass(frozen=True, slots=True, eq=False)
class PolytopeRun:
    """The cross-polytope tables of one run: `count` entries each, under headers of `width` bits."""

    count: int
    width: int
    sample: Sample | None = None


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
    """Return the threshold for each run: the learnt one if there is one and it is lower."""
    found = []
    for run in runs:
        safe = universal(similarity, share, width=run.width, tables=tables, either=either)
        sample = run.sample
        learnt = math.inf if sample is None else sample.threshold(similarity, share, either=either)
        found.append(min(safe, learnt))
    return found


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


def _threshold(rows: F32, share: float, either: bool) -> float:
    """Return the least threshold that reaches the share of some rows of a sample."""
    _, of_document = np.unique(rows[:, 0], return_inverse=True)
    costs = np.minimum(rows[:, 2], rows[:, 3]) if either else rows[:, 2]
    order = np.argsort(costs)
    # A document with many matches must not hide that others' matches are harder to find, and the
    # other way round: the share is reached of all matches and of those of each document.
    by_document = 1 / np.bincount(of_document)[of_document]
    return max(
        _quantile(costs[order], np.ones(len(costs)), share),
        _quantile(costs[order], by_document[order], share),
    )


def _quantile(costs: F32, weights: F64, share: float) -> float:
    """Return the least of the ascending costs up to which the weights sum to the share."""
    sums = np.cumsum(weights)
    at = int(np.searchsorted(sums, share * sums[-1] * (1 - 1e-12)))
    return float(costs[min(at, len(costs) - 1)])
