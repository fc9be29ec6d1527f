"""Search by tables (BPHS): plans that look up the query's header, and flipped ones, in each table.

By the pigeonhole principle the tables are certain to find all fingerprints within some distance
(`bits.distance_served`).  For a similarity, the share of matches that they find follows from the
angle between the documents.
"""

from collections.abc import Callable, Sequence

from simdb import bits
from simdb.errors import OptionError
from simdb.options import BPHS
from simdb.plan.chance import reach, share_of_reached, share_within
from simdb.plan.exhaustive import SWEPT_SECONDS
from simdb.plan.problem import Criterion, Population
from simdb.plan.way import Problem, candidate_distances
from simdb.plans import Plan

METHODS = (BPHS,)
SORTED_SECONDS = 15e-9  # sorting one document into a table and finding its header's group
FLIPS_MAX = 4


def plans(problem: Problem[Population]) -> list[Plan]:
    """Return a plan for each number of flips and each distance limit for candidates."""
    return [
        _by_tables(problem, limit, flips)
        for limit in candidate_distances(problem.criterion)
        for flips in range(FLIPS_MAX + 1)
    ]


def named(problem: Problem[Population], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan for method="bphs": exact for a distance, with flips for a similarity.

    If no number of flips reaches the recall, return the plan with the best recall.
    """
    criterion, population = problem.criterion, problem.population
    served = bits.distance_served(population.blocks, population.leading, 0)
    if criterion.distance is not None and criterion.distance > served:
        raise OptionError(
            f"distance={criterion.distance} is more than the {population.tables} tables of"
            f" blocks={population.blocks}, leading={population.leading} serve exactly ({served});"
            f" create the database with blocks={criterion.distance + population.leading}, or use"
            " method='auto' or 'exhaustive'"
        )
    plans = [
        _by_tables(problem, limit, flips)
        for flips in range(FLIPS_MAX + 1 if criterion.distance is None else 1)
        for limit in candidate_distances(criterion)
    ]
    able = [plan for plan in plans if plan.recall >= criterion.recall]
    if able:
        return min(able, key=lambda plan: plan.cost_seconds)
    if criterion.recall >= 1.0:
        raise OptionError(
            f"method='bphs' cannot promise to find every document at"
            f" similarity={criterion.similarity:g}; use method='exhaustive' or a recall below 1"
        )
    return max(plans, key=lambda plan: plan.recall)


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return "": the plans themselves say what the tables find."""
    return ""


def _by_tables(problem: Problem[Population], limit: int, flips: int) -> Plan:
    """Return the plan with up to `flips` flips for candidates within the distance `limit`."""
    criterion, population, delays = problem.criterion, problem.population, problem.delays
    known_bits = min(population.header_bits, max(population.directory_bits, 1))
    probes = population.tables * bits.flip_count(known_bits, flips)
    compared = probes * population.entries_of(known_bits)
    share = share_of_reached(known_bits, flips, limit)
    cost = probes * delays.memory + compared * (delays.compare + share * delays.candidate)
    cost += population.asking_seconds
    if population.is_swept and flips == 0:
        cost = probes * SORTED_SECONDS + compared / 2 * SWEPT_SECONDS
    served = bits.distance_served(population.blocks, population.leading, flips)
    if criterion.distance is not None and criterion.distance <= served:
        recall = 1.0
        why = f"{population.tables} tables find all within distance {served} for certain"
    elif criterion.similarity is not None and criterion.recall < 1.0:
        recall = reach(criterion.similarity, population.blocks, population.leading, flips)
        recall *= share_within(criterion.similarity, criterion.distance, limit)
        why = (
            f"{population.tables} tables reach {recall:.3f} of the documents at similarity"
            f" {criterion.similarity:g}"
        )
    else:
        recall = 0.0
        why = f"{population.tables} tables serve distances up to {served} only"
    if flips:
        why += f" with up to {flips} flipped header bits"
    return Plan(
        BPHS, population.tables, flips, probes, limit, criterion.similarity, recall, cost, why,
        header_bits=min(known_bits, population.directory_bits),
        bytes_per_document=population.bytes_of(
            population.tables, has_headers=True, is_measured=criterion.similarity is not None
        ),
    )  # fmt: skip
