"""Sweep: finds all pairs in one sorted table, in numpy.

`simdb_ext/_search.pyi` has the contract.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simdb.bits import ALL_BITS, FINGERPRINT_BITS, bit_counts
from simdb.numpy_kernel.keys import key_ranges, leading_bits, permuted_one
from simdb.numpy_kernel.vectors import array

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


def sweep(
    keys: U64,
    ordinals: U32,
    masks: Sequence[int],
    table: int,
    distance: int,
    cursor: tuple[int, int],
    left: U32,
    right: U32,
    distances: U8,
) -> tuple[int, int, int]:
    """Write the pairs of one sorted table within `distance` that agree in the bits masks[table].

    Return how many were written, and the cursor to continue from.
    """
    _check_sweep(keys, ordinals, masks, table, distance, cursor)
    capacity = len(array(left, np.uint32))
    lengths = {capacity, len(array(right, np.uint32)), len(array(distances, np.uint8))}
    if capacity == 0 or len(lengths) > 1:
        raise ValueError("the three outputs need one length, at least 1")
    earlier = [permuted_one(mask, masks[table]) for mask in masks[:table]]
    first, start = cursor
    groups = keys & leading_bits(masks[table].bit_count())
    written = 0
    while first < len(keys):
        block = np.arange(first, min(first + 4096, len(keys)))
        starts = block + 1
        starts[0] = start
        stops = np.searchsorted(groups, groups[block], side="right")
        for numbers, positions in key_ranges(starts, np.maximum(stops, starts)):
            difference = keys[positions] ^ keys[block[numbers]]
            measured = bit_counts(difference)
            is_pair = measured <= distance
            for mask in earlier:
                is_pair &= (difference & mask) != 0
            one, other = block[numbers[is_pair]], positions[is_pair]
            fits = min(len(one), capacity - written)
            window = slice(written, written + fits)
            left[window] = np.minimum(ordinals[one], ordinals[other])[:fits]
            right[window] = np.maximum(ordinals[one], ordinals[other])[:fits]
            distances[window] = measured[is_pair][:fits]
            written += fits
            if fits < len(one):
                return written, int(one[fits]), int(other[fits])
        first = int(block[-1]) + 1
        start = first + 1
    return written, len(keys), len(keys) + 1


def _check_sweep(
    keys: U64,
    ordinals: U32,
    masks: Sequence[int],
    table: int,
    distance: int,
    place: tuple[int, int],
) -> None:
    """Raise ValueError for arguments of a sweep that are out of range."""
    if len(array(keys, np.uint64)) != len(array(ordinals, np.uint32)):
        raise ValueError(f"{len(keys)} keys but {len(ordinals)} ordinals")
    if not all(0 <= mask <= ALL_BITS for mask in masks) or not 0 <= table < len(masks):
        raise ValueError(f"no table {table}, or a mask of more than 64 bits")
    if not 0 <= distance <= FINGERPRINT_BITS:
        raise ValueError(f"distance {distance} is not 0 to 64")
    if not 0 <= place[0] < place[1]:
        raise ValueError(f"no cursor {place}: wanted (i, j), 0 <= i < j")
