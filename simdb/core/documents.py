"""Documents: features, signatures, stored documents, and the types that verbs take as a document.

A document can be:

* text as `str` or as UTF-8 `bytes`, or a list of tokens;
* `Features`, a `Fingerprint`, or a `Signature` in a database of signatures;
* a vector: a float array of one dimension, or one row of a CSR matrix;
* a ready fingerprint: a whole number from 0 to 2**64 - 1.

With `DocumentLike`, a type checker refuses `query(3.5)` and `query(None)`.  Programs can use it,
too: `def seen(document: simdb.DocumentLike) -> bool`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from simdb.core import previews
from simdb.core.arrays import Fingerprint, IdT_co, aligned, column_of, describe
from simdb.core.arrow import fixed_rows
from simdb.core.errors import InputError, OptionError
from simdb.core.foreign import hinting
from simdb.core.options import Minhash
from simdb.core.values import dataclass
from simdb.core.vector_form import minimum_type, unpack_minima

_EMPTY = ", of an empty document"
PICKLED = "of a pickled or copied object, db.get(id).text reads the text"
NO_TEXT = "no texts are stored; create a database with Options(texts=True), or look up your own"
COUNTED_MAX = 255  # the largest distance that a match can hold


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """A document as feature hashes with weights.

    Parameters
    ----------
    hashes : ndarray
        Hashes of the features, uint64[f].
    weights : ndarray, optional
        Weights of the features, float[f]; each is 1 if not given.

    Raises
    ------
    InputError
        If an array has another type, the lengths differ, or a weight is not finite.
    """

    hashes: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a wrong type, unequal lengths, or weights that are not finite."""
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

    `shingles`: the tokens of each feature as they are in the document.  `hashes` uint64[f],
    `weights` float64[f].
    """

    shingles: list[str]
    hashes: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float64]

    def __len__(self) -> int:
        """Count the features."""
        return len(self.shingles)


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The minima of one document under the options `sketch`.

    Parameters
    ----------
    minima : ndarray
        The minima, uint32[permutations], or uint8 if `sketch.stored_bits` is less than 32.
    sketch : Minhash
        The options.
    is_empty : bool, default False
        Whether the document has no features.  Its minima then mean nothing, and it never matches.

    Raises
    ------
    InputError
        If the shape or type of `minima` does not fit `sketch`.
    """

    minima: npt.NDArray[Any]
    sketch: Minhash
    is_empty: bool = False

    def __post_init__(self) -> None:
        """Raise InputError if the shape or type of `minima` does not fit `sketch`."""
        _check_minima(self.minima, self.sketch, 1)

    def __eq__(self, other: object) -> bool:
        """Return whether the options, minima and `is_empty` are equal."""
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
        """Return the number of minima and the first ones."""
        minima = previews.first_of(self.minima.tolist(), len(self.minima))
        return f"<simdb.Signature of {len(self.minima)} minima: {minima}{_EMPTY * self.is_empty}>"


class CsrRow(Protocol):
    """One row of a CSR matrix, such as scipy's, recognised by its attributes."""

    @property
    def indptr(self) -> Any:
        """The start and end of the row in the other arrays: integer[2]."""

    @property
    def indices(self) -> Any:
        """The column of each entry."""

    @property
    def data(self) -> Any:
        """The value of each entry."""

    @property
    def shape(self) -> Any:
        """The number of rows and the number of columns."""


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


