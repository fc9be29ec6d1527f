"""Gathering: documents of several shards, put together in one temporary database, and explained.

The documents of a pair can lie in two shards.  So the verbs that compare stored documents with each
other copy what is stored of them, without sketching a text again, into one database, and ask it.
That costs less than to look up the documents of each shard in all others, finds the same pairs as
one database with all documents, and needs room for their sketches: in memory, or in the folder for
temporary files if there is not so much memory.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import partial
from typing import TypeVar

from simdb.database import Database
from simdb.engine import explain, write
from simdb.engine import state as states
from simdb.engine.explain.stored import Both
from simdb.engine.search.filters import Where, satisfying
from simdb.engine.search.planning import planned as planned_of
from simdb.engine.search.question import Question, of_any, of_pairs
from simdb.engine.state.documents import known_ordinals, stored_sketches
from simdb.engine.state.opening import open_beside
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.ground.dtypes import U32
from simdb.ground.errors import FullError
from simdb.results.plans import Plan
from simdb.results.reports import Explanation
from simdb.sharding.shard import OpenShard, shard_of
from simdb.sharding.shards import Shards
from simdb.storage.records.delta import StoredBatch
from simdb.values.arrays import ORDINALS_MAX, Id

# So many documents are in memory before they are stored.
COPIED_DOCUMENTS = 1 << 18
# A merge writes its documents once more before it gives back what they took.
ROOM_FACTOR = 2

Result = TypeVar("Result")
Documents = tuple[StoredBatch, list[tuple[int, bytes]]]


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
    sizes = [size for _, size in shards.each(_data_bytes)]
    database = _made(shards, sum(sizes))
    try:
        verb(database)

        def copied(shard: OpenShard) -> None:
            with shard.store.state() as state:
                ordinals = state.live()
                if where is not None:
                    ordinals = satisfying(state, ordinals, where)
                _store(database._store, _documents(state, ordinals, has_metadata), threads)

        left_out = len(shards.failures)
        for _ in shards.each(copied):
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

            def copied(shard: OpenShard, some: list[Id] = some) -> None:
                with shard.store.state() as state:
                    found = _documents(state, known_ordinals(state, some), has_metadata=False)
                    _store(database._store, found, threads)

            shards.ask(number, copied)
        return verb(database)


def _made(shards: Shards, size_bytes: int) -> Database:
    """Return an empty database like the shards, with room for `size_bytes` of their files."""
    store = open_beside(shards.sample.store, ROOM_FACTOR * size_bytes)
    return Database(store, store.environment.path, "w", "none")


def _data_bytes(shard: OpenShard) -> int:
    with shard.store.state() as state:
        return state.source.data_bytes


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


@dataclass(frozen=True, slots=True)
class _Counts:
    """Numbers of documents in all shards: of all, without features, without weights."""

    document_count: int
    empty_count: int
    bare_count: int


def explained(shards: Shards, both: Both, question: Question, errors: str) -> Explanation:
    """Return why two documents match or do not, by the plan of the shard that has the last one."""
    stored = [each for each in (both.id, both.other_id) if each is not None]
    if not stored:
        return _explain(both, question, errors, None, shards.sample)
    numbers = shard_of(stored, shards.count).tolist()
    first, last = numbers[0], numbers[-1]
    if first == last:
        return shards.ask(last, partial(_explain, both, question, errors, None))

    def across(shard: OpenShard) -> Explanation:
        with shard.store.state() as home:
            return shards.ask(last, partial(_explain, both, question, errors, home))

    return shards.ask(first, across)


def planned(shards: Shards, question: Question, count: float | None, *, pairs: bool) -> Plan:
    """Return the plan of the largest shard for a query, or of one database for all pairs."""
    each = dict(shards.each(_counts))
    totals = _Counts(*(sum(numbers) for numbers in zip(*map(astuple, each.values()), strict=True)))
    largest = max(each, key=lambda number: each[number].document_count)
    if pairs and count is None:
        count = totals.document_count
    return shards.ask(largest, partial(_plan, question, totals, count, shards.count, pairs))


def _explain(
    both: Both, question: Question, errors: str, home: State | None, shard: OpenShard
) -> Explanation:
    with shard.store.state() as state:
        return explain.stored.explain_both(shard.store, state, both, question, errors, home=home)


def _counts(shard: OpenShard) -> _Counts:
    with shard.store.state() as state:
        found = state.counts
        return _Counts(found.document_count, found.empty_count, found.bare_count)


def _plan(
    question: Question,
    totals: _Counts,
    count: float | None,
    databases: int,
    pairs: bool,
    shard: OpenShard,
) -> Plan:
    options = shard.store.options
    with shard.store.state() as state:
        if pairs:
            criterion = of_pairs(options, totals, question)
            population = state.population(criterion, is_swept=True)
            # The database that finds the pairs is new and has no calibration.
            return planned_of(options, criterion, population, None, count)
        criterion = of_any(options, totals, question)
        population = state.population(criterion)
        return planned_of(
            options, criterion, population, state.calibration, count, databases=databases
        )
