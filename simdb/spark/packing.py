"""Packing: documents travel packed, in one row of Spark for each task and each part of the input.

Spark moves and sorts these rows without looking inside: no row-wise codec, no row-wise Python.  A
document travels by a number, its key, in place of its id: a whole number is its own key; the key of
a string is its 64-bit hash by Spark, so that it does not depend on the order or the number of
partitions.  `checked_keys` makes sure that no two documents have one key.  Of documents with equal
sketches, one travels on for all (`collapsed`).
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.distributed import chunks_of
from simdb.engine.clusters.labels import first_equal_rows
from simdb.ground.bits import fmix64
from simdb.ground.errors import ExistsError
from simdb.spark import frames
from simdb.spark.frames import I64, U8

# `place`: the partition that gets the row; `task`: the work there that it is for; `chunk`: the side
# of it, if it is between two chunks.
SCHEMA = "place int, task int, chunk int, keys binary, content binary"
# So many documents are packed at a time; more make larger rows, and take more memory.
PACKED_DOCUMENTS = 1 << 18
KEY_BYTES = 8
# Numbers of 16 bits are put in order by their digits, ten times as fast.
RADIX_MAX = 1 << 16
# A hash of 64 bits gives two of 10^9 strings one key in one case of 40; then another one is used.
SALTS = 8
COLLAPSED = "key bigint, first_key bigint, row binary"


class Blob(NamedTuple):
    """What one row holds: the keys int64[n] and the rows uint8[n, w] of some documents."""

    task: int
    chunk: int
    keys: I64
    rows: U8


def gathered(batches: Iterable[Any], width: int) -> Iterator[tuple[I64, U8]]:
    """Yield the keys and the rows of `width` bytes of batches (key, row), many at a time.

    Batches can also be packed; their rows have a width of their own, and are yielded as they are.
    """
    keys: list[I64] = []
    rows: list[U8] = []
    count = 0
    for batch in batches:
        if "content" in batch.schema.names:
            yield from ((blob.keys, blob.rows) for blob in blobs(batch))
            continue
        keys.append(frames.numbers_of(batch.column(0)))
        if width:
            rows.append(frames.rows_of(batch.column(1), width))
        count += len(batch)
        if count >= PACKED_DOCUMENTS:
            yield _joined(keys, rows, width)
            keys, rows, count = [], [], 0
    if count:
        yield _joined(keys, rows, width)


def packed(
    tasks: npt.NDArray[Any],
    keys: I64,
    rows: U8 | None,
    chunks: npt.NDArray[Any] | None = None,
    places: npt.NDArray[Any] | None = None,
) -> Any:
    """Return documents as a batch of packed rows, one for each task and chunk.

    `tasks[i]` and `chunks[i]` are those of document i; the same document can be there again.
    `places[task]`: the partition of each task; None if the task is the number of its partition.
    """
    sides = np.zeros(len(tasks), np.int64) if chunks is None else chunks
    order = _order(tasks, sides)
    tasks, sides, keys = tasks[order], sides[order], keys[order]
    is_first = np.ones(len(tasks), np.bool_)
    is_first[1:] = (tasks[1:] != tasks[:-1]) | (sides[1:] != sides[:-1])
    starts = np.flatnonzero(is_first)
    ends = np.append(starts[1:], len(tasks))
    content = np.empty((len(tasks), 0), np.uint8) if rows is None else rows[order]
    own = tasks[starts]
    return frames.batch_of(
        {
            "place": (own if places is None else places[own]).astype(np.int32),
            "task": own.astype(np.int32),
            "chunk": sides[starts].astype(np.int32),
            "keys": _cut(keys.view(np.uint8), starts * KEY_BYTES, ends * KEY_BYTES),
            "content": _cut(content.ravel(), starts * content.shape[1], ends * content.shape[1]),
        }
    )


def blobs(batch: Any, width: int | None = None, *, chunk: int | None = None) -> Iterator[Blob]:
    """Yield what the rows of a batch hold; rows of documents have `width` bytes, None for any.

    `chunk`: only what is of this one.
    """
    columns = [batch.column(name) for name in ("task", "chunk", "keys", "content")]
    for task, side, keys, content in zip(*columns, strict=True):
        if chunk is not None and side.as_py() != chunk:
            continue
        names = np.frombuffer(keys.as_buffer(), np.int64)
        rows = np.frombuffer(content.as_buffer(), np.uint8)
        shape = len(names), -1 if width is None else width
        yield Blob(task.as_py(), side.as_py(), names, rows.reshape(shape))


def by_task(batches: Iterable[Any], width: int) -> Iterator[list[Blob]]:
    """Yield the blobs of one task after the other; the rows of Spark are sorted by task."""
    held: list[Blob] = []
    for batch in batches:
        for blob in blobs(batch, width):
            if held and held[0].task != blob.task:
                yield held
                held = []
            held.append(blob)
    if held:
        yield held


def joined(some: list[Blob], width: int) -> tuple[I64, U8]:
    """Return the keys and rows of blobs, in the order of their keys.

    So what a task finds does not depend on the order in which its input came.
    """
    keys = np.concatenate([np.empty(0, np.int64), *(blob.keys for blob in some)])
    rows = np.concatenate([np.empty((0, width), np.uint8), *(blob.rows for blob in some)])
    order = np.argsort(keys)
    return keys[order], np.ascontiguousarray(rows[order])


def _order(tasks: npt.NDArray[Any], sides: npt.NDArray[Any]) -> I64:
    """Return the stable order by task, then by side."""
    width = int(sides.max(initial=0)) + 1
    if (int(tasks.max(initial=0)) + 1) * width <= RADIX_MAX:
        places = tasks.astype(np.int64) * width + sides
        return np.argsort(places.astype(np.uint16), kind="stable")
    return np.lexsort((sides, tasks))


def _joined(keys: list[I64], rows: list[U8], width: int) -> tuple[I64, U8]:
    return np.concatenate(keys), np.concatenate([np.empty((0, width), np.uint8), *rows])


def _cut(content: npt.NDArray[np.uint8], starts: I64, ends: I64) -> Any:
    """Return pieces that follow each other as a column of large binary values."""
    arrow = frames.pyarrow()
    offsets = np.append(starts, ends[-1:]).astype(np.int32)
    buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(np.ascontiguousarray(content))]
    return arrow.Array.from_buffers(arrow.binary(), len(starts), buffers)


class Keyed(NamedTuple):
    """Sketches with a column `key`, how many they are, and how keys are made of their ids."""

    sketches: Any
    document_count: int
    is_hashed: bool
    salt: int


def checked_keys(sketches: Any, partitions: int) -> Keyed:
    """Return sketches with keys; ExistsError, which names the id, if two documents have one id."""
    is_hashed = frames.id_type(sketches, "id") == "string"
    for salt in range(SALTS):
        keyed = Keyed(with_key(sketches, "id", is_hashed, salt), 0, is_hashed, salt)
        count, repeated = _counted(keyed.sketches, partitions)
        if repeated is None:
            return keyed._replace(document_count=count)
        functions = frames.functions()
        ids = keyed.sketches.where(functions.col("key") == repeated).select("id").take(2)
        if not is_hashed or len({row["id"] for row in ids}) == 1:
            raise ExistsError(
                f"two documents have the id {ids[0]['id']!r}; give every document an id of its own,"
                " or drop the rows that are there twice"
            )
    raise ExistsError(f"two ids have one hash, by {SALTS} hashes; number the documents instead")


def with_key(df: Any, id: str, is_hashed: bool, salt: int) -> Any:
    """Return a DataFrame with a column `key` for the column `id`."""
    functions = frames.functions()
    column = functions.col(id)
    made = functions.xxhash64(column, functions.lit(salt)) if is_hashed else column.cast("bigint")
    return df.withColumn("key", made)


def with_ids(df: Any, keyed: Keyed, names: dict[str, str]) -> Any:
    """Return a DataFrame with ids in place of keys; `names`: of the columns of keys and of ids."""
    functions = frames.functions()
    if not keyed.is_hashed:
        return df.withColumnsRenamed(names)
    ids = keyed.sketches.select("key", "id")
    for key, id in names.items():
        named = ids.select(functions.col("key").alias(key), functions.col("id").alias(id))
        df = df.join(named, key).drop(key)
    return df


def _counted(sketches: Any, partitions: int) -> tuple[int, int | None]:
    """Return how many documents there are, and a key that two of them have, or None."""
    sent = sketches.select("key").mapInArrow(partial(_pack_keys, partitions), SCHEMA)
    spread = sent.repartitionById(partitions, "place")
    found = spread.mapInArrow(_count_keys, "documents bigint, repeated bigint").toArrow()
    repeated = [each for each in found.column("repeated").to_pylist() if each is not None]
    return sum(found.column("documents").to_pylist()), min(repeated, default=None)


def _pack_keys(partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, _ in gathered(batches, 0):
        yield packed(chunks_of(keys, partitions), keys, None)


def _count_keys(batches: Iterable[Any]) -> Iterator[Any]:
    own = [blob.keys for batch in batches for blob in blobs(batch, 0)]
    keys = np.sort(np.concatenate([np.empty(0, np.int64), *own]))
    repeated = keys[1:][keys[1:] == keys[:-1]]
    arrow = frames.pyarrow()
    column = arrow.array([int(repeated[0]) if len(repeated) else None], arrow.int64())
    yield frames.batch_of({"documents": np.array([len(keys)]), "repeated": column})


def collapsed(rows: Any, width: int, partitions: int) -> Any:
    """Return documents with the least key of those with an equal row: key, first_key, row.

    `rows`: key and row, of `width` bytes.  Only the document with the least key has a row.
    """
    sent = rows.mapInArrow(partial(_pack_rows, width, partitions), SCHEMA)
    sent = sent.repartitionById(partitions, "place")
    return sent.mapInArrow(partial(_collapse, width), COLLAPSED)


def _pack_rows(width: int, partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, rows in gathered(batches, width):
        yield packed(chunks_of(_hashes(rows), partitions), keys, rows)


def _collapse(width: int, batches: Iterable[Any]) -> Iterator[Any]:
    keys, rows = joined([blob for batch in batches for blob in blobs(batch, width)], width)
    if not len(keys):
        return
    # Keys ascend, so the first of equal rows has the least key.
    firsts = first_equal_rows(rows)
    own = np.flatnonzero(firsts == np.arange(len(keys)))
    yield frames.batch_of({"key": keys[own], "first_key": keys[own], "row": rows[own]})
    copies = np.flatnonzero(firsts != np.arange(len(keys)))
    arrow = frames.pyarrow()
    yield frames.batch_of(
        {
            "key": keys[copies],
            "first_key": keys[firsts[copies]],
            "row": arrow.nulls(len(copies), arrow.binary()),
        }
    )


def _hashes(rows: U8) -> I64:
    """Return a hash of each row."""
    width = -(-rows.shape[1] // 8) * 8
    padded = np.zeros((len(rows), width), np.uint8)
    padded[:, : rows.shape[1]] = rows
    found = np.zeros(len(rows), np.uint64)
    for word in padded.view("<u8").T:
        found = fmix64(found ^ word)
    return found.view(np.int64)
