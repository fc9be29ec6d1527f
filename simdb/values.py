"""Values: fingerprints, matches and pairs as users get them, and sketches as pillars share them.

They are plain, frozen, and hold arrays.  `Fingerprint` and `Fingerprints` are also kinds of
documents.  Every document becomes a row of `Sketches` before it is stored or searched.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from simdb import arrow, ids, previews
from simdb.bits import ALL_BITS, FINGERPRINT_BITS
from simdb.checks import shown
from simdb.errors import InputError
from simdb.ids import IdT, IdT_co
from simdb.records import Record
from simdb.verification import Verification

Id: TypeAlias = ids.Id
# The state of a stored document: no features, a fingerprint without weights, or with weights.
EMPTY, BARE, WEIGHTED = 0, 1, 2
# The states of a single document, for each state; shared, so they cannot be changed.
ONE_STATE = tuple(np.full(1, state, np.uint8) for state in (EMPTY, BARE, WEIGHTED))
for _states in ONE_STATE:
    _states.flags.writeable = False
# So many ids are made only to show the first of them.
PREVIEWED_IDS = 10_000
# The most weights of a document.
WEIGHTS_MAX = 4 * FINGERPRINT_BITS
# Ordinals are uint32, and some room must stay for rounding up.
ORDINALS_MAX = 2**32 - 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """The 64 simhash bits of a document and, where known, the weights behind them.

    `weights`: float32[64 .. 256], None for a ready fingerprint.  For j < 64, weight j >= 0 means
    that bit j (least significant first) is set.  `is_empty`: the document has no features; its bits
    mean nothing, and it matches nothing.  `is_rounded`: the weights were rounded for storing, and
    similarities are corrected for that.
    """

    bits: int
    weights: npt.NDArray[np.float32] | None = None
    is_empty: bool = False
    is_rounded: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for impossible bits or weights."""
        check_bits(self.bits)
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights, 1))

    @property
    def volatility(self) -> npt.NDArray[np.int64]:
        """Bit positions, the most volatile (smallest weight) first: int64[64]."""
        if self.weights is None:
            raise InputError(
                "this fingerprint has no weights, so the volatility of its bits is unknown"
            )
        return np.argsort(np.abs(self.weights[:FINGERPRINT_BITS]), kind="stable")

    def __int__(self) -> int:
        """Give the bits."""
        return self.bits

    def __eq__(self, other: object) -> bool:
        """Whether bits and weights are equal."""
        if not isinstance(other, Fingerprint):
            return NotImplemented
        if self.weights is None or other.weights is None:
            same = self.weights is None and other.weights is None
        else:
            same = bool(np.array_equal(self.weights, other.weights))
        return same and self.bits == other.bits and self.is_empty == other.is_empty

    def __hash__(self) -> int:
        """Hash the bits."""
        return hash(self.bits)

    def __repr__(self) -> str:
        """Return the bits in hexadecimal digits, and the number of weights."""
        weights = "no weights" if self.weights is None else f"{len(self.weights)} weights"
        empty = ", of an empty document" if self.is_empty else ""
        return f"<simdb.Fingerprint {self.bits:#018x}, {weights}{empty}>"


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """Many fingerprints: `bits` uint64[n] and `weights` float32[n, 64 .. 256] or None."""

    bits: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Raise InputError for arrays of another type or of unequal lengths."""
        bits = self.bits
        if not isinstance(bits, np.ndarray) or bits.dtype != np.uint64 or bits.ndim != 1:
            raise InputError(f"bits must be a uint64 array of one dimension, got {describe(bits)}")
        object.__setattr__(self, "bits", aligned(bits, np.uint64))
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights, 2))
            if len(self.weights) != len(bits):
                raise InputError(
                    f"{len(bits)} fingerprints have weights of {len(self.weights)} documents"
                )

    def __len__(self) -> int:
        """Count the fingerprints."""
        return len(self.bits)

    def __getitem__(self, position: int) -> Fingerprint:
        """Give the fingerprint at one position; `is_empty` if its weights are all 0."""
        weights = None if self.weights is None else self.weights[position]
        is_empty = weights is not None and not weights.any()
        return Fingerprint(int(self.bits[position]), weights, is_empty)

    def __repr__(self) -> str:
        """Return the number of fingerprints and of their weights, and the first bits."""
        weights = "no weights" if self.weights is None else f"{self.weights.shape[1]} weights each"
        size = previews.counted(len(self), "fingerprint")
        bits = ", ".join(f"{int(each):#018x}" for each in self.bits[: previews.SHOWN_VALUES])
        more = ", ..." if len(self) > previews.SHOWN_VALUES else ""
        return f"<simdb.Fingerprints: {size}, {weights}{': ' if bits else ''}{bits}{more}>"


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """Documents ready to be stored or searched.

    `bits` uint64[n].  `vectors` uint8[n, width]: packed volatility vectors, zeros for a document
    without one.  `states` uint8[n]: EMPTY, BARE or WEIGHTED.  `levels` uint8[n, 64], only for
    queries that need it: how far each bit is from flipping, in finer steps than the vector has
    (`kernel.levels`).
    """

    bits: npt.NDArray[np.uint64]
    vectors: npt.NDArray[np.uint8]
    states: npt.NDArray[np.uint8]
    levels: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.bits)

    def taken(self, chosen: Any) -> "Sketches":
        """Give some of the documents: `chosen` is a slice or positions."""
        levels = None if self.levels is None else self.levels[chosen]
        return Sketches(self.bits[chosen], self.vectors[chosen], self.states[chosen], levels)


@dataclass(frozen=True, slots=True)
class Match(Record, Generic[IdT_co]):
    """A stored document that was found: its Hamming `distance` and estimated `similarity`.

    `similarity` is None if either has no weights.  It unpacks in this order; `_asdict()` is a dict.
    """

    id: IdT_co
    distance: int
    similarity: float | None = None


class Matches(Generic[IdT]):
    """The matches of m queries as arrays, and as a sequence of lists of `Match`, best first.

    `offsets` int64[m + 1], `ordinals` uint32[k], `distances` uint8[k], `similarities` float32[k]
    (NaN if unknown), `ids` object[k].  The matches of query i are at offsets[i] .. offsets[i + 1].
    `verification`: what texts have decided, with verify="exact"; otherwise None.
    """

    __slots__ = (
        "_ids", "_resolve", "distances", "offsets", "ordinals", "similarities", "verification",
    )  # fmt: skip

    def __init__(
        self,
        offsets: npt.NDArray[np.int64],
        ordinals: npt.NDArray[np.uint32] | npt.NDArray[np.uint64],
        distances: npt.NDArray[np.uint8],
        similarities: npt.NDArray[np.float32],
        resolve: Callable[[], list[Id]],
        verification: Verification | None = None,
    ) -> None:
        """Hold the arrays; `resolve` makes the ids from copied bytes when they are first read."""
        self.verification = verification
        self.offsets = offsets
        self.ordinals = ordinals
        self.distances = distances
        self.similarities = similarities
        self._resolve = resolve
        self._ids: npt.NDArray[np.object_] | None = None

    @property
    def ids(self) -> npt.NDArray[np.object_]:
        """The user's ids of the matches: object[k]."""
        if self._ids is None:
            self._ids = object_array(self._resolve())
        return self._ids

    def to_arrow(self, *, ids: str = "auto") -> Any:
        """Make a pyarrow.Table: query int64, id, distance uint8, similarity float32 or null.

        All ids must have the type of the first id; `ids="text"` turns every id into text.  Raises
        OptionError if pyarrow is not installed, and InputError for an id of another type.
        """
        columns = {
            "query": np.repeat(np.arange(len(self)), np.diff(self.offsets)),
            "id": self.ids,
            "distance": self.distances,
            "similarity": self.similarities,
        }
        return arrow.read_batches([columns], columns, id_columns=["id"], ids=ids).read_all()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the matches to libraries that read Arrow tables; see `to_arrow`."""
        return arrow.stream(self.to_arrow(), requested_schema)

    def __len__(self) -> int:
        """Count the queries."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, position: int) -> list[Match[IdT]]: ...

    @overload
    def __getitem__(self, position: slice) -> list[list[Match[IdT]]]: ...

    def __getitem__(self, position: Any) -> Any:
        """Give the matches of one query, a list of `Match`; for a slice, a list of such lists."""
        if isinstance(position, slice):
            return [self[each] for each in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(f"query {position} of {len(self)}")
        position %= len(self)
        return self._matches(int(self.offsets[position]), int(self.offsets[position + 1]))

    def __iter__(self) -> Iterator[list[Match[IdT]]]:
        """Give the matches of each query in turn."""
        for position in range(len(self)):
            yield self[position]

    def __repr__(self) -> str:
        """Return the numbers of queries and matches, and the first ids."""
        size, count = self._size, len(self.distances)
        if not count or not self._are_ids_cheap:
            return f"<simdb.Matches of {size}>"
        return f"<simdb.Matches of {size}: {previews.first_of(self.ids, count)}>"

    def _repr_html_(self) -> str:
        """Return a table of the first matches, for notebooks."""
        count = len(self.distances) if self._are_ids_cheap else 0
        queries = np.searchsorted(self.offsets, np.arange(min(count, previews.SHOWN_ROWS)), "right")
        rows = (
            (int(query) - 1, match.id, match.distance, match.similarity)
            for query, match in zip(queries, self._matches(0, len(queries)), strict=True)
        )
        columns = ("query", "id", "distance", "similarity")
        return previews.table(self._size, columns, rows, count)

    @property
    def _size(self) -> str:
        matches = previews.counted(len(self.distances), "match", "matches")
        return f"{previews.counted(len(self), 'query', 'queries')}, {matches}"

    @property
    def _are_ids_cheap(self) -> bool:
        """Whether the ids were made already, or are few: a preview makes no more."""
        return self._ids is not None or len(self.distances) <= PREVIEWED_IDS

    def _matches(self, start: int, stop: int) -> list[Match[IdT]]:
        ids = self.ids
        return [
            Match(ids[at], int(self.distances[at]), known(self.similarities[at]))
            for at in range(start, stop)
        ]


@dataclass(frozen=True, slots=True)
class Pair(Record, Generic[IdT_co]):
    """Two stored documents that match; `left` was inserted before `right`."""

    left: IdT_co
    right: IdT_co
    distance: int
    similarity: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PairArrays(Generic[IdT]):
    """Some pairs as arrays of one length: ids object[k], distance uint8[k], similarity float32[k].

    `similarity` is NaN if either document has no weights.
    """

    left: npt.NDArray[np.object_]
    right: npt.NDArray[np.object_]
    distance: npt.NDArray[np.uint8]
    similarity: npt.NDArray[np.float32]

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.distance)

    def __iter__(self) -> Iterator[Pair[IdT]]:
        """Give one `Pair` after the other."""
        for left, right, distance, similarity in zip(
            self.left, self.right, self.distance, self.similarity, strict=True
        ):
            yield Pair(left, right, int(distance), known(similarity))

    def __getitem__(self, position: Any) -> Any:
        """Give one `Pair`; for a slice, a `PairArrays` of these pairs."""
        left, right = self.left[position], self.right[position]
        distance, similarity = self.distance[position], self.similarity[position]
        if isinstance(position, slice):
            return PairArrays(left, right, distance, similarity)
        return Pair(left, right, int(distance), known(similarity))

    def __repr__(self) -> str:
        """Return the number of pairs, and the ids of the first."""
        size = previews.counted(len(self), "pair")
        pairs = [(pair.left, pair.right) for pair in self[: previews.SHOWN_VALUES]]
        first = previews.first_of(pairs, len(self))
        return f"<simdb.PairArrays: {size}{': ' if pairs else ''}{first}>"

    def _repr_html_(self) -> str:
        """Return a table of the first pairs, for notebooks."""
        rows = (
            (pair.left, pair.right, pair.distance, pair.similarity)
            for pair in self[: previews.SHOWN_ROWS]
        )
        columns = ("left", "right", "distance", "similarity")
        return previews.table(previews.counted(len(self), "pair"), columns, rows, len(self))


