"""Batches: the documents of one commit, column by column, and their stored form in the delta.

A value of the delta holds, after the header:

    document count u32 | vector width u32 | fingerprints u64[n] | hashes of ids u64[n] |
    offsets of ids u32[n + 1] | states u8[n] | vectors u8[n, width] | bytes of ids
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb.ground.dtypes import I64, U8, U32, U64
from simdb.ground.errors import CorruptError, FullError
from simdb.storage import codec, layout
from simdb.values.arrays import Grains, PackedFeatures, joined_features, joined_if_any, offsets_of

_COUNTS = struct.Struct("<II")
# So few documents are joined faster as bytes than as arrays.
FEW_DOCUMENTS = 16


@dataclass(frozen=True, slots=True, eq=False)
class StoredBatch:
    """Consecutive documents, column by column; every column has n entries.

    `fingerprints` uint64, `states` uint8, `vectors` uint8[n, width], `hashes` uint64 of the ids.
    The stored form of id i is content[offsets[i]:offsets[i + 1]] (int64[n + 1], uint8).
    `grains`, `features`: only of new documents of a database with passages or with features; the
    delta does not store them.
    """

    fingerprints: U64
    states: U8
    vectors: U8
    hashes: U64
    offsets: I64
    content: U8
    grains: Grains | None = None
    features: PackedFeatures | None = None

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.fingerprints)

    def part(self, start: int, stop: int) -> "StoredBatch":
        """Return the documents start .. stop."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return StoredBatch(
            self.fingerprints[start:stop],
            self.states[start:stop],
            self.vectors[start:stop],
            self.hashes[start:stop],
            self.offsets[start : stop + 1] - first,
            self.content[first:last],
            None if self.grains is None else self.grains.taken(slice(start, stop)),
            None if self.features is None else self.features.taken(slice(start, stop)),
        )


def concatenate(batches: Sequence[StoredBatch]) -> StoredBatch:
    """Join the documents of all `batches` (at least one), in order."""
    if len(batches) == 1:
        return batches[0]
    lengths = [np.diff(each.offsets) for each in batches]
    return StoredBatch(
        np.concatenate([each.fingerprints for each in batches]),
        np.concatenate([each.states for each in batches]),
        np.concatenate([each.vectors for each in batches]),
        np.concatenate([each.hashes for each in batches]),
        offsets_of(np.concatenate(lengths)),
        np.concatenate([each.content for each in batches]),
        joined_if_any([each.grains for each in batches]),
        joined_features([each.features for each in batches]),
    )


def stored_offsets(offsets: I64, what: str) -> U32:
    """Narrow offsets to uint32; FullError naming `what` if its bytes exceed one stored value."""
    if offsets[-1] > layout.VALUE_BYTES_MAX:
        raise FullError(
            f"{what} have {offsets[-1]} bytes, more than the {layout.VALUE_BYTES_MAX} of one stored"
            " value; nothing was changed"
        )
    return offsets.astype(np.uint32)


def encode_batch(key: bytes, batch: StoredBatch) -> U8:
    """Return the value of the delta for `batch`."""
    counts = _COUNTS.pack(len(batch), batch.vectors.shape[1])
    parts: list[Any] = [
        batch.fingerprints,
        batch.hashes,
        stored_offsets(batch.offsets, f"the ids of {len(batch)} documents"),
        batch.states,
        batch.vectors,
        batch.content,
    ]
    if len(batch) <= FEW_DOCUMENTS:
        payload = b"".join([counts, *[part.tobytes() for part in parts]])
        stored = codec.encode_bytes(layout.DELTA_KIND, key, len(payload), payload)
        return np.frombuffer(stored, np.uint8)
    parts.insert(0, np.frombuffer(counts, np.uint8))
    flat = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
    whole = codec.allocate(np.uint8, sum(len(part) for part in flat))
    np.concatenate(flat, out=whole)
    return codec.encode_array(layout.DELTA_KIND, key, whole)


def decode_batch(key: bytes, value: Any) -> StoredBatch:
    """Return the batch in a value of the delta; compares the checksum, and copies no arrays."""
    payload = codec.decode_array(layout.DELTA_KIND, key, value, np.uint8, verify=True)
    place = codec.name(layout.DELTA_KIND, key)
    if len(payload) < _COUNTS.size:
        raise CorruptError(f"{place} has no counts")
    count, width = _COUNTS.unpack_from(payload.data)
    at = _COUNTS.size
    columns = []
    for itemsize, length in (
        (8, count),
        (8, count),
        (4, count + 1),
        (1, count),
        (1, count * width),
    ):
        columns.append(payload[at : at + itemsize * length])
        at += itemsize * length
    content = payload[at:]
    if at > len(payload):
        raise CorruptError(f"{place} is too short for {count} documents")
    fingerprints, hashes, offsets, states, vectors = columns
    starts = offsets.view(np.uint32).astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(content) or (np.diff(starts) < 0).any():
        raise CorruptError(f"{place} has offsets of ids that do not fit their bytes")
    return StoredBatch(
        fingerprints.view(np.uint64),
        states,
        vectors.reshape(count, width),
        hashes.view(np.uint64),
        starts,
        content,
    )
