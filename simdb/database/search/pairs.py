"""Pairs: all pairs of documents that match, streamed in chunks or gathered into arrays.

A method that can walk the tables does so.  Otherwise each document is looked up among the documents
after it; a plan that probes uses its stored weights.  For a similarity, pairs are candidates by
distance, which the stored volatility vectors then measure.
"""

import threading
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from simdb.core import arrow, kernel, previews
from simdb.core.arrays import IdT, object_array
from simdb.core.choices import MeasureName
from simdb.core.dtypes import U32
from simdb.core.errors import InputError, NotPickledError
from simdb.core.matches import Pair, PairArrays, ReadOnce, Verification
from simdb.core.reports import Plan
from simdb.database.search.buckets import roots_of
from simdb.database.search.couples import (
    Batches,
    Couples,
    as_pairs,
    couples_of,
    estimated,
    searched,
)
from simdb.database.search.judge import Judge, Texts, for_pairs
from simdb.database.search.lookup import method_of, search
from simdb.database.search.question import Question
from simdb.database.state.documents import stored_sketches
from simdb.database.state.state import State
from simdb.plan import Criterion

# Sizes of the first and the largest portion of pairs that are judged together.  After each portion,
# pairs that are now connected are dropped.  The first is small, since in a crowd it connects most
# documents, and each later portion is twice as large.
JUDGED_PAIRS_FIRST = 1 << 11
JUDGED_PAIRS = 1 << 13


class PairStream:
    """An iterator over chunks of pairs, which are made from a state on demand.

    The owner of the state can end it between two chunks; the next chunk then raises ClosedError.
    """

    def __init__(
        self,
        state: State,
        chunks: Iterator[PairArrays],
        *,
        hold: Callable[[], State],
        end: Callable[[], None] | None,
    ) -> None:
        """Read `chunks`, which are made from `state`.

        `hold` keeps `state` open while a chunk is made.  `end` ends it after the last chunk; None
        if its owner does.
        """
        self._state = state
        self._chunks = chunks
        self._hold = hold
        self._end = end
        self._is_done = False
        self._lock = threading.Lock()  # the generator of couples runs in one thread at a time

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise NotPickledError(
            "chunks of pairs cannot be pickled or copied, because they are found while they are"
            " read; pickle what find_all returns, which gathers all pairs first"
        )

    def __iter__(self) -> Iterator[PairArrays]:
        """Return the stream itself."""
        return self

    def __next__(self) -> PairArrays:
        """Return the next chunk."""
        with self._lock:
            if self._is_done:
                raise StopIteration
            try:
                with self._hold():
                    self._state.source.check_open()
                    return next(self._chunks)
            except BaseException as error:
                self._is_done = isinstance(error, StopIteration)
                if self._end is not None:
                    self._end()
                raise


class FoundPairs(NamedTuple):
    """A search for pairs: its chunks, which are found while they are read, and its plan.

    `verification`: counts of decisions by texts so far.  `contained`: the least containment of a
    pair, if the search is by containment.
    """

    chunks: Iterator[PairArrays]
    plan: Plan
    measure: MeasureName
    verification: Verification | None = None
    contained: float | None = None


def pairs_of(
    state: State, question: Question, texts: Texts | None, *, is_exact: bool
) -> FoundPairs:
    """Return all matching pairs; `is_exact`: see `judge.for_pairs`."""
    criterion, judge = for_pairs(state, question, texts, is_exact=is_exact)
    plan = state.plan(criterion, is_swept=True)
    found = find_couples(state, criterion, judge)
    chunks = (as_pairs(state, couples, is_exact=judge is not None) for couples in found)
    counts = None if judge is None else judge.counts
    return FoundPairs(chunks, plan, state.scale.measure, counts)