class StoredText:
    """A stored document or match whose text is read by `_reader`, which only `readable` sets."""

    __slots__ = ("_reader",)
    _reader: Any

    @property
    def text(self) -> str | None:
        """The stored text, read on access; None if the document was not a text.

        It is the text that is now stored under this id, even if the document was replaced since.  A
        document that a snapshot or transaction found has the text of that snapshot or transaction.

        Raises
        ------
        OptionError
            If the database stores no texts, or this object was pickled or copied.  In the latter
            case `db.get(id).text` reads the text.
        NotFoundError
            If the document was deleted.
        """
        try:
            reader = self._reader
        except AttributeError:
            raise OptionError(f"{NO_TEXT}; {PICKLED}") from None
        (found,) = reader.texts_many([self.id])  # type: ignore[attr-defined]
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Document(StoredText, Generic[IdT_co]):
    """A stored document.

    Attributes
    ----------
    id : str, bytes or int
        The user's id.
    fingerprint : Fingerprint
        The fingerprint.  Its weights are as stored: odd whole numbers from -15 to 15.
    metadata : object
        The user's metadata.
    signature : Signature or None
        The signature, if the database stores MinHash signatures.  The bits of `fingerprint` are
        then a hash of the signature, so equal signatures have equal fingerprints.

    Notes
    -----
    With `Options(texts=True)`, `text` reads the text that is stored under the id at that time.  A
    document of a snapshot or transaction reads the text of that snapshot or transaction.
    """

    id: IdT_co
    fingerprint: Fingerprint
    metadata: Any = None
    signature: "Signature | None" = None

    if not TYPE_CHECKING:
        __getattr__ = hinting("Document")


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """The signatures of many documents under the options `sketch`, as arrays.

    Parameters
    ----------
    minima : ndarray
        The minima, uint32[n, permutations], or uint8 if `sketch.stored_bits` is less than 32.
    sketch : Minhash
        The options.
    is_empty : ndarray
        Whether each document has no features, bool[n]; such a document never matches.

    Raises
    ------
    InputError
        If the arrays have another type or unequal lengths.
    """

    minima: npt.NDArray[Any]
    sketch: Minhash
    is_empty: npt.NDArray[np.bool_]

    @classmethod
    def from_arrow(cls, batch: Any, sketch: Minhash) -> "Signatures":
        """Make signatures of a batch of `Database.sketches`.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or pyarrow.Table
            The batch.
        sketch : Minhash
            The options of its database.

        Returns
        -------
        Signatures
            The signatures.

        Raises
        ------
        InputError
            If a column of `Database.sketches` is missing, or the signatures have another size.
        """
        is_empty = column_of(batch, "is_empty").to_numpy(zero_copy_only=False)
        rows = fixed_rows(column_of(batch, "signature"))
        if len(rows) and rows.shape[1] != sketch.vector_bytes:
            raise InputError(
                f"signatures of {sketch} have {sketch.vector_bytes} bytes, but these have"
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
        """Return the signature at one position."""
        return Signature(self.minima[position], self.sketch, bool(self.is_empty[position]))

    def __repr__(self) -> str:
        """Return the number of signatures and the number of their minima."""
        size = previews.counted(len(self), "signature")
        return f"<simdb.Signatures: {size} of {self.sketch.permutations} minima>"


def estimates(agreeing: npt.ArrayLike, sketch: Minhash) -> npt.NDArray[np.float32]:
    """Estimate similarities from the number of `agreeing` minima of two signatures: float32[n].

    For 32-bit minima, the estimate is m, the share of minima that agree.  Minima of b bits also
    agree by chance, once in 2^b.  Their estimate is (m - 2^-b) / (1 - 2^-b), or 0 if negative (Li &
    Koenig 2010, section 2, for sets much smaller than the universe of features).
    """
    shares = np.asarray(agreeing, np.float64) / sketch.permutations
    chance = sketch.chance
    return np.maximum((shares - chance) / (1 - chance), 0).astype(np.float32)


def differing(similarities: npt.NDArray[np.float32], sketch: Minhash) -> npt.NDArray[np.uint8]:
    """Compute the number of differing minima from estimates; 255 means 255 or more: uint8[n].

    The estimate 0 does not tell how many minima differ; it gives the number expected by chance.
    """
    shares = 1 - similarities.astype(np.float64)
    counts = np.rint(shares * (1 - sketch.chance) * sketch.permutations)
    return np.minimum(counts, COUNTED_MAX).astype(np.uint8)


def check_comparable(left: Minhash, right: Minhash) -> None:
    """Raise OptionError unless both signatures were made with the same options."""
    if left != right:
        raise OptionError(
            f"signatures of different options cannot be compared: {left} and {right};"
            " make both with the same sketch"
        )


def _check_minima(minima: Any, sketch: Minhash, dimensions: int) -> None:
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
    bits = sketch.stored_bits
    if bits < 8 and (minima >> np.uint8(bits)).any():
        raise InputError(f"minima of stored_bits={bits} are below {2**bits}, got {minima.max()}")
