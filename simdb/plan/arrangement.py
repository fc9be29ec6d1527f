"""Arrangement: chooses the tables that find all pairs of an array of fingerprints soonest.

For any number of blocks G, the C(G, G - d) tables find every pair within distance d; so does a
table for each of G blocks, if enough header bits are flipped (`pigeonhole.py`).  So only time
decides: more tables mean more sorting, longer headers mean fewer comparisons.  A sample tells how
many comparisons to expect, because headers of real fingerprints are far from equally frequent.
"""

import math
from typing import NamedTuple

import numpy as np

from simdb.core.bits import block_masks, flip_count, header_mask, leading_masks
from simdb.core.checks import shown
from simdb.core.dtypes import U64
from simdb.core.errors import OptionError
from simdb.plan.pigeonhole import NOT_READ, Flips, cheapest_flips

BLOCKS_MAX = 64
# Sorting more tables than this never pays.
TABLES_MAX = 64
SAMPLE = 4096
# Seconds on one fast machine: to permute, sort and visit one entry; to compare two fingerprints.
ENTRY = 16e-9
COMPARE = 0.12e-9
# Seconds to find the group of one flipped header.
VISIT = 12e-9
FLIPS_MAX = 4
FLIPPED_BLOCKS_MAX = 8
# Comparing the ways to flip bits takes a few milliseconds, so it is left out where little is to do.
WORTH_COMPARING = 20e-3


class Arrangement(NamedTuple):
    """The masks of leading bits of tables, and in how many of these bits pairs can differ.

    Flips of -1: the table is not made.
    """

    masks: list[int]
    flips: Flips


def check_arrangement(blocks: int, distance: int) -> None:
    """Raise OptionError unless 64 >= `blocks` > `distance` >= 0."""
    for name, value in (("blocks", blocks), ("distance", distance)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise OptionError(f"{name} must be a whole number, not {shown(value)}")
    if not 1 <= blocks <= BLOCKS_MAX:
        raise OptionError(f"blocks must be 1 .. {BLOCKS_MAX}, not {shown(blocks)}")
    if not 0 <= distance < BLOCKS_MAX:
        raise OptionError(
            f"distance must be 0 .. {BLOCKS_MAX - 1} here, less than blocks, not"
            f" {shown(distance)}; within {BLOCKS_MAX} every two fingerprints are a pair"
        )
    if blocks <= distance:
        raise OptionError(
            f"blocks ({blocks}) must be greater than distance ({distance}), because a pair is found"
            f" by a block in which no bit differs; use blocks={distance + 1} or more"
        )


def choose_tables(fingerprints: U64, *, blocks: int, distance: int) -> Arrangement:
    """Return the tables that find all pairs soonest.

    The tables cut a fingerprint into `blocks` blocks or fewer.  The masks [0] are of one table
    without leading bits, in which every two fingerprints are compared.
    """
    count = len(fingerprints)
    sample = np.ascontiguousarray(fingerprints[:: max(1, count // SAMPLE)])
    scale = (count / len(sample)) ** 2 if count else 0.0
    best, best_seconds = Arrangement([0], (0,)), COMPARE * count * count / 2
    for width in range(distance + 1, blocks + 1):
        tables = math.comb(width, distance)
        if tables > TABLES_MAX or tables * ENTRY * count >= best_seconds:
            continue
        masks = leading_masks(width, width - distance)
        compared = sum(_count_alike(sample, mask) for mask in masks) * scale
        seconds = tables * ENTRY * count + COMPARE * compared
        if seconds < best_seconds:
            best, best_seconds = Arrangement(masks, (0,) * tables), seconds
    most = FLIPPED_BLOCKS_MAX if best_seconds > WORTH_COMPARING else 0
    for width in range(2, min(blocks, most) + 1):
        flipped = _with_flips(sample, scale, count, width, distance)
        if flipped is not None and flipped[1] < best_seconds:
            best, best_seconds = flipped
    return best


def _with_flips(
    sample: U64, scale: float, count: int, blocks: int, distance: int
) -> tuple[Arrangement, float] | None:
    """Return the best flips in one table for each block, and their seconds; None if too many."""
    masks = block_masks(blocks)
    widths = [min(mask.bit_count(), max(count.bit_length() - 1, 1)) for mask in masks]
    headers = [header_mask(mask, width) for mask, width in zip(masks, widths, strict=True)]
    compared = [_count_alike(sample, header) * scale for header in headers]
    probe_costs = [VISIT * count / 2 + COMPARE * each for each in compared]
    flips = cheapest_flips(
        blocks, 1, distance,
        widths=widths, probe_costs=probe_costs, table_cost=ENTRY * count, flips_max=FLIPS_MAX,
    )  # fmt: skip
    if flips is None:
        return None
    seconds = sum(
        ENTRY * count + flip_count(width, most) * cost
        for width, most, cost in zip(widths, flips, probe_costs, strict=True)
        if most != NOT_READ
    )
    return Arrangement(masks, flips), seconds


def _count_alike(sample: U64, mask: int) -> int:
    """Return how many pairs of the sample agree in all bits of `mask`."""
    headers = np.sort(sample & np.uint64(mask))
    sizes = np.diff(np.flatnonzero(headers[1:] != headers[:-1]), prepend=-1, append=len(sample) - 1)
    return int((sizes * (sizes - 1) // 2).sum())
