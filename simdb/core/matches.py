"""Matches: the documents that a query finds, and the pairs that match, as users get them.

With verify="exact", a `Verification` counts the pairs whose texts were compared.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from simdb.core import arrow, previews
from simdb.core.arrays import Id, IdT, IdT_co, RowSequence, object_array, offsets_of
from simdb.core.choices import MeasureName
from simdb.core.documents import StoredText
from simdb.core.dtypes import I64
from simdb.core.errors import ClosedError
from simdb.core.skipped import Skipped
from simdb.core.values import dataclass, field, fields

Arrays = TypeVar("Arrays", bound=Any)
One = TypeVar("One")
JACCARD: MeasureName = "jaccard"
PREVIEWED_IDS = 10_000  # a preview of more matches shows no ids, since it would make them all


class SharedSpan(NamedTuple):
    """A passage that a query and a document share.

    Attributes
    ----------
    start, stop : int
        Half-open range of characters in the query.
    document_start, document_stop : int
        Half-open range of characters in the document.
    """

    start: int
    stop: int
    document_start: int
    document_stop: int


class SlottedRecord:
    """A dataclass with slots that is also indexed, unpacked and made a dict, like a named tuple."""

    __slots__: tuple[str, ...] = ()
    # The fields to unpack, if they are not all slots of the class.
    FIELDS: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]:
            """Yield the values in order."""

    def __getitem__(self, position: Any) -> Any:
        """Return the value at a position, or a tuple for a slice; unpacking uses it, too."""
        return tuple(getattr(self, name) for name in self.FIELDS or self.__slots__)[position]

    def _asdict(self) -> dict[str, Any]:
        """Return the values by name, like the method of a named tuple."""
        names = (each.name for each in fields(self))  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}


def readable(found: One, reader: Any) -> One:
    """Let matches or documents read their texts with `reader.texts_many(ids)`; return them."""
    if isinstance(found, StoredText):
        _set_reader(found, reader)
    elif isinstance(found, Matches):
        found.reader = reader
    elif isinstance(found, list):
        for each in found:
            _set_reader(each, reader)
    return found


@dataclass(frozen=True, slots=True, init=False)
class Match(StoredText, SlottedRecord, Generic[IdT_co]):
    """A stored document that was found.

    Attributes
    ----------
    id : str, bytes or int
        Id of the document.
    distance : int
        Hamming distance.
    similarity : float or None
        Estimated similarity; None if either document has no weights.
    measure : {"jaccard", "cosine"} or None
        The measure of the similarity (`Options.measure`); None for hashes.

    Notes
    -----
    A match unpacks to `id`, `distance` and `similarity`, in this order.  `_asdict()` returns a
    dict.

    `containment` and `spans` are None unless the query has `contained=`; see `ContainedMatch`.

    With `Options(texts=True)`, `text` reads the text that is stored under the id at that time.  A
    match of a snapshot or transaction reads the text of that snapshot or transaction.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ("id", "distance", "similarity")

    id: IdT_co
    distance: int
    similarity: float | None = None
    measure: MeasureName = field(default=JACCARD, repr=False, compare=False)

    def __init__(
        self, id: IdT_co, distance: int, similarity: float | None = None, measure: Any = JACCARD
    ) -> None:
        """Hold the values."""
        # The generated method would take as long as a look-up in a small database.
        _set_id(self, id)
        _set_distance(self, distance)
        _set_similarity(self, similarity)
        _set_measure(self, measure)

    @property
    def containment(self) -> float | None:
        """The share of the query that the document contains; None without `contained=`."""
        return None

    @property
    def spans(self) -> tuple[SharedSpan, ...] | None:
        """The shared passages; None without `contained=` and `texts=`."""
        return None


_set_id, _set_distance, _set_similarity, _set_measure = (
    vars(Match)[name].__set__ for name in ("id", "distance", "similarity", "measure")
)
_set_reader = vars(StoredText)["_reader"].__set__


