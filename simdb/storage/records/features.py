"""Features of documents: the packed features of all ordinals, some hundred of them in a value.

A value holds the features of consecutive documents of one commit, after the header:

    count u32 | bytes of each document u32[n] | packed features

Its key is the first ordinal.  Every ordinal in use is in just one value, also that of a deleted
document, so a lost value is noticed.  Compaction leaves out those of deleted documents.  The
sub-database exists only if the options say so; `simdb/sketch/exact_similarity.py` has the layout of
a packed feature.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from simdb.core.arrays import NO_FEATURES, PackedFeatures, Ragged, joined_ragged, offsets_of
from simdb.core.dtypes import U8, U32
from simdb.core.errors import CorruptError, FormatError
from simdb.core.reports import Finding
from simdb.storage import codec, layout
from simdb.storage.environment.subdatabases import value_at_or_before
from simdb.storage.records.delta import stored_offsets
from simdb.storage.runs.source import Source

# A block of documents is read whole to read one of them.
BLOCK_DOCUMENTS = 128
BLOCK_BYTES = 1 << 15
# So many documents are renumbered together.
RENUMBERED_DOCUMENTS = 1 << 14
FEATURES = layout.FEATURES.decode()
LOST = (
    "restore the database from a copy or a dump; or let estimates decide about the documents that"
    " have lost their features, rebuild(drop_damaged=True), simdb rebuild --drop-damaged"
)

# Ordinals that ascend, and the features of each.
Numbered = tuple[U32, PackedFeatures]

_COUNT = struct.Struct("<I")


def encode_features(first: int, features: PackedFeatures) -> Iterator[tuple[bytes, Any]]:
    """Yield keys and values for the features of consecutive documents from the ordinal `first`."""
    start, offsets = 0, features.offsets
    while start < len(features):
        stop = int(np.searchsorted(offsets, offsets[start] + BLOCK_BYTES, side="right")) - 1
        stop = min(max(stop, start + 1), start + BLOCK_DOCUMENTS, len(features))
        key = layout.number_key(first + start)
        payload = np.frombuffer(pack(features.taken(slice(start, stop))), np.uint8)
        yield key, codec.encode_array(layout.FEATURES_KIND, key, payload)
        start = stop


def decode_block(key: bytes, value: Any) -> tuple[int, PackedFeatures]:
    """Return the first ordinal and the features in one stored value; compares the checksum."""
    payload = codec.decode_array(layout.FEATURES_KIND, key, value, np.uint8, verify=True)
    place = codec.name(layout.FEATURES_KIND, key)
    features = unpack(payload, place)
    if not len(features):
        raise CorruptError(f"{place} has no documents")
    return layout.key_number(key), features


def pack(features: PackedFeatures) -> bytes:
    """Return the payload of one value, without header, of any number of documents; FullError."""
    sizes = np.diff(stored_offsets(features.offsets, f"the features of {len(features)} documents"))
    return _COUNT.pack(len(features)) + sizes.astype("<u4").tobytes() + features.values.tobytes()


def unpack(payload: U8, place: str) -> PackedFeatures:
    """Return the features in a payload, which the message calls `place`; CorruptError."""
    if len(payload) < _COUNT.size:
        raise CorruptError(f"{place} has no count")
    (count,) = _COUNT.unpack_from(payload.data)
    start = _COUNT.size + 4 * count
    if start > len(payload):
        raise CorruptError(f"{place} is too short for {count} documents")
    offsets = offsets_of(np.frombuffer(payload[_COUNT.size : start].tobytes(), "<u4"))
    if offsets[-1] != len(payload) - start:
        raise CorruptError(f"{place} has sizes of features that do not fit its bytes")
    return Ragged(offsets, payload[start:])


def read_features(source: Source, ordinals: U32) -> PackedFeatures:
    """Return the features of documents, whose ordinals ascend; CorruptError if some are lost."""
    handle, at, parts = source.handle(layout.FEATURES), 0, [NO_FEATURES]
    while at < len(ordinals):
        ordinal = int(ordinals[at])
        found = value_at_or_before(source.transaction, handle, layout.number_key(ordinal))
        first, block = (ordinal, NO_FEATURES) if found is None else decode_block(*found)
        stop = int(np.searchsorted(ordinals, first + len(block)))
        if stop <= at:
            raise CorruptError(f"the features of ordinal {ordinal} are missing; {LOST}")
        parts.append(block.taken(ordinals[at:stop].astype(np.int64) - first))
        at = stop
    return joined_ragged(parts) or NO_FEATURES


def whole_blocks(source: Source, *, skips_damage: bool = False) -> Iterator[Numbered]:
    """Yield the features of all documents, by ordinal; `skips_damage`: without what is damaged."""
    for key, value in source.every(layout.FEATURES):
        try:
            first, block = decode_block(key, value)
        except (CorruptError, FormatError):
            if skips_damage:
                continue
            raise
        yield np.arange(first, first + len(block), dtype=np.uint32), block


def renumbered_features(blocks: Iterable[Numbered], kept: U32) -> Iterator[tuple[bytes, Any]]:
    """Yield keys and values of the documents `kept`, which ascend, numbered from 0.

    What is in no block gets no features.
    """
    parts: list[PackedFeatures] = []
    written = held = 0
    for ordinals, block in blocks:
        start, stop = np.searchsorted(kept, [ordinals[0], ordinals[-1] + 1]).tolist()
        start = max(start, written + held)  # damaged blocks can overlap
        parts.append(_without(start - written - held))
        parts.append(block.taken(kept[start:stop].astype(np.int64) - ordinals[0]))
        held = max(stop, start) - written
        if held >= RENUMBERED_DOCUMENTS:
            yield from encode_features(written, joined_ragged(parts) or NO_FEATURES)
            parts, written, held = [], written + held, 0
    parts.append(_without(len(kept) - written - held))
    yield from encode_features(written, joined_ragged(parts) or NO_FEATURES)


def gaps(blocks: Iterable[tuple[int, int]], count: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges below `count` that are not in just one of `blocks`, which have starts."""
    at = 0
    for start, stop in blocks:
        if start != at:
            yield min(at, start), max(at, start)
        at = stop
    if at != count:
        yield min(at, count), max(at, count)