class Pairs(ReadOnce[PairArrays[IdT], Pair[IdT]]):
    """All pairs of stored documents that match, found while they are read.

    Read the pairs once in bounded memory, with `chunks()` or by iterating over each `Pair`.  Or use
    the arrays, which gather all pairs first.  A snapshot of the database stays open until all pairs
    are read.

    Attributes
    ----------
    plan : Plan
        The plan of the search, with the share of the pairs that it finds.
    verification : Verification or None
        Counts of the decisions by texts so far, with verify="exact".
    measure : {"jaccard", "cosine"} or None
        The measure of the similarities; None for hashes.
    """

    def __init__(self, stream: Iterator[PairArrays[IdT]], found: FoundPairs) -> None:
        """Read the chunks of `found` from `stream`."""
        super().__init__(stream)
        self.plan = found.plan
        self.verification = found.verification
        self.measure = found.measure
        self._contained = found.contained

    def to_batches(self, *, ids: str = "auto") -> Any:
        """Return the pairs as a pyarrow.RecordBatchReader, streamed like `chunks()`.

        Parameters
        ----------
        ids : {"auto", "text"}, default "auto"
            With "auto", all ids must have the type of the ids of the first chunk.  "text" turns
            every id into text: numbers in decimal, bytes in hexadecimal digits.

        Returns
        -------
        pyarrow.RecordBatchReader
            The columns left, right, distance (uint8) and similarity (float32, null if unknown).
            With `contained=` also containment (float64).  Reading it raises InputError for an id of
            another type.

        Raises
        ------
        OptionError
            If pyarrow is not installed, or `ids` is another word.
        ClosedError
            If the pairs were streamed already.
        """
        arrow.checked_arrow(ids)  # before the stream is taken
        return _reader(self.chunks(), ids, has_containment=self._contained is not None)

    def column_chunks(self) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Return an iterator over the chunks as columns.

        Returns
        -------
        iterator of dict
            The columns left, right, distance and similarity of each chunk, by name; with
            `contained=` also containment.

        Raises
        ------
        ClosedError
            If the pairs were streamed already.
        """
        return map(_columns, self.chunks())

    def to_arrow(self, *, ids: str = "auto") -> Any:
        """Return all pairs as a pyarrow.Table.

        After an InputError for an id of another type, the pairs can be read again.

        Parameters
        ----------
        ids : {"auto", "text"}, default "auto"
            The type of the ids; see `to_batches`.

        Returns
        -------
        pyarrow.Table
            The columns of `to_batches`.

        Raises
        ------
        OptionError
            If pyarrow is not installed, or `ids` is another word.
        InputError
            If an id has another type.
        ClosedError
            If the pairs were streamed already.
        """
        table = arrow.checked_arrow(ids).Table  # before the stream is taken
        passed, batches = Passed(self.chunks()), []
        reader = _reader(passed, ids, has_containment=self._contained is not None)
        try:
            batches.extend(reader)  # those before an error are kept
        except InputError:
            if self._gathered is None:
                self._stream = chain(map(_chunk, batches), passed.latest, passed)
            raise
        return table.from_batches(batches, reader.schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return all pairs to libraries that read Arrow tables, after gathering them.

        It lets `polars.DataFrame(pairs)`, `pyarrow.table(pairs)` and `from pairs` in DuckDB work,
        any number of times.  See `to_batches`, which streams, for the columns and the exceptions.
        """
        arrow.checked_arrow("auto")  # before the pairs are gathered
        self._all()
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @overload
    def __getitem__(self, position: int) -> Pair[IdT]: ...

    @overload
    def __getitem__(self, position: slice) -> PairArrays[IdT]: ...

    def __getitem__(self, position: int | slice) -> Pair[IdT] | PairArrays[IdT]:
        """Return one `Pair`; for a slice, a `PairArrays`.  Gathers all pairs."""
        found: Pair[IdT] | PairArrays[IdT] = self._all()[position]
        return found

    def __repr__(self) -> str:
        """Return the question and the progress of reading, or the first pairs if gathered."""
        if self._gathered is not None:
            return repr(self._gathered).replace("PairArrays", "Pairs", 1)
        return f"<simdb.Pairs {self._progress}>"

    def _repr_html_(self) -> str:
        """Return a table of the first pairs if they are gathered, for notebooks."""
        if self._gathered is not None:
            return self._gathered._repr_html_()
        return previews.paragraph(f"simdb.Pairs {self._progress}")

    @property
    def _progress(self) -> str:
        asked = previews.criterion(self.plan.similarity, self.plan.distance)
        if self._contained is not None:
            asked = f"containment >= {self._contained:g}"
        state = "streamed" if self._stream is None else "not read yet"
        return f"of {asked}, method {self.plan.method!r}, {state}"

    @property
    def left(self) -> npt.NDArray[np.object_]:
        """Ids of the document of each pair that was inserted first: object[k]."""
        return self._all().left

    @property
    def right(self) -> npt.NDArray[np.object_]:
        """Ids of the document of each pair that was inserted later: object[k]."""
        return self._all().right

    @property
    def distance(self) -> npt.NDArray[np.uint8]:
        """Number of differing bits (or of minima, at most 255) of each pair: uint8[k]."""
        return self._all().distance

    @property
    def similarity(self) -> npt.NDArray[np.float32]:
        """Estimated similarity of each pair: float32[k]; NaN if a document has no weights."""
        return self._all().similarity

    @property
    def containment(self) -> npt.NDArray[np.float64] | None:
        """The share of each left document that the right one has; None without `contained=`."""
        return self._all().containment

    def _joined(self, chunks: list[PairArrays[IdT]]) -> PairArrays[IdT]:
        every = [_no_pairs(has_containment=self._contained is not None), *chunks]
        columns = zip(*(_columns(chunk).values() for chunk in every), strict=True)
        return PairArrays(*map(np.concatenate, columns), measure=self.measure)


class Passed:
    """An iterator that passes chunks on; `latest` holds the last one."""

    def __init__(self, chunks: Iterator[PairArrays]) -> None:
        """Start before the first chunk."""
        self.latest: list[PairArrays] = []
        self._chunks = chunks

    def __iter__(self) -> Iterator[PairArrays]:
        """Return the iterator itself."""
        return self

    def __next__(self) -> PairArrays:
        """Pass the next chunk on."""
        self.latest = []
        self.latest = [next(self._chunks)]
        return self.latest[0]


