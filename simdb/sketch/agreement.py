"""Similarity by signatures: how much of two documents is the same, from how many minima agree."""

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.signatures import Signature, Signatures, check_comparable

# Two independent minima of 8 bits are equal so often.
CHANCE = 1 / 256


def similarities(left: Signature | Signatures, right: Signatures) -> npt.NDArray[np.float32]:
    """The estimated similarity of each of `right` to `left`, one or as many: float32[n].

    Of 32-bit minima it is the share that agrees.  Of 8-bit ones, which agree by chance too,
    J = (m - 1/256) / (1 - 1/256) where m is that share (Li & Koenig 2010), and 0 where that is
    below.  0 for documents without features.
    """
    check_comparable(left.sketch, right.sketch)
    minima = left.minima[None] if isinstance(left, Signature) else left.minima
    shares = kernel.agreements(minima, right.minima) / right.sketch.permutations
    if right.sketch.stored_bits == 8:
        shares = np.maximum((shares - CHANCE) / (1 - CHANCE), 0)
    return np.where(right.is_empty | left.is_empty, 0, shares).astype(np.float32)
