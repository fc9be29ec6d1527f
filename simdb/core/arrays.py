"""Arrays: fingerprints as users get them, sketches as all wings share them, and ragged arrays.

The classes are plain and hold arrays.  `Fingerprint` and `Fingerprints` are also kinds of
documents.  Every document becomes a row of `Sketches` before it is stored or searched.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from simdb.core import cold, previews
from simdb.core.arrow import fixed_rows
from simdb.core.bits import FINGERPRINT_BITS, HASH_BITS_MOST, HASH_BITS_STEP
from simdb.core.checks import is_whole, shown
from simdb.core.choices import MeasureName
from simdb.core.errors import InputError
from simdb.core.values import dataclass, fields
from simdb.core.vector_form import DIMENSIONS, has_features, signs_of, unpack, width

# Document ids.  A database can hold ids of several types, so type checkers treat the ids that it
# returns as Any, unless the program names a type, as in
# `database: simdb.Database[str] = simdb.open(path)`.  Nothing is checked at run time.
Id: TypeAlias = str | bytes | int
if TYPE_CHECKING:
    # Type checkers know typing_extensions even if it is not installed.
    from typing_extensions import TypeVar as DefaultedTypeVar

    IdT = DefaultedTypeVar("IdT", bound=Id, default=Any)
    IdT_co = DefaultedTypeVar("IdT_co", bound=Id, default=Any, covariant=True)
else:
    IdT = TypeVar("IdT", bound=Id)
    IdT_co = TypeVar("IdT_co", bound=Id, covariant=True)
Number = TypeVar("Number", bound=np.generic)
Row = TypeVar("Row")
# The state of a stored document: no features, a fingerprint without weights, or one with weights.
EMPTY, BARE, WEIGHTED = 0, 1, 2
# For each state, the array for a single document; it is shared, hence read-only.
ONE_STATE = tuple(np.full(1, state, np.uint8) for state in (EMPTY, BARE, WEIGHTED))
for _states in ONE_STATE:
    _states.flags.writeable = False
LEVEL_MAX = 255  # level of a bit whose weight is unknown: it never flips
WEIGHTS_MAX = 4 * FINGERPRINT_BITS  # of one document
# Ordinals are uint32, with some room left for rounding up.
ORDINALS_MAX = 2**32 - 2**20
ID_BYTES_MAX = 1023  # of a text in UTF-8


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """The 64 simhash bits of a document, with their weights if these are known; or a hash.

    Parameters
    ----------
    bits : int
        The bits.
    weights : ndarray, optional
        The weights, float32[64 .. 256]; None for a ready fingerprint.  For j < 64, weight j >= 0
        means that bit j (least significant first) is set.
    is_empty : bool, default False
        Whether the document has no features.  Its bits then mean nothing, and it never matches.
    is_rounded : bool, default False
        Whether the weights were rounded for storing; similarities are corrected for that.
    size : int, default 64
        Number of bits.  A hash of `simdb.Bits` has 32 to 512, a multiple of 32, and no weights.
    measure : {"jaccard", "cosine"}, default "jaccard"
        The measure of the similarity of two fingerprints (`Options.measure`): "cosine" for vectors
        and for features with weights.

    Raises
    ------
    InputError
        If the bits, weights or size are impossible.
    """

    bits: int
    weights: npt.NDArray[np.float32] | None = None
    is_empty: bool = False
    is_rounded: bool = False
    size: int = FINGERPRINT_BITS
    measure: MeasureName = "jaccard"

    def __post_init__(self) -> None:
        """Raise InputError for impossible bits, weights or sizes."""
        is_usual = type(self.size) is int and self.size == FINGERPRINT_BITS
        if not is_usual and not is_hash_size(self.size):
            raise InputError(
                f"a fingerprint has 32 to 512 bits, a multiple of 32, got size={shown(self.size)}"
            )
        check_bits(self.bits, self.size)
        if self.weights is not None:
            if self.size != FINGERPRINT_BITS:
                raise InputError(f"hashes of {self.size} bits have no weights; leave them out")
            object.__setattr__(self, "weights", checked_weights(self.weights, 1))

    def hex(self) -> str:
        """Return the bits in hexadecimal digits, with leading zeros.

        Returns
        -------
        str
            `size / 4` digits.
        """
        return f"{self.bits:0{self.size // 4}x}"

    @property
    def volatility(self) -> npt.NDArray[np.int64]:
        """The positions of the bits, the most volatile (smallest weight) first: int64[64].

        Raises
        ------
        InputError
            If the fingerprint has no weights.
        """
        if self.weights is None:
            raise InputError(
                "this fingerprint has no weights, so the volatility of its bits is unknown"
            )
        return np.argsort(np.abs(self.weights[:FINGERPRINT_BITS]), kind="stable")

    def __int__(self) -> int:
        """Return the bits as a number."""
        return self.bits

    def __bytes__(self) -> bytes:
        """Return the bits as bytes, the most significant first."""
        return self.bits.to_bytes(self.size // 8, "big")

    def __eq__(self, other: object) -> bool:
        """Return whether the bits, weights, sizes and `is_empty` are equal."""
        if not isinstance(other, Fingerprint):
            return NotImplemented
        if self.weights is None or other.weights is None:
            same = self.weights is None and other.weights is None
        else:
            same = bool(np.array_equal(self.weights, other.weights))
        same = same and self.size == other.size and self.is_empty == other.is_empty
        return same and self.bits == other.bits

    def __hash__(self) -> int:
        """Hash the bits."""
        return hash(self.bits)

    def __repr__(self) -> str:
        """Return the bits in hexadecimal digits and the number of weights."""
        weights = "no weights" if self.weights is None else f"{len(self.weights)} weights"
        more = weights if self.size == FINGERPRINT_BITS else f"{self.size} bits"
        empty = ", of an empty document" if self.is_empty else ""
        return f"<simdb.Fingerprint 0x{self.hex()}, {more}{empty}>"


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """The fingerprints of many documents, or many hashes.

    Parameters
    ----------
    bits : ndarray
        Fingerprints uint64[n], or hashes of 32 to 512 bits, as `simdb.Bits` takes them.  Hashes are
        given as bytes uint8[n, b], as flags bool[n, ...] or as words uint64[n, b / 8], with the
        most significant first.  Hashes of 64 bits become uint64[n], and others uint8[n, b].
    weights : ndarray, optional
        The weights, float32[n, 64 .. 256].  Hashes have weights only if their size is 64 bits.
    vectors : ndarray, optional
        The same weights as a database stores them, uint8[n, 32, 64 or 128].  A database takes them
        as they are, and they are an eighth of the size of the weights.
    measure : {"jaccard", "cosine"}, default "jaccard"
        The measure of the similarities; see `Fingerprint`.

    Raises
    ------
    InputError
        If an array has another type, the lengths differ, or the vectors do not fit the bits.
    """

    bits: npt.NDArray[Any]
    weights: npt.NDArray[np.float32] | None = None
    vectors: npt.NDArray[np.uint8] | None = None
    measure: MeasureName = "jaccard"

    @classmethod
    def from_vectors(
        cls, bits: npt.NDArray[np.uint64], vectors: npt.NDArray[np.uint8]
    ) -> "Fingerprints":
        """Make fingerprints of packed vectors, which a database stores unchanged.

        Parameters
        ----------
        bits : ndarray
            The fingerprints, uint64[n].
        vectors : ndarray
            The packed vectors, uint8[n, 32, 64 or 128].

        Returns
        -------
        Fingerprints
            The fingerprints.

        Raises
        ------
        InputError
            If an array has another type, the lengths differ, or the bits are not the signs of the
            first 64 weights of each vector.
        """
        return cls(bits, None, vectors)

    @classmethod
    def from_arrow(cls, batch: Any) -> "Fingerprints":
        """Make fingerprints of a batch of `Database.sketches`, which are inserted unchanged.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or pyarrow.Table
            The batch.

        Returns
        -------
        Fingerprints
            The fingerprints.

        Raises
        ------
        InputError
            If a column of `Database.sketches` is missing.
        """
        column, names = column_of(batch, "bits"), batch.schema.names
        if "binary" in str(column.type):
            return cls(fixed_rows(column))
        bits = column.to_numpy(zero_copy_only=False)
        has_vectors = "vector" in names and not batch.column("vector").null_count
        if has_vectors:
            return cls.from_vectors(bits, fixed_rows(batch.column("vector")))
        if column_of(batch, "is_empty").to_numpy(zero_copy_only=False).any():
            return cls(bits, np.zeros((len(bits), FINGERPRINT_BITS), np.float32))
        return cls(bits)

    def __post_init__(self) -> None:
        """Raise InputError for arrays of another type or of unequal lengths."""
        object.__setattr__(self, "bits", bits := checked_hashes(self.bits))
        if bits.ndim > 1 and (self.weights is not None or self.vectors is not None):
            raise InputError(f"hashes of {self.size} bits have no weights; leave them out")
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights, 2))
            if len(self.weights) != len(bits):
                raise InputError(
                    f"{len(bits)} fingerprints have weights of {len(self.weights)} documents"
                )
        if self.vectors is not None:
            object.__setattr__(self, "vectors", checked_vectors(self.vectors, self.bits))

    @property
    def size(self) -> int:
        """The number of bits of each fingerprint."""
        return FINGERPRINT_BITS if self.bits.ndim == 1 else 8 * self.bits.shape[1]

    def __len__(self) -> int:
        """Count the fingerprints."""
        return len(self.bits)

    def __getitem__(self, position: int) -> Fingerprint:
        """Return the fingerprint at one position; it `is_empty` if its weights are all 0."""
        if self.bits.ndim > 1:
            return Fingerprint(int.from_bytes(self.bits[position].tobytes(), "big"), size=self.size)
        bits = int(self.bits[position])
        if self.weights is not None:
            weights = self.weights[position]
            return Fingerprint(bits, weights, not weights.any(), measure=self.measure)
        if self.vectors is None:
            return Fingerprint(bits)
        vector = self.vectors[position]
        rounded = unpack(vector).astype(np.float32)
        is_empty = not has_features(vector[None])[0]
        return Fingerprint(bits, rounded, is_empty, is_rounded=True, measure=self.measure)

    def is_empty(self) -> npt.NDArray[np.bool_]:
        """Return which documents are known to have no features.

        Returns
        -------
        ndarray
            Whether the weights or the vector of each document are empty, bool[n].
        """
        if self.weights is not None:
            return np.asarray(~self.weights.any(axis=1), np.bool_)
        if self.vectors is not None:
            return ~has_features(self.vectors)
        return np.zeros(len(self), np.bool_)

    def taken(self, chosen: Any) -> "Fingerprints":
        """Return some of the fingerprints.

        Parameters
        ----------
        chosen : slice or ndarray
            A slice, positions or bool[n].

        Returns
        -------
        Fingerprints
            The chosen fingerprints.
        """
        return Fingerprints(
            self.bits[chosen],
            None if self.weights is None else self.weights[chosen],
            None if self.vectors is None else self.vectors[chosen],
            self.measure,
        )

    def __repr__(self) -> str:
        """Return the number of fingerprints, the number of weights, and the first bits."""
        weights = "no weights" if self.weights is None else f"{self.weights.shape[1]} weights each"
        form = weights if self.bits.ndim == 1 else f"{self.size} bits each"
        size = previews.counted(len(self), "fingerprint")
        first = range(min(len(self), previews.SHOWN_VALUES))
        bits = ", ".join(f"0x{self[at].hex()}" for at in first)
        more = ", ..." if len(self) > previews.SHOWN_VALUES else ""
        return f"<simdb.Fingerprints: {size}, {form}{': ' if bits else ''}{bits}{more}>"


def unchecked_fingerprints(
    bits: npt.NDArray[np.uint64], weights: npt.NDArray[np.float32], vectors: npt.NDArray[np.uint8],
    measure: MeasureName,
) -> Fingerprints:  # fmt: skip
    """Return `Fingerprints` of arrays that fit each other, without checking that."""
    made = Fingerprints.__new__(Fingerprints)
    values = {"bits": bits, "weights": weights, "vectors": vectors, "measure": measure}
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


@dataclass(frozen=True, slots=True, eq=False)
class Ragged(Generic[Number]):
    """The values of n documents with any number of values each, in one array.

    Document i has values[offsets[i] : offsets[i + 1]]; `offsets` int64[n + 1].
    """

    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[Number]

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.offsets) - 1

    def taken(self, chosen: Any) -> "Ragged[Number]":
        """Return the values of some documents: `chosen` is a slice or positions."""
        own, places = _places_of(self.offsets, chosen)
        return Ragged(own, self.values[places])


class RowSequence(Generic[Row]):
    """A sequence of rows of unequal lengths, stored one after the other in arrays.

    Row i is at offsets[i] to offsets[i + 1]; `offsets` int64[n + 1].
    """

    __slots__ = ()
    KIND: ClassVar[str] = "row"  # the word for a row in errors

    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in order."""
        for position in range(len(self)):
            yield self[position]

    @overload
    def __getitem__(self, position: int) -> Row: ...

    @overload
    def __getitem__(self, position: slice) -> list[Row]: ...

    def __getitem__(self, position: Any) -> Any:
        """Return one row, or a list of rows for a slice."""
        if isinstance(position, slice):
            return [self[each] for each in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(f"{self.KIND} {position} of {len(self)}")
        position %= len(self)
        return self._row(int(self.offsets[position]), int(self.offsets[position + 1]))

    def _row(self, start: int, stop: int) -> Row:
        raise NotImplementedError


# The grains of documents: hashes of the word n-grams that winnowing chooses, strictly ascending
# within a document (`simdb/sketch/winnowing.py`).  A sequence of words that two texts share gives
# both the same grains.
Grains: TypeAlias = Ragged[np.uint64]
# The features of documents, shortened to the bytes that exact similarities need;
# `simdb/sketch/exact_similarity.py` has the layout.
PackedFeatures: TypeAlias = Ragged[np.uint8]
# A column by ordinal: the features or the text of each document.
PackedBytes: TypeAlias = Ragged[np.uint8]
NO_GRAINS = Ragged(np.zeros(1, np.int64), np.empty(0, np.uint64))
NO_BYTES = Ragged(np.zeros(1, np.int64), np.empty(0, np.uint8))


Kind = TypeVar("Kind", bound="Columns")


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Items stored by column; each field of a subclass is an array with a row for each item."""

    def __len__(self) -> int:
        """Count the items."""
        return len(self.columns()[0])

    def columns(self) -> "list[npt.NDArray[Any]]":
        """Return the arrays, in the order of the fields."""
        return [getattr(self, each.name) for each in fields(self)]

    def taken(self: Kind, chosen: Any) -> Kind:
        """Return some of the items: `chosen` is a slice, flags or positions."""
        return type(self)(*(column[chosen] for column in self.columns()))

    @classmethod
    def joined(cls: type[Kind], parts: Sequence[Kind]) -> Kind:
        """Join the items of one or more parts, in their order."""
        if len(parts) == 1:
            return parts[0]
        return cls(*map(np.concatenate, zip(*(part.columns() for part in parts), strict=True)))


class Extras(NamedTuple):
    """Optional columns that a database stores next to the sketches; None for absent ones."""

    grains: Grains | None = None
    features: PackedFeatures | None = None
    texts: PackedBytes | None = None

    def taken(self, chosen: Any) -> "Extras":
        """Return the columns of some of the documents: `chosen` is a slice or positions."""
        every: Any = (None if each is None else each.taken(chosen) for each in self)
        return Extras(*every)

    @staticmethod
    def joined(parts: "Sequence[Extras]") -> "Extras":
        """Join the columns of consecutive documents."""
        return Extras(*map(joined_ragged, zip(*parts, strict=True)))


NO_EXTRAS = Extras()


@dataclass(slots=True, eq=False)  # making a frozen instance takes three times as long
class Sketches:
    """Documents ready to be stored or searched; no field is set again.

    `bits` uint64[n].  `vectors` uint8[n, width]: packed volatility vectors, zeros for a document
    without one.  `states` uint8[n]: EMPTY, BARE or WEIGHTED.  `levels` uint8[n, 64], only for
    queries that need it: the distance of each bit from flipping, more exactly than in `vectors`
    (`kernel.levels`).  `extras`: the optional columns of the database.  `content`: 1 for texts, 1 +
    d for vectors of d coordinates, 0 for documents that may stand next to both.
    """

    bits: npt.NDArray[np.uint64]
    vectors: npt.NDArray[np.uint8]
    states: npt.NDArray[np.uint8]
    levels: npt.NDArray[np.uint8] | None = None
    extras: Extras = NO_EXTRAS
    content: int = 0

    @classmethod
    def bare(
        cls, bits: npt.NDArray[np.uint64], width: int = 0, *, is_query: bool = False
    ) -> "Sketches":
        """Make sketches of fingerprints without weights; see `levels` for `is_query`."""
        levels = np.full((len(bits), FINGERPRINT_BITS), LEVEL_MAX, np.uint8) if is_query else None
        vectors, states = np.zeros((len(bits), width), np.uint8), np.full(len(bits), BARE, np.uint8)
        return cls(bits, vectors, states, levels)

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.bits)

    def put(self, places: Any, part: "Sketches") -> None:
        """Overwrite the documents at `places` with the documents of `part`, without extras."""
        self.bits[places] = part.bits
        self.vectors[places] = part.vectors
        self.states[places] = part.states
        if self.levels is not None and part.levels is not None:
            self.levels[places] = part.levels

    def taken(self, chosen: Any) -> "Sketches":
        """Return some of the documents: `chosen` is a slice or positions."""
        return Sketches(
            self.bits[chosen],
            self.vectors[chosen],
            self.states[chosen],
            None if self.levels is None else self.levels[chosen],
            self.extras.taken(chosen),
        )


def column_of(batch: Any, name: str) -> Any:
    """Return a column of an Arrow batch; raise InputError if it is missing."""
    names = getattr(getattr(batch, "schema", None), "names", [])
    if name not in names:
        raise InputError(
            f"a batch of Database.sketches must have a column {name!r}, got"
            f" {', '.join(map(repr, names)) or describe(batch)}"
        )
    column = batch.column(name)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def check_bits(bits: object, size: int = FINGERPRINT_BITS) -> None:
    """Raise InputError unless `bits` is a whole number of up to `size` bits."""
    if not isinstance(bits, int) or not is_whole(bits, 0, (1 << size) - 1):
        raise InputError(
            f"a ready fingerprint must be a whole number in 0 .. 2**{size} - 1, got {shown(bits)}"
        )


def is_hash_size(bits: Any) -> bool:
    """Return whether `bits` is the size of a hash: 32 to 512, a multiple of 32."""
    return is_whole(bits, HASH_BITS_STEP, HASH_BITS_MOST) and not bits % HASH_BITS_STEP


def packed_rows(hashes: npt.NDArray[Any]) -> npt.NDArray[np.uint8] | None:
    """Return hashes uint8[n, b], uint64[n, b / 8] or bool[n, ...] as uint8[n, b].

    The most significant byte is the first.  None for any other array.
    """
    if hashes.dtype == np.bool_ and hashes.ndim > 1:
        flags = hashes.reshape(len(hashes), math.prod(hashes.shape[1:]))
        return None if flags.shape[1] % 8 else np.packbits(flags, axis=1)
    if hashes.ndim != 2 or hashes.dtype.kind != "u" or hashes.itemsize not in (1, 8):
        return None
    return aligned(hashes, hashes.dtype.newbyteorder(">")).view(np.uint8)


def words_of(rows: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Return packed hashes of 64 bits as uint64[n], and other hashes unchanged."""
    return rows if rows.shape[1] != 8 else rows.view(">u8")[:, 0].astype(np.uint64)


def checked_hashes(hashes: Any) -> npt.NDArray[Any]:
    """Return hashes of 64 bits as uint64[n], others as uint8[n, b].

    Raises InputError for other arrays.
    """
    if isinstance(hashes, np.ndarray):
        if hashes.dtype == np.uint64 and hashes.ndim == 1:
            return aligned(hashes, np.uint64)
        rows = packed_rows(hashes)
        if rows is not None and is_hash_size(8 * rows.shape[1]):
            return words_of(rows)
    raise InputError(
        "bits must be uint64[n], or hashes of 32 to 512 bits, a multiple of 32, as uint8[n, b],"
        f" uint64[n, b / 8] or bool[n, ...], got {describe(hashes)}"
    )


def checked_weights(weights: Any, dimensions: int) -> npt.NDArray[np.float32]:
    """Return `weights` as float32.

    Raises InputError unless they are finite, with 64 to 256 for each document.
    """
    try:
        array = aligned(weights, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"weights must be an array of numbers, got {describe(weights)}") from error
    width = array.shape[-1] if array.ndim == dimensions else -1
    if not FINGERPRINT_BITS <= width <= WEIGHTS_MAX:
        raise InputError(
            f"weights must have {dimensions} dimension(s), the last of 64 to 256,"
            f" got {describe(weights)}"
        )
    if not np.isfinite(array).all():
        raise InputError("weights must be finite, but some are NaN or infinite")
    return array


def checked_vectors(vectors: Any, bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Return packed vectors of documents; raise InputError unless they fit the bits."""
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.uint8 or vectors.ndim != 2:
        raise InputError(
            f"vectors must be a uint8 array of two dimensions, got {describe(vectors)}"
        )
    widths = [width(dimensions) for dimensions in DIMENSIONS]
    if vectors.shape != (len(bits), vectors.shape[1]) or vectors.shape[1] not in widths:
        raise InputError(
            f"vectors must be {len(bits)} rows of 32, 64 or 128 bytes, one for each fingerprint,"
            f" got {describe(vectors)}"
        )
    array = aligned(vectors, np.uint8)
    found = signs_of(array)
    differing = np.flatnonzero(found != bits)
    # The vector of a document without features has no signs: its bits may also be 0.
    differing = differing[(bits[differing] != 0) | has_features(array[differing])]
    if len(differing):
        at = int(differing[0])
        raise InputError(
            f"fingerprint {at} has bits {int(bits[at]):016x}, but the signs of its vector make"
            f" {int(found[at]):016x}; give the bits and vectors of the same documents"
        )
    return array


def check_many(values: Any, what: str) -> None:
    """Raise InputError unless `values`, named `what` in the message, is a collection of values.

    Iterating a text, a table or a mapping would give characters, columns or keys, which nobody
    means.  An array without dimensions claims to be iterable, but is not.
    """
    wanted = f"{what} must be a list, array or iterator, got"
    if isinstance(values, str | bytes | int):
        raise InputError(
            f"{wanted} {class_of(values)} {shown(values)}; put a single one into a list"
        )
    if isinstance(values, Mapping):
        remedy = "give its values, list(mapping.values()), or its keys, list(mapping)"
        raise InputError(f"{wanted} the mapping {class_of(values)}; {remedy}")
    if is_table(values):
        remedy = "give one of its columns, such as table['text'] or table['id']"
        raise InputError(f"{wanted} the table {class_of(values)}; {remedy}")
    is_iterable = isinstance(values, Iterable) or hasattr(values, "__getitem__")
    if not is_iterable or not getattr(values, "ndim", 1):
        raise InputError(f"{wanted} {describe(values)}")


def is_table(value: object) -> bool:
    """Return whether `value` has named columns, like a frame, a table or a stream of batches."""
    return any(hasattr(type(value), name) for name in ("columns", "column_names", "schema"))


def class_of(value: object) -> str:
    """Return the class of `value` with its package, such as pandas.DataFrame."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


def aligned(array: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return `array`, copied unless it is contiguous, aligned and of the native byte order."""
    made = np.ascontiguousarray(array, dtype)
    return made if made.flags.aligned else made.copy()


def describe(value: Any) -> str:
    """Describe the type of `value` in a few words, for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{type(value).__name__}"


def object_array(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Make an array of Python objects, always of one dimension."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def sorted_unique(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values of an array, ascending.

    numpy.unique hashes whole numbers, which takes up to 80 times as long as sorting.
    """
    ordered = np.sort(values, axis=None)
    return ordered[is_first(ordered)]


def offsets_of(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Compute the starts of consecutive pieces, and the end of the last: int64[n + 1]."""
    each = np.asarray(lengths)
    offsets = np.zeros(len(each) + 1, np.int64)
    np.cumsum(each, out=offsets[1:])
    return offsets


def ranges(starts: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the concatenated ranges start .. start + size - 1 of all starts and sizes."""
    offsets = offsets_of(sizes)
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)


def sums_of(flags: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Sum the flags or numbers between consecutive offsets, of which there are n + 1: int64[n]."""
    return np.asarray(np.diff(offsets_of(flags)[offsets]), np.int64)


def flags_at(places: Any, count: int) -> npt.NDArray[np.bool_]:
    """Return which of the numbers below `count` are among `places`: bool[count]."""
    flags = np.zeros(count, np.bool_)
    flags[places] = True
    return flags


def is_first(numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which numbers differ from their predecessor, or have none: bool[n]."""
    first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return first


def places_in(known: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the position of each value in `known`, which ascends; -1 if it is absent."""
    if not len(known):
        return np.full(len(values), -1, np.int64)
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[at] == values, at, -1).astype(np.int64, copy=False)


def random_numbers(seed: int) -> "np.random.Generator":
    """Return a generator of random numbers; numpy loads its module when it is first used."""
    made: np.random.Generator = cold.loaded("numpy.random").default_rng(seed)
    return made


def joined_ragged(parts: Sequence[Ragged[Number] | None]) -> Ragged[Number] | None:
    """Return the values of consecutive documents as one object; None if all parts are None."""
    known = [part for part in parts if part is not None]
    if len(known) < 2:
        return known[0] if known else None
    sizes = np.concatenate([np.diff(part.offsets) for part in known])
    return Ragged(offsets_of(sizes), np.concatenate([part.values for part in known]))


def _places_of(offsets: npt.NDArray[np.int64], chosen: Any) -> tuple[npt.NDArray[np.int64], Any]:
    """Return new offsets for the chosen documents, and the positions of their values."""
    if isinstance(chosen, slice):
        start, stop, step = chosen.indices(len(offsets) - 1)
        if step == 1:
            bounds = offsets[start : max(start, stop) + 1]
            return bounds - bounds[0], slice(bounds[0], bounds[-1])
    sizes = np.diff(offsets)[chosen]
    return offsets_of(sizes), ranges(offsets[:-1][chosen], sizes)
