"""The permutations of MinHash: the numbers that a seed stands for, and what makes one family."""

import numpy as np
import numpy.typing as npt

from simdb.minhash import MERSENNE as MERSENNE_FAMILY
from simdb.minhash import Minhash
from simdb.numpy_kernel.minima import MERSENNE
from simdb.numpy_kernel.mix import SECOND_WORD, fmix64

Family = tuple[str, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]

# So that the permutations have nothing to do with the hash of features under the same seed.
_BEGINNING = np.uint64(0x6D696E68617368)


def narrowed(minima: npt.NDArray[np.uint32], family: Family) -> npt.NDArray[np.uint8]:
    """Minima of 8 bits from those of 32: the highest ones of a product with an odd number.

    It is another number for each permutation.  The lowest bits as they are would not do: those of
    a x + b are decided by the lowest ones of x, so two documents of one feature that have these in
    common would agree in half of all minima.
    """
    factors = (family[1] >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return (minima * factors >> np.uint32(24)).astype(np.uint8)


def permutations_of(options: Minhash) -> Family:
    """The family as the kernel takes it: name, multipliers and increments uint64[permutations].

    Permutation i does not depend on how many there are.
    """
    count = options.permutations
    start = fmix64(np.array([options.seed], np.uint64) ^ _BEGINNING)
    words = fmix64(start + SECOND_WORD * np.arange(1, 2 * count + 1, dtype=np.uint64))
    multipliers, increments = words[0::2], words[1::2]
    if options.family == MERSENNE_FAMILY:
        prime = np.uint64(MERSENNE)
        return (
            options.family,
            multipliers % (prime - np.uint64(1)) + np.uint64(1),
            (increments % prime),
        )
    return options.family, multipliers | np.uint64(1), np.ascontiguousarray(increments)
