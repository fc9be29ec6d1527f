"""MinHash signatures as values: what `simdb.signature` gives and `simdb.similarity` compares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.errors import InputError, OptionError
from simdb.minhash import Minhash
from simdb.values import describe
from simdb.vector_form import minimum_type

# Two independent minima of 8 bits are equal so often.
CHANCE = 1 / 256
COUNTED_MAX = 255  # what a distance of a match has room for


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The minima of one document under the options `sketch`.

    `minima`: uint32[permutations], or uint8 where `sketch.stored_bits` is 8.  `is_empty`: the
    document has no features; its minima mean nothing and it is similar to nothing.
    """

    minima: npt.NDArray[Any]
    sketch: Minhash
    is_empty: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for minima that are not of those options."""
        _check_minima(self.minima, self.sketch, 1)

    def __eq__(self, other: object) -> bool:
        """Equal options and equal minima."""
        if not isinstance(other, Signature):
            return NotImplemented
        return (
            self.sketch == other.sketch
            and self.is_empty == other.is_empty
            and bool(np.array_equal(self.minima, other.minima))
        )

    def __hash__(self) -> int:
        """By the minima."""
        return hash(self.minima.tobytes())


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """Many signatures under the options `sketch`, as arrays.

    `minima`: uint32[n, permutations], or uint8 where `sketch.stored_bits` is 8.  `is_empty`
    bool[n]: documents without features, which are similar to nothing.
    """

    minima: npt.NDArray[Any]
    sketch: Minhash
    is_empty: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        """Raise InputError for arrays of another type or of unequal lengths."""
        _check_minima(self.minima, self.sketch, 2)
        if self.is_empty.dtype != np.bool_ or self.is_empty.shape != self.minima.shape[:1]:
            raise InputError(
                f"is_empty is bool[{len(self.minima)}], one for each signature,"
                f" not {describe(self.is_empty)}"
            )

    def __len__(self) -> int:
        """How many."""
        return len(self.minima)

    def __getitem__(self, position: int) -> Signature:
        """One of them."""
        return Signature(self.minima[position], self.sketch, bool(self.is_empty[position]))


def estimates(agreeing: npt.ArrayLike, sketch: Minhash) -> npt.NDArray[np.float32]:
    """The similarity where so many minima of two signatures agree.

    Of 32-bit minima it is the share that agrees.  Of 8-bit ones, which agree by chance too,
    J = (m - 1/256) / (1 - 1/256) where m is that share (Li & Koenig 2010), and 0 where that is
    below.
    """
    shares = np.asarray(agreeing, np.float64) / sketch.permutations
    if sketch.stored_bits == 8:
        shares = np.maximum((shares - CHANCE) / (1 - CHANCE), 0)
    return shares.astype(np.float32)


def differing(similarities: npt.NDArray[np.float32], sketch: Minhash) -> npt.NDArray[np.uint8]:
    """How many minima differ at estimates above 0, of which 255 at most are counted: uint8[n]."""
    shares = similarities.astype(np.float64)
    if sketch.stored_bits == 8:
        shares = shares * (1 - CHANCE) + CHANCE
    counts = np.rint((1 - shares) * sketch.permutations)
    return np.minimum(counts, COUNTED_MAX).astype(np.uint8)


def check_comparable(left: Minhash, right: Minhash) -> None:
    """Raise OptionError unless minima under both options agree for equal documents."""
    if left != right:
        raise OptionError(
            f"signatures are compared under the same options, but these are {left} and {right};"
            " make both with one sketch"
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
        raise InputError(f"minima are {np.dtype(dtype)}{shape}, not {describe(minima)}")
