"""Numbers: which numbers stand in texts, so that texts that differ in digits alone are told apart.

A number is a run of decimal digits of any script, as long as it can be: "3.50" has the numbers 3
and 50, and "007" is not 7.  The digits of all texts are found at once.  A text is summed up as one
hash, that of the multiset of its numbers; the order of numbers does not matter.
"""

import sys
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from simdb.ground.bits import fmix64
from simdb.values.arrays import offsets_of

# The hash of a number is a polynomial in this odd constant, which is mixed afterwards.
BASE = np.uint64(0x9E3779B97F4A7C15)
# All decimal digits of Unicode have smaller code points.
CODES = 1 << 17
NO_DIGIT = 255

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]


def numbers_in(texts: Sequence[str]) -> U64:
    """Return a hash of the numbers of each text: equal for equal numbers, 0 for none: uint64[n]."""
    digits = _digits("\n".join(texts))
    places = np.flatnonzero(digits < 10)
    firsts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    if not len(firsts):
        return np.zeros(len(texts), np.uint64)
    mixed = fmix64(_hashes(digits[places], firsts))
    sums = np.append(np.uint64(0), np.cumsum(mixed))
    starts = offsets_of([len(text) + 1 for text in texts])
    bounds = np.searchsorted(places[firsts], starts)
    found: U64 = sums[bounds[1:]] - sums[bounds[:-1]]
    return found


def _hashes(digits: U8, firsts: I64) -> U64:
    """Return a hash of each run of digits that begins at one of `firsts`."""
    lengths = np.diff(firsts, append=len(digits))
    powers = np.cumprod(np.full(int(lengths.max()), BASE))
    within = np.arange(len(digits)) - np.repeat(firsts, lengths)
    # A leading zero counts, so digits are counted from 1 on.
    found: U64 = np.add.reduceat((digits + np.uint64(1)) * powers[within], firsts)
    return found


def _digits(text: str) -> U8:
    """Return the value of each character that is a decimal digit, and a larger one for others."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8) - np.uint8(ord("0"))
    codes = np.frombuffer(text.encode("utf-32-" + sys.byteorder[:1] + "e", "surrogatepass"), "u4")
    found: U8 = _values()[np.minimum(codes, CODES - 1)]
    return found


@cache
def _values() -> U8:
    """Return the value of each code point as a decimal digit, `NO_DIGIT` for others."""
    values = np.full(CODES, NO_DIGIT, np.uint8)
    for code in range(CODES):
        if chr(code).isdecimal():
            values[code] = int(chr(code))
    return values
