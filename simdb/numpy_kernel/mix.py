"""Mix: the arithmetic of MurmurHash3_x64_128 that other modules share, in numpy."""

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]

# Word k of a given feature, from k = 1 on, is fmix64(first word ^ k times this constant).
SECOND_WORD = np.uint64(0x9E3779B97F4A7C15)


def fmix64(words: U64) -> U64:
    """Return each word through the finaliser of MurmurHash3_x64_128."""
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> np.uint64(33)


def word_of(first: U64, number: int) -> U64:
    """Return word `number`, from 1 on, of features given by their first words."""
    return fmix64(first ^ np.uint64(number * int(SECOND_WORD) % 2**64))


def bits_of(both: U64, dimensions: int) -> U8:
    """Return the bits of features, least significant first: uint8[n, dimensions].

    `both` uint64[n, 2]: their first two words; the others are made of the first.
    """
    others = [word_of(both[:, 0], number) for number in range(2, dimensions // 64)]
    words = np.column_stack([both, *others])
    content = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(content, axis=1, bitorder="little")