@dataclass(frozen=True, slots=True)
class ContainedMatch(Match[IdT_co]):
    """A match of a query with `contained=`, with the shared part and its passages.

    Attributes
    ----------
    id : str, bytes or int
        Id of the document.
    distance : int
        Hamming distance.
    similarity : float or None
        Estimated similarity; see `Match`.
    measure : {"jaccard", "cosine"} or None
        The measure of the similarity; see `Match`.
    containment : float
        The share of the query that the document contains; see Notes.
    spans : tuple of SharedSpan or None
        With `texts=`, the shared passages, extended across up to three changed words in a row.
        Otherwise None.

    Notes
    -----
    The containment is a share of the query, not of the document.  It is the share of the query's
    sequences of 8 words that lie in shared passages.  A passage is a sequence of 15 or more words
    in both texts, or all words of a shorter query.  Case and punctuation do not count.  A query of
    fewer than 8 words is one sequence.

    With `texts=`, the containment is exact.  A query of 15 words or more then finds every document
    that contains enough of it.

    Without `texts=`, the containment is an estimate.  It is the share of the query's winnowed
    sequences that are stored for the document; sequences of 8 to 14 words count, too.  A query of
    15 words or more that is contained as a whole is certain to have 1.0.
    """

    containment: float | None = None
    spans: tuple[SharedSpan, ...] | None = None

    def __init__(
        self,
        id: IdT_co,
        distance: int,
        similarity: float | None,
        containment: float,
        spans: tuple[SharedSpan, ...] | None,
        measure: MeasureName = JACCARD,
    ) -> None:
        """Hold the values."""
        # In Python 3.10, a dataclass makes its own slots even for inherited fields.
        values = (id, distance, similarity, measure, containment, spans)
        for each, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, each.name, value)


@dataclass(slots=True)
class Verification:
    """The counts of a search with verify="exact", so far.

    Attributes
    ----------
    measure : str
        The exact similarity: "Jaccard", "weighted Jaccard" or "cosine".
    least : float
        The least exact similarity of a match.
    judged : int
        Number of pairs whose texts were compared.
    overruled : int
        Number of these pairs for which the estimate was wrong.
    unknown : int
        Number of pairs for which the estimate counts, since a text was missing.
    """

    measure: str
    least: float
    judged: int = 0
    overruled: int = 0
    unknown: int = 0


