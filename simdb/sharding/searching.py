"""Searching: sketches queries once, asks every shard for their matches, and merges the answers."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.engine import search
from simdb.engine.search import lookup, one
from simdb.engine.search.filters import Where, kept, kept_matches
from simdb.engine.search.many import MemoryBudget, QueryBatch
from simdb.engine.search.nearest import Wanted
from simdb.engine.search.question import Question, criterion_of, refuse_mixed
from simdb.ground.choices import ErrorsName
from simdb.ground.dtypes import F32, I64, U8, U32, U64, Bools
from simdb.ground.errors import InputError
from simdb.results.matches import Match, Matches
from simdb.sharding.shard import OpenShard
from simdb.sharding.shards import Shards, global_ordinals, of_stored
from simdb.values.arrays import EMPTY, WEIGHTED, Id, Sketches, object_array, offsets_of


class ShardQuery(NamedTuple):
    """One document as a query: its sketches, or itself if it needs none; the place of a stored one.

    `shard` and `ordinal` are -1 and None for a document that is not stored.
    """

    sketches: Sketches
    document: Any = None
    shard: int = -1
    ordinal: int | None = None


class ShardMatches(NamedTuple):
    """The matches of some queries in one shard: its number, positions of queries, and matches."""

    shard: int
    queries: I64
    matches: Matches


def asked(
    shards: Shards, document: Any, id: Id | None, errors: ErrorsName, verb: str
) -> ShardQuery:
    """Return the query of `document` or of the stored document `id`; InputError unless just one."""
    if (document is None) == (id is None):
        raise InputError(f"{verb} needs either a document or the id= of a stored document")
    if id is not None:
        stored = of_stored(shards, [id])
        shard, ordinal = divmod(int(stored.ordinals[0]), 1 << 32)
        return ShardQuery(stored.sketches, None, shard, ordinal)
    store = shards.sample.store
    if type(document) is int and store.takes_bits:
        return ShardQuery(one.ANY_BITS, document)
    return ShardQuery(store.sketcher.sketch([document], errors=errors, is_query=True))


def find(
    shards: Shards,
    query: ShardQuery,
    given: one.Given,
    limit: int | None,
    where: Where | None,
    threads: int,
) -> list[Match]:
    """Return the matches of one document in all shards, best first, at most `limit`."""
    answers = shards.all(partial(_find, query, given, limit, False, where), threads)
    options = shards.sample.store.options
    criterion = criterion_of(options, query.sketches, Question(*given))
    by_similarity = criterion.similarity is not None
    found = [part for _, part in answers]
    return best_first(found, by_similarity=by_similarity, limit=limit)


def find_first(
    shards: Shards, query: ShardQuery, given: one.Given, where: Where | None
) -> Match | None:
    """Return any one match of a document: of the first shard that has one."""
    for _, found in shards.each(partial(_find, query, given, 1, True, where, threads=1)):
        if found:
            return found[0]
    return None


def find_many(
    shards: Shards,
    slices: Iterator[Sketches],
    batch: QueryBatch,
    *,
    where: Where | None,
    left_out: U64 | None,
    threads: int,
) -> Matches:
    """Return the matches of queries in slices; see `Database.query_many`."""
    by_similarity: set[bool] = set()
    found, start = [], 0
    for sketches in slices:
        criterion = criterion_of(shards.sample.store.options, sketches, batch.question)
        if (sketches.states != EMPTY).any():
            by_similarity.add(criterion.similarity is not None)
        if len(by_similarity) > 1:
            refuse_mixed()
        stop = start + len(sketches)
        own = None if left_out is None else left_out[start:stop]
        limit = batch.question.limit
        # A stored document also finds itself.
        more = batch if own is None or limit is None else batch.with_limit(limit + 1)
        ask = _first_of_each if batch.first and own is None else _all_of_each
        parts = ask(shards, sketches, more, where, threads)
        keys = np.full(len(sketches), criterion.similarity is not None)
        found.append(merged(len(sketches), parts, keys, limit=limit, left_out=own))
        start = stop
    return joined(found)


def nearest(
    shards: Shards,
    sketches: Sketches,
    wanted: Wanted,
    *,
    where: Where | None,
    left_out: U64 | None,
    threads: int,
) -> Matches:
    """Return the `wanted.k` nearest documents of each query in all shards."""
    more = wanted if left_out is None else wanted._replace(k=wanted.k + 1)
    answers = shards.all(partial(_nearest, sketches, more, where), threads)
    every = np.arange(len(sketches))
    parts = [ShardMatches(number, every, found) for number, found in answers]
    has_weights = sketches.states == WEIGHTED
    if not shards.sample.store.width:
        has_weights[:] = False
    return merged(len(sketches), parts, has_weights, limit=wanted.k, left_out=left_out)


def merged(
    count: int,
    parts: Sequence[ShardMatches],
    by_similarity: Bools,
    *,
    limit: int | None,
    left_out: U64 | None = None,
) -> Matches:
    """Return the matches of `count` queries in all shards; `parts` are in the order of the shards.

    `by_similarity` bool[count]: whether similarity decides for each query, or distance.  `limit`:
    at most this many for each query.  `left_out`: for each query, the document that it is itself.
    """
    found = [part.matches for part in parts]
    none = Matches(np.zeros(1, np.int64), *_nothing(), list)
    queries = np.concatenate(
        [
            np.empty(0, np.int64),
            *(np.repeat(part.queries, np.diff(part.matches.offsets)) for part in parts),
        ]
    )
    ordinals = np.concatenate(
        [
            none.ordinals.astype(np.uint64),
            *(global_ordinals(part.shard, part.matches.ordinals) for part in parts),
        ]
    )
    distances = np.concatenate([none.distances, *(each.distances for each in found)])
    similarities = np.concatenate([none.similarities, *(each.similarities for each in found)])
    far = np.where(by_similarity[queries], -similarities, distances.astype(np.float32))
    # The sort is stable, so equally good matches stay in the order of shards and insertion.
    order = np.lexsort((far, queries))
    if left_out is not None:
        order = order[ordinals[order] != left_out[queries[order]]]
    if limit is not None:
        starts = offsets_of(np.bincount(queries[order], minlength=count))
        order = order[np.arange(len(order)) - starts[queries[order]] < limit]

    def resolve() -> list[object]:
        ids = np.concatenate([object_array([]), *(each.ids for each in found)])
        return list(ids[order])

    return Matches(
        offsets_of(np.bincount(queries[order], minlength=count)),
        ordinals[order],
        distances[order],
        similarities[order],
        resolve,  # type: ignore[arg-type]
    )


def best_first(
    parts: Iterable[Sequence[Match]], *, by_similarity: bool, limit: int | None
) -> list[Match]:
    """Return the matches of one query in all shards, given in the order of the shards."""
    every = [match for part in parts for match in part]
    return sorted(every, key=_farness if by_similarity else _distance)[:limit]


def joined(slices: Sequence[Matches]) -> Matches:
    """Return the matches of consecutive slices of queries as one object; there is at least one."""
    if len(slices) == 1:
        return slices[0]
    return Matches(
        offsets_of(np.concatenate([np.diff(each.offsets) for each in slices])),
        np.concatenate([each.ordinals.astype(np.uint64) for each in slices]),
        np.concatenate([each.distances for each in slices]),
        np.concatenate([each.similarities for each in slices]),
        lambda: list(np.concatenate([each.ids for each in slices])),
    )


def _all_of_each(
    shards: Shards, sketches: Sketches, batch: QueryBatch, where: Where | None, threads: int
) -> list[ShardMatches]:
    outer, budget = max(min(threads, shards.count), 1), batch.budget
    share = None if budget is None else MemoryBudget(max(budget.limit_bytes // outer, 1))
    each = batch._replace(first=0, budget=share)
    answers = shards.all(partial(_find_many, sketches, each, where), threads)
    every = np.arange(len(sketches))
    return [ShardMatches(number, every, found) for number, found in answers]


def _first_of_each(
    shards: Shards, sketches: Sketches, batch: QueryBatch, where: Where | None, threads: int
) -> list[ShardMatches]:
    """Return one match of each query; a query with a match is not asked of later shards."""
    pending, parts = np.arange(len(sketches)), []
    queries = sketches

    def ask(shard: OpenShard) -> Matches:
        return _find_many(queries, batch, where, shard, threads)

    for number, found in shards.each(ask):
        parts.append(ShardMatches(number, pending, found))
        pending = pending[np.diff(found.offsets) == 0]
        if not len(pending):
            break
        queries = sketches.taken(pending)
    return parts


def _find(
    query: ShardQuery,
    given: one.Given,
    limit: int | None,
    first: bool,
    where: Where | None,
    shard: OpenShard,
    threads: int,
) -> list[Match]:
    most, first = (limit, first) if where is None else (None, False)
    with shard.store.state() as state:
        state.threads = threads
        if query.document is not None:
            found = one.find(state, query.document, None, given, most, "strict", first=first)
        else:
            left_out = query.ordinal if shard.number == query.shard else None
            found = one.find_sketched(
                state, query.sketches, given, most, first=first, left_out=left_out
            )
        return found if where is None else kept_matches(state, found, where, limit)


def _find_many(
    sketches: Sketches, batch: QueryBatch, where: Where | None, shard: OpenShard, threads: int
) -> Matches:
    asked = batch if where is None else batch.with_limit(None)
    with shard.store.state() as state:
        state.threads = threads
        rows = search.many.of_slices(shard.store, state, [sketches], asked)
        if where is not None:
            rows = kept(state, rows, where, batch.question.limit)
        return lookup.as_matches(state, rows)


def _nearest(
    sketches: Sketches, wanted: Wanted, where: Where | None, shard: OpenShard, threads: int
) -> Matches:
    with shard.store.state() as state:
        state.threads = threads
        rows = search.nearest.of_slices(shard.store, state, [sketches], wanted, where)
        return lookup.as_matches(state, rows)


def _nothing() -> tuple[U32, U8, F32]:
    return np.empty(0, np.uint32), np.empty(0, np.uint8), np.empty(0, np.float32)


def _farness(match: Match) -> float:
    return 0.0 if match.similarity is None else -match.similarity


def _distance(match: Match) -> float:
    return match.distance
