"""Narrowing: which bands of a signature are those of another one, too.

Only there can a document be in a pair.  So the hashes of bands travel first, 4 bytes each; then a
signature goes once to where its bands are known, and from there to the parts of these bands alone.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.distributed import PairsPlan, Split, chunks_of
from simdb.distributed.exchange import ByBands
from simdb.ground.bits import fmix64
from simdb.spark import packing
from simdb.spark.frames import I64, U8

# A narrowed row is a signature and a mask, which has a bit for each band.
MASK_BYTES = 8
BANDS_MAX = 64
HASH_BYTES = 4
BAND_BYTES = 1
SIGNATURES, BANDS = range(2)


def can_narrow(plan: PairsPlan) -> bool:
    """Return whether a plan is of bands, so few that a mask has a bit for each."""
    return isinstance(plan.exchange, ByBands) and plan.exchange.bands.table_count <= BANDS_MAX


def narrowed(rows: Any, plan: PairsPlan, partitions: int) -> Any:
    """Return the documents that share a band with another, packed, with a mask after each row.

    `rows`: key and row; `can_narrow` the plan.
    """
    hashes = rows.mapInArrow(partial(_pack_hashes, plan, partitions), packing.SCHEMA)
    hashes = hashes.repartitionById(partitions, "place")
    shared = hashes.mapInArrow(partial(_pack_shared, partitions), packing.SCHEMA)
    signatures = rows.mapInArrow(partial(_pack_signatures, plan, partitions), packing.SCHEMA)
    both = signatures.union(shared).repartitionById(partitions, "place")
    return both.mapInArrow(partial(_with_masks, plan), packing.SCHEMA)


def split_rows(plan: PairsPlan, rows: U8) -> tuple[U8, Split]:
    """Return rows as the plan has them and which of them go to which part; see `PairsPlan.split`.

    A narrowed row goes to the parts of the bands of its mask only.
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
    """Send a hash of each band of each document to the task of the hash."""
    assert isinstance(plan.exchange, ByBands)
    for keys, rows in packing.gathered(batches, plan.row_bytes):
        hashes = plan.exchange.band_keys(rows)
        tables = hashes.shape[1]
        bands = np.tile(np.arange(tables), len(keys))
        mixed = fmix64(hashes.ravel() + bands.astype(np.uint64))
        places = (mixed % np.uint64(partitions)).astype(np.int64)
        content = (mixed >> np.uint64(32)).astype("<u4").view(np.uint8).reshape(-1, HASH_BYTES)
        yield packing.packed(places, np.repeat(keys, tables), content, bands)


def _pack_shared(partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Send the bands in which a document is not alone to the task of the document."""
    every: dict[int, list[packing.Blob]] = {}
    for batch in batches:
        for blob in packing.blobs(batch, HASH_BYTES):
            every.setdefault(blob.chunk, []).append(blob)
    for band, blobs in sorted(every.items()):
        keys = np.concatenate([blob.keys for blob in blobs])
        hashes = np.concatenate([blob.rows.view("<u4").ravel() for blob in blobs])
        own = keys[_is_repeated(hashes)]
        if len(own):
            content = np.full((len(own), BAND_BYTES), band, np.uint8)
            sides = np.full(len(own), BANDS)
            yield packing.packed(chunks_of(own, partitions), own, content, sides)


def _is_repeated(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which values are there more than once."""
    order = np.argsort(values)
    is_next = values[order][1:] == values[order][:-1]
    found = np.zeros(len(values), np.bool_)
    found[order[1:]] = is_next
    found[order[:-1]] |= is_next
    return found


def _pack_signatures(plan: PairsPlan, partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, rows in packing.gathered(batches, plan.row_bytes):
        yield packing.packed(chunks_of(keys, partitions), keys, rows)


def _with_masks(plan: PairsPlan, batches: Iterable[Any]) -> Iterator[Any]:
    """Put the bands of each document after its signature; leave out those that have none."""
    blobs: tuple[list[packing.Blob], list[packing.Blob]] = ([], [])
    for batch in batches:
        for side, of_side in enumerate(blobs):
            width = plan.row_bytes if side == SIGNATURES else BAND_BYTES
            of_side += packing.blobs(batch, width, chunk=side)
    keys, rows = packing.joined(blobs[SIGNATURES], plan.row_bytes)
    names: I64 = np.concatenate([np.empty(0, np.int64), *(each.keys for each in blobs[BANDS])])
    bands = np.concatenate([np.empty(0, np.uint8), *(each.rows.ravel() for each in blobs[BANDS])])
    masks = np.zeros(len(keys), np.uint64)
    np.bitwise_or.at(masks, np.searchsorted(keys, names), np.uint64(1) << bands.astype(np.uint64))
    kept = np.flatnonzero(masks)
    for start in range(0, len(kept), packing.PACKED_DOCUMENTS):
        some = kept[start : start + packing.PACKED_DOCUMENTS]
        content = np.concatenate(
            [rows[some], masks[some].astype("<u8").view(np.uint8).reshape(-1, MASK_BYTES)], axis=1
        )
        yield packing.packed(np.zeros(len(some), np.int64), keys[some], content)
