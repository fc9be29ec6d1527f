"""Sweep: finds all pairs in one sorted table, in numpy.

`simdb_ext/_search.pyi` has the contract.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference_kernel.keys import key_ranges, leading_bits, permuted_one
from reference_kernel.reach import TableFlips, flips_of_tables, is_reached
from reference_kernel.vectors import array
from simdb.bits import ALL_BITS, FINGERPRINT_BITS, bit_counts

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
    flips: TableFlips = 0,
    flipped: int = 0,
    width: int | None = None,
    stop: int | None = None,
) -> tuple[int, int, int]:
    """Write the pairs of one sorted table within `distance` whose headers differ in `flipped`.

    Return how many were written, and the cursor to continue from.
    """
    _check_sweep(keys, ordinals, masks, table, distance, cursor, stop)
    limits = flips_of_tables(flips, len(masks))
    header = leading_bits(masks[table].bit_count() if width is None else width)
    turned = permuted_one(flipped, masks[table])
    if turned & ~header or (width is not None and not 0 <= width <= FINGERPRINT_BITS):
        raise ValueError(f"no header of {width} bits, or flipped {flipped:#x} is not in it")
    capacity = len(array(left, np.uint32))
    lengths = {capacity, len(array(right, np.uint32)), len(array(distances, np.uint8))}
    if capacity == 0 or len(lengths) > 1:
        raise ValueError("the three outputs need one length, at least 1")
    earlier = [permuted_one(mask, masks[table]) for mask in masks[:table]]
    first, start = cursor
    own = leading_bits(masks[table].bit_count())
    groups = keys & np.uint64(header)
    written = 0
    last = len(keys) if stop is None else stop
    while first < last:
        block = np.arange(first, min(first + 4096, last))
        starts = block + 1
        starts[0] = start
        wanted = groups[block] ^ np.uint64(turned)
        starts = np.maximum(starts, np.searchsorted(groups, wanted))
        stops = np.searchsorted(groups, wanted, side="right")
        for numbers, positions in key_ranges(starts, np.maximum(stops, starts)):
            difference = keys[positions] ^ keys[block[numbers]]
            measured = bit_counts(difference)
            is_pair = (measured <= distance) & is_reached(difference, own, limits[table])
            for mask, most in zip(earlier, limits, strict=False):
                is_pair &= ~is_reached(difference, mask, most)
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
    return written, last, last + 1


def _check_sweep(
    keys: U64,
    ordinals: U32,
    masks: Sequence[int],
    table: int,
    distance: int,
    place: tuple[int, int],
    stop: int | None,
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
    if stop is not None and not 0 <= stop <= len(keys):
        raise ValueError(f"stop {stop} is not 0 to {len(keys)}")
