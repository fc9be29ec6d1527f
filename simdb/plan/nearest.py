"""Nearest: the steps of a search for the best k documents, before it compares with all.

The similarity of the k-th best document is not known before the search.  So the search takes steps:
it looks for all documents of at least some similarity, then of a lower one, until it has found k.
The last resort is a **scan**, which compares every document.

The k best are then at least as similar as the step asked for.  The plan of the step finds each of
them with the wanted recall, *at every similarity* that the step allows.  So the recall holds for
the k best on average.  By distance, each step is exact: if all documents within a distance are
known, and they are k or more, the nearest k are known.

Each step costs about twice the step before it.  So all steps together cost less than twice the last
step, which costs less than twice a search that knows the right similarity.  No step costs more than
half a scan, so a query with far neighbours costs at most about two scans.

A batch can do better.  A few of its queries, the **pilots**, take every step.  All other queries
take only steps that pay if they resemble the pilots (`worthwhile`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.reports import Plan
from simdb.plan import bands, parts, polytopes, tables
from simdb.plan.bands import BandedPopulation
from simdb.plan.calibration import Delays
from simdb.plan.parts import HashPopulation
from simdb.plan.planner import AnyPopulation
from simdb.plan.problem import Criterion, Population, Problem

SIMILARITIES = tuple(percent / 100 for percent in range(99, 19, -1))  # of possible steps
GROWTH = 2.0  # the ratio of the costs of successive steps, and the least of a scan and a step

CriterionAt = Callable[[float], Criterion]
Plans = Callable[[Problem[Any]], list[Plan]]


class NearestStep(NamedTuple):
    """A step: its criterion, and the plan of its search."""

    criterion: Criterion
    plan: Plan


class Steps(NamedTuple):
    """The steps, the cheapest first, and the seconds of the scan that follows them."""

    steps: tuple[NearestStep, ...]
    scan_seconds: float


def steps_by_similarity(
    criterion_at: CriterionAt, population: AnyPopulation, delays: Delays, step_seconds: float
) -> Steps:
    """Return the steps of a search by similarity, for the recall of the criteria.

    `criterion_at(similarity)` makes the criterion of a step.  `step_seconds`: the cost of a step in
    addition to its plan.
    """
    comparing, looking_up = BY_SIMILARITY[type(population)]
    every = replace(criterion_at(1.0), recall=1.0)
    # Look-ups by weights are never certain.
    tried = () if criterion_at(1.0).recall >= 1.0 else SIMILARITIES
    problems = [Problem(each, population, None, delays) for each in map(criterion_at, tried)]
    (scan,) = comparing(Problem(every, population, None, delays))
    return _steps(problems, looking_up, scan, step_seconds)


def steps_by_distance(
    criterion_at: Callable[[int], Criterion],
    population: AnyPopulation,
    delays: Delays,
    step_seconds: float,
    bits: int = FINGERPRINT_BITS,
) -> Steps:
    """Return the steps of an exact search by distance in `bits`; `criterion_at(distance)`."""
    comparing, looking_up = BY_DISTANCE[type(population)]
    tried = range(0, bits, max(bits // FINGERPRINT_BITS, 1))
    problems = [Problem(criterion_at(each), population, None, delays) for each in tried]
    # A scan by distance costs about the same for any distance.
    (scan,) = comparing(problems[0])
    return _steps(problems, looking_up, scan, step_seconds)


def _steps(
    problems: Sequence[Problem[Any]], looking_up: Plans, scan: Plan, step_seconds: float
) -> Steps:
    """Return steps for the problems, easiest first, up to the first that look-ups cannot solve."""
    possible = []
    for problem in problems:
        able = [each for each in looking_up(problem) if each.recall >= problem.criterion.recall]
        if not able:
            break
        plan = min(able, key=lambda plan: plan.cost_seconds)
        possible.append(NearestStep(problem.criterion, plan))
    chosen = doubling(possible, scan.cost_seconds, step_seconds)
    return Steps(tuple(chosen), scan.cost_seconds)


def doubling(
    possible: Sequence[NearestStep], scan_seconds: float, step_seconds: float
) -> list[NearestStep]:
    """Choose the steps that double the cost from the `possible` ones, whose reach ascends.

    A step that costs less than `step_seconds` would hardly make the search shorter.
    """
    chosen: list[NearestStep] = []
    limit, at = step_seconds, -1
    while limit * GROWTH <= scan_seconds and at + 1 < len(possible):
        able = [
            number
            for number, step in enumerate(possible)
            if number > at and step.plan.cost_seconds <= limit
        ]
        if able:
            at = able[-1]
            chosen.append(possible[at])
        limit *= GROWTH
    return chosen


def worthwhile(costs: Sequence[float], scan_seconds: float, ended: Sequence[int]) -> list[int]:
    """Return the numbers of the steps that make the search cheapest on average.

    `costs`: the seconds of each step.  `ended`: for each pilot, the number of the step in which it
    ended; `len(costs)` for the scan.  All other queries are taken to end like the pilots.  One more
    is assumed to end in each step, so that no step is dropped by mere chance.
    """
    count = len(costs)
    # left[i]: the number of queries that are not done after step i - 1.
    left = [sum(each >= step for each in ended) + count + 1 - step for step in range(count + 2)]
    # For each step, from the last to the first: the least cost of all later steps, and the next.
    best: dict[int, tuple[float, int]] = {}
    for before in range(count - 1, -2, -1):
        following = [(scan_seconds, count)]
        for step in range(before + 1, count):
            share = left[step + 1] / left[before + 1]
            following.append((costs[step] + share * best[step][0], step))
        best[before] = min(following)
    chosen, at = [], best[-1][1]
    while at < count:
        chosen.append(at)
        at = best[at][1]
    return chosen


def _of_weights(problem: Problem[Population]) -> list[Plan]:
    """Return plans by cross-polytope tables, or without them by other tables or a filter."""
    if problem.population.polytope_tables:
        return polytopes.plans(problem)
    return tables.plans(problem)


BY_DISTANCE: dict[type[AnyPopulation], tuple[Plans, Plans]] = {
    Population: (tables.comparing, tables.looking_up),
    HashPopulation: (parts.comparing, parts.looking_up),
}
# For each population, the functions for the plan of a scan and for the plans of a step.  A look-up
# of all bands costs the same for every similarity, so it is one step.
BY_SIMILARITY: dict[type[AnyPopulation], tuple[Plans, Plans]] = {
    Population: (tables.comparing, _of_weights),
    BandedPopulation: (bands.comparing, bands.looking_up),
}
