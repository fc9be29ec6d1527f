"""Sweeping a sorted table finds the pairs that a double loop finds, each in one table."""

import random

import numpy as np
import search_oracle as oracle
from over import over

from simdb.core.bits import header_mask, leading_masks


def swept(search, entries, masks, table, distance, capacity, *more):
    """Return all pairs, and the cursors between calls that write at most `capacity` each."""
    keys, ordinals, _ = oracle.column(entries, masks[table], 0)
    left, right = np.zeros(capacity, np.uint32), np.zeros(capacity, np.uint32)
    distances = np.zeros(capacity, np.uint8)
    cursor, found, cursors = (0, 1), [], []
    while cursor[0] < len(keys):
        written, *place = search.sweep(
            keys, ordinals, masks, table, distance, cursor, left, right, distances, *more
        )
        cursor = tuple(place)
        cursors.append(cursor)
        found += zip(left[:written].tolist(), right.tolist(), distances.tolist(), strict=False)
    return found, cursors


def shuffled(fingerprints, seed):
    ordinals = random.Random(seed).sample(range(10_000), len(fingerprints))
    return list(zip(fingerprints, ordinals, strict=True))


@over(("blocks", "leading"), [(4, 1), (5, 2), (2, 1), (1, 1)])
@over("capacity", [1, 5, 4096])
def test_a_sweep_writes_the_pairs_of_a_double_loop(search, blocks, leading, capacity):
    masks = leading_masks(blocks, leading)
    entries = shuffled(oracle.neighbourhood(blocks, 150, 12, 5), blocks)

    for table in range(len(masks)):
        found, _ = swept(search, entries, masks, table, 5, capacity)

        assert found == oracle.pairs(entries, masks, table, 5)


@over("table", [0, 1, 3])
@over("flipped", [0, 0b1, 0b1001, 0b100110])
@over("width", [0, 5, 16, 30])
def test_a_sweep_with_flips_writes_the_pairs_of_a_double_loop(search, table, flipped, width):
    masks, flips = (*leading_masks(4, 1),), (1, 2, -1, 3)
    entries = (*shuffled([*oracle.neighbourhood(6, 60, 3, 5), 0, 0, 5, 2**64 - 1], 6),)
    # The lowest bits of the header; none if the header has no bits.
    shift = 64 - 16 * table - min(width, 16)
    bits = (flipped << shift) & header_mask(masks[table], width)

    one_by_one, at_once = (
        swept(search, entries, masks, table, 6, capacity, flips, bits, width)[0]
        for capacity in (1, 4096)
    )

    assert at_once == oracle.flipped_pairs(entries, masks, table, 6, flips, bits, width)
    assert one_by_one == at_once


@over("count", [0, 1, 2, 7, 8, 9, 63, 64, 65, 130])
def test_an_empty_mask_compares_all_with_all(search, count):
    entries = shuffled(oracle.neighbourhood(count, count, 4, 20), count)

    found, _ = swept(search, entries, [0], 0, 21, 64)

    assert found == oracle.pairs(entries, [0], 0, 21)
