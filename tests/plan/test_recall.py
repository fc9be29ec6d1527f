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
    least_reached,
    lower_bound,
    needs,
    perturbed,
    recall_at,
    recall_bound,
    sampled_pairs,
    stored_weights,
    synthetic_pairs,
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

    theta = theta_for(recall, sample)

    assert recall_at(theta, sample) >= recall_bound(theta, sample) >= recall
    assert recall_bound(theta - 1, sample) < recall
    assert (theta_for(recall, some) is None) == (recall > 0.8)


def test_no_sample_promises_everything_and_a_small_one_is_to_be_reached_whole():
    assert theta_for(0.95, np.array([3, 80, 7])) == 80
    assert theta_for(1.0, np.zeros(1000, np.int64)) is None
    assert theta_for(0.9, np.zeros(0, np.int64)) is None


@over("similarity", [0.8, 0.9, 0.98])
def test_synthetic_pairs_have_the_similarity(similarity):
    pairs = synthetic_pairs(500, seed=1, similarity=similarity)
    model = volatility.prior(similarity=similarity)

    differing = (pairs.queries ^ pairs.stored).view(np.uint8).reshape(-1, 8)
    mean = np.unpackbits(differing, axis=1).sum(axis=1).mean()

    # More than angle / pi of the bits, since Laplace weights are often small.
    assert len(pairs) == 500
    assert mean == pytest.approx(model.probabilities[pairs.levels].sum(axis=1).mean(), rel=0.25)
    assert 1 < mean / (64 * math.acos(similarity) / math.pi) < 1.4


@over(("similarity", "distance"), [(None, 0), (0.9, 3), (None, 12)])
def test_synthetic_pairs_are_within_the_distance(similarity, distance):
    pairs = synthetic_pairs(300, seed=1, similarity=similarity, distance=distance)

    distances = {
        (one ^ other).bit_count()
        for one, other in zip(pairs.queries.tolist(), pairs.stored.tolist(), strict=True)
    }
    assert len(pairs) == 300
    assert max(distances) == distance


def test_synthetic_stored_documents_ask_by_rounded_weights_and_need_more():
    fresh, kept = [
        synthetic_pairs(3000, seed=1, is_stored=is_stored, distance=3)
        for is_stored in (False, True)
    ]
    costs = volatility.costs(volatility.prior(distance=3))

    thetas = [theta_for(0.8, needs(pairs, costs, [bits.ALL_BITS], 16)) for pairs in (fresh, kept)]

    assert np.array_equal(fresh.queries, kept.queries)
    assert np.array_equal(fresh.stored, kept.stored)
    assert thetas[0] < thetas[1]
    # Odd whole numbers, divided by one root mean square a document.
    assert max(len(np.unique(row)) for row in kept.levels) <= 8


def test_sampled_pairs_are_fingerprints_and_levels_of_weights():
    left = np.ones((2, 128), np.float32)
    left[0, 3] = -1.0
    left[1, 5] = -0.0
    right = -left

    pairs = sampled_pairs(left, right)

    assert pairs.queries.tolist() == [bits.ALL_BITS ^ 8, bits.ALL_BITS]
    assert pairs.stored.tolist() == [8, 1 << 5]
    assert pairs.levels[0, :4].tolist() == [64, 64, 64, 64]


@over("distance", [1, 12])
def test_changed_documents_differ_in_so_many_bits_on_average(distance):
    generator = np.random.default_rng(distance)
    weights = stored_weights(generator.laplace(size=(4000, 128)))

    changed = perturbed(weights, distance=distance, generator=generator, is_rounded=False)
    rounded = perturbed(weights, distance=distance, generator=generator, is_rounded=True)

    # Rounding and half a bit of the prior add up to 2; a standard error is below .06 bits.
    for each in (changed, rounded):
        differing = np.bitwise_count(fingerprints_of(weights) ^ fingerprints_of(each))
        assert distance <= differing.mean() <= distance + 2
    assert np.isin(rounded, range(-15, 16, 2)).all()
    assert not np.isin(changed, range(-15, 16)).any()
