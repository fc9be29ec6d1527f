"""Mix: turns words of 64 bits into others that look random, as MurmurHash3_x64_128 ends."""

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]

# Word k of a given feature, from k = 1 on, is fmix64(first word ^ k times this constant).
SECOND_WORD = np.uint64(0x9E3779B97F4A7C15)


def fmix64(words: U64) -> U64:
    """Return each word through the finaliser of MurmurHash3_x64_128."""
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> np.uint64(33)
