"""The steps of a search for the nearest: they double the cost, and leave out what does not pay."""

from dataclasses import replace
from itertools import combinations

import pytest
from over import over

from simdb.core.options import Minhash
from simdb.core.reports import Plan
from simdb.plan.banding import Banding, Bands
from simdb.plan.bands import BandedPopulation
from simdb.plan.calibration import USUAL_DELAYS
from simdb.plan.nearest import (
    NearestStep,
    doubling,
    steps_by_distance,
    steps_by_similarity,
    worthwhile,
)
from simdb.plan.problem import Criterion, PolytopeRun, Population

MILLION = 1_000_000


def population(count, polytope_tables=4):
    directory_bits = max(count.bit_length() - 2, 0)
    width = 18
    runs = (PolytopeRun(count, width),) if polytope_tables else ()
    return Population(
        count, 4, 1, directory_bits, True, vector_bytes=64,
        polytope_tables=polytope_tables, polytope_runs=runs,
    )  # fmt: skip


def by_similarity(recall):
    return lambda similarity: Criterion(similarity, None, recall, "auto", True)


def by_distance(distance):
    return Criterion(None, distance, 1.0, "auto")


def possible(costs):
    criterion = by_distance(3)
    plan = Plan("bphs", 4, 0, 4, 3, None, 1.0, 0.0, "")
    return [NearestStep(criterion, replace(plan, cost_seconds=cost)) for cost in costs]


def costs_of(steps):
    return [step.plan.cost_seconds for step in steps]


def test_each_step_is_the_farthest_that_costs_at_most_twice_the_limit_before():
    steps = possible([1, 2, 3, 5, 9, 17, 30, 70])

    assert costs_of(doubling(steps, 100, 1)) == [1, 2, 3, 5, 9, 30]
    assert costs_of(doubling(steps, 60, 4)) == [3, 5, 9]
    assert costs_of(doubling(steps[:3], 1000, 10)) == [3]
    # None costs more than half a scan.
    assert costs_of(doubling(possible([1, 2, 4, 8, 16]), 15.9, 1)) == [1, 2, 4]
    assert costs_of(doubling(possible([1, 2, 4, 8, 16]), 16, 1)) == [1, 2, 4, 8]
    assert doubling(steps, 1.9, 1) == doubling([], 100, 1) == []


def mean_cost(chosen, costs, scan, ended):
    """Return the mean cost of a search with the chosen steps, a query of `ended` after another."""
    count, total = len(costs), 0.0
    smoothed = [*ended, *range(count + 1)]
    for each in smoothed:
        for step in chosen:
            total += costs[step]
            if each <= step:
                break
        else:
            total += scan
    return total / len(smoothed)


@over("ended", [[], [0] * 50, [5] * 50, [2] * 50, [0, 5] * 25, [3, 4] * 9, [1] * 30 + [5] * 3])
@over("scan", [20, 1000])
def test_worthwhile_steps_are_the_cheapest_of_all_choices(ended, scan):
    costs = [1.0, 2.0, 4.5, 8.0, 17.0]

    chosen = worthwhile(costs, scan, ended)

    choices = [list(each) for size in range(6) for each in combinations(range(5), size)]
    least = min(mean_cost(each, costs, scan, ended) for each in choices)
    assert mean_cost(chosen, costs, scan, ended) == pytest.approx(least)


def test_a_million_documents_with_weights_are_searched_at_falling_similarities():
    found = steps_by_similarity(by_similarity(0.9), population(MILLION), USUAL_DELAYS, 1e-6)

    similarities = [step.criterion.similarity for step in found.steps]
    assert similarities == sorted(similarities, reverse=True)
    assert len(similarities) > 5
    assert similarities[0] > 0.9 > 0.75 > similarities[-1]
    assert {step.plan.method for step in found.steps} == {"polytope"}
    assert found.scan_seconds == MILLION * USUAL_DELAYS.measure
    assert costs_of(found.steps)[-1] <= found.scan_seconds / 2
    for before, after in zip(costs_of(found.steps), costs_of(found.steps)[1:], strict=False):
        assert after > before


def test_few_documents_are_scanned_at_once_and_exact_searches_by_similarity_have_no_steps():
    for kind in (population(100), population(0)):
        assert steps_by_similarity(by_similarity(0.9), kind, USUAL_DELAYS, 1e-6).steps == ()
        assert steps_by_distance(by_distance, kind, USUAL_DELAYS, 1e-6).steps == ()
    for tables in (0, 4):
        exact = population(MILLION, tables)
        assert steps_by_similarity(by_similarity(1.0), exact, USUAL_DELAYS, 1e-6).steps == ()


def test_without_polytope_tables_block_tables_make_steps():
    found = steps_by_similarity(by_similarity(0.9), population(MILLION, 0), USUAL_DELAYS, 1e-6)

    assert found.steps
    assert {step.plan.method for step in found.steps} <= {"bphs", "exhaustive"}
    assert all(step.plan.recall >= 0.9 for step in found.steps)


def test_by_distance_every_step_is_certain():
    found = steps_by_distance(by_distance, population(MILLION), USUAL_DELAYS, 1e-6)

    assert len(found.steps) > 2
    for criterion, plan in found.steps:
        assert plan.recall == 1.0
        assert plan.distance == criterion.distance


def test_signatures_have_one_step_at_the_lowest_similarity_that_the_bands_reach():
    curve = Bands(Minhash(permutations=128), Banding(25, 5))
    signatures = BandedPopulation(MILLION, curve, 18, 512)

    found = steps_by_similarity(by_similarity(0.9), signatures, USUAL_DELAYS, 1e-6)

    (step,) = found.steps
    assert curve.reach(step.criterion.similarity) >= 0.9
    assert curve.reach(step.criterion.similarity - 0.01) < 0.9
    assert step.plan.method == "banding"
