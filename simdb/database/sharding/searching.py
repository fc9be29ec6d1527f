"""Searching: sketches queries once, asks every shard for their matches, and merges the answers.

The documents of a pair can lie in two shards.  So the verbs that compare stored documents with each
other copy what is stored of them, without sketching a text again, into one temporary database, and
ask it.  That costs less than to look up the documents of each shard in all others, finds the same
pairs as one database with all documents, and needs room for their sketches: in memory, or in the
folder for temporary files if there is not so much memory.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simdb.core.arrays import EMPTY, ORDINALS_MAX, WEIGHTED, Id, Sketches, offsets_of
from simdb.core.choices import ErrorsName
from simdb.core.dtypes import I64, U32, U64, Bools
from simdb.core.errors import FullError, InputError
from simdb.core.matches import Match, Matches
from simdb.core.reports import Explanation, Plan
from simdb.database import explain, search, state as states, write
from simdb.database.database import Database
from simdb.database.explain.stored import Both
from simdb.database.search import lookup, one
from simdb.database.search.filters import Where, kept, kept_matches, satisfying
from simdb.database.search.many import QueryBatch
from simdb.database.search.nearest import Wanted
from simdb.database.search.planning import planned as planned_of
from simdb.database.search.question import Question, criterion_of, of_any, of_pairs, refuse_mixed
from simdb.database.sharding.shard import shard_of
from simdb.database.sharding.shards import Shards, global_ordinals, of_stored
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.opening import open_beside
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.storage import StoredBatch

# So many documents are in memory before they are stored.
COPIED_DOCUMENTS = 1 << 18
# A merge writes its documents once more before it gives back what they took.
ROOM_FACTOR = 2

Result = TypeVar("Result")
Documents = tuple[StoredBatch, list[tuple[int, bytes]]]


class ShardQuery(NamedTuple):
    """One document as a query: its sketches, or itself if it needs none; the place of a stored one.

    `store` and `ordinal`: the shard, and the ordinal in it; None for a document that is not stored.
    """

    sketches: Sketches
    document: Any = None
    store: Store | None = None
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
        store = shards.ask(shard, attrgetter("store"))
        return ShardQuery(stored.sketches, None, store, ordinal)
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
    answers = shards.read_all(partial(_find, query, given, limit, where), threads)
    options = shards.sample.store.options
    criterion = criterion_of(options, query.sketches, Question(*given))
    by_similarity = criterion.similarity is not None
    found = [part for _, part in answers]
    return best_first(found, by_similarity=by_similarity, limit=limit)


def find_first(
    shards: Shards, query: ShardQuery, given: one.Given, where: Where | None
) -> Match | None:
    """Return any one match of a document: of the first shard that has one."""
    for _, found in shards.read_each(partial(_find, query, given, 1, where, first=True)):
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

    def ask(state: State) -> Matches:
        return lookup.as_matches(state, search.nearest.of_slices(state, [sketches], more, where))

    answers = shards.read_all(ask, threads)
    every = np.arange(len(sketches))
    parts = [ShardMatches(number, every, found) for number, found in answers]
    has_weights = sketches.states == WEIGHTED
    if not shards.sample.store.width:
        has_weights[:] = False
    return merged(len(sketches), parts, has_weights, limit=wanted.k, left_out=left_out)


def explained(shards: Shards, both: Both, question: Question, errors: str) -> Explanation:
    """Return why two documents match or do not, by the plan of the shard that has the last one."""
    stored = [each for each in (both.id, both.other_id) if each is not None]
    if not stored:
        with shards.sample.store.state() as state:
            return explain.stored.explain_both(state, both, question, errors)
    numbers = shard_of(stored, shards.count).tolist()
    first, last = numbers[0], numbers[-1]

    def explained_from(home: State) -> Explanation:
        if first == last:
            return explain.stored.explain_both(home, both, question, errors)
        why = partial(explain.stored.explain_both, both=both, question=question, errors=errors)
        return shards.read(last, partial(why, home=home))

    return shards.read(first, explained_from)


def planned(shards: Shards, question: Question, count: float | None, *, pairs: bool) -> Plan:
    """Return the plan of the largest shard for a query, or of one database for all pairs."""
    each = dict(shards.read_each(_counts))
    totals = _Counts(*(sum(numbers) for numbers in zip(*each.values(), strict=True)))
    largest = max(each, key=lambda number: each[number].document_count)
    if pairs and count is None:
        count = totals.document_count

    def plan(state: State) -> Plan:
        options = state.store.options
        if pairs:
            criterion = of_pairs(options, totals, question)
            population = state.population(criterion, is_swept=True)
            # The database that finds the pairs is new and has no calibration.
            return planned_of(options, criterion, population, None, count)
        criterion = of_any(options, totals, question)
        known = state.population(criterion), state.calibration
        return planned_of(options, criterion, *known, count, databases=shards.count)

    return shards.read(largest, plan)


def ask_all(
    shards: Shards,
    verb: Callable[[Database], Result],
    *,
    where: Where | None = None,
    has_metadata: bool = False,
    threads: int,
) -> Result:
    """Return the answer of `verb` for the documents of all shards that satisfy `where`.

    Documents are in the order of the shards, and in a shard in the order of insertion.  The answer
    may be read when the verb has returned: the database ends with it.  `has_metadata`: whether the
    verb needs metadata.  What cannot be asked is refused before anything is copied.
    """
    sizes = [size for _, size in shards.read_each(lambda state: state.source.data_bytes)]
    database = _made(shards, sum(sizes))
    try:
        verb(database)

        def copied(state: State) -> None:
            ordinals = state.live() if where is None else satisfying(state, state.live(), where)
            _store(database._store, _documents(state, ordinals, has_metadata), threads)

        left_out = len(shards.failures)
        for _ in shards.read_each(copied):
            pass
        shards.check_some()
        # A shard that is left out from now on may have been copied in part.
        if len(shards.failures) == left_out:
            return verb(database)
    except BaseException:
        database.close()
        raise
    database.close()
    return ask_all(shards, verb, where=where, has_metadata=has_metadata, threads=threads)


def ask_some(
    shards: Shards, ids: Iterable[Id], verb: Callable[[Database], Result], threads: int
) -> Result:
    """Return the answer of `verb` for the documents `ids`, each of which is stored."""
    with _made(shards, 0) as database:
        for number, chosen in shards.by_shard(listed := list(dict.fromkeys(ids))):
            some = [listed[at] for at in chosen]

            def copied(state: State, some: list[Id] = some) -> None:
                found = _documents(state, known_ordinals(state, some), has_metadata=False)
                _store(database._store, found, threads)

            shards.read(number, copied)
        return verb(database)


def merged(
    count: int,
    parts: Sequence[ShardMatches],
    by_similarity: Bools,
    *,
    limit: int | None,
    left_out: U64 | None = None,
) -> Matches:
    """Return the matches of `count` queries in all shards; `parts`: of each, in their order.

    `by_similarity` bool[count]: whether similarity decides for each query, or distance.  `limit`:
    at most this many for each query.  `left_out`: for each query, the document that it is itself.
    """
    found = [part.matches for part in parts]
    each_query = [np.repeat(part.queries, np.diff(part.matches.offsets)) for part in parts]
    each_ordinal = [global_ordinals(part.shard, part.matches.ordinals) for part in parts]
    queries, ordinals = np.concatenate(each_query), np.concatenate(each_ordinal)
    distances = np.concatenate([each.distances for each in found])
    similarities = np.concatenate([each.similarities for each in found])
    far = np.where(by_similarity[queries], -similarities, distances.astype(np.float32))
    # The sort is stable, so equally good matches stay in the order of shards and insertion.
    order = np.lexsort((far, queries))
    if left_out is not None:
        order = order[ordinals[order] != left_out[queries[order]]]
    if limit is not None:
        starts = offsets_of(np.bincount(queries[order], minlength=count))
        order = order[np.arange(len(order)) - starts[queries[order]] < limit]

    def resolve() -> list[object]:
        return list(np.concatenate([each.ids for each in found])[order])

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
    return sorted(every, key=_farness if by_similarity else attrgetter("distance"))[:limit]


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
    outer, limit = max(min(threads, shards.count), 1), batch.memory_bytes
    share = None if limit is None else max(limit // outer, 1)
    each = batch._replace(first=0, memory_bytes=share)
    answers = shards.read_all(partial(_find_many, sketches, each, where), threads)
    every = np.arange(len(sketches))
    return [ShardMatches(number, every, found) for number, found in answers]


def _first_of_each(
    shards: Shards, sketches: Sketches, batch: QueryBatch, where: Where | None, threads: int
) -> list[ShardMatches]:
    """Return one match of each query; a query with a match is not asked of later shards."""
    pending, parts = np.arange(len(sketches)), []
    queries = sketches

    def ask(state: State) -> Matches:
        state.threads = threads
        return _find_many(queries, batch, where, state)

    for number, found in shards.read_each(ask):
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
    where: Where | None,
    state: State,
    *,
    first: bool = False,
) -> list[Match]:
    most, first = (limit, first) if where is None else (None, False)
    if query.document is not None:
        found = one.find(state, query.document, None, given, most, "strict", first=first)
    else:
        own = query.ordinal if state.store is query.store else None
        found = one.find_sketched(state, query.sketches, given, most, first=first, left_out=own)
    return found if where is None else kept_matches(state, found, where, limit)


def _find_many(sketches: Sketches, batch: QueryBatch, where: Where | None, state: State) -> Matches:
    asked = batch if where is None else batch.with_limit(None)
    rows = search.many.of_slices(state, [sketches], asked)
    if where is not None:
        rows = kept(state, rows, where, batch.question.limit)
    return lookup.as_matches(state, rows)


def _farness(match: Match) -> float:
    return 0.0 if match.similarity is None else -match.similarity


def _made(shards: Shards, size_bytes: int) -> Database:
    """Return an empty database like the shards, with room for `size_bytes` of their files."""
    store = open_beside(shards.sample.store, ROOM_FACTOR * size_bytes)
    return Database(store, store.environment.path, "w", "none")


def _documents(state: State, ordinals: U32, has_metadata: bool) -> Iterator[Documents]:
    """Yield documents as they are stored, some at a time, and their packed metadata if wanted."""
    for start in range(0, len(ordinals), COPIED_DOCUMENTS):
        part = ordinals[start : start + COPIED_DOCUMENTS]
        ids = states.incoming.EncodedIds(list(state.identifiers(part).decode(part)))
        batch = states.incoming.make_batch(ids, stored_sketches(state, part))
        listed = part.tolist() if has_metadata else []
        packed = state.metadata_of_many(listed)
        yield batch, [(at, packed[each]) for at, each in enumerate(listed) if each in packed]


def _store(store: Store, documents: Iterator[Documents], threads: int) -> None:
    """Store documents; FullError if one database cannot number so many."""
    for batch, metadata in documents:
        with store.state() as state:
            count = state.next_ordinal
        if count + len(batch) > ORDINALS_MAX:
            raise FullError(
                f"pairs and clusters are found among at most {ORDINALS_MAX} documents of all shards"
                " together; choose fewer by a filter (where), or find those of each shard alone"
            )
        write.write_state.store_batch(store, batch, metadata, threads)


class _Counts(NamedTuple):
    """Numbers of documents in all shards: of all, without features, without weights."""

    document_count: int
    empty_count: int
    bare_count: int


def _counts(state: State) -> _Counts:
    found = state.counts
    return _Counts(found.document_count, found.empty_count, found.bare_count)
