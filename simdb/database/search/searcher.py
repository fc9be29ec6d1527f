"""Searcher: one state or the states of many shards, for reading verbs, and merging of answers.

A verb consists of a function of a state, and a way to merge its results for several states.  A
`State` is itself a searcher of one state, so a database with no shards merges nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from simdb import storage
from simdb.core.arrays import Id, Sketches, object_array, offsets_of, sorted_unique
from simdb.core.dtypes import I64, U32, Bools
from simdb.core.errors import NotFoundError
from simdb.core.matches import Match, Matches
from simdb.database.state import documents as stored, incoming
from simdb.database.state.state import Asked, Origin, State

# A sharded database numbers a document by its shard and its ordinal in the shard.
ORDINAL_BITS = np.uint64(32)

Result = TypeVar("Result")
Ordinals = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]


class Searcher(Protocol):
    """One state, or the states of many shards, for a `with` statement.

    `threads`: the number of threads for the verb.
    """

    threads: int

    @property
    def store(self) -> Origin:
        """The store of any state: all have the same options."""

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the states, in order."""

    def __enter__(self) -> "Searcher":
        """Return the searcher itself."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End the states."""

    def choose(self, values: "storage.FieldValues") -> "Searcher":
        """Restrict later searches to documents with these values of fields, if any are given."""

    def each(self, function: Callable[[State], Result]) -> Iterable[tuple[int, Result]]:
        """Yield the number of each state in turn, and the result of `function` for it."""

    def every(self, function: Callable[[State], Result]) -> list[tuple[int, Result]]:
        """Return the number of each state and the result of `function` for it, in threads."""

    def routed(
        self, queries: Asked, function: Callable[[State, I64], Result], *, in_turn: bool = False
    ) -> Iterable[tuple[int, I64, Result]]:
        """Yield the result of `function` for each state that can match some of the queries.

        Each item has the number of the state, the positions of these queries, and the result.
        `function` takes the state and the positions.  `in_turn`: a state is asked only when the
        previous answer was taken; otherwise all are asked in threads.
        """

    def ask(self, number: int, function: Callable[[State], Result]) -> Result:
        """Return the result of `function` for one state."""

    def numbers_of(self, ids: list[Id]) -> I64:
        """Return the number of the state that has each document, if it is stored."""


class Queries(NamedTuple):
    """A set of queries: documents or the `ids` of stored ones, and the settings to sketch them."""

    how: incoming.Sketching
    documents: Any = None
    ids: list[Id] | None = None

    def sketched(
        self, searcher: Searcher, size: int | None
    ) -> tuple[Iterator[Sketches], Ordinals | None]:
        """Return sketches in slices of at most `size`, and the ordinals of stored documents."""
        if self.ids is None:
            return incoming.sketch_slices(self.how, self.documents, size), None
        sketches, ordinals = stored_queries(searcher, self.ids)
        step = size or max(len(ordinals), 1)
        starts = range(0, max(len(ordinals), 1), step)
        if len(starts) == 1:
            return iter([sketches]), ordinals
        return (sketches.taken(slice(start, start + step)) for start in starts), ordinals


class StateMatches(NamedTuple):
    """Matches found in one state.

    Holds the state's number, the positions of the queries and their matches.
    """

    number: int
    queries: I64
    matches: Matches


# The number of a state, positions in a list of ids, and the answer for these ids.
Part = tuple[int, Any, Result]


def parts_by_ids(
    searcher: Searcher, ids: list[Id], function: Callable[[State, list[Id]], Result]
) -> list[Part[Result]]:
    """Return the results of `function` for the ids of each state that has any; at least one.

    Raises NotFoundError for the first unknown id, if the function raises it for any id.
    """
    if isinstance(searcher, State):
        return [(0, slice(None), function(searcher, ids))]
    found: list[Part[Result]] = []
    numbers = searcher.numbers_of(ids)
    try:
        for number in sorted_unique(numbers).tolist() or searcher.numbers[:1]:
            places = np.flatnonzero(numbers == number)
            some = [ids[at] for at in places]
            found.append((number, places, searcher.ask(number, partial(_of_ids, function, some))))
    except NotFoundError:
        if function is stored.are_stored:  # a shard is missing, not a document
            raise
        is_known = in_order(parts_by_ids(searcher, ids, stored.are_stored))
        stored.refuse_unknown(ids[int(np.argmin(is_known))])
    return found


def in_order(parts: Sequence[Part[Any]]) -> Any:
    """Return the arrays or lists of all parts as one, in the order of the ids."""
    answers = [answer for _, _, answer in parts]
    if len(parts) == 1:
        return answers[0]
    order = np.argsort(np.concatenate([places for _, places, _ in parts]))
    if isinstance(answers[0], np.ndarray):
        return np.concatenate(answers)[order]
    every = list(chain.from_iterable(answers))
    return [every[at] for at in order]


