from itertools import combinations
from math import comb

import numpy as np
import pytest
from over import over

from simdb.core import bits, kernel

SHAPES = [(1, 1), (2, 1), (4, 1), (5, 2), (6, 3), (7, 7), (13, 2), (64, 1)]


@over("blocks", [1, 2, 3, 6, 7, 64])
def test_blocks_cover_all_bits_once_from_the_most_significant(blocks):
    masks = bits.block_masks(blocks)

    assert sum(masks) == 2**64 - 1
    assert masks == sorted(masks, reverse=True)
    widths = [mask.bit_count() for mask in masks]
    assert widths == sorted(widths, reverse=True)
    assert max(widths) - min(widths) <= 1


@over(("blocks", "leading"), SHAPES)
def test_every_choice_of_leading_blocks_has_a_table(blocks, leading):
    masks = bits.leading_masks(blocks, leading)

    assert len(set(masks)) == len(masks) == comb(blocks, leading)


def worst_distance(blocks, leading, flips):
    """Return the most differing bits that are found however they are spread; brute force.

    `spread` counts the differing bits of each block; only its sorted form matters.
    """
    most = 0
    limit = 3 * (flips + 1)
    widths = [mask.bit_count() for mask in bits.block_masks(blocks)]

    def spreads(position, least):
        if position == blocks:
            yield ()
            return
        for count in range(least, min(limit, max(widths)) + 1):
            for rest in spreads(position + 1, count):
                yield (count, *rest)

    totals = {}
    for spread in spreads(0, 0):
        fewest = sum(spread[:leading])
        totals.setdefault(sum(spread), set()).add(fewest <= flips)
    while totals.get(most + 1) == {True}:
        most += 1
    return most


@over(
    ("blocks", "leading", "flips"),
    [(2, 1, 0), (4, 1, 0), (4, 1, 1), (3, 2, 0), (3, 2, 1), (4, 2, 1), (5, 2, 0), (4, 3, 2)],
)
def test_the_distance_served_is_that_of_the_worst_spread(blocks, leading, flips):
    served = bits.distance_served(blocks, leading, flips)

    assert served == worst_distance(blocks, leading, flips)


@over(("width", "flips"), [(1, 0), (4, 1), (4, 4), (4, 9), (20, 3)])
def test_flips_are_counted_as_subsets(width, flips):
    subsets = sum(
        len(list(combinations(range(width), count))) for count in range(min(flips, width) + 1)
    )

    assert bits.flip_count(width, flips) == subsets


def test_set_bits_come_lowest_first():
    assert list(bits.set_bits(0)) == []
    assert list(bits.set_bits(0b1011 << 60)) == [60, 61, 63]


@over("count", [0, 1, 8, 9, 1000])
def test_a_bitmap_has_the_bits_at_its_positions(count):
    positions = np.arange(0, count, 3)

    packed = bits.bitmap(positions, count)

    assert packed.dtype == np.uint8
    unpacked = np.unpackbits(packed, bitorder="little")
    assert np.flatnonzero(unpacked).tolist() == positions.tolist()


@pytest.mark.parametrize(("blocks", "leading"), [(1, 1), (4, 1), (5, 2), (64, 3)])
@pytest.mark.parametrize("header_bits", [0, 1, 13, 16, 40, 64])
def test_a_header_is_what_stands_highest_in_the_key(blocks, leading, header_bits):
    mask = bits.leading_masks(blocks, leading)[-1]
    singles = np.uint64(1) << np.arange(64, dtype=np.uint64)
    keys = np.empty(64, np.uint64)
    kernel.permute(singles, mask, keys)

    found = bits.header_mask(mask, header_bits)

    chosen = [bit for bit, key in enumerate(keys.tolist()) if key >= 2 ** (64 - header_bits)]
    assert found == sum(1 << bit for bit in chosen)