@dataclass(slots=True, eq=False, repr=False)
class Matches(RowSequence[list[Match[IdT]]]):
    """The matches of m queries as arrays, and as a sequence of lists of `Match`, best first.

    Attributes
    ----------
    offsets : ndarray
        The matches of query i are at `offsets[i]` to `offsets[i + 1]`: int64[m + 1].
    ordinals : ndarray
        Ordinals of the matches, uint32[k]; uint64[k] in a sharded database (`ShardedDatabase`).
    distances : ndarray
        Hamming distances, uint8[k].
    similarities : ndarray
        Estimated similarities, float32[k]; NaN if unknown.
    verification : Verification or None
        The counts of pairs whose texts were compared, with verify="exact".
    containments : ndarray or None
        Containments, float64[k]; None without `contained=`.
    spans : list
        The shared passages of each match, with `contained=`; see `ContainedMatch`.
    left_out : Skipped
        The documents that on_error="skip" has skipped; their rows are empty.  `skipped` lists them
        in a table.
    measure : {"jaccard", "cosine"} or None
        The measure of the similarities; see `Match`.
    reader : object or None
        The database, snapshot or transaction that reads the texts of matches.
    """

    KIND: ClassVar[str] = "query"

    offsets: npt.NDArray[np.int64]
    ordinals: npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
    distances: npt.NDArray[np.uint8]
    similarities: npt.NDArray[np.float32]
    _resolve: Callable[[], list[Id]]  # makes the ids from copied bytes when they are first read
    verification: Verification | None = None
    containments: npt.NDArray[np.float64] | None = None
    spans: list[tuple[SharedSpan, ...] | None] = field(default_factory=list)  # of containments
    left_out: Skipped = field(default_factory=Skipped)
    measure: MeasureName = JACCARD
    _ids: npt.NDArray[np.object_] | None = None
    reader: Any = None  # of the texts of matches, see `readable`

    def chosen(self, places: I64, sizes: I64) -> "Matches[IdT]":
        """Return the matches at given positions, in rows of given sizes.

        Parameters
        ----------
        places : ndarray
            Positions of matches, int64[k].
        sizes : ndarray
            Number of matches of each row, int64[m].

        Returns
        -------
        Matches
            These matches.
        """
        found: Matches[IdT] = Matches(
            offsets_of(sizes), self.ordinals[places], self.distances[places],
            self.similarities[places], lambda: list(self.ids[places]), measure=self.measure,
        )  # fmt: skip
        if self.containments is not None:
            found.containments = self.containments[places]
            found.spans = [self.spans[at] for at in places.tolist()]
        return found

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return the state to pickle: with the ids, without the function that makes them."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return None, values | {"_ids": self.ids, "_resolve": None, "reader": None}

    @property
    def ids(self) -> npt.NDArray[np.object_]:
        """The ids of the matches: object[k]."""
        if self._ids is None:
            self._ids = object_array(self._resolve())
        return self._ids

    @property
    def skipped(self) -> Any:
        """The documents that on_error="skip" has skipped, as a pyarrow.Table: row, id, reason."""
        return self.left_out.table()

    def to_arrow(self, *, ids: str = "auto") -> Any:
        """Return all matches as a pyarrow.Table.

        Parameters
        ----------
        ids : {"auto", "text"}, default "auto"
            With "auto", all ids must have the type of the first id.  "text" turns every id into
            text; see `Pairs.to_batches`.

        Returns
        -------
        pyarrow.Table
            The columns query int64, id, distance uint8, and similarity float32 or null;
            containment float64, too, with `contained=`.

        Raises
        ------
        OptionError
            If pyarrow is not installed, or `ids` is another word.
        InputError
            If an id has another type.
        """
        columns = {
            "query": np.repeat(np.arange(len(self)), np.diff(self.offsets)),
            "id": self.ids,
            "distance": self.distances,
            "similarity": self.similarities,
        }
        if self.containments is not None:
            columns["containment"] = self.containments
        return arrow.read_batches([columns], columns, id_columns=["id"], ids=ids).read_all()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the matches to libraries that read Arrow tables; see `to_arrow`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Return the number of queries, the number of matches, and the first ids."""
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
            for query, match in zip(queries, self._row(0, len(queries)), strict=True)
        )
        columns = ("query", "id", "distance", "similarity")
        return previews.table(self._size, columns, rows, count)

    @property
    def _size(self) -> str:
        matches = previews.counted(len(self.distances), "match", "matches")
        skipped = f", {len(self.left_out):,} skipped" if len(self.left_out) else ""
        return f"{previews.counted(len(self), 'query', 'queries')}, {matches}{skipped}"

    @property
    def _are_ids_cheap(self) -> bool:
        """Whether a preview may show ids: they were made already, or are few."""
        return self._ids is not None or len(self.distances) <= PREVIEWED_IDS

    def _row(self, start: int, stop: int) -> list[Match[IdT]]:
        ids, found = self.ids, []
        for at in range(start, stop):
            values = ids[at], int(self.distances[at]), known(self.similarities[at])
            if self.containments is None:
                found.append(Match(*values, self.measure))
            else:
                share = float(self.containments[at])
                found.append(ContainedMatch(*values, share, self.spans[at], self.measure))
        return found if self.reader is None else readable(found, self.reader)


@dataclass(frozen=True, slots=True)
class Pair(SlottedRecord, Generic[IdT_co]):
    """Two stored documents that match.

    Attributes
    ----------
    left, right : str, bytes or int
        Ids of the documents; `left` was inserted before `right`.
    distance : int
        Hamming distance.
    similarity : float or None
        Estimated similarity; see `Match`.
    measure : {"jaccard", "cosine"} or None
        The measure of the similarity; see `Match`.
    """

    left: IdT_co
    right: IdT_co
    distance: int
    similarity: float | None = None
    measure: MeasureName = field(default=JACCARD, repr=False, compare=False)

    FIELDS: ClassVar[tuple[str, ...]] = ("left", "right", "distance", "similarity")

    @property
    def containment(self) -> float | None:
        """The share of `left` that `right` contains; None without `contained=`."""
        return None


@dataclass(frozen=True, slots=True)
class ContainedPair(Pair[IdT_co]):
    """A pair in which `left` is contained in `right`; either may have been inserted first.

    Attributes
    ----------
    left, right : str, bytes or int
        Ids of the documents.
    distance : int
        Hamming distance.
    similarity : float or None
        Estimated similarity; see `Match`.
    measure : {"jaccard", "cosine"} or None
        The measure of the similarity; see `Match`.
    containment : float
        The share of the n-grams of `left` that lie in passages shared with `right`.
    """

    containment: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PairArrays(Generic[IdT]):
    """Pairs as arrays of equal length.

    Attributes
    ----------
    left, right : ndarray
        Ids of the documents, object[k].
    distance : ndarray
        Hamming distances, uint8[k].
    similarity : ndarray
        Estimated similarities, float32[k]; NaN if either document has no weights.
    containment : ndarray or None
        The share of each left document that the right one contains, float64[k]; None without
        `contained=`.
    measure : {"jaccard", "cosine"} or None
        The measure of the similarities; see `Match`.
    """

    left: npt.NDArray[np.object_]
    right: npt.NDArray[np.object_]
    distance: npt.NDArray[np.uint8]
    similarity: npt.NDArray[np.float32]
    containment: npt.NDArray[np.float64] | None = None
    measure: MeasureName = field(default=JACCARD, kw_only=True)

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.distance)

    def __iter__(self) -> Iterator[Pair[IdT]]:
        """Yield each pair as a `Pair`."""
        for position in range(len(self)):
            yield self[position]

    def __getitem__(self, position: Any) -> Any:
        """Return one `Pair`, or a `PairArrays` for a slice."""
        left, right = self.left[position], self.right[position]
        distance, similarity = self.distance[position], self.similarity[position]
        value = None if self.containment is None else self.containment[position]
        if isinstance(position, slice):
            return PairArrays(left, right, distance, similarity, value, measure=self.measure)
        pair = (left, right, int(distance), known(similarity), self.measure)
        return Pair(*pair) if value is None else ContainedPair(*pair, float(value))

    def __repr__(self) -> str:
        """Return the number of pairs and the ids of the first ones."""
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


class ReadOnce(Generic[Arrays, One]):
    """Pairs that are found while they are read, in chunks, and once, unless they were gathered."""

    def __init__(self, stream: Iterator[Arrays]) -> None:
        """Wrap `stream`, which yields the chunks."""
        self._stream: Iterator[Arrays] | None = stream
        self._gathered: Arrays | None = None

    def chunks(self) -> Iterator[Arrays]:
        """Return an iterator over the pairs in chunks of arrays.

        The pairs can be read only once, unless they were gathered before, as by `len`.

        Returns
        -------
        iterator of PairArrays or PairPositions
            The chunks.

        Raises
        ------
        ClosedError
            If the pairs are read a second time.
        """
        if self._gathered is not None:
            return iter([self._gathered])
        if self._stream is None:
            raise ClosedError("these pairs were streamed already; call find_all again")
        stream, self._stream = self._stream, None
        return stream

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle or copy, with all pairs gathered."""
        return vars(self) | {"_gathered": self._all(), "_stream": None}

    def __iter__(self) -> Iterator[One]:
        """Yield the pairs one by one."""
        for chunk in self.chunks():
            yield from chunk

    def __len__(self) -> int:
        """Count the pairs, after gathering them."""
        return len(self._all())

    def _all(self) -> Arrays:
        if self._gathered is None:
            self._gathered = self._joined(list(self.chunks()))
        return self._gathered

    def _joined(self, chunks: list[Arrays]) -> Arrays:
        """Return all chunks joined into one."""
        raise NotImplementedError


def known(similarity: Any) -> float | None:
    """Return a similarity as a float, or None for NaN."""
    value = float(similarity)
    return None if value != value else value
