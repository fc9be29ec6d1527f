"""Documents of all shards: finds them by id, draws some at random, and reads their sketches."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import Columns, checked_arrow, read_batches
from simdb.database import Database
from simdb.engine import state as states
from simdb.engine.state.documents import (
    drawn,
    known_ordinals,
    no_sketches,
    stored_sketches,
    with_features,
)
from simdb.sharding.inspection import OpenShard
from simdb.sharding.merging import global_ordinals
from simdb.sharding.shards import Shards
from simdb.values.arrays import Id, Sketches, object_array


class StoredQueries(NamedTuple):
    """Stored documents as queries: their sketches, and their numbers in the sharded database."""

    sketches: Sketches
    ordinals: npt.NDArray[np.uint64]


def of_stored(shards: Shards, ids: list[Id]) -> StoredQueries:
    """Return stored documents as queries; NotFoundError for the first unknown id."""
    places = np.zeros(len(ids), np.uint64)
    order: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
    parts = []
    check_known(shards, ids)
    for number, chosen in shards.by_shard(ids):
        ordinals, sketches = shards.ask(number, partial(_stored, [ids[at] for at in chosen]))
        places[chosen] = global_ordinals(number, ordinals)
        parts.append(sketches)
        order.append(chosen)
    sketcher = shards.sample.store.sketcher
    together = states.incoming.joined(sketcher, parts) if parts else sketcher.sketch([])
    return StoredQueries(together.taken(np.argsort(np.concatenate(order), kind="stable")), places)


def check_known(shards: Shards, ids: list[Id]) -> None:
    """Raise the NotFoundError of one database for the first id that is not stored."""
    known = contained(shards, ids)
    if not known.all():
        shards.sample.database.get_many([ids[int(np.argmin(known))]])


def contained(shards: Shards, ids: list[Id]) -> npt.NDArray[np.bool_]:
    """Return whether each id is stored."""
    found = np.zeros(len(ids), np.bool_)
    for chosen, answer in shards.ask_of(ids, Database.contains_many):
        found[chosen] = answer
    return found


def drawn_ids(shards: Shards, count: int, seed: int, *, is_weighted: bool) -> list[Id]:
    """Draw ids at random: those that one database with the documents of all shards would draw."""
    counts = list(shards.each(partial(_drawable, is_weighted)))
    ends = np.cumsum([found for _, found in counts])
    chosen = drawn(int(ends[-1]), count, seed)
    ids = object_array([None] * len(chosen))
    which = np.searchsorted(ends, chosen, side="right")
    for at, (number, found) in enumerate(counts):
        places = np.flatnonzero(which == at)
        own = chosen[places] - (ends[at] - found)
        ids[places] = shards.ask(number, partial(_ids_at, own, is_weighted))
    return list(ids)


def all_sketches(shards: Shards, ids: str) -> Any:
    """Return the sketches of all documents, shard by shard; see `Database.sketches`."""
    checked_arrow(ids)
    with shards.sample.store.state() as state:
        empty = no_sketches(state)

    def chunks() -> Iterator[Columns]:
        for _, found in shards.each(lambda shard: shard.database._sketch_chunks()):
            yield from found

    return read_batches(chunks(), empty, id_columns=["id"], ids=ids)


def _stored(ids: list[Id], shard: OpenShard) -> tuple[npt.NDArray[np.uint32], Sketches]:
    with shard.store.state() as state:
        ordinals = known_ordinals(state, ids)
        return ordinals, stored_sketches(state, ordinals)


def _drawable(is_weighted: bool, shard: OpenShard) -> int:
    with shard.store.state() as state:
        return len(with_features(state, is_weighted=is_weighted))


def _ids_at(
    places: npt.NDArray[np.int64], is_weighted: bool, shard: OpenShard
) -> npt.NDArray[np.object_]:
    with shard.store.state() as state:
        ordinals = with_features(state, is_weighted=is_weighted)[places]
        return object_array(list(state.identifiers(ordinals).decode(ordinals)))
