"""Storing: writes sketches of a DataFrame to a sharded database, and queries databases with texts.

The tasks of `write_database` and `query` all open the database at the same path.
"""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from simdb import database
from simdb.core import kernel
from simdb.core.arrays import Fingerprints
from simdb.core.checks import instance
from simdb.core.choices import OnErrorName
from simdb.core.documents import Signatures
from simdb.core.errors import InputError, OptionError
from simdb.core.options import AnySketch, Options, SearchLike, Simhash
from simdb.database import (
    Database,
    Division,
    ShardedDatabase,
    Where,
    finish_sharded,
    open_sharded,
    write_shard,
)
from simdb.spark import frames, sketching
from simdb.spark.pairing import partitions_of
from simdb.storage import Shard, shards_file

Asked = dict[str, Any]
ID_TYPES = {int: "bigint", str: "string", bytes: "binary"}


def write_database(
    sketches: Any,
    path: str | os.PathLike[str],
    *,
    shards: int,
    options: Options | None = None,
    partitions: int | None = None,
) -> int:
    """Write sketches to a sharded database.

    One task writes and checks each shard, and then gives it its name.  Repeating a task, or the job
    with the same sketches, changes nothing.

    Parameters
    ----------
    sketches : DataFrame
        The result of `fingerprints` or `signatures`.  Fingerprints of texts must have vectors
        (`store_volatility=True`).
    path : str or path
        A directory that all processes can write to and the driver can read.  Open it with
        `simdb.open_sharded`.
    shards : int
        Number of shards, 1 to 10,000.
    options : Options, optional
        The options of the database, with the sketch that made the sketches.  If not given, all
        options except the sketch have their defaults.
    partitions : int, optional
        Partitions of the shuffle that checks the ids; see `pairs`.

    Returns
    -------
    int
        Number of documents.

    Raises
    ------
    ExistsError
        If an id appears twice.
    OptionError
        If `options` have another sketch, or the fingerprints have no vectors.

    Notes
    -----
    Each document, even an empty one, is stored bit for bit as a database would store its text.  The
    order of the documents depends only on their ids.  At the end all shards are opened and checked.
    """
    Division.checked(shards)
    place = os.path.abspath(os.fsdecode(path))
    sketch = sketching.sketch_of(sketches)
    options = Options(sketch=sketch) if options is None else options
    instance("options", options, Options, "simdb.Options()")
    if options.sketch != sketch:
        raise OptionError(
            f"options= has the sketch {options.sketch}, and the sketches were made with {sketch};"
            " give the same"
        )
    if isinstance(sketch, Simhash) and not sketch.vector_bytes:
        raise OptionError(
            "a database needs sketches with vectors; make them with store_volatility=True"
        )
    sketching.checked_keys(sketches, partitions_of(sketches, partitions))
    given = sketches.select("id", "is_empty", *sketching.columns_of(sketch))
    types = ", ".join(f"{name} {frames.column_type(given, name)}" for name in given.columns)
    placed = given.mapInArrow(partial(_place, shards), f"place int, {types}")
    # A row without an id tells each task its shard, even if no documents follow.
    places = frames.functions().col("id").cast("int").alias("place")
    marks = sketches.sparkSession.range(shards).select(places)
    rows = marks.unionByName(placed, allowMissingColumns=True)
    spread = rows.repartitionById(shards, "place").sortWithinPartitions("id")
    written = spread.mapInArrow(
        partial(_write, place, shards, options), "name string, documents bigint, digest string"
    )
    reports = [Shard(row["name"], row["documents"], row["digest"]) for row in written.collect()]
    return finish_sharded(place, shards, reports=reports)


