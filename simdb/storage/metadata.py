"""Metadata of documents: msgpack objects by ordinal, a few hundred documents to a value.

A value holds those of the documents of one commit that have any, after the header:

    count u32 | ordinals u32[k] | offsets u32[k + 1] | msgpack objects

and stands under its first ordinal.  Commits never overlap, so the value for an ordinal is the last
one whose key is not greater.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.errors import CorruptError, InputError
from simdb.storage import codec, layout
from simdb.storage.reading import value_at_or_before, values_from
from simdb.values import offsets_of

BLOCK_DOCUMENTS = 256
BLOCK_BYTES = 1 << 16
METADATA_BYTES_MAX = 1 << 30

_COUNT = struct.Struct("<I")


def pack_metadata(metadata: Any, what: str) -> bytes:
    """`metadata` as it is stored; InputError naming `what` when it is no plain object."""
    try:
        packed = codec.pack(metadata)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"metadata of {what} cannot be stored: {error}; use None, bool, int, float, str,"
            " bytes, list and dict"
        ) from error
    if len(packed) > METADATA_BYTES_MAX:
        raise InputError(f"metadata of {what} has {len(packed)} bytes, more than 1 GiB")
    return packed


def encode_blocks(entries: list[tuple[int, bytes]]) -> Iterator[tuple[bytes, Any]]:
    """Keys and values for (ordinal, packed metadata), in order of ordinals."""
    for group in grouped(entries):
        key = layout.number_key(group[0][0])
        array = np.frombuffer(pack_block(group), np.uint8)
        yield key, codec.encode_array(layout.METADATA_KIND, key, array)


def grouped(entries: Iterable[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """(ordinal, packed metadata) in groups that make a block each."""
    group: list[tuple[int, bytes]] = []
    size = 0
    for ordinal, packed in entries:
        if group and (len(group) == BLOCK_DOCUMENTS or size + len(packed) > BLOCK_BYTES):
            yield group
            group, size = [], 0
        group.append((ordinal, packed))
        size += len(packed)
    if group:
        yield group


def read_metadata(transaction: Any, handle: Any, ordinal: int) -> Any:
    """The metadata of one document, None where it has none."""
    block = value_at_or_before(transaction, handle, layout.number_key(ordinal))
    if block is None:
        return None
    for found, packed in decode_block(*block):
        if found == ordinal:
            return codec.unpack(packed, f"metadata of ordinal {ordinal}")
    return None


def read_all(transaction: Any, handle: Any) -> Iterator[tuple[int, bytes]]:
    """(ordinal, packed metadata) of every document that has any, by ordinal."""
    for key, value in values_from(transaction, handle):
        yield from decode_block(key, value)


def decode_block(key: bytes, value: Any) -> list[tuple[int, bytes]]:
    """(ordinal, packed metadata) of one stored value; the checksum is compared."""
    payload = codec.decode_array(layout.METADATA_KIND, key, value, np.uint8, verify=True)
    return unpack_block(payload, codec.name(layout.METADATA_KIND, key))


def unpack_block(payload: npt.NDArray[np.uint8], place: str) -> list[tuple[int, bytes]]:
    """(ordinal, packed metadata) of a block without its header; CorruptError naming `place`."""
    if len(payload) < _COUNT.size:
        raise CorruptError(f"{place} has no count")
    (count,) = _COUNT.unpack_from(payload.data)
    content_start = _COUNT.size + 4 * count + 4 * (count + 1)
    if content_start > len(payload):
        raise CorruptError(f"{place} is too short for {count} documents")
    ordinals = payload[_COUNT.size : _COUNT.size + 4 * count].view(np.uint32)
    offsets = payload[_COUNT.size + 4 * count : content_start].view(np.uint32).astype(np.int64)
    content = payload[content_start:].tobytes()
    if offsets[-1] != len(content) or (np.diff(offsets) < 0).any():
        raise CorruptError(f"{place} has offsets that do not fit its bytes")
    return [
        (int(ordinal), content[offsets[at] : offsets[at + 1]])
        for at, ordinal in enumerate(ordinals)
    ]


def pack_block(entries: list[tuple[int, bytes]]) -> bytes:
    """The opposite."""
    ordinals = np.array([ordinal for ordinal, _ in entries], np.uint32)
    offsets = offsets_of([len(packed) for _, packed in entries]).astype(np.uint32)
    content = b"".join(packed for _, packed in entries)
    return _COUNT.pack(len(entries)) + ordinals.tobytes() + offsets.tobytes() + content
