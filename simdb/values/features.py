"""Features: a document as hashes and weights, and the features of a document with their texts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import InputError
from simdb.values.arrays import aligned, describe


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """A document as feature hashes, uint64[f], and weights, float[f]; None means weights of 1."""

    hashes: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Raise InputError for arrays of another type, not finite or of unequal lengths."""
        hashes = self.hashes
        if not isinstance(hashes, np.ndarray) or hashes.dtype != np.uint64 or hashes.ndim != 1:
            raise InputError(
                f"hashes must be a uint64 array of one dimension, got {describe(hashes)}"
            )
        object.__setattr__(self, "hashes", aligned(hashes, np.uint64))
        if self.weights is None:
            return
        try:
            with np.errstate(over="ignore"):  # becomes infinity, which is refused below
                weights = aligned(self.weights, np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"weights must be finite numbers, one for each hash, got {describe(self.weights)}"
            ) from error
        if weights.shape != hashes.shape or not np.isfinite(weights).all():
            raise InputError(
                f"weights must be {len(hashes)} finite numbers, one for each hash,"
                f" got {describe(self.weights)}"
            )
        object.__setattr__(self, "weights", weights)


@dataclass(frozen=True, slots=True, eq=False)
class NamedFeatures:
    """The distinct features of a document, each with its text.

    `shingles`: the tokens of each feature as they are in the document; `hashes` uint64[f];
    `weights` float64[f].
    """

    shingles: list[str]
    hashes: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float64]

    def __len__(self) -> int:
        """Count the features."""
        return len(self.shingles)
