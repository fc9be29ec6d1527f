import math
from dataclasses import replace

import numpy as np
import pytest
from over import over

from simdb.core import bits
from simdb.core.errors import OptionError
from simdb.plan import planner, recall, volatility
from simdb.plan.calibration import USUAL_DELAYS, Calibration
from simdb.plan.chance import filter_distance, reach
from simdb.plan.probing import wants_glimpse
from simdb.plan.problem import Criterion, PolytopeRun, Population, Problem


def population(count, *, blocks=4, leading=1, has_vectors=True):
    return Population(count, blocks, leading, max(count.bit_length() - 2, 0), has_vectors)


def choose(criterion, population, calibration=None):
    return planner.choose(Problem(criterion, population, calibration))


def by_distance(distance, method="auto", recall=0.95):
    return Criterion(None, distance, recall, method)


def by_similarity(similarity, method="auto", recall=0.95):
    return Criterion(similarity, None, recall, method)


@over("distance", [0, 3, 8, 12, 40])
@over("count", [0, 1000, 100_000_000])
@over(("blocks", "leading"), [(1, 1), (4, 1), (6, 3), (64, 1)])
def test_a_distance_is_always_answered_for_certain(distance, count, blocks, leading):
    plan = choose(by_distance(distance), population(count, blocks=blocks, leading=leading))

    assert plan.recall == 1.0
    assert plan.distance == distance
    if plan.method == "exhaustive":
        assert (count, blocks, leading) != (100_000_000, 4, 1) or distance > 12
    else:
        assert bits.distance_served(blocks, leading, plan.flips) >= distance
        scan = choose(by_distance(distance, "exhaustive"), population(count))
        assert plan.cost_seconds <= scan.cost_seconds


def test_what_a_method_cannot_serve_is_refused_and_the_option_named():
    assert choose(by_distance(3, "bphs"), population(10)).method == "bphs"
    assert choose(by_similarity(0.9, "bphs"), population(1_000_000)).recall >= 0.95
    certain = choose(by_similarity(0.9, recall=1.0), population(10_000_000))
    assert (certain.method, certain.distance, certain.recall) == ("exhaustive", 64, 1.0)

    for criterion, message, count, settings in (
        (by_distance(20, "bphs"), r"distance=20 .*4 flipped header bits.*blocks=21", 10, {}),
        (by_distance(30, "bphs"), "blocks=33", 10, {"blocks": 6, "leading": 3}),
        (by_similarity(0.9, "bphs", recall=1.0), "exhaustive", 1_000_000, {}),
        (by_similarity(0.9), "store_volatility=True", 10, {"has_vectors": False}),
    ):
        with pytest.raises(OptionError, match=message):
            choose(criterion, population(count, **settings))


@over("recall", [0.01, 0.95, 0.999999, 1.0])
@over("similarity", [0.01, 0.8, 0.97, 1.0])
@over("count", [0, 10_000_000])
def test_the_predicted_recall_is_at_least_what_was_asked(recall, similarity, count):
    plan = choose(by_similarity(similarity, recall=recall), population(count))

    assert plan.recall >= recall
    assert plan.similarity == similarity
    assert plan.cost_seconds >= 0


@over(("blocks", "leading", "flips"), [(4, 1, 0), (5, 2, 0), (6, 3, 1), (3, 2, 2)])
@over("similarity", [0.7, 0.9])
def test_the_reach_of_the_tables_is_that_of_a_simulation(blocks, leading, flips, similarity):
    # 20,000 trials: a deviation of 0.02 has a chance below 1e-7.
    generator = np.random.default_rng(5)
    differs = generator.random((20_000, 64)) < math.acos(similarity) / math.pi
    widths = [mask.bit_count() for mask in bits.block_masks(blocks)]
    starts = np.cumsum([0, *widths[:-1]])
    counts = np.sort(np.add.reduceat(differs.astype(int), starts, axis=1), axis=1)
    reached = (counts[:, :leading].sum(axis=1) <= flips).mean()

    assert reach(similarity, blocks, leading, flips) == pytest.approx(reached, abs=0.02)


@over("similarity", [0.5, 0.88, 0.99, 1.0])
def test_the_filter_loses_no_more_than_allowed_and_could_not_be_narrower(similarity):
    differs = math.acos(similarity) / math.pi

    def beyond(distance):
        return sum(
            math.comb(64, count) * differs**count * (1 - differs) ** (64 - count)
            for count in range(distance + 1, 65)
        )

    distance = filter_distance(similarity, 1e-3)

    assert beyond(distance) <= 1e-3
    assert distance == 0 or beyond(distance - 1) > 1e-3


def test_pairs_of_weighted_documents_are_found_by_probing():
    asked = Criterion(0.9, None, 0.95, "multiprobe", is_weighted=True, is_stored=True)
    swept = replace(population(1_000_000), is_swept=True)

    plan = choose(asked, swept)

    assert plan.method == "multiprobe"
    assert plan.recall >= 0.95
    for fewer in (replace(swept, count=5000), replace(swept, count=200_000, crowding=50.0)):
        assert choose(replace(asked, method="auto"), fewer).method == "exhaustive"
    with pytest.raises(OptionError, match="weights"):
        choose(replace(asked, is_weighted=False), swept)


