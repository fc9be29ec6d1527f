"""Copies: documents with equal sketches, of which one travels on for all."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from simdb.distributed import chunks_of
from simdb.engine.clusters.equal import first_equal_rows
from simdb.mix import fmix64
from simdb.spark import frames, packing
from simdb.spark.frames import I64, U8

SCHEMA = "key bigint, first_key bigint, row binary"


def collapsed(rows: Any, width: int, partitions: int) -> Any:
    """Return documents with the least key of those with an equal row: key, first_key, row.

    `rows`: key and row, of `width` bytes.  Only the document with the least key has a row.
    """
    packed = rows.mapInArrow(partial(_pack, width, partitions), packing.SCHEMA)
    return packed.repartitionById(partitions, "place").mapInArrow(partial(_collapse, width), SCHEMA)


def _pack(width: int, partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, rows in packing.gathered(batches, width):
        yield packing.packed(chunks_of(_hashes(rows), partitions), keys, rows)


def _collapse(width: int, batches: Iterable[Any]) -> Iterator[Any]:
    keys, rows = packing.joined(
        [blob for batch in batches for blob in packing.blobs(batch, width)], width
    )
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
