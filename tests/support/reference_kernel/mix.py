"""Mix: the further words of a feature, and the bits of all of them, in numpy."""

import numpy as np
import numpy.typing as npt

from simdb.mix import SECOND_WORD, fmix64

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]


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
