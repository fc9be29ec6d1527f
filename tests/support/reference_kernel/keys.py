"""Keys: turns fingerprints into keys of tables, and ranges of keys into positions, in numpy."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from reference_kernel.vectors import SLICE
from simdb.bits import ALL_BITS, FINGERPRINT_BITS

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


def leading_bits(width: int) -> int:
    """Return the mask of the top `width` bits of a word."""
    return ALL_BITS ^ (ALL_BITS >> width)


def permute(fingerprints: U64, mask: int) -> U64:
    """Return the keys of a table: bits in `mask` in front, each group in its old order."""
    keys = np.zeros_like(fingerprints)
    for shift, width in _stretches(mask):
        stretch = (fingerprints >> np.uint64(shift)) & np.uint64((1 << width) - 1)
        keys = (keys << np.uint64(width)) | stretch
    return keys


def permuted_one(fingerprint: int, mask: int) -> int:
    """Return the key of one fingerprint."""
    return int(permute(np.array([fingerprint], np.uint64), mask)[0])


def _stretches(mask: int) -> list[tuple[int, int]]:
    """Return position and width of neighbouring bits that stay together, in the order of a key."""
    result: list[tuple[int, int]] = []
    for part in (mask, mask ^ ALL_BITS):
        while part:
            stop = part.bit_length()
            start = (part ^ ((1 << stop) - 1)).bit_length()
            result.append((start, stop - start))
            part &= (1 << start) - 1
    return result


def weight_order(mask: int) -> list[int]:
    """Return which bit of a fingerprint each bit of a key is, the highest bit of the key first."""
    places = range(FINGERPRINT_BITS - 1, -1, -1)
    return sorted(places, key=lambda place: (not mask >> place & 1, -place))


def key_ranges(starts: I64, stops: I64) -> Iterator[tuple[I64, I64]]:
    """Yield range numbers and positions of all entries of the ranges, some ranges at a time."""
    ends = np.cumsum(stops - starts)
    done = 0
    while done < len(starts):
        before = ends[done - 1] if done else 0
        upto = max(done + 1, int(np.searchsorted(ends, before + SLICE, side="right")))
        lengths = (stops - starts)[done:upto]
        numbers = np.repeat(np.arange(done, upto), lengths)
        shifts = starts[done:upto] - (ends[done:upto] - lengths - before)
        yield numbers, np.repeat(shifts, lengths) + np.arange(lengths.sum())
        done = upto


def is_first(numbers: I64) -> npt.NDArray[np.bool_]:
    """Return whether each number differs from the number before it."""
    return np.concatenate([np.ones(len(numbers[:1]), np.bool_), numbers[1:] != numbers[:-1]])
