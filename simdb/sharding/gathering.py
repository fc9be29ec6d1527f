"""Gathering: documents of several shards, put together in one temporary database.

The documents of a pair can lie in two shards.  So the verbs that compare stored documents with each
other copy what is stored of them, without sketching a text again, into one database, and ask it.
That costs less than to look up the documents of each shard in all others, finds the same pairs as
one database with all documents, and needs room for their sketches: in memory, or in the folder for
temporary files if there is not so much memory.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from simdb.database import Database
from simdb.engine import state as states
from simdb.engine import write
from simdb.engine.search.where import Where, satisfying
from simdb.engine.state.documents import known_ordinals, stored_sketches
from simdb.engine.state.opening import open_beside
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.ground.errors import FullError
from simdb.sharding.inspection import OpenShard
from simdb.sharding.shards import Shards
from simdb.storage.records.batch import Batch
from simdb.values.arrays import ORDINALS_MAX, Id

# So many documents are in memory before they are stored.
COPIED_DOCUMENTS = 1 << 18
# A merge writes its documents once more before it gives back what they took.
ROOM_FACTOR = 2

Result = TypeVar("Result")
Documents = tuple[Batch, list[tuple[int, bytes]]]
U32 = npt.NDArray[np.uint32]


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
        write.bulk.store_batch(store, batch, metadata, threads)
