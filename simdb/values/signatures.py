"""MinHash signatures: the values that `simdb.signature` makes and `simdb.similarity` compares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import fixed_rows
from simdb.columns.vector_form import minimum_type, unpack_minima
from simdb.ground import previews
from simdb.ground.errors import InputError, OptionError
from simdb.settings.minhash import Minhash
from simdb.values.arrays import column_of, describe

# The probability that two independent minima of 8 bits are equal.
CHANCE = 1 / 256
_EMPTY = ", of an empty document"
COUNTED_MAX = 255  # the largest distance that a match can hold


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The minima of one document under the options `sketch`.

    `minima`: uint32[permutations], or uint8 if `sketch.stored_bits` is 8.  `is_empty`: the
    document has no features; its minima mean nothing and it is similar to nothing.
    """

    minima: npt.NDArray[Any]
    sketch: Minhash
    is_empty: bool = False

    def __post_init__(self) -> None:
        """Raise InputError if the shape or type of `minima` does not fit `sketch`."""
        _check_minima(self.minima, self.sketch, 1)

    def __eq__(self, other: object) -> bool:
        """Whether options and minima are equal."""
        if not isinstance(other, Signature):
            return NotImplemented
        return (
            self.sketch == other.sketch
            and self.is_empty == other.is_empty
            and bool(np.array_equal(self.minima, other.minima))
        )

    def __hash__(self) -> int:
        """Hash the minima."""
        return hash(self.minima.tobytes())

    def __repr__(self) -> str:
        """Return the number of minima, and the first ones."""
        minima = previews.first_of(self.minima.tolist(), len(self.minima))
        return f"<simdb.Signature of {len(self.minima)} minima: {minima}{_EMPTY * self.is_empty}>"


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """Many signatures under the options `sketch`, as arrays.

    `minima`: uint32[n, permutations], or uint8 if `sketch.stored_bits` is 8.  `is_empty`
    bool[n]: whether a document has no features; such a document is similar to nothing.
    """

    minima: npt.NDArray[Any]
    sketch: Minhash
    is_empty: npt.NDArray[np.bool_]

    @classmethod
    def from_arrow(cls, batch: Any, sketch: Minhash) -> "Signatures":
        """Make signatures of a batch of `Database.sketches`, whose options are `sketch`.

        Raises InputError for a batch without these columns, or of other options.
        """
        is_empty = column_of(batch, "is_empty").to_numpy(zero_copy_only=False)
        rows = fixed_rows(column_of(batch, "signature"))
        if len(rows) and rows.shape[1] != sketch.vector_bytes:
            raise InputError(
                f"signatures of {sketch} have {sketch.vector_bytes} bytes, and these"
                f" {rows.shape[1]}; give the sketch of their database"
            )
        rows = rows.reshape(-1, sketch.vector_bytes)
        return cls(unpack_minima(rows, sketch.stored_bits), sketch, np.asarray(is_empty, np.bool_))

    def __post_init__(self) -> None:
        """Raise InputError for arrays of another type or of unequal lengths."""
        _check_minima(self.minima, self.sketch, 2)
        if self.is_empty.dtype != np.bool_ or self.is_empty.shape != self.minima.shape[:1]:
            raise InputError(
                f"is_empty must be bool[{len(self.minima)}], one for each signature,"
                f" got {describe(self.is_empty)}"
            )

    def __len__(self) -> int:
        """Count the signatures."""
        return len(self.minima)

    def __getitem__(self, position: int) -> Signature:
        """Give the signature at one position."""
        return Signature(self.minima[position], self.sketch, bool(self.is_empty[position]))

    def __repr__(self) -> str:
        """Return the number of signatures, and of their minima."""
        size = previews.counted(len(self), "signature")
        return f"<simdb.Signatures: {size} of {self.sketch.permutations} minima>"


def estimates(agreeing: npt.ArrayLike, sketch: Minhash) -> npt.NDArray[np.float32]:
    """Estimate similarities from the number of `agreeing` minima of two signatures: float32[n].

    For 32-bit minima the estimate is m, the share of minima that agree.  Minima of 8 bits also
    agree by chance, so for them the estimate is J = (m - 1/256) / (1 - 1/256) (Li & Koenig 2010),
    or 0 if that is negative.
    """
    shares = np.asarray(agreeing, np.float64) / sketch.permutations
    if sketch.stored_bits == 8:
        shares = np.maximum((shares - CHANCE) / (1 - CHANCE), 0)
    return shares.astype(np.float32)


def differing(similarities: npt.NDArray[np.float32], sketch: Minhash) -> npt.NDArray[np.uint8]:
    """Count the minima that differ, from estimates above 0; 255 means 255 or more: uint8[n]."""
    shares = similarities.astype(np.float64)
    if sketch.stored_bits == 8:
        shares = shares * (1 - CHANCE) + CHANCE
    counts = np.rint((1 - shares) * sketch.permutations)
    return np.minimum(counts, COUNTED_MAX).astype(np.uint8)


def check_comparable(left: Minhash, right: Minhash) -> None:
    """Raise OptionError unless both signatures were made with the same options."""
    if left != right:
        raise OptionError(
            f"signatures of different options cannot be compared: {left} and {right};"
            " make both with the same sketch"
        )


def _check_minima(minima: object, sketch: Minhash, dimensions: int) -> None:
    dtype = minimum_type(sketch.stored_bits)
    is_right = (
        isinstance(minima, np.ndarray)
        and minima.dtype == dtype
        and minima.ndim == dimensions
        and minima.shape[-1] == sketch.permutations
    )
    if not is_right:
        shape = f"[{'n, ' * (dimensions - 1)}{sketch.permutations}]"
        raise InputError(f"minima must be {np.dtype(dtype)}{shape}, got {describe(minima)}")
