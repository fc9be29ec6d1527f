"""Gathering: copies what shards store of documents into one temporary database.

The documents of a pair can lie in two shards.  So the verbs that compare stored documents with each
other ask such a database, and no text is sketched again.  That costs less than to look up the
documents of each shard in all others, finds the same pairs as one database with all documents, and
needs room for their sketches: in memory, or in the folder for temporary files if there is not so
much memory.
"""

from collections.abc import Iterator

from simdb.core.arrays import ORDINALS_MAX, Id
from simdb.core.dtypes import U32
from simdb.core.errors import FullError
from simdb.database import state as states, write
from simdb.database.database import Database
from simdb.database.search.filters import Where, satisfying
from simdb.database.search.searcher import parts_by_ids
from simdb.database.sharding.shards import ShardSearcher
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.state import State
from simdb.database.state.store import open_beside
from simdb.storage import StoredBatch

# Documents in memory at a time, before they are stored.
COPIED_DOCUMENTS = 1 << 18
# A merge writes its documents once more before it gives back what they took.
ROOM_FACTOR = 2

Documents = tuple[StoredBatch, list[tuple[int, bytes]]]


def gathered(searcher: ShardSearcher, where: Where | None, *, has_metadata: bool) -> Database:
    """Return a temporary database with the documents of all shards that satisfy `where`.

    Documents are in the order of the shards, and in a shard in the order of insertion.  The
    database ends when nothing refers to it any more.  `has_metadata`: whether it needs metadata.
    """
    sizes = [size for _, size in searcher.each(lambda state: state.source.data_bytes)]
    database, failures = _made(searcher, sum(sizes)), searcher.shards.failures
    try:
        left_out = len(failures)

        def copied(state: State) -> None:
            ordinals = state.live() if where is None else satisfying(state, state.live(), where)
            _store(database, _documents(state, ordinals, has_metadata), searcher.threads)

        for _ in searcher.each(copied):
            pass
        searcher.shards.check_some()
    except BaseException:
        database.close()
        raise
    if len(failures) == left_out:
        return database
    # A shard that is left out from now on may have been copied in part.
    database.close()
    return gathered(searcher, where, has_metadata=has_metadata)


def gathered_some(searcher: ShardSearcher, ids: list[Id]) -> Database:
    """Return a temporary database with the documents `ids`, each of which is stored."""
    database = _made(searcher, 0)

    def copied(state: State, some: list[Id]) -> None:
        found = _documents(state, known_ordinals(state, some), has_metadata=False)
        _store(database, found, searcher.threads)

    try:
        parts_by_ids(searcher, list(dict.fromkeys(ids)), copied)
    except BaseException:
        database.close()
        raise
    return database


def _made(searcher: ShardSearcher, size_bytes: int) -> Database:
    """Return an empty database like the shards, with room for `size_bytes` of their files."""
    store = open_beside(searcher.store, ROOM_FACTOR * size_bytes)
    return Database(store, store.environment.path, "w", "none")


def _documents(state: State, ordinals: U32, has_metadata: bool) -> Iterator[Documents]:
    """Yield documents as they are stored, some at a time, and their packed metadata if wanted."""
    options = state.store.options
    for start in range(0, len(ordinals), COPIED_DOCUMENTS):
        part = ordinals[start : start + COPIED_DOCUMENTS]
        ids = states.incoming.EncodedIds(list(state.identifiers(part).decode(part)))
        sketches = stored_sketches(state, part)
        if options.passages:
            sketches.grains = state.passages().grains_of(part, state.source)
        if options.features:
            sketches.features = state.features(part)
        listed = part.tolist() if has_metadata else []
        packed = state.metadata_of_many(listed)
        batch = states.incoming.make_batch(ids, sketches)
        yield batch, [(at, packed[each]) for at, each in enumerate(listed) if each in packed]


def _store(database: Database, documents: Iterator[Documents], threads: int) -> None:
    """Store documents; FullError if one database cannot number so many."""
    store = database._store
    for batch, metadata in documents:
        with store.state() as state:
            count = state.next_ordinal
        if count + len(batch) > ORDINALS_MAX:
            raise FullError(
                f"pairs and clusters are found among at most {ORDINALS_MAX} documents of all shards"
                " together; choose fewer by a filter (where), or find those of each shard alone"
            )
        write.write_state.store_batch(store, batch, metadata, threads)
