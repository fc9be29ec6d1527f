"""Packing: documents travel packed, in one row of Spark for each task and each part of the input.

Spark moves and sorts these rows without looking inside: no row-wise codec, no row-wise Python.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
