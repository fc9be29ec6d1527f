"""MinHash permutations: derives the numbers of a permutation family from a seed."""

import numpy as np

from simdb.minhash import MERSENNE as MERSENNE_FAMILY
from simdb.minhash import Minhash
from simdb.numpy_kernel.minima import MERSENNE, Family
from simdb.numpy_kernel.mix import SECOND_WORD, fmix64

# Makes the permutations independent of the hash of features, which uses the same seed.
_BEGINNING = np.uint64(0x6D696E68617368)


def permutations_of(options: Minhash) -> Family:
    """Return the family for the kernel: name, multipliers and increments uint64[permutations].

    Permutation i does not depend on the number of permutations.
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
