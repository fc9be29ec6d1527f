"""Documents: features, stored documents, and the types of what the verbs take as one document.

Text as `str`, or as UTF-8 `bytes`; a list of tokens; `Features`; a `Fingerprint`, or a `Signature`
in a database of signatures; a vector, which is a float array of one dimension or one row of a CSR
matrix; a ready fingerprint, which is a whole number from 0 to 2**64 - 1.

A type checker then finds `query(3.5)` and `query(None)`.  At run time documents are checked as
before.  Code that passes a document on can name its type:
`def seen(document: simdb.DocumentLike) -> bool`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import InputError
from simdb.values.arrays import Fingerprint, IdT_co, aligned, describe
from simdb.values.signatures import Signature


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


class CsrRow(Protocol):
    """One row of a CSR matrix, such as scipy's: the attributes by which it is recognised."""

    @property
    def indptr(self) -> Any:
        """Where each row begins and ends in the other arrays: integer[2]."""

    @property
    def indices(self) -> Any:
        """The column of each entry."""

    @property
    def data(self) -> Any:
        """The value of each entry."""

    @property
    def shape(self) -> Any:
        """The numbers of rows and of columns."""


DocumentLike: TypeAlias = (
    str
    | bytes
    | Sequence[str | bytes]
    | Features
    | Fingerprint
    | Signature
    | npt.NDArray[np.floating[Any]]
    | CsrRow
    | int
    | np.integer[Any]
)


@dataclass(frozen=True, slots=True)
class Document(Generic[IdT_co]):
    """A stored document: the user's id, its fingerprint and the metadata given with it.

    The weights of the fingerprint are as stored: odd whole numbers from -15 to 15.  `signature` is
    None unless the database stores MinHash signatures; then the bits of `fingerprint` are a hash of
    the signature, so equal signatures have equal fingerprints.
    """

    id: IdT_co
    fingerprint: Fingerprint
    metadata: Any = None
    signature: "Signature | None" = None
