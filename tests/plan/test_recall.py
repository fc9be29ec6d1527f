import math

import numpy as np
import pytest
from over import over

from simdb.core import bits, kernel
from simdb.core.vector_form import fingerprints_of
from simdb.plan import volatility
from simdb.plan.recall import (
    UNREACHABLE,
    SampledPairs,
    changed_copies,
    distances,
    least_reached,
    lower_bound,
    needs,
    recall_at,
    recall_bound,
    sampled_pairs,
    stored_weights,
    theta_for,
)


def random_pairs(count, seed=1):
    generator = np.random.default_rng(seed)
    queries = generator.integers(0, 2**64, count, np.uint64)
    flips = np.bitwise_and.reduce(generator.integers(0, 2**64, (3, count), np.uint64))
    return SampledPairs(queries, generator.integers(0, 256, (count, 64), np.uint8), queries ^ flips)


def random_costs(seed=2):
    found = np.sort(np.random.default_rng(seed).integers(0, 255, 256)).astype(np.uint8)
    found[250:] = 255
    return found


def need_of_one(query, levels, stored, costs, masks, header_bits):
    """Compute the needs from the keys, bit by bit."""
    found = [UNREACHABLE]
    for mask in masks:
        keys = np.empty(2, np.uint64)
        kernel.permute(np.array([query, stored], np.uint64), mask, keys)
        order = np.empty(64, np.uint64)
        kernel.permute(np.uint64(1) << np.arange(64, dtype=np.uint64), mask, order)
        place = {int(key): bit for bit, key in enumerate(order)}
        differing = int(keys[0] ^ keys[1])
        total = 0
        for at in range(64 - header_bits, 64):
            if differing >> at & 1:
                cost = int(costs[levels[place[1 << at]]])
                total += UNREACHABLE if cost == 255 else cost
        found.append(total)
    return min(found)


@over(("shape", "header_bits"), [((1, 1), 30), ((4, 1), 1), ((5, 2), 7), (None, 16), ((1, 1), 0)])
def test_the_need_is_the_least_cost_of_the_differing_header_bits(shape, header_bits):
    pairs, costs = random_pairs(40), random_costs()
    masks = bits.leading_masks(*shape) if shape else []

    found = needs(pairs, costs, masks, header_bits)

    expected = [
        need_of_one(query, levels, stored, costs, masks, header_bits)
        for query, levels, stored in zip(pairs.queries, pairs.levels, pairs.stored, strict=True)
    ]
    assert found.tolist() == expected


def test_recall_is_the_share_within_theta():
    sample = np.array([0, 5, 5, 9, UNREACHABLE])

    assert [recall_at(theta, sample) for theta in (0, 4, 5, 9, 1000)] == [0.2, 0.2, 0.6, 0.8, 0.8]
    assert recall_at(3, sample[:0]) == 1.0


def binomial_tail(count, share, least):
    return math.fsum(
        math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(least, count + 1)
    )


@over("recall", [0.5, 0.9, 0.95, 0.99])
@over("count", [1, 10, 58, 59, 298, 299])
def test_so_many_are_reached_that_a_smaller_recall_would_not_show(recall, count):
    least = least_reached(recall, count)

    assert least == count + 1 or binomial_tail(count, recall, least) <= 0.05
    assert binomial_tail(count, recall, least - 1) > 0.05


@over(("reached", "count"), [(1, 1), (3, 10), (10, 10), (95, 100), (999, 1000)])
def test_the_bound_is_where_so_many_are_just_surprising(reached, count):
    share = lower_bound(reached, count)

    assert binomial_tail(count, share, reached) == pytest.approx(0.05, rel=1e-6)
    assert share < reached / count
    assert lower_bound(0, count) == lower_bound(0, 0) == 0.0


