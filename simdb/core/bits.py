"""Blocks of bits: the blocks of a 64-bit fingerprint, and the leading blocks of each table.

A fingerprint is cut into `blocks` groups of adjacent bits, wider groups first (64 bits in 6 blocks:
11, 11, 11, 11, 10, 10).  For each choice of `leading` blocks, one table sorts the fingerprints with
these blocks in front: block-permuted Hamming search, BPHS (Manku, Jain & Das Sarma 2007, section
3).  So the mask of its leading bits describes a table.  All other bits follow in their old order.
"""

from collections.abc import Iterator
from itertools import chain, combinations
from math import comb

import numpy as np
import numpy.typing as npt

from simdb.core.dtypes import U8, U32, U64, Bools

FINGERPRINT_BITS = 64
ALL_BITS = (1 << FINGERPRINT_BITS) - 1
HASH_BITS_STEP, HASH_BITS_MOST = 32, 512  # the bits of a hash are a multiple of the step
# For k >= 1, word k of a given feature is fmix64(first word ^ k times this constant).
SECOND_WORD = np.uint64(0x9E3779B97F4A7C15)


def block_masks(blocks: int) -> list[int]:
    """Make one mask for each block, from the most significant block to the least."""
    width, wider = divmod(FINGERPRINT_BITS, blocks)
    masks = []
    stop = FINGERPRINT_BITS
    for block in range(blocks):
        start = stop - width - (1 if block < wider else 0)
        masks.append((1 << stop) - (1 << start))
        stop = start
    return masks


def leading_masks(blocks: int, leading: int) -> list[int]:
    """Make the mask of leading bits of each of the C(`blocks`, `leading`) tables."""
    return [sum(chosen) for chosen in combinations(block_masks(blocks), leading)]


def header_mask(mask: int, header_bits: int) -> int:
    """Make the mask of the bits of a fingerprint that are the header of its key.

    The header is the `header_bits` highest bits of a key in which `mask` leads; see `key_order`.
    """
    return sum(1 << bit for bit in key_order(mask)[:header_bits])


def key_order(mask: int) -> list[int]:
    """List the bits of a fingerprint in the order of a key in which `mask` leads.

    The bits in `mask` precede all others; both groups begin with their most significant bit.
    """
    return [*reversed([*set_bits(mask)]), *reversed([*set_bits(ALL_BITS ^ mask)])]


def distance_served(blocks: int, leading: int, flips: int) -> int:
    """Compute the largest distance that is always found with up to `flips` flipped header bits.

    A pair is missed only if every choice of `leading` blocks holds at least `flips + 1` differing
    bits.  The fewest differing bits that do this are `flips + 1` bits, spread evenly over `leading`
    blocks, and in every other block the number of the fullest of these.
    """
    needed = flips + 1
    return needed + (blocks - leading) * -(-needed // leading) - 1


def flip_count(header_bits: int, flips: int) -> int:
    """Count the ways to flip at most `flips` of `header_bits` bits."""
    return sum(comb(header_bits, count) for count in range(min(flips, header_bits) + 1))


def flip_sets(mask: int, flips: int) -> Iterator[int]:
    """Return an iterator over all sets of at most `flips` bits of `mask`, as masks, by size.

    There are none if `flips` is below 0.
    """
    bits = [1 << position for position in set_bits(mask)]
    sizes = range(min(flips, len(bits)) + 1)
    return map(sum, chain.from_iterable(combinations(bits, size) for size in sizes))


def set_bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits of `mask`, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def rotation_amounts(rotations: int) -> list[int]:
    """Return the number of bits by which each of 1 to 64 `rotations` turns a fingerprint."""
    return [FINGERPRINT_BITS * number // rotations for number in range(rotations)]


def rotated(words: U64, amount: int) -> U64:
    """Return a copy of the words, rotated left by `amount` bits (0 to 63)."""
    if amount == 0:
        return words.copy()
    low = np.uint64(FINGERPRINT_BITS - amount)
    return (words << np.uint64(amount)) | (words >> low)


def is_set(flags: U8, positions: U32) -> Bools:
    """Return whether the bit at each position is set in a `bitmap`: bool[n]."""
    found = flags[positions >> 3] >> (positions & 7).astype(np.uint8)
    return np.asarray(found & 1, np.bool_)


def bitmap(positions: npt.NDArray[np.integer], count: int) -> U8:
    """Make a bitmap of `count` bits, set at `positions`; the lowest bit of a byte is its first."""
    flags = np.zeros(-(-count // 8) * 8, np.uint8)
    flags[positions] = 1
    return np.packbits(flags, bitorder="little")


def fmix64(words: U64) -> U64:
    """Apply the finaliser of MurmurHash3_x64_128 to each word."""
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> np.uint64(33)
