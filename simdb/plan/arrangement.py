"""Which tables find all pairs of an array soonest.

Every choice of C(G, G - d) tables finds every pair within distance d, so only time decides: more
tables mean more sorting, longer headers mean fewer comparisons.  How many comparisons there will be
is counted in a sample, since headers of real fingerprints are far from equally frequent.
"""

import math

import numpy as np
import numpy.typing as npt

from simdb.bits import leading_masks
from simdb.checks import shown
from simdb.errors import OptionError

U64 = npt.NDArray[np.uint64]

BLOCKS_MAX = 64
# More tables than these are never worth their sorting.
TABLES_MAX = 64
SAMPLE = 4096
# Seconds of one fast machine: an entry permuted, sorted and visited; two fingerprints compared.
ENTRY = 16e-9
COMPARE = 0.12e-9


def check_arrangement(blocks: int, distance: int) -> None:
    """Raise OptionError unless 64 >= `blocks` > `distance` >= 0."""
    for name, value in (("blocks", blocks), ("distance", distance)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise OptionError(f"{name} is a whole number, not {shown(value)}")
    if not 1 <= blocks <= BLOCKS_MAX:
        raise OptionError(f"blocks is 1 .. {BLOCKS_MAX}, not {shown(blocks)}")
    if not 0 <= distance < BLOCKS_MAX:
        raise OptionError(
            f"distance is 0 .. {BLOCKS_MAX - 1} here, less than blocks, not {shown(distance)}; at"
            f" {BLOCKS_MAX} every two fingerprints are a pair"
        )
    if blocks <= distance:
        raise OptionError(
            f"blocks ({blocks}) must be greater than distance ({distance}): bits that differ in"
            f" every block leave none to find the pair by; use blocks={distance + 1} or more"
        )


def choose_masks(fingerprints: U64, *, blocks: int, distance: int) -> list[int]:
    """The leading bits of each of the tables that find all pairs soonest, of `blocks` or fewer.

    The answer [0] is one table that compares every two.
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
    """How many pairs of the sample agree in all bits of `mask`."""
    headers = np.sort(sample & np.uint64(mask))
    sizes = np.diff(np.flatnonzero(headers[1:] != headers[:-1]), prepend=-1, append=len(sample) - 1)
    return int((sizes * (sizes - 1) // 2).sum())
