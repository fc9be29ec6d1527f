"""Flips of each table: no spread of differing bits over the blocks may be missed."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over
from pricing import serves
from strategies import SHAPES, fingerprints

from simdb.core import bits
from simdb.core.errors import OptionError
from simdb.plan import pigeonhole
from simdb.plan.pigeonhole import cheapest_flips, check_arrangement, choose_tables
from simdb.plan.tables import Permutations

ALL = 2**64 - 1


def spreads(blocks, distance):
    """Yield every way to spread `distance` differing bits over the blocks."""
    if blocks == 1:
        yield (distance,)
        return
    for first in range(distance + 1):
        for others in spreads(blocks - 1, distance - first):
            yield (first, *others)


def missed(blocks, leading, flips, distance):
    """Return the spreads of at most `distance` bits that no table reaches, by a double loop."""
    tables = list(combinations(range(blocks), leading))
    return [
        spread
        for differing in range(distance + 1)
        for spread in spreads(blocks, differing)
        if not any(
            sum(spread[block] for block in chosen) <= most
            for chosen, most in zip(tables, flips, strict=True)
        )
    ]


def chosen(blocks, leading, distance, *, probe_costs=None, table_cost=0.0):
    widths = [min(mask.bit_count(), 20) for mask in bits.leading_masks(blocks, leading)]
    return cheapest_flips(
        blocks,
        leading,
        distance,
        widths=widths,
        probe_costs=probe_costs or [1.0] * len(widths),
        table_cost=table_cost,
    )


@over("distance", [0, 3, 6])
@over(("blocks", "leading"), [(1, 1), (2, 1), (3, 2), (4, 1), (4, 3), (5, 2), (6, 3), (8, 1)])
@over("flips", range(3))
def test_flips_serve_a_distance_exactly_if_no_spread_is_missed(blocks, leading, distance, flips):
    every = (flips,) * len(bits.leading_masks(blocks, leading))
    fewer = (flips - 1, *every[1:])

    assert serves(blocks, leading, every, distance) == (
        bits.distance_served(blocks, leading, flips) >= distance
    )
    assert serves(blocks, leading, fewer, distance) == (
        not missed(blocks, leading, fewer, distance)
    )


@over("distance", range(20))
def test_separate_blocks_get_no_more_flips_than_the_pigeonhole_principle_demands(distance):
    flips = chosen(4, 1, distance)

    assert sum(each + 1 for each in flips) == distance + 1
    assert max(flips) - min(flips) <= 1
    assert list(flips) == sorted(flips, reverse=True)


@over(
    ("shape", "tables"),
    [((5, 2), [1, 2, 4, 10]), ((6, 2), [1, 2, 3, 7, 15]), ((8, 2), [1, 2, 3, 4, 8, 12, 28])],
)
def test_without_flips_few_of_the_overlapping_tables_are_read(shape, tables):
    read = [
        sum(flips != -1 for flips in chosen(*shape, distance)) for distance in range(len(tables))
    ]

    assert read == tables


def test_a_table_with_crowded_headers_gets_fewer_flips_or_is_not_read():
    assert chosen(4, 1, 3, probe_costs=[1.0, 1.0, 1000.0, 1.0]) == (1, 0, -1, 0)
    assert chosen(4, 1, 4, probe_costs=[1.0, 1.0, 8.0, 1.0]) == (1, 0, 0, 0)
    assert chosen(4, 1, 4, probe_costs=[8.0, 1.0, 1.0, 1.0]) == (0, 1, 0, 0)
    # Nearly equal costs are one choice.
    assert chosen(4, 1, 5, probe_costs=[1.0, 1.02, 0.99, 1.01]) == chosen(4, 1, 5)


def test_a_distance_beyond_all_flips_has_no_answer():
    assert chosen(4, 1, 19) == (4, 4, 4, 4)
    assert chosen(4, 1, 20) is None
    assert chosen(3, 2, 15) is None


def test_too_many_spreads_to_try_get_the_same_flips_in_every_table():
    assert chosen(64, 63, 5) == (4,) * 64


def random_fingerprints(count):
    return np.random.default_rng(5).integers(0, ALL, count, np.uint64, endpoint=True)


def test_few_fingerprints_are_compared_without_sorting():
    assert choose_tables(random_fingerprints(50), blocks=6, distance=3) == ([0], (0,))
    assert choose_tables(random_fingerprints(0), blocks=6, distance=3) == ([0], (0,))


def test_many_fingerprints_take_the_fewest_tables_that_separate_them():
    assert len(choose_tables(random_fingerprints(100_000), blocks=6, distance=3).masks) == 4
    found = choose_tables(random_fingerprints(100_000), blocks=9, distance=8)
    assert len(found.masks) < 9
    assert sum(flips + 1 for flips in found.flips) == 9


def test_where_short_headers_are_alike_longer_ones_are_chosen_if_blocks_allow(monkeypatch):
    skewed = random_fingerprints(100_000) & np.uint64(ALL >> 24)

    with_flips = choose_tables(skewed, blocks=4, distance=3)
    monkeypatch.setattr(pigeonhole, "WORTH_COMPARING", np.inf)

    assert with_flips.flips[0] == -1  # all are alike in the first block
    assert sum(flips + 1 for flips in with_flips.flips) == 4
    assert choose_tables(skewed, blocks=4, distance=3).masks == [0]
    assert len(choose_tables(skewed, blocks=8, distance=3).masks) > 4


def test_so_many_blocks_that_their_tables_cannot_be_counted_are_no_hindrance():
    assert choose_tables(random_fingerprints(2000), blocks=64, distance=32)


@over(
    ("blocks", "distance", "message"),
    [
        (3, 3, "greater than distance"),
        (65, 3, "from 1 to 64"),
        (0, 0, "from 1 to 64"),
        (4, -1, "distance must be a whole number from 0 to 63"),
        (4.0, 3, "whole number"),
        (4, True, "whole number"),
    ],
)
def test_an_arrangement_that_cannot_be_is_refused(blocks, distance, message):
    with pytest.raises(OptionError, match=message):
        check_arrangement(blocks, distance)


def keys_of(permutations, values, table):
    keys = np.empty(len(values), np.uint64)
    permutations.write_keys(np.array(values, np.uint64), keys, table)
    return keys.tolist()


@given(shape=st.sampled_from(SHAPES), value=fingerprints)
def test_the_leading_bits_come_first_in_their_old_order(shape, value):
    permutations = Permutations(*shape)

    for table, mask in enumerate(permutations.masks):
        width = mask.bit_count()
        places = [place for place in range(63, -1, -1) if mask >> place & 1]
        expected = 0
        for place in places:
            expected = expected << 1 | (value >> place & 1)
        assert keys_of(permutations, [value], table)[0] >> (64 - width) == expected


@given(shape=st.sampled_from(SHAPES), value=fingerprints, places=st.sets(st.integers(0, 63)))
def test_within_the_distance_served_some_table_has_the_same_header(shape, value, places):
    permutations = Permutations(*shape)
    served = bits.distance_served(*shape, 0)
    other = value ^ sum(1 << place for place in sorted(places)[:served])

    headers_agree = [not (value ^ other) & mask for mask in permutations.masks]

    assert any(headers_agree)