def stored_queries(searcher: Searcher, ids: list[Id]) -> tuple[Sketches, Ordinals]:
    """Return stored documents as queries, and their ordinals.

    Raises NotFoundError for an unknown id.
    """
    parts = parts_by_ids(searcher, ids, _as_queries)
    ordinals = in_order([(number, at, of_all(number, own[1])) for number, at, own in parts])
    sketches = incoming.joined(searcher.store.sketcher, [own[0] for *_, own in parts])
    if len(parts) > 1:
        sketches = sketches.taken(np.argsort(np.concatenate([places for _, places, _ in parts])))
    return sketches, ordinals


def drawn_ids(searcher: Searcher, count: int, seed: int, *, is_weighted: bool) -> list[Id]:
    """Draw random ids, the same as from one database with all documents."""
    counts = list(searcher.each(partial(stored.feature_count, is_weighted=is_weighted)))
    ends = np.cumsum([found for _, found in counts])
    chosen = stored.drawn(int(ends[-1]), count, seed)
    ids = object_array([None] * len(chosen))
    which = np.searchsorted(ends, chosen, side="right")
    for at, (number, found) in enumerate(counts):
        places = np.flatnonzero(which == at)
        own = chosen[places] - (ends[at] - found)
        ids[places] = object_array(searcher.ask(number, partial(_ids_at, own, is_weighted)))
    return list(ids)


def of_all(number: int, ordinals: Ordinals) -> Ordinals:
    """Convert ordinals in one state to ordinals in all states."""
    return (np.uint64(number) << ORDINAL_BITS) + ordinals.astype(np.uint64) if number else ordinals


def merged_matches(
    count: int,
    parts: Sequence[StateMatches],
    by_similarity: Bools | None,
    *,
    limit: int | None,
    left_out: Ordinals | None = None,
) -> Matches:
    """Merge the matches of `count` queries in all states; `parts`: the matches in each state.

    `by_similarity` bool[count]: whether similarity, not distance, ranks the matches of each query;
    None if containment does.  `limit`: the most matches of each query, as in each part.
    `left_out`: the ordinal of each query, if queries are stored documents.
    """
    joined = joined_matches([part.matches for part in parts])
    ordinals = np.concatenate([of_all(number, each.ordinals) for number, _, each in parts])
    joined.ordinals = ordinals
    if len(parts) == 1 and left_out is None:
        return joined
    queries = np.concatenate([np.repeat(of, np.diff(each.offsets)) for _, of, each in parts])
    if joined.containments is not None:
        far = -joined.containments
    else:
        assert by_similarity is not None
        far = np.where(by_similarity[queries], -joined.similarities, joined.distances)
    # The sort is stable, so equally good matches stay in the order of shards and insertion.
    order = np.lexsort((far, queries)) if len(parts) > 1 else np.arange(len(queries))
    if left_out is not None:
        order = order[ordinals[order] != left_out[queries[order]]]
    if limit is not None:
        starts = offsets_of(np.bincount(queries[order], minlength=count))
        order = order[np.arange(len(order)) - starts[queries[order]] < limit]
    return joined.chosen(order, np.bincount(queries[order], minlength=count))


def joined_matches(slices: Sequence[Matches]) -> Matches:
    """Return the matches of consecutive queries as one object; at least one slice is needed."""
    if len(slices) == 1:
        return slices[0]
    found = Matches(
        offsets_of(np.concatenate([np.diff(each.offsets) for each in slices])),
        np.concatenate([each.ordinals for each in slices]),
        np.concatenate([each.distances for each in slices]),
        np.concatenate([each.similarities for each in slices]),
        lambda: list(np.concatenate([each.ids for each in slices])),
        measure=slices[0].measure,
    )
    if slices[0].containments is not None:
        found.containments = np.concatenate([each.containments for each in slices])
        found.spans = [spans for each in slices for spans in each.spans]
    return found


def best_first(parts: Iterable[Sequence[Match]], *, by_similarity: bool) -> list[Match]:
    """Merge the matches of one query in all states; `parts` are in the order of the states."""
    far = (lambda match: -(match.similarity or 0.0)) if by_similarity else attrgetter("distance")
    return sorted(chain.from_iterable(parts), key=far)


def _of_ids(function: Callable[[State, list[Id]], Result], ids: list[Id], state: State) -> Result:
    return function(state, ids)


def _as_queries(state: State, ids: list[Id]) -> tuple[Sketches, U32]:
    ordinals = stored.known_ordinals(state, ids)
    return stored.stored_sketches(state, ordinals), ordinals


def _ids_at(places: I64, is_weighted: bool, state: State) -> list[Any]:
    return stored.ids_of(state, stored.with_features(state, is_weighted=is_weighted)[places])
