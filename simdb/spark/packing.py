"""Packing: many documents in one row of Spark, for each task and each batch of the input.

Spark moves and sorts these rows as opaque bytes, without row-wise encoding or row-wise Python.  A
number, the key, replaces the id of a document.  Of documents with equal sketches, only one travels
further (`collapsed`).

A pair by bands needs two documents with an equal band.  So hashes of bands travel first, 4 bytes
each.  Then each signature travels once to the task that knows its shared bands, and from there only
to the parts of these bands (`narrowed`).
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.core.bits import fmix64
from simdb.core.dtypes import I64, U8
from simdb.database import first_equal_rows
from simdb.spark import frames
from simdb.spark.distributed import PairsPlan, Split, chunks_of
from simdb.spark.distributed.plan import ByBands

# `place` is the partition that gets the row.  `task` is the work in that partition that needs it.
# `chunk` is its side in a task that compares two chunks.
SCHEMA = "place int, task int, chunk int, keys binary, content binary"
# Limits of a batch that is packed: documents, and about the bytes of their copied rows.  Larger
# batches make larger rows of Spark, and need more memory.
PACKED_DOCUMENTS = 1 << 18
PACKED_BYTES = 1 << 28
KEY_BYTES = 8
# NumPy sorts 16-bit numbers by radix sort, ten times as fast.
RADIX_MAX = 1 << 16
COLLAPSED = "key bigint, first_key bigint, row binary"
# A narrowed row is a signature and a mask, which has a bit for each band.
MASK_BYTES = 8
BANDS_MAX = 64
HASH_BYTES = 4
BAND_BYTES = 1
SIGNATURES, BANDS = range(2)


class Blob(NamedTuple):
    """A packed row of Spark: the keys int64[n] and the rows uint8[n, w] of some documents."""

    task: int
    chunk: int
    keys: I64
    rows: U8


def gathered(
    batches: Iterable[Any], width: int, most: int = PACKED_DOCUMENTS
) -> Iterator[tuple[I64, U8]]:
    """Yield keys and rows of `width` bytes from batches (key, row), about `most` at a time.

    Packed batches are yielded unchanged, with rows of any width.
    """
    keys: list[I64] = []
    rows: list[U8] = []
    count = 0
    for batch in batches:
        if "content" in batch.schema.names:
            yield from ((blob.keys, blob.rows) for blob in blobs(batch))
            continue
        keys.append(frames.numbers_of(batch.column(0)))
        none = np.empty((len(batch), 0), np.uint8)
        rows.append(frames.rows_of(batch.column(1), width) if width else none)
        count += len(batch)
        if count >= most:
            yield _joined(keys, rows, width)
            keys, rows, count = [], [], 0
    if count:
        yield _joined(keys, rows, width)


def packed(
    tasks: npt.NDArray[Any],
    keys: I64,
    rows: U8,
    chunks: npt.NDArray[Any] | None = None,
    places: npt.NDArray[Any] | None = None,
) -> Any:
    """Return documents as a batch of packed rows, one for each task and chunk.

    `tasks[i]` and `chunks[i]` belong to document i; a document may appear several times.
    `places[task]`: the partition of each task; None if tasks are numbered by partition.
    """
    sides = np.zeros(len(tasks), np.int64) if chunks is None else chunks
    order = _order(tasks, sides)
    tasks, sides, keys = tasks[order], sides[order], keys[order]
    is_first = np.ones(len(tasks), np.bool_)
    is_first[1:] = (tasks[1:] != tasks[:-1]) | (sides[1:] != sides[:-1])
    starts = np.flatnonzero(is_first)
    bounds = np.append(starts, len(tasks))
    content = rows[order]
    own = tasks[starts]
    return frames.batch_of(
        {
            "place": (own if places is None else places[own]).astype(np.int32),
            "task": own.astype(np.int32),
            "chunk": sides[starts].astype(np.int32),
            "keys": frames.pieces_of(keys.view(np.uint8), bounds * KEY_BYTES),
            "content": frames.pieces_of(content.ravel(), bounds * content.shape[1]),
        }
    )


def blobs(batch: Any, width: int | None = None, *, chunk: int | None = None) -> Iterator[Blob]:
    """Yield the rows of a batch as blobs; rows of documents have `width` bytes, None for any.

    `chunk`: yield only the blobs of this chunk.
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
    """Yield the blobs of each task; the Spark rows must be sorted by task."""
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
    """Return the keys and rows of blobs, sorted by key.

    Sorting makes the result of a task independent of the order of its input.
    """
    keys = np.concatenate([np.empty(0, np.int64), *(blob.keys for blob in some)])
    rows = np.concatenate([np.empty((0, width), np.uint8), *(blob.rows for blob in some)])
    order = np.argsort(keys)
    return keys[order], np.ascontiguousarray(rows[order])


def _order(tasks: npt.NDArray[Any], sides: npt.NDArray[Any]) -> I64:
    """Return the stable order by task and side."""
    width = int(sides.max(initial=0)) + 1
    if (int(tasks.max(initial=0)) + 1) * width <= RADIX_MAX:
        places = tasks.astype(np.int64) * width + sides
        return np.argsort(places.astype(np.uint16), kind="stable")
    return np.lexsort((sides, tasks))


def _joined(keys: list[I64], rows: list[U8], width: int) -> tuple[I64, U8]:
    return np.concatenate(keys), np.concatenate([np.empty((0, width), np.uint8), *rows])