def _reader(chunks: Iterator[PairArrays], ids: str, *, has_containment: bool) -> Any:
    """Return a pyarrow.RecordBatchReader of the chunks."""
    columns, empty = map(_columns, chunks), _columns(_no_pairs(has_containment=has_containment))
    return arrow.read_batches(columns, empty, id_columns=("left", "right"), ids=ids)


def _no_pairs(*, has_containment: bool) -> PairArrays:
    kinds = (object, object, np.uint8, np.float32, np.float64)[: 5 if has_containment else 4]
    return PairArrays(*(np.empty(0, kind) for kind in kinds))


def _chunk(batch: Any) -> PairArrays:
    """Return the pairs of a pyarrow.RecordBatch."""
    left, right, distance, similarity, *containment = batch.columns
    ids = [object_array(each.to_pylist()) for each in (left, right)]
    numbers: Any = (
        each.to_numpy(zero_copy_only=False) for each in (distance, similarity, *containment)
    )
    return PairArrays(ids[0], ids[1], *numbers)


def _columns(chunk: PairArrays) -> dict[str, Any]:
    names = ("left", "right", "distance", "similarity", "containment")
    return {name: getattr(chunk, name) for name in names[: 4 + (chunk.containment is not None)]}


def find_couples(
    state: State, criterion: Criterion, judge: Judge | None = None
) -> Iterator[Couples]:
    """Yield every matching pair once, in chunks, with its similarity if both have weights.

    `judge` decides which pairs match; None leaves this to the criterion.
    """
    for couples in find_links(state, criterion):
        if judge is not None:
            yield judge.kept(state, couples)
            continue
        is_measured = criterion.similarity is not None or not len(couples)
        yield couples if is_measured else estimated(state, couples)


def find_links(state: State, criterion: Criterion) -> Iterator[Couples]:
    """Return all matching pairs once, in chunks; similarities only if the criterion has one."""
    plan = state.plan(criterion, is_swept=True)
    walk = method_of(state, plan).links
    walked = None if walk is None else walk(state, criterion, plan)
    return _look_up_all(state, criterion, plan) if walked is None else walked


def join_links(
    state: State, criterion: Criterion, forest: kernel.Forest, judge: Judge | None = None
) -> Iterator[tuple[U32, U32]]:
    """Join matching pairs in `forest` and yield them, until all that match are connected.

    `forest` is over ordinals.  A method may omit pairs that are already connected, so the time
    grows with the members of a large group of similar documents, not with its pairs.  `judge`
    decides which unconnected pairs match; None leaves this to the criterion.
    """
    plan = state.plan(criterion, is_swept=True)
    walk = method_of(state, plan).joining
    found = None if walk is None else walk(state, criterion, plan, forest)
    for candidates in find_links(state, criterion) if found is None else found:
        if judge is not None:
            candidates = _unconnected(candidates, forest)
        for couples in [candidates] if judge is None else _portions(candidates):
            if judge is not None:
                couples = judge.kept(state, _unconnected(couples, forest))
            forest.join(couples.left, couples.right)
            yield couples.left, couples.right


def _portions(couples: Couples) -> Iterator[Couples]:
    """Yield pairs in portions, most similar first, since these may connect the rest."""
    order = np.argsort(-couples.similarities)
    start, size = 0, JUDGED_PAIRS_FIRST
    while start < len(couples):
        yield couples.taken(order[start : start + size])
        start, size = start + size, min(2 * size, JUDGED_PAIRS)


def _unconnected(couples: Couples, forest: kernel.Forest) -> Couples:
    """Return the pairs whose documents are in different components of a forest."""
    is_apart = roots_of(forest, couples.left) != roots_of(forest, couples.right)
    return couples if is_apart.all() else couples.taken(is_apart)


def _look_up_all(state: State, criterion: Criterion, plan: Plan) -> Iterator[Couples]:
    """Yield all pairs: each document is looked up among the documents with greater ordinals."""
    is_measured = criterion.similarity is not None
    ordinals = searched(state, is_measured=is_measured).ordinals
    return look_up(state, criterion, plan, ordinals, later_only=True)


def look_up(
    state: State, criterion: Criterion, plan: Plan, ordinals: U32, *, later_only: bool
) -> Iterator[Couples]:
    """Yield each document of `ordinals`, on the left, with every document that matches it.

    `later_only`: only with documents of greater ordinals; otherwise left can be above right.
    """
    batches = Batches(ordinals, state.threads)
    for batch in batches:
        sketches = stored_sketches(state, batch)
        after = batch if later_only else None
        rows = search(state, sketches, criterion, after=after, plan=plan)
        batches.found(len(rows.ordinals))
        if len(rows.ordinals):
            state.check_known(rows.ordinals)
            yield couples_of(batch, rows)
