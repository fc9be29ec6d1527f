"""Reach: which fingerprints a table reaches with the flips that it may use, in numpy."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simdb.bits import FINGERPRINT_BITS, bit_counts

U64 = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
# How many leading bits may be flipped: one number for all tables, or one for each.
TableFlips = int | Sequence[int]


def flips_of_tables(flips: TableFlips, count: int) -> list[int]:
    """Return the flips of each of `count` tables; ValueError for flips that are out of range."""
    if isinstance(flips, int):
        if not 0 <= flips <= FINGERPRINT_BITS:
            raise ValueError(f"flips is {flips}, not 0 to {FINGERPRINT_BITS}")
        return [flips] * count
    if len(flips) != count:
        raise ValueError(f"flips of {len(flips)} tables, but there are {count}")
    if not all(-1 <= each <= FINGERPRINT_BITS for each in flips):
        raise ValueError(f"flips of tables are {flips}, not -1 to {FINGERPRINT_BITS}")
    return list(flips)


def is_reached(differences: U64, mask: int, flips: int) -> Flags:
    """Return whether at most `flips` bits of `mask` differ; never, if `flips` is below 0."""
    return np.asarray(bit_counts(differences & np.uint64(mask)).astype(np.int16) <= flips, np.bool_)
