"""Arrangement: chooses the tables that find all pairs of an array of fingerprints soonest.

For any number of blocks G, the C(G, G - d) tables find every pair within distance d, so only time
decides: more tables mean more sorting, longer headers mean fewer comparisons.  A sample tells how
many comparisons to expect, because headers of real fingerprints are far from equally frequent.
"""

import math

import numpy as np
import numpy.typing as npt

from simdb.bits import leading_masks
from simdb.checks import shown
from simdb.errors import OptionError

U64 = npt.NDArray[np.uint64]

BLOCKS_MAX = 64
# Sorting more tables than this never pays.
TABLES_MAX = 64
SAMPLE = 4096
# Seconds on one fast machine: to permute, sort and visit one entry; to compare two fingerprints.
ENTRY = 16e-9
COMPARE = 0.12e-9


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


def choose_masks(fingerprints: U64, *, blocks: int, distance: int) -> list[int]:
    """Return the masks of leading bits of the tables that find all pairs soonest.

    The tables cut a fingerprint into `blocks` blocks or fewer.  The answer [0] is one table
    without leading bits, in which every two fingerprints are compared.
    """
    count = len(fingerprints)
    sample = fingerprints[:: max(1, count // SAMPLE)]
    scale = (count / len(sample)) ** 2 if count else 0.0
    best, best_seconds = [0], COMPARE * count * count / 2
    for width in range(distance + 1, blocks + 1):
        tables = math.comb(width, distance)
        if tables > TABLES_MAX or tables * ENTRY * count >= best_seconds:
            continue
        masks = leading_masks(width, width - distance)
        compared = sum(_count_alike(sample, mask) for mask in masks) * scale
        seconds = tables * ENTRY * count + COMPARE * compared
        if seconds < best_seconds:
            best, best_seconds = masks, seconds
    return best


def _count_alike(sample: U64, mask: int) -> int:
    """Return how many pairs of the sample agree in all bits of `mask`."""
    headers = np.sort(sample & np.uint64(mask))
    sizes = np.diff(np.flatnonzero(headers[1:] != headers[:-1]), prepend=-1, append=len(sample) - 1)
    return int((sizes * (sizes - 1) // 2).sum())
