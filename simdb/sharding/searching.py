"""Searching: sketches queries once, asks every shard for their matches, and merges the answers."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.engine import search
from simdb.engine.search import lookup, one
from simdb.engine.search.filters import Where, kept, kept_matches
from simdb.engine.search.many import Room
from simdb.engine.search.nearest import Wanted
from simdb.engine.search.question import Question, criterion_of, refuse_mixed
from simdb.ground.choices import ErrorsName
from simdb.ground.errors import InputError
from simdb.results.matches import Match, Matches
from simdb.sharding.documents import of_stored
from simdb.sharding.inspection import OpenShard
from simdb.sharding.merging import ShardMatches, best_first, joined, merged
from simdb.sharding.shards import Shards
from simdb.values.arrays import EMPTY, WEIGHTED, Id, Sketches


class ShardQuery(NamedTuple):
    """One document as a query: its sketches, or itself if it needs none; the place of a stored one.

    `shard` and `ordinal` are -1 and None for a document that is not stored.
    """

    sketches: Sketches
    document: Any = None
    shard: int = -1
    ordinal: int | None = None


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
    question: Question,
    *,
    room: Room | None,
    first: bool,
    where: Where | None,
    left_out: npt.NDArray[np.uint64] | None,
    threads: int,
) -> Matches:
    """Return the matches of queries in slices; see `Database.query_many`."""
    by_similarity: set[bool] = set()
    found, start = [], 0
    for sketches in slices:
        criterion = criterion_of(shards.sample.store.options, sketches, question)
        if (sketches.states != EMPTY).any():
            by_similarity.add(criterion.similarity is not None)
        if len(by_similarity) > 1:
            refuse_mixed()
        stop = start + len(sketches)
        own = None if left_out is None else left_out[start:stop]
        limit = question.limit
        # A stored document also finds itself.
        more = question if own is None or limit is None else replace(question, limit=limit + 1)
        ask = _first_of_each if first and own is None else _all_of_each
        parts = ask(shards, sketches, more, room, where, threads)
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
    left_out: npt.NDArray[np.uint64] | None,
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


def _all_of_each(
    shards: Shards,
    sketches: Sketches,
    question: Question,
    room: Room | None,
    where: Where | None,
    threads: int,
) -> list[ShardMatches]:
    outer = max(min(threads, shards.count), 1)
    share = None if room is None else Room(max(room.limit_bytes // outer, 1))
    answers = shards.all(partial(_find_many, sketches, question, share, False, where), threads)
    every = np.arange(len(sketches))
    return [ShardMatches(number, every, found) for number, found in answers]


def _first_of_each(
    shards: Shards,
    sketches: Sketches,
    question: Question,
    room: Room | None,
    where: Where | None,
    threads: int,
) -> list[ShardMatches]:
    """Return one match of each query; a query with a match is not asked of later shards."""
    pending, parts = np.arange(len(sketches)), []
    queries = sketches

    def ask(shard: OpenShard) -> Matches:
        return _find_many(queries, question, room, True, where, shard, threads)

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
    sketches: Sketches,
    question: Question,
    room: Room | None,
    first: bool,
    where: Where | None,
    shard: OpenShard,
    threads: int,
) -> Matches:
    most = question.limit
    if where is not None:
        question, first = replace(question, limit=None), False
    with shard.store.state() as state:
        state.threads = threads
        rows = search.many.of_slices(
            shard.store, state, [sketches], question, first=first, room=room
        )
        if where is not None:
            rows = kept(state, rows, where, most)
        return lookup.as_matches(state, rows)


def _nearest(
    sketches: Sketches, wanted: Wanted, where: Where | None, shard: OpenShard, threads: int
) -> Matches:
    with shard.store.state() as state:
        state.threads = threads
        rows = search.nearest.of_slices(shard.store, state, [sketches], wanted, where)
        return lookup.as_matches(state, rows)