def check_bits(bits: object) -> None:
    """Raise InputError unless `bits` is a whole number in 0 .. 2**64 - 1."""
    if isinstance(bits, bool) or not isinstance(bits, int) or not 0 <= bits <= ALL_BITS:
        raise InputError(
            f"a ready fingerprint must be a whole number in 0 .. 2**64 - 1, got {shown(bits)}"
        )


def checked_weights(weights: Any, dimensions: int) -> npt.NDArray[np.float32]:
    """Give `weights` as float32; raise InputError unless they are finite, 64 to 256 a document."""
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


def is_many(value: object) -> bool:
    """Tell whether `value` can be iterated; an array without dimensions cannot, but claims to."""
    has_length = isinstance(value, Iterable) or hasattr(value, "__getitem__")
    return has_length and getattr(value, "ndim", 1) > 0


def aligned(array: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Give `array`, or a copy that is contiguous, aligned and of this machine's byte order."""
    made = np.ascontiguousarray(array, dtype)
    return made if made.flags.aligned else made.copy()


def describe(value: Any) -> str:
    """Describe the type of `value` in a few words, for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{type(value).__name__}"


def object_array(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Make an array of one dimension of any Python objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def offsets_of(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Compute where consecutive pieces of these lengths start, and the last ends: int64[n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def known(similarity: Any) -> float | None:
    """Give a similarity as a float, or None for NaN."""
    value = float(similarity)
    return None if value != value else value