def calibrated(distance, *, is_sample, most=2000):
    """Return a calibration by pairs at a distance, of stored or of given documents."""
    generator = np.random.default_rng(3)
    pairs = recall.changed_copies(
        generator.standard_normal((2500, 128)),
        np.array([0.98]),
        least=1,
        distance=6,
        generator=generator,
        is_stored=not is_sample,
    )
    pairs = pairs.taken(slice(0, most))
    if not distance:
        pairs = recall.SampledPairs(pairs.queries, pairs.levels, pairs.queries)
    count = len(pairs)
    model = volatility.prior()
    measured = np.full(count, 0.98, np.float32)
    are_stored = np.full(count, not is_sample)
    return Calibration(model, pairs, measured, are_stored, 10_000_000, count, 10_000_000)


WEIGHTED = replace(by_distance(6), is_weighted=True)


@over("distance", [0, 6])
def test_pairs_of_stored_documents_do_not_stand_for_other_queries(distance):
    """Of most collections they are exact copies, for which any look-up is enough."""
    plan = choose(WEIGHTED, population(10_000_000), calibrated(distance, is_sample=False))

    assert plan.recall >= 0.95
    assert "the prior alone; an estimate" in plan.reason


def test_a_sample_too_small_to_be_sure_of_the_recall_does_not_decide():
    """Of 100 queries all were found, and .944 of the next 95, where .99 was asked."""
    asked, stored = replace(WEIGHTED, recall=0.98), population(10_000_000, blocks=1)

    enough, few = (calibrated(6, is_sample=True, most=most) for most in (149, 148))
    sure, unsure = (choose(asked, stored, each) for each in (enough, few))

    assert sure.probing is not None
    assert "149 sampled pairs" in sure.reason
    assert "with 95 % confidence" in sure.reason
    assert "148 sampled pairs" not in unsure.reason
    by_name = replace(asked, method="multiprobe")
    problems = [Problem(by_name, stored, each, USUAL_DELAYS) for each in (enough, few)]
    assert [wants_glimpse(each) for each in problems] == [False, True]


def test_an_estimate_of_recall_is_called_one_and_is_cautious():
    asked = Criterion(0.9, None, 0.9, "multiprobe", is_weighted=True)

    plan = choose(asked, population(10_000_000), None)

    assert plan.recall >= 1 - 0.1 / 3
    assert "an estimate" in plan.reason
    assert "confidence" not in plan.reason


@over("noise", [0.05, 0.08, 0.12, 0.2])
@over("distance", [3, 4, 6])
def test_the_prior_finds_what_was_asked_of_edits_of_every_strength(noise, distance):
    """Of 4,000 pairs that differ, of .95 asked less than .94 are found with a chance below .002."""
    generator = np.random.default_rng(7)
    weights = generator.standard_normal((20_000, 64))
    changed = weights + noise * generator.standard_normal(weights.shape)
    pairs = recall.sampled_pairs(changed, weights)
    found = recall.distances(pairs)
    pairs = pairs.taken(np.flatnonzero((found > 0) & (found <= distance))[:4000])
    asked = Criterion(None, distance, 0.95, "psm", is_weighted=True)

    probing = choose(asked, population(10_000_000, blocks=1)).probing

    needs = recall.needs(pairs, probing.costs, [bits.ALL_BITS], probing.header_bits)
    assert recall.recall_at(probing.theta, needs) >= 0.94


@over("distance", [1, 3, 6, 8])
@over("recall", [0.8, 0.95, 0.99])
@over("count", [10_000, 10_000_000, 4_000_000_000])
def test_a_distance_is_answered_at_its_recall_whatever_is_cheapest(distance, recall, count):
    asked = replace(by_distance(distance, recall=recall), is_weighted=True)

    for blocks in (1, 4):
        plan = choose(asked, population(count, blocks=blocks))

        exact = choose(replace(asked, recall=1.0), population(count, blocks=blocks))
        assert plan.recall >= recall
        assert plan.cost_seconds <= exact.cost_seconds


@pytest.mark.parametrize("polytopes", [0, 4])
@pytest.mark.parametrize("is_swept", [False, True], ids=["queries", "pairs"])
def test_a_harder_question_is_not_planned_to_find_less(is_swept, polytopes):
    recalls, similarities = (0.5, 0.7, 0.9, 0.95, 0.98, 0.995), (0.96, 0.92, 0.88, 0.84, 0.8, 0.7)
    for count in (1_000, 20_000, 50_000, 100_000, 200_000):
        stored = replace(
            population(count, blocks=1), is_swept=is_swept, vector_bytes=64,
            polytope_tables=polytopes, polytope_runs=(PolytopeRun(count, 18),) * (polytopes > 0),
            gathered_tables=(8, 16) if is_swept and polytopes else (),
        )  # fmt: skip
        plans = {
            (similarity, wanted): choose(
                replace(by_similarity(similarity, recall=wanted), is_weighted=True), stored
            )
            for similarity in similarities
            for wanted in recalls
        }
        for (similarity, wanted), plan in plans.items():
            more = [plans[similarity, each] for each in recalls if each > wanted]
            less = [plans[each, wanted] for each in similarities if each < similarity]
            assert all(each.recall >= plan.recall for each in more)
            if plan.method == "exhaustive":
                assert all(each.recall >= 0.95 for each in less)
                assert all(each.method == "exhaustive" for each in more)
            # Of two ways of probing the one for more recall can find less of easy documents.
            if plan.method in ("psm", "multiprobe") and wanted < 0.95:
                assert plan.theta == plans[similarity, 0.95].theta
            assert plan.method != "bphs" or plan.recall >= 0.95
