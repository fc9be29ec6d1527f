"""Search by cross-polytope tables: plans that look up the likely headers of a query's weights.

See Andoni, Indyk, Laarhoven, Razenshteyn & Schmidt 2015.  A header names the largest coordinates of
the rotated weights.  The search looks up, in all tables, every header that costs at most one
threshold (`polytope_reach`).  Each run has a threshold of its own, by the width of its headers.
"""

import math
from collections.abc import Callable, Sequence

from simdb.ground.errors import OptionError
from simdb.plan.chance import binomial_below, filter_distance
from simdb.plan.cost import PAGE_ENTRIES, TABLE_PAGES
from simdb.plan.polytope_reach import probe_count, thresholds
from simdb.plan.problem import Criterion, Population, Problem
from simdb.results.plans import Plan
from simdb.settings.options import POLYTOPE

METHODS = (POLYTOPE,)
# The sign bits in a key, by which a candidate is judged before its vector is read.
KEY_SIGNS = 42
# The share of the matches that the filter by sign bits can lose, and at most this part of all that
# may be lost.
FILTER_LOSS = 0.002
FILTER_PART = 0.2
# A probe reads the directory and the first entries of a bucket, partly at the same time.
PROBE_READS = 1.25
PREPARE_TIMES = 2.0  # rotating a query for a table, over preparing one for volatility
ENTRY_SECONDS = 2e-9
# The key of a document in a table that is made for all pairs, and its place there.
GATHERED_SECONDS = 120e-9


def plans(problem: Problem[Population]) -> list[Plan]:
    """Return the plan with all tables, and for all pairs those with tables that are made for them.

    None if the recall, the queries or the tables do not allow it.
    """
    criterion, population = problem.criterion, problem.population
    if not population.polytope_tables or not criterion.is_weighted:
        return []
    if criterion.similarity is None or criterion.recall >= 1.0:
        return []
    return [
        _plan(problem, tables, found)
        for tables in (population.polytope_tables, *population.gathered_tables)
        if math.inf not in (found := _thresholds(criterion, population, tables))
    ]


def named(problem: Problem[Population], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan; OptionError if there is none."""
    found = plans(problem)
    if found:
        return min(found, key=lambda plan: plan.cost_seconds)
    raise OptionError(f"search='polytope' {_hindrance(problem.criterion, problem.population)}")


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return in words why no plan looks up cross-polytope tables; "" if one does."""
    if criterion.similarity is not None and criterion.recall >= 1.0:
        return "; cross-polytope tables are never certain"
    return ""


def shares(similarity: float, recall: float) -> tuple[float, int]:
    """Return the share that the tables must find, and the limit of the filter by sign bits.

    The filter keeps candidates of which at most so many sign bits in the key differ.
    """
    loss = _filter_loss(recall)
    return recall / (1.0 - loss), filter_distance(min(similarity, 1.0), loss, KEY_SIGNS)


def delta_limit(similarity: float, recall: float) -> int:
    """Return the limit of the same filter for documents that are compared by all 64 sign bits."""
    return filter_distance(min(similarity, 1.0), _filter_loss(recall))


def _filter_loss(recall: float) -> float:
    return min(FILTER_LOSS, FILTER_PART * (1.0 - recall))


def _thresholds(criterion: Criterion, population: Population, tables: int) -> list[float]:
    """Return the threshold of each run with so many tables; infinite if there is none."""
    assert criterion.similarity is not None
    share, _ = shares(criterion.similarity, criterion.recall)
    return thresholds(
        population.polytope_runs, criterion.similarity, share, tables=tables,
        either=population.is_swept,
    )  # fmt: skip


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
    _, sign_limit = shares(criterion.similarity, criterion.recall)
    share = binomial_below(KEY_SIGNS, 0.5, sign_limit)
    seconds = (
        population.asking_seconds
        + tables * PREPARE_TIMES * delays.prepare
        + sum(counts) * PROBE_READS * delays.memory
        + entries * (ENTRY_SECONDS + share * delays.candidate)
        + population.delta_count * delays.compare
        + (tables > population.polytope_tables) * tables * GATHERED_SECONDS
    )
    plan = Plan(
        POLYTOPE, tables, 0, round(sum(counts)),
        delta_limit(criterion.similarity, criterion.recall), criterion.asked_similarity,
        criterion.recall, seconds, _in_words(problem, tables, sum(counts)),
        header_bits=max((run.width for run in runs), default=0),
        bytes_per_document=population.bytes_of_polytopes(tables),
    )  # fmt: skip
    largest = max([1, *(run.count for run in runs)])
    pages = sum(
        count * run.count / largest * (TABLE_PAGES + run.count / (1 << run.width) / PAGE_ENTRIES)
        for run, count in zip(runs, counts, strict=True)
    )
    return population.paging.charged(plan, pages=pages, measured=share * entries)


def _in_words(problem: Problem[Population], tables: int, probes: float) -> str:
    """Return in words what the plan does."""
    criterion = problem.criterion
    made = "" if tables == problem.population.polytope_tables else " made for this search"
    return (
        f"about {probes:.1f} headers of {tables} cross-polytope table(s){made} find"
        f" {criterion.recall:g} of the documents at similarity {criterion.asked_similarity:g},"
        " whatever they are"
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
        return "needs queries with weights; give a simdb.Fingerprint with weights or a text"
    return (
        f"cannot reach recall {criterion.recall:g} at similarity={criterion.asked_similarity:g};"
        " use search='exhaustive'"
    )
