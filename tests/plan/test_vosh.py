import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from over import over

from simdb.core import kernel
from simdb.core.errors import InputError, OptionError
from simdb.core.kernel import flip_set_children as children
from simdb.plan.vosh import vosh

# Ties, both certainties, even chances, the nearly certain and the nearly impossible.
CHANCES = st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.25, 0.3, 0.5, 0.75, 1 - 2**-53, 1.0])


def probability(chances, chosen):
    """Compute equation (6) exactly."""
    factors = [
        Fraction(chance) if bit in chosen else 1 - Fraction(chance)
        for bit, chance in enumerate(chances)
    ]
    return math.prod(factors, start=Fraction(1))


def all_sets(count, distance):
    return [
        frozenset(chosen)
        for size in range(min(distance, count) + 1)
        for chosen in itertools.combinations(range(count), size)
    ]


@given(st.lists(CHANCES | st.floats(0, 1), max_size=9), st.integers(0, 5))
@example([0.25] * 8, 4)
@example([0.5] * 7, 3)
@example([1.0, 0.0, 1.0, 0.0, 0.5], 5)
def test_flip_sets_come_in_the_order_of_sorting_all_subsets(chances, distance):
    found = list(vosh(chances, distance))

    assert found[0] == ()
    assert sorted(map(sorted, found)) == sorted(map(sorted, all_sets(len(chances), distance)))
    probable = [probability(chances, chosen) for chosen in found[1:]]
    slack = 1 + Fraction(1, 10**8)  # logarithms are rounded
    assert all(sooner * slack >= later for sooner, later in itertools.pairwise(probable))


@given(st.lists(st.sampled_from([0.05, 0.125, 0.25, 0.4]), max_size=10), st.integers(0, 10))
def test_of_equal_sums_smaller_sets_come_first_and_then_lower_ranks(chances, distance):
    order = sorted(range(len(chances)), key=lambda bit: (-chances[bit], bit))
    price = [round(2**33 * (math.log1p(-chances[bit]) - math.log(chances[bit]))) for bit in order]
    every = [
        chosen
        for size in range(1, min(distance, len(chances)) + 1)
        for chosen in itertools.combinations(range(len(chances)), size)
    ]
    every.sort(key=lambda ranks: (sum(price[rank] for rank in ranks), len(ranks), ranks))

    found = list(vosh(chances, distance))

    assert found == [(), *(tuple(order[rank] for rank in ranks) for ranks in every)]


@over("k", [1, 10, 1000, 20000])
def test_k_sets_take_a_heap_that_stays_within_k(k):
    costs = np.sort(np.random.default_rng(3).integers(0, 1 << 50, 64))
    sets = kernel.FlipSets(costs, 4)

    held = [(next(sets), sets.held) for _ in range(k)]

    # A set that is taken out puts at most two sets in.
    assert len({ranks for ranks, _ in held}) == k
    assert all(size <= 4 + taken for taken, (_, size) in enumerate(held, 1))


def test_the_kernel_refuses_more_ranks_than_bits_and_costs_that_fall():
    for wrong in ([3, 1], [0, 1, 1, 0]):
        with pytest.raises(ValueError, match="fall"):
            kernel.FlipSets(np.array(wrong), 2)
    with pytest.raises(ValueError, match="65 costs, more than 64"):
        kernel.FlipSets(np.zeros(65, np.int64), 2)
    with pytest.raises(ValueError, match="not from 1 to 64"):
        children((1, 2), 65)
    with pytest.raises(ValueError, match="not below 9"):
        children((1, 9), 9)
    with pytest.raises(ValueError, match="no children"):
        children((), 9)


@over("wrong", [[0.1, 1.5], [-0.1], [math.nan], [[0.1]], ["a"], None, 0.5])
def test_what_is_no_probability_is_refused_when_it_is_given(wrong):
    with pytest.raises(InputError, match="probabilit"):
        vosh(wrong, 3)


@over("wrong", [-1, 1.5, "3", None, True])
def test_what_is_no_distance_is_refused_when_it_is_given(wrong):
    with pytest.raises(OptionError, match="distance"):
        vosh([0.1], wrong)


def test_a_fingerprint_has_64_bits_and_at_distance_0_none_is_flipped():
    assert len(list(vosh([0.1] * 64, 1))) == 65
    assert list(vosh([0.3] * 64, 0)) == list(vosh([], 3)) == [()]
    with pytest.raises(InputError, match="65 bits"):
        vosh([0.1] * 65, 2)
