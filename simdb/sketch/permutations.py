"""MinHash permutations: derives the numbers of a permutation family from a seed.

They also say how a minimum of 32 bits is cut to 8.
"""

import numpy as np
import numpy.typing as npt

from simdb.ground.bits import SECOND_WORD, fmix64
from simdb.settings.minhash import MERSENNE as MERSENNE_FAMILY
from simdb.settings.minhash import PERMUTATIONS_STEP, STRATIFIED, Minhash

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Family = tuple[str, U64, U64]  # name, multipliers, increments

MERSENNE = (1 << 61) - 1
# Makes the permutations independent of the hash of features, which uses the same seed.
_BEGINNING = np.uint64(0x6D696E68617368)


def permutations_of(options: Minhash) -> Family:
    """Return the family for the kernel: name, multipliers and increments uint64[n].

    There are as many as `options` says, or a few more, so that they are a multiple of the kernel's
    step.  Permutation i does not depend on their number, but for "stratified".
    """
    count = -(-options.permutations // PERMUTATIONS_STEP) * PERMUTATIONS_STEP
    start = fmix64(np.array([options.seed], np.uint64) ^ _BEGINNING)
    words = fmix64(start + SECOND_WORD * np.arange(1, 2 * count + 1, dtype=np.uint64))
    multipliers, increments = words[0::2], words[1::2]
    if options.family == STRATIFIED and options.is_of_sets:
        return options.family, _spaced(multipliers), np.ascontiguousarray(increments)
    if options.family == MERSENNE_FAMILY:
        prime = np.uint64(MERSENNE)
        return (
            options.family,
            multipliers % (prime - np.uint64(1)) + np.uint64(1),
            (increments % prime),
        )
    return options.family, multipliers | np.uint64(1), np.ascontiguousarray(increments)


def _spaced(drawn: U64) -> U64:
    """Return multipliers whose lower halves are evenly spaced words of 32 bits, in a drawn order.

    The order matters for bands: the ranks of values at equal distances go together, and bands of
    them would do so, too.
    """
    bits = (len(drawn) - 1).bit_length()
    order = np.argsort(drawn, kind="stable").astype(np.uint64)
    return drawn >> np.uint64(32) << np.uint64(32) | order << np.uint64(32 - bits)


def narrowed(minima: U32, family: Family) -> U8:
    """Return 8-bit minima: the highest 8 bits of each 32-bit minimum times an odd number.

    The minima are of the first permutations of the family.  Each permutation has its own odd
    number.  The lowest 8 bits of a minimum would not do: the lowest bits of a x + b depend only on
    the lowest bits of x, so two documents of one feature each whose hashes share these bits would
    agree in half of all minima.
    """
    multipliers = family[1][: minima.shape[1]]
    factors = (multipliers >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return (minima * factors >> np.uint32(24)).astype(np.uint8)