def collapsed(rows: Any, width: int, partitions: int) -> Any:
    """Return key, first_key and row; first_key is the least key of the documents with that row.

    `rows`: key and row, of `width` bytes.  Only the document with the least key keeps its row.
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
    # Keys ascend, so the first of several equal rows has the least key.
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


def can_narrow(plan: PairsPlan) -> bool:
    """Return whether a plan uses bands, no more than a mask has bits."""
    return isinstance(plan.exchange, ByBands) and plan.exchange.bands.table_count <= BANDS_MAX


def narrowed(rows: Any, plan: PairsPlan, partitions: int) -> Any:
    """Return the documents that share a band with another, packed, with a mask after each row.

    `rows`: key and row.  `can_narrow(plan)` must be true.
    """
    hashes = rows.mapInArrow(partial(_pack_hashes, plan, partitions), SCHEMA)
    hashes = hashes.repartitionById(partitions, "place")
    shared = hashes.mapInArrow(partial(_pack_shared, partitions), SCHEMA)
    signatures = rows.mapInArrow(partial(_pack_signatures, plan, partitions), SCHEMA)
    both = signatures.union(shared).repartitionById(partitions, "place")
    return both.mapInArrow(partial(_with_masks, plan), SCHEMA)


def split_rows(plan: PairsPlan, rows: U8) -> tuple[U8, Split]:
    """Return rows without masks, and the parts of each row; see `PairsPlan.split`.

    A narrowed row goes only to the parts of the bands in its mask.
    """
    if rows.shape[1] == plan.row_bytes:
        return rows, plan.split(rows)
    masks = _masks_of(rows)
    rows = np.ascontiguousarray(rows[:, : plan.row_bytes])
    every = plan.split(rows)
    assert isinstance(plan.exchange, ByBands)
    parts = np.repeat(np.arange(plan.part_count), np.diff(every.offsets))
    bands = (parts >> plan.exchange.part_bits).astype(np.uint64)
    is_shared = (masks[every.positions] >> bands) & np.uint64(1) != 0
    sizes = np.bincount(parts[is_shared], minlength=plan.part_count)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return rows, Split(every.positions[is_shared], offsets)


def _masks_of(rows: U8) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(rows[:, -MASK_BYTES:]).view("<u8").ravel().astype(np.uint64)


def _pack_hashes(plan: PairsPlan, partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Send a hash of each band of each document to the task for this hash."""
    assert isinstance(plan.exchange, ByBands)
    for keys, rows in gathered(batches, plan.row_bytes):
        hashes = plan.exchange.keys(rows)
        tables = hashes.shape[1]
        bands = np.tile(np.arange(tables), len(keys))
        mixed = fmix64(hashes.ravel() + bands.astype(np.uint64))
        places = (mixed % np.uint64(partitions)).astype(np.int64)
        content = (mixed >> np.uint64(32)).astype("<u4").view(np.uint8).reshape(-1, HASH_BYTES)
        yield packed(places, np.repeat(keys, tables), content, bands)


def _pack_shared(partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Send the bands that a document shares with others to the task of the document."""
    every: dict[int, list[Blob]] = {}
    for batch in batches:
        for blob in blobs(batch, HASH_BYTES):
            every.setdefault(blob.chunk, []).append(blob)
    for band, own_blobs in sorted(every.items()):
        keys, rows = joined(own_blobs, HASH_BYTES)
        own = keys[_is_repeated(rows.view("<u4").ravel())]
        if len(own):
            content = np.full((len(own), BAND_BYTES), band, np.uint8)
            sides = np.full(len(own), BANDS)
            yield packed(chunks_of(own, partitions), own, content, sides)


def _is_repeated(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return whether each value appears more than once: bool[n]."""
    order = np.argsort(values)
    is_next = values[order][1:] == values[order][:-1]
    found = np.zeros(len(values), np.bool_)
    found[order[1:]] = is_next
    found[order[:-1]] |= is_next
    return found


def _pack_signatures(plan: PairsPlan, partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, rows in gathered(batches, plan.row_bytes):
        yield packed(chunks_of(keys, partitions), keys, rows)


def _with_masks(plan: PairsPlan, batches: Iterable[Any]) -> Iterator[Any]:
    """Append the mask of shared bands to each signature; omit documents without shared bands."""
    sides: tuple[list[Blob], list[Blob]] = ([], [])
    for batch in batches:
        for side, of_side in enumerate(sides):
            width = plan.row_bytes if side == SIGNATURES else BAND_BYTES
            of_side += blobs(batch, width, chunk=side)
    keys, rows = joined(sides[SIGNATURES], plan.row_bytes)
    names, bands = joined(sides[BANDS], BAND_BYTES)
    masks = np.zeros(len(keys), np.uint64)
    np.bitwise_or.at(
        masks, np.searchsorted(keys, names), np.uint64(1) << bands.ravel().astype(np.uint64)
    )
    kept = np.flatnonzero(masks)
    for start in range(0, len(kept), PACKED_DOCUMENTS):
        some = kept[start : start + PACKED_DOCUMENTS]
        content = np.concatenate(
            [rows[some], masks[some].astype("<u8").view(np.uint8).reshape(-1, MASK_BYTES)], axis=1
        )
        yield packed(np.zeros(len(some), np.int64), keys[some], content)