@over("recall", [0.8, 0.9, 0.95, 0.99])
def test_theta_is_the_least_that_gives_the_recall_for_sure(recall):
    sample = np.random.default_rng(3).integers(0, 300, 2000)
    some = np.append(sample[:90], [UNREACHABLE] * 10)

    theta = theta_for(recall, sample, 2000)

    assert recall_at(theta, sample) >= recall_bound(theta, sample, 2000) >= recall
    assert recall_bound(theta - 1, sample, 2000) < recall
    assert (theta_for(recall, some, 100) is None) == (recall > 0.8)


def test_no_sample_promises_everything_and_a_small_one_is_to_be_reached_whole():
    assert theta_for(0.95, np.array([3, 80, 7]), 3) == 80
    assert theta_for(1.0, np.zeros(1000, np.int64), 1000) is None
    assert theta_for(0.9, np.zeros(0, np.int64), 0) is None


def test_less_confidence_needs_fewer_pairs_and_a_lower_theta():
    sample = np.arange(400)

    sure, likely = (theta_for(0.95, sample, 400, confidence=each) for each in (0.95, 0.8))

    assert 379 < likely < sure
    assert binomial_tail(400, 0.95, likely + 1) <= 0.2 < binomial_tail(400, 0.95, likely)


@over("cosine", [0.8, 0.9, 0.98])
def test_changed_copies_of_documents_are_at_the_cosine(cosine):
    generator = np.random.default_rng(1)
    weights = generator.standard_normal((2000, 128)) * generator.uniform(0.1, 100, (2000, 1))

    pairs = changed_copies(
        weights, np.array([cosine]), least=0, distance=64, generator=generator
    )  # fmt: skip

    # A standard error of the mean is below .1 bits.
    assert len(pairs) == 2000
    assert distances(pairs).mean() == pytest.approx(64 * math.acos(cosine) / math.pi, abs=0.5)
    assert np.array_equal(pairs.stored, fingerprints_of(weights))


@over(("least", "distance"), [(0, 0), (1, 3), (1, 12)])
def test_changed_copies_are_within_the_distance(least, distance):
    weights = np.random.default_rng(1).laplace(size=(500, 128))

    pairs = changed_copies(
        weights, np.array([0.95, 0.99]), least=least, distance=distance,
        generator=np.random.default_rng(2),
    )  # fmt: skip

    found = distances(pairs)
    assert (found.min(), found.max()) == (least, distance)
    assert set(pairs.stored.tolist()) <= set(fingerprints_of(weights).tolist())


def test_copies_that_are_stored_ask_by_rounded_weights_and_need_more():
    weights = np.random.default_rng(1).standard_normal((1000, 128))
    fresh, kept = (
        changed_copies(
            weights, np.full(6, 0.98), least=0, distance=3,
            generator=np.random.default_rng(2), is_stored=is_stored,
        )
        for is_stored in (False, True)
    )  # fmt: skip
    costs = volatility.costs(volatility.prior())

    needed = [needs(pairs, costs, [bits.ALL_BITS], 16) for pairs in (fresh, kept)]

    assert np.array_equal(fresh.queries, kept.queries)
    assert np.array_equal(fresh.stored, kept.stored)
    # A standard error of the mean is below .5.
    assert needed[0].mean() + 1 < needed[1].mean()
    # Odd whole numbers, divided by one root mean square a document.
    assert max(len(np.unique(row)) for row in kept.levels) <= 8


def test_stored_weights_are_odd_whole_numbers():
    found = stored_weights(np.random.default_rng(3).standard_normal((100, 128)))

    assert np.isin(found, range(-15, 16, 2)).all()


def test_sampled_pairs_are_fingerprints_and_levels_of_weights():
    left = np.ones((2, 128), np.float32)
    left[0, 3] = -1.0
    left[1, 5] = -0.0
    right = -left

    pairs = sampled_pairs(left, right)

    assert pairs.queries.tolist() == [bits.ALL_BITS ^ 8, bits.ALL_BITS]
    assert pairs.stored.tolist() == [8, 1 << 5]
    assert pairs.levels[0, :4].tolist() == [64, 64, 64, 64]
