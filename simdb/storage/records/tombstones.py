"""Tombstones: a bit for every deleted ordinal, stored in chunks of `CHUNK_ORDINALS`.

In memory they are one bitmap that is never changed: a deletion makes a copy.  The bitmap has spare
room of zeros for later ordinals, so that an insertion does not change it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.bits import is_set
from simdb.errors import CorruptError
from simdb.storage import codec, layout
from simdb.storage.environment.reading import values_from

CHUNK_BYTES = layout.CHUNK_ORDINALS // 8
SPARE_BYTES = 8 * CHUNK_BYTES

Bitmap = npt.NDArray[np.uint8]


def read_tombstones(transaction: Any, handle: Any, ordinal_count: int) -> Bitmap:
    """Return the bitmap of all ordinals below `ordinal_count`, with spare room."""
    bitmap = np.zeros(_capacity(ordinal_count), np.uint8)
    for key, value in values_from(transaction, handle):
        chunk = layout.key_number(key)
        bits = decode_chunk(key, value)
        start = chunk * CHUNK_BYTES
        if start + CHUNK_BYTES > len(bitmap):
            raise CorruptError(f"chunk {chunk} of the tombstones lies beyond the last ordinal")
        bitmap[start : start + CHUNK_BYTES] = bits
    return bitmap


def with_deleted(
    bitmap: Bitmap | None, ordinals: npt.NDArray[np.uint32], ordinal_count: int
) -> Bitmap:
    """Return a copy of the bitmap in which `ordinals` are deleted too."""
    copied = np.zeros(_capacity(ordinal_count), np.uint8)
    if bitmap is not None:
        copied[: len(bitmap)] = bitmap[: len(copied)]
    np.bitwise_or.at(copied, ordinals >> 3, (1 << (ordinals & 7)).astype(np.uint8))
    return copied


def with_room(bitmap: Bitmap | None, ordinal_count: int) -> Bitmap | None:
    """Return the bitmap itself if it covers `ordinal_count` ordinals, else a longer copy."""
    if bitmap is None or len(bitmap) * 8 >= ordinal_count:
        return bitmap
    return with_deleted(bitmap, np.empty(0, np.uint32), ordinal_count)


def encode_chunks(bitmap: Bitmap, ordinals: npt.NDArray[np.uint32]) -> Iterator[tuple[bytes, Any]]:
    """Yield keys and values of the chunks that contain `ordinals`."""
    for chunk in np.unique(ordinals // layout.CHUNK_ORDINALS):
        key = layout.number_key(int(chunk))
        start = int(chunk) * CHUNK_BYTES
        bits = bitmap[start : start + CHUNK_BYTES]
        yield key, codec.encode_array(layout.DELETED_KIND, key, bits)


def decode_chunk(key: bytes, value: Any) -> Bitmap:
    """Return the bits of one stored chunk; CorruptError."""
    bits = codec.decode_array(layout.DELETED_KIND, key, value, np.uint8, verify=True)
    if len(bits) != CHUNK_BYTES:
        raise CorruptError(
            f"{codec.name(layout.DELETED_KIND, key)} has {len(bits)} bytes, not {CHUNK_BYTES}"
        )
    return bits


def is_deleted(bitmap: Bitmap | None, ordinals: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return for each of `ordinals` whether it is deleted."""
    if bitmap is None:
        return np.zeros(len(ordinals), np.bool_)
    return is_set(bitmap, ordinals)


def live_ordinals(bitmap: Bitmap | None, start: int, stop: int) -> npt.NDArray[np.uint32]:
    """Return the ordinals of start .. stop that are not deleted."""
    ordinals = np.arange(start, stop, dtype=np.uint32)
    return ordinals if bitmap is None else ordinals[~is_deleted(bitmap, ordinals)]


def live_count(bitmap: Bitmap | None, stop: int) -> int:
    """Count the ordinals below `stop` that are not deleted."""
    if bitmap is None:
        return stop
    count = stop
    for start in range(0, stop, layout.CHUNK_ORDINALS):
        ordinals = np.arange(start, min(start + layout.CHUNK_ORDINALS, stop), dtype=np.uint32)
        count -= int(np.count_nonzero(is_deleted(bitmap, ordinals)))
    return count


def _capacity(ordinal_count: int) -> int:
    chunks = -(-ordinal_count // layout.CHUNK_ORDINALS)
    return chunks * CHUNK_BYTES + SPARE_BYTES
