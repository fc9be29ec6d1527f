"""Nearest: at which similarities or distances to search for the best k, before comparing with all.

How similar the k-th best document is to a query is not known before the search.  So the search
takes steps: it looks for all documents of at least some similarity, then of a lower one, and ends
as soon as it has found k.  The last resort is a **scan**, which compares every document.

The k best are then at least as similar as the step asked for, and the plan of the step finds each
of them with the wanted recall, *at every similarity* from the step's on, so the recall holds for
the k best in the mean.  By distance each step is exact: if k documents are within a distance, and
all within it are known, the nearest k are known.

Each step costs about twice as much as the step before it.  So all steps together cost less than
twice the last of them, and the last less than twice a search that knows the right similarity.  No
step costs more than half a scan: a query with far neighbours costs at most about two scans.

A batch can do better.  A few of its queries, the **pilots**, take every step, and the other queries
take only those steps that pay if they are like the pilots (`worthwhile`).
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

# The similarities of possible steps.
SIMILARITIES = tuple(percent / 100 for percent in range(99, 19, -1))
# A step costs so many times the one before it, and a scan so many times the last step, or more.
GROWTH = 2.0

CriterionAt = Callable[[float], Criterion]
Plans = Callable[[Problem[Any]], list[Plan]]


class NearestStep(NamedTuple):
    """A step: what to search for, and how."""

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

    `criterion_at(similarity)` makes a criterion that is even.  `step_seconds`: what a step costs
    beside its plan.
    """
    comparing, looking_up = BY_SIMILARITY[type(population)]
    every = replace(criterion_at(1.0), recall=1.0)
    # No look-up of weights is certain.
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
    # Comparing with every document by distance costs about the same for any distance.
    (scan,) = comparing(problems[0])
    return _steps(problems, looking_up, scan, step_seconds)


def _steps(
    problems: Sequence[Problem[Any]], looking_up: Plans, scan: Plan, step_seconds: float
) -> Steps:
    """Return steps for the first of some problems, the easiest first, that look-ups solve."""
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
    """Return those of the possible steps, the farthest last, that double the cost.

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
    """Return the numbers of the steps that make the search cheapest in the mean.

    `costs`: the seconds of each step.  `ended`: for each of some queries that took all steps, the
    number of the step in which it ended; `len(costs)` for the scan.  The other queries are taken to
    be like these, with one more in each step, so that a step is not left out by mere chance.
    """
    count = len(costs)
    # left[i]: how many of the queries are not done after step i - 1.
    left = [sum(each >= step for each in ended) + count + 1 - step for step in range(count + 2)]
    # From the last step to the first: the least cost of what follows it, and the next step.
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
    """Return plans by cross-polytope tables; without them, by any tables or a filter."""
    if problem.population.polytope_tables:
        return polytopes.plans(problem)
    return tables.plans(problem)


BY_DISTANCE: dict[type[AnyPopulation], tuple[Plans, Plans]] = {
    Population: (tables.comparing, tables.looking_up),
    HashPopulation: (parts.comparing, parts.looking_up),
}
# For each population, what makes the plan of a scan, and what makes the plans of a step.  A look-up
# of all bands costs the same for each similarity, so it is one step.
BY_SIMILARITY: dict[type[AnyPopulation], tuple[Plans, Plans]] = {
    Population: (tables.comparing, _of_weights),
    BandedPopulation: (bands.comparing, bands.looking_up),
}