def damage(source: Source, count: int) -> Iterator[tuple[str, int, int]]:
    """Yield what is wrong with the features of `count` ordinals, and the ordinals start .. stop."""
    blocks: list[tuple[int, int]] = []
    problems: dict[int, str] = {}
    for key, value in source.every(layout.FEATURES):
        try:
            first, block = decode_block(key, value)
            blocks.append((first, first + len(block)))
        except (CorruptError, FormatError) as error:
            problems[layout.key_number(key)] = str(error)
    for start, stop in gaps(blocks, count):
        why = problems.pop(start, f"the features of the ordinals {start} .. {stop} are missing")
        yield why, start, stop
    yield from ((why, first, first) for first, why in problems.items())


def check_features(
    source: Source, count: int, packed_bytes: int, *, deep: bool
) -> Iterator[Finding]:
    """Yield findings if features are missing or damaged; with `deep`, if they are no features.

    They follow from the documents, which are not stored, so they are compared with nothing else.
    """
    for why, _, _ in damage(source, count):
        yield Finding(FEATURES, why, LOST)
    if deep:
        for ordinals, block in whole_blocks(source, skips_damage=True):
            if (np.diff(block.offsets) % packed_bytes).any():
                why = f"the features from ordinal {ordinals[0]} on have no whole number of entries"
                yield Finding(FEATURES, why, LOST)


def _without(count: int) -> PackedFeatures:
    """Return the features of documents that have none."""
    return Ragged(np.zeros(count + 1, np.int64), np.empty(0, np.uint8))
