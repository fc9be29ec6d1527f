"""Exhaustive search: plans that compare all fingerprints or measure all volatility vectors."""

from collections.abc import Callable, Sequence

from simdb.ground import bits
from simdb.plan.chance import binomial_below, share_within
from simdb.plan.cost import FINGERPRINT_BYTES
from simdb.plan.problem import Criterion, Population, Problem, candidate_distances
from simdb.results.plans import Plan
from simdb.settings.options import EXHAUSTIVE

METHODS = (EXHAUSTIVE,)
SWEPT_SECONDS = 0.075e-9  # comparing two fingerprints during a walk over one table


def plans(problem: Problem[Population]) -> list[Plan]:
    """Return a plan for each distance limit for candidates."""
    return [_by_comparing(problem, limit) for limit in candidate_distances(problem.criterion)]


def named(problem: Problem[Population], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan that loses the fewest matches."""
    return _by_comparing(problem, candidate_distances(problem.criterion)[0])


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return "": this way always has a plan."""
    return ""


def _by_comparing(problem: Problem[Population], limit: int) -> Plan:
    """Return the plan whose candidates are within the distance `limit`."""
    criterion, population, delays = problem.criterion, problem.population, problem.delays
    count, paging = population.count, population.paging
    if population.is_swept:
        count = -(-count // 2)
    if criterion.distance is None and limit == bits.FINGERPRINT_BITS:
        plan = Plan(
            EXHAUSTIVE, 0, 0, 0, limit, criterion.asked_similarity, 1.0, count * delays.measure,
            f"every stored volatility vector is measured ({population.count} documents)",
            bytes_per_document=population.bytes_of(0, has_headers=False, is_measured=True),
        )  # fmt: skip
        return paging.charged(plan, row_bytes=count * population.vector_bytes)
    share = binomial_below(bits.FINGERPRINT_BITS, 0.5, limit)
    compare = SWEPT_SECONDS if population.is_swept else delays.compare
    cost = count * (compare + share * delays.candidate)
    is_measured = criterion.similarity is not None
    recall = share_within(criterion.similarity, criterion.distance, limit)
    plan = Plan(
        EXHAUSTIVE, 0, 0, 0, limit, criterion.asked_similarity, recall, cost,
        f"each of {population.count} fingerprints is compared; fingerprints within distance"
        f" {limit} are candidates",
        bytes_per_document=population.bytes_of(1, has_headers=False, is_measured=is_measured),
    )  # fmt: skip
    measured = is_measured * count * share
    return paging.charged(plan, measured=measured, row_bytes=count * FINGERPRINT_BYTES)
