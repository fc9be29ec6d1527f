"""Cross-polytope tables: their keys, and plans that look up the likely headers of a query.

See Andoni, Indyk, Laarhoven, Razenshteyn & Schmidt 2015.  Each table has its own rotation of the
weights of a document.  A key begins with a header: the numbers of the largest coordinates of the
rotated weights, which are the nearest vertices of cross-polytopes.  Similar documents have the same
vertices, or vertices that are nearly as near.  The sign bits of the weights follow in the low bits
of the key.  `polytope_keys` in `simdb_ext/_search.pyi` defines the keys.

A search looks up, in all tables, every header whose cost for the query is at most a threshold
(`polytope_costs` in `simdb_ext/_search.pyi` defines costs).  Each run has its own threshold, which
depends on the width of its headers.

The threshold for a share of the matches is **universal**: it holds for any documents.  It is the
threshold of pairs exactly as similar as asked, the hardest of all, from a simulation
(`polytope_costs.txt`).  So the share is found for documents of every kind, and a lower similarity
or a greater share never finds less.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from simdb.core import kernel
from simdb.core.dtypes import U8, U64
from simdb.core.errors import OptionError
from simdb.core.options import POLYTOPE
from simdb.core.reports import Plan
from simdb.plan.chance import firm_distance, firm_within, flipped_share, odd_distance, odd_share
from simdb.plan.problem import (
    PAGE_ENTRIES,
    TABLE_PAGES,
    Criterion,
    PolytopeRun,
    Population,
    Problem,
)

METHODS = (POLYTOPE,)
# The sign bits that filter a candidate before its vector is read: in a key, and in a table made for
# all pairs.
KEY_SIGNS, ALL_SIGNS = 42, 64
# The filter by sign bits may lose this share of the matches, and this part of all losses at most.
FILTER_LOSS = 0.002
FILTER_PART = 0.2
# The part of these losses due to signs of large weights instead of many signs, and the share of
# documents with few differing signs that passes the filter.
FLIPPED_PART = 0.75
FLIPPED_REST = 0.5
# A probe reads the directory and the first entries of a bucket, partly at the same time.
PROBE_READS = 1.25
PREPARE_TIMES = 2.0  # rotating a query for a table, over preparing one for volatility
ENTRY_SECONDS = 2e-9
# Making the key of a document in a table for many look-ups, and placing it there.
GATHERED_SECONDS = 120e-9
# Between the simulated similarities, costs are not quite linear.
SIMILARITY_CAUTION = 0.002
# Ways to find a pair: from one side, from either side, or by a header that both sides look up.
SEEN, EITHER, MEETING = "costs", "least_costs", "meeting_costs"
SIMULATED = Path(__file__).with_name("polytope_costs.txt")


class Polytopes:
    """The cross-polytope tables of a database; only documents with weights are in them."""

    def __init__(self, table_count: int) -> None:
        """Make `table_count` tables; 0 for a database without cross-polytope tables."""
        self.table_count = table_count

    def keys(self, vectors: U8) -> U64:
        """Return the keys of volatility vectors uint8[n, width]: uint64[tables, n]."""
        if not self.table_count:
            return np.empty((0, len(vectors)), np.uint64)
        return kernel.polytope_keys(vectors, self.table_count)


def plans(problem: Problem[Population]) -> list[Plan]:
    """Return the plan with all tables and, for all pairs, plans with tables made for the search.

    There are no plans if the recall, the queries or the tables do not allow them.
    """
    criterion, population = problem.criterion, problem.population
    if not population.polytope_tables or not criterion.is_weighted:
        return []
    if criterion.similarity is None or criterion.recall >= 1.0:
        return []
    each = {
        tables: thresholds(
            population.polytope_runs, criterion.similarity, criterion.recall,
            tables=tables, costs=EITHER if population.is_swept else SEEN,
        )
        for tables in (population.polytope_tables, *population.gathered_tables)
    }  # fmt: skip
    return [
        _plan(problem, tables, found) for tables, found in each.items() if math.inf not in found
    ]


def named(problem: Problem[Population], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan; raise OptionError if there is none."""
    found = plans(problem)
    if found:
        return min(found, key=lambda plan: plan.cost_seconds)
    raise OptionError(f"search='polytope' {_hindrance(problem.criterion, problem.population)}")


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return in words why no plan looks up cross-polytope tables; "" if one does."""
    if criterion.similarity is not None and criterion.recall >= 1.0:
        return "; cross-polytope tables are never certain"
    return ""


def table_share(recall: float) -> float:
    """Return the share that the tables must find, since the filter by sign bits loses a part."""
    return recall / (1.0 - _filter_loss(recall))


def sign_limits(
    similarity: float, recall: float, signs: int = ALL_SIGNS
) -> tuple[tuple[int, int, float], tuple[int, int, float]]:
    """Return the limits of the filter, for queries whose signs are all firm, and for other queries.

    Each has three limits of a candidate: its differing signs among `signs`, its differing signs in
    total, and the share of the query's weights that the former may have.
    """
    similarity, lost = min(similarity, 1.0), _filter_loss(recall)
    loss, flipped = (1.0 - FLIPPED_PART) * lost, FLIPPED_PART * lost
    many = odd_distance(similarity, loss, signs)
    every = many, odd_distance(similarity, loss, ALL_SIGNS), odd_share(similarity, many, signs)
    firm = (
        firm_distance(similarity, loss, signs), firm_distance(similarity, loss, ALL_SIGNS),
        flipped_share(similarity, flipped, signs),
    )  # fmt: skip
    return every, firm


def _filter_loss(recall: float) -> float:
    return min(FILTER_LOSS, FILTER_PART * (1.0 - recall))


def _plan(problem: Problem[Population], tables: int, found: Sequence[float]) -> Plan:
    criterion, population, delays = problem.criterion, problem.population, problem.delays
    assert criterion.similarity is not None
    runs = population.polytope_runs
    counts = [
        tables * probe_count(threshold, run.width)
        for run, threshold in zip(runs, found, strict=True)
    ]
    entries = sum(
        count * (1 + run.count / (1 << run.width)) for run, count in zip(runs, counts, strict=True)
    )
    made = tables if tables > population.polytope_tables else 0
    signs = ALL_SIGNS if population.is_swept else KEY_SIGNS
    every, firm = sign_limits(criterion.similarity, criterion.recall, signs)
    share = FLIPPED_REST * firm_within(0.0, firm[0], signs)
    recent_share = FLIPPED_REST * firm_within(0.0, firm[1])
    seconds = (
        population.asking_seconds
        + tables * PREPARE_TIMES * delays.prepare
        + sum(counts) * PROBE_READS * delays.memory
        + entries * (ENTRY_SECONDS + share * delays.candidate)
        + population.delta_count * (delays.compare + recent_share * delays.candidate)
        + made * population.gathered_share * GATHERED_SECONDS
    )
    recall = criterion.recall if runs else 1.0 - _filter_loss(criterion.recall)
    plan = Plan(
        POLYTOPE, tables, 0, round(sum(counts)),
        every[1], criterion.asked_similarity, recall, seconds,
        _in_words(problem, tables, sum(counts)),
        header_bits=max((run.width for run in runs), default=0), firm_distance=firm[1],
        bytes_per_document=population.bytes_of_polytopes(tables),
    )  # fmt: skip
    largest = max([1, *(run.count for run in runs)])
    pages = sum(
        count * run.count / largest * (TABLE_PAGES + run.count / (1 << run.width) / PAGE_ENTRIES)
        for run, count in zip(runs, counts, strict=True)
    )
    return population.paging.charged(plan, pages=pages, measured=share * entries)


def _in_words(problem: Problem[Population], tables: int, probes: float) -> str:
    """Describe the plan in words."""
    criterion, population = problem.criterion, problem.population
    made = "" if tables == population.polytope_tables else " made for this search"
    compared = f"the documents in no run yet ({population.delta_count:,}) are compared one by one"
    if not population.polytope_runs:
        return compared
    return (
        f"about {probes:.1f} headers of {tables} cross-polytope table(s){made} find"
        f" {criterion.recall:g} of the documents at similarity {criterion.asked_similarity:g},"
        f" of any kind{f'; {compared}' if population.delta_count else ''}"
    )


def _hindrance(criterion: Criterion, population: Population) -> str:
    if not population.polytope_tables:
        return (
            "needs cross-polytope tables, and this database has none; make them with compact() or"
            " rebuild(polytopes=4), or use search='auto'"
        )
    if criterion.similarity is None:
        return "needs similarity=; for a distance use search='bphs'"
    if not criterion.is_weighted:
        return "needs queries with weights; give a fingerprint with weights or a text"
    return (
        f"cannot reach recall {criterion.recall:g} at similarity={criterion.asked_similarity:g};"
        " use search='exhaustive'"
    )


@cache
def simulated() -> dict[tuple[str, int], list[list[float]]]:
    """Return rows of simulated costs of the headers of similar documents, by name and width.

    tools/generate/polytope_table.py describes the simulation and writes the rows.  Costs are in
    standard deviations of a rotated coordinate.  The rows, for one table with headers of t bits:

    * ("costs", t): in row i, number j is the cost for one document that the headers of a share
      `shares[j]` of documents at `similarities[i]` do not exceed.
    * ("least_costs", t): the same for the smaller of the costs for either document.
    * ("meeting_costs", t): the same for the least threshold at which both look up some header.
    * ("probes", t): number k is the mean number of headers that cost at most k `threshold_step`.
    * ("shares", 0), ("similarities", 0), ("threshold_step", 0): for all widths.
    """
    found: dict[tuple[str, int], list[list[float]]] = {}
    for line in SIMULATED.read_text(encoding="ascii").splitlines():
        name, width, *numbers = line.split()
        found.setdefault((name, int(width)), []).append([float(number) for number in numbers])
    return found


@lru_cache(4096)
def universal(
    similarity: float, share: float, *, width: int, tables: int, costs: str = SEEN
) -> float:
    """Return the threshold that finds a share of documents at a similarity; infinite if unknown.

    `costs`: `SEEN`, `EITHER` or `MEETING`.  A search of several tables misses only the documents
    that every table misses, and rotations are independent.
    """
    (similarities,), (shares,) = simulated()["similarities", 0], simulated()["shares", 0]
    cautious = min(similarity - SIMILARITY_CAUTION, similarities[-1])
    of_one = 1.0 - (1.0 - share) ** (1.0 / tables)
    if cautious < similarities[0] or of_one > shares[-1]:
        return math.inf
    at_similarity = [np.interp(of_one, shares, row) for row in simulated()[costs, width]]
    return float(np.interp(cautious, similarities, at_similarity))


def thresholds(
    runs: Sequence[PolytopeRun], similarity: float, recall: float, *, tables: int, costs: str
) -> list[float]:
    """Return, for each run, the threshold at which tables and filter reach the recall."""
    share = table_share(recall)
    return [
        universal(similarity, share, width=run.width, tables=tables, costs=costs) for run in runs
    ]


def probe_count(threshold: float, width: int) -> float:
    """Return the mean number of headers of one table that cost at most `threshold`."""
    ((step,),), (known,) = simulated()["threshold_step", 0], simulated()["probes", width]
    at = threshold / step
    return float(np.exp(np.interp(at, np.arange(len(known)), np.log(known))))