def _place(shards: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Put the shard of each document before its columns, as a task."""
    for batch in batches:
        hashes = kernel.encode_ids(batch.column("id").to_pylist())[2]
        columns = {name: batch.column(name) for name in batch.schema.names}
        places = (hashes % np.uint64(shards)).astype(np.int32)
        yield frames.batch_of({"place": places, **columns})


def _write(path: str, shards: int, options: Options, batches: Iterable[Any]) -> Iterator[Any]:
    """Write the shard of a task, whose rows are sorted by id; the first row has only the shard."""
    full = (batch for batch in batches if len(batch))
    first = next(full, None)
    if first is None:
        return
    documents = (
        (batch.column("id").to_pylist(), _sketches(batch, options.sketch))
        for batch in chain([first.slice(1)], full)
        if len(batch)
    )
    number = first.column("place")[0].as_py()
    written = write_shard(path, number, documents, shards, options=options, threads=1)
    arrow = frames.pyarrow()
    yield frames.batch_of(
        {
            "name": arrow.array([written.name]),
            "documents": np.array([written.document_count]),
            "digest": arrow.array([written.content]),
        }
    )


def _sketches(batch: Any, sketch: AnySketch) -> Fingerprints | Signatures:
    """Return the sketches of a batch, unchanged."""
    is_empty = np.asarray(batch.column("is_empty").to_numpy(zero_copy_only=False), np.bool_)
    return sketching.documents_of(batch.column(sketching.main_column(sketch)), sketch, is_empty)


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
    search: SearchLike | None = None,
    where: Where | None = None,
    on_error: OnErrorName = "raise",
) -> Any:
    """Find the documents of a database that match each text or hash.

    Tasks search where the texts are, so texts do not travel.

    Parameters
    ----------
    df : DataFrame
        The texts or hashes.  Rows without a text match nothing.
    path : str or path
        A database, or a sharded database as `write_database` makes it.  Every process must be able
        to read it.
    id : str, default "id"
        The column with the ids, which are strings or whole numbers.
    text : str, default "text"
        The column with the texts or hashes.
    similarity : float, optional
        The least similarity of a match; see `Database.query`.
    distance : int, optional
        The largest distance of a match; see `Database.query`.
    recall : float, optional
        The share of matches to find; see `Database.query`.
    limit : int, optional
        Return at most this number of matches for each text, the best; all if not given.
    search : str or Search, optional
        How to search; see `Database.query`.
    where : callable or dict, optional
        Which stored documents may match, by their metadata; see `Database.query`.  Spark sends a
        function to the tasks.
    on_error : {"raise", "skip"}, default "raise"
        What to do with rows that cannot be read; see `fingerprints`.

    Returns
    -------
    DataFrame
        The matches: id, match, distance INT, similarity FLOAT.  With on_error="skip" it has the
        attribute `skipped`; see `fingerprints`.

    Raises
    ------
    OptionError
        If the database cannot answer the criterion.
    InputError
        If a column is missing, or the ids of `df` or of the database have a type that Spark does
        not support.
    NotFoundError
        If there is no database.

    Notes
    -----
    A task of Spark has one thread.
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
        "search": search,
    }
    if where is not None:
        asked["where"] = where
    with _opened(place) as held:
        held.query_many([], **asked)
        own, sketch = next(iter(held), 0), held.options.sketch
    if type(own) not in ID_TYPES:
        raise InputError(f"ids of {place} are {type(own).__name__}, which Spark cannot hold")
    df, skipped = sketching.readable(df, id, text, on_error, sketch)
    given = df.select(functions.col(id).cast(kind).alias("id"), functions.col(text).alias("text"))
    schema = f"id {kind}, match {ID_TYPES[type(own)]}, distance int, similarity float"
    found = given.mapInArrow(partial(_look_up, place, asked), schema)
    return sketching.with_skipped(found, skipped)


def _opened(path: str) -> Database[Any] | ShardedDatabase[Any]:
    return open_sharded(path) if shards_file.has_shards_file(path) else database.open(path, "r")


def _look_up(path: str, asked: Asked, batches: Iterable[Any]) -> Iterator[Any]:
    """Look up batches of ids and texts, as a task."""
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
