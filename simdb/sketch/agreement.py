"""Similarity by signatures: how much of two documents is the same, from how many minima agree."""

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.signatures import Signature, Signatures, check_comparable, estimates


def similarities(left: Signature | Signatures, right: Signatures) -> npt.NDArray[np.float32]:
    """The estimated similarity of each of `right` to `left`, one or as many: float32[n].

    See `signatures.estimates`; 0 for documents without features.
    """
    check_comparable(left.sketch, right.sketch)
    minima = left.minima[None] if isinstance(left, Signature) else left.minima
    measured = estimates(kernel.agreements(minima, right.minima), right.sketch)
    return np.where(right.is_empty | left.is_empty, np.float32(0), measured)
