"""Documents in a dump: some thousands in a frame, without anything that can be derived.

A frame of documents:

    count u32 | vector width u32 | fingerprints u64[n] | offsets of ids u32[n + 1] | states u8[n] |
    vectors u8[n, width] | stored forms of ids

A frame of their passages, if the database has passages:

    grains of each document u32[n] | hashes u64[k], which ascend strictly within a document

Documents are numbered from 0 in order of insertion.  Their metadata follow in frames with the
layout of stored metadata blocks (see `metadata`), with these numbers in place of ordinals.
"""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import CorruptError
from simdb.running import kernel
from simdb.storage import layout
from simdb.storage.records.batch import StoredBatch
from simdb.storage.runs.run import Segment
from simdb.values.arrays import WEIGHTED, Grains, offsets_of

_COUNTS = struct.Struct("<II")


def pack_documents(segment: Segment) -> bytes:
    """Return the payload of a frame."""
    columns = segment.columns
    offsets = columns[layout.OFFSET]
    is_weighted = columns[layout.STATE] == WEIGHTED
    # Vectors of documents without weights have no meaning; zeros give equal databases equal dumps.
    vectors = np.where(is_weighted[:, None], columns[layout.VECTOR], np.uint8(0))
    parts: list[tuple[npt.NDArray[Any], str]] = [
        (columns[layout.FINGERPRINT], "<u8"),
        (offsets - offsets[0], "<u4"),
        (columns[layout.STATE], "u1"),
        (vectors, "u1"),
        (columns[layout.ID], "u1"),
    ]
    counts = _COUNTS.pack(len(segment), vectors.shape[1])
    return counts + b"".join(np.ascontiguousarray(part, kind).tobytes() for part, kind in parts)


def unpack_documents(payload: bytearray, width: int, place: str) -> StoredBatch:
    """Return the documents of a frame, with ids decoded, checked and hashed; CorruptError."""
    if len(payload) < _COUNTS.size:
        raise CorruptError(f"{place} has no counts")
    count, found = _COUNTS.unpack_from(payload)
    if found != width:
        raise CorruptError(f"{place} has vectors of {found} bytes, but the options say {width}")
    at = _COUNTS.size
    columns = []
    for kind, length in (("<u8", count), ("<u4", count + 1), ("u1", count), ("u1", count * width)):
        stop = at + np.dtype(kind).itemsize * length
        if stop > len(payload):
            raise CorruptError(f"{place} is too short for {count} documents")
        columns.append(np.frombuffer(payload, kind, length, at))
        at = stop
    fingerprints, starts, states, vectors = columns
    content = np.frombuffer(payload, np.uint8, offset=at)
    offsets = starts.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != len(content) or (np.diff(offsets) < 0).any():
        raise CorruptError(f"{place} has offsets of ids that do not fit their bytes")
    if (states > WEIGHTED).any():
        raise CorruptError(
            f"{place} has a document of state {states.max()}; the last state is {WEIGHTED}"
        )
    ids = kernel.decode_ids(offsets, content)
    return StoredBatch(
        fingerprints.astype(np.uint64),
        states,
        vectors.reshape(count, width),
        kernel.encode_ids(ids)[2],
        offsets,
        content,
    )


def pack_grains(grains: Grains) -> bytes:
    """Return the payload of a frame with the grains of n documents: numbers u32[n], hashes u64."""
    sizes = np.diff(grains.offsets).astype("<u4")
    return sizes.tobytes() + grains.hashes.astype("<u8").tobytes()


def unpack_grains(payload: bytearray, count: int, place: str) -> Grains:
    """Return the grains of `count` documents; CorruptError unless `pack_grains` can have made them.

    Hashes of a document ascend strictly.
    """
    if len(payload) < 4 * count:
        raise CorruptError(f"{place} is too short for the passages of {count} documents")
    offsets = offsets_of(np.frombuffer(payload, "<u4", count))
    if len(payload) != 4 * count + 8 * int(offsets[-1]):
        raise CorruptError(f"{place} has another number of passages than it says")
    hashes = np.frombuffer(payload, "<u8", offset=4 * count).astype(np.uint64)
    is_first = np.zeros(len(hashes) + 1, np.bool_)
    is_first[offsets[:-1]] = True
    if (hashes[1:] <= hashes[:-1])[~is_first[1 : len(hashes)]].any():
        raise CorruptError(f"{place} has passages of a document that do not ascend")
    return Grains(offsets, hashes)


def parts_of(segment: Segment, count: int) -> Iterator[Segment]:
    """Yield a segment in parts of `count` documents."""
    for start in range(0, len(segment), count):
        yield segment.part(start, min(start + count, len(segment)))
