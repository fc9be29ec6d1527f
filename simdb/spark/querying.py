"""Querying: the documents of a DataFrame are looked up in a database, by tasks that all open it."""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from simdb import database
from simdb.choices import MethodName
from simdb.database import Database
from simdb.engine.search.where import Where
from simdb.errors import InputError
from simdb.sharding.sharded_database import ShardedDatabase, open_sharded
from simdb.spark import frames
from simdb.storage.files.shards_file import has_shards_file

Asked = dict[str, Any]
ID_TYPES = {int: "bigint", str: "string", bytes: "binary"}


def query(
    df: Any,
    path: str | os.PathLike[str],
    *,
    id: str = "id",
    text: str = "text",
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    limit: int | None = None,
    search: MethodName | None = None,
    where: Where | None = None,
) -> Any:
    """Return what a database has for each text: id, match, distance INT, similarity FLOAT.

    `path`: a database, or a sharded one as `write_database` makes; every process must be able to
    read it.  The criterion is that of `Database.query_many`; `limit`: the matches of each text, the
    best ones; None for all.  `search`: the name of a method; None for the cheapest one.  `where`: a
    function of the metadata of a stored document, which travels to the tasks; only documents for
    which it returns true are matches.  Rows without a text match nothing.  The result is computed
    where the texts are, and they do not travel.  A task of Spark has one thread.

    Raises OptionError for a criterion that the database cannot answer, InputError for ids that are
    not string or whole numbers, NotFoundError if there is no database.
    """
    place = os.path.abspath(os.fsdecode(path))
    functions = frames.functions()
    frames.column_type(df, text)
    kind = frames.id_type(df, id)
    asked: Asked = {
        "similarity": similarity,
        "distance": distance,
        "recall": recall,
        "limit": limit,
        "method": search,
    }
    if where is not None:
        asked["where"] = where
    with _opened(place) as held:
        held.query_many([], **asked)
        own = next(iter(held), 0)
    if type(own) not in ID_TYPES:
        raise InputError(f"ids of {place} are {type(own).__name__}, which Spark cannot hold")
    given = df.select(functions.col(id).cast(kind).alias("id"), functions.col(text).alias("text"))
    schema = f"id {kind}, match {ID_TYPES[type(own)]}, distance int, similarity float"
    return given.mapInArrow(partial(_look_up, place, asked), schema)


def _opened(path: str) -> Database[Any] | ShardedDatabase[Any]:
    return open_sharded(path) if has_shards_file(path) else database.open(path, "r")


def _look_up(path: str, asked: Asked, batches: Iterable[Any]) -> Iterator[Any]:
    """Look batches of ids and texts up: a task."""
    arrow = frames.pyarrow()
    with _opened(path) as held:
        for batch in batches:
            known = batch.filter(batch.column(1).is_valid())
            found = held.query_many(known.column(1), threads=1, **asked)
            queries = np.repeat(np.arange(len(known)), np.diff(found.offsets))
            if len(queries):
                yield frames.batch_of(
                    {
                        "id": known.column(0).take(arrow.array(queries)),
                        "match": arrow.array(found.ids.tolist()),
                        "distance": found.distances.astype(np.int32),
                        "similarity": arrow.array(found.similarities, from_pandas=True),
                    }
                )
