"""Times of documents: when each was inserted or last seen, in seconds since 1970.

A value has the times of `TIME_ORDINALS` ordinals, after the header: seconds u32[TIME_ORDINALS], 0
for an ordinal without a time.  Its key is the number of the chunk.  The sub-database exists only if
the options keep times; then every chunk with an ordinal in use is stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import CorruptError
from simdb.storage import codec, layout
from simdb.storage.environment.subdatabases import get_value
from simdb.storage.layout import TIME_ORDINALS
from simdb.values.arrays import sorted_unique

U32 = npt.NDArray[np.uint32]

# Documents, and the time that all of them get.
Change = tuple[U32, int]


def read_times(chunks: Iterable[tuple[bytes, Any]], count: int) -> U32:
    """Return the time of every ordinal below `count` from stored chunks; 0 where none is stored.

    CorruptError if a chunk is damaged, or lies beyond the last ordinal.
    """
    times = np.zeros(-(-count // TIME_ORDINALS) * TIME_ORDINALS, np.uint32)
    for key, value in chunks:
        start = layout.key_number(key) * TIME_ORDINALS
        if start >= len(times):
            raise CorruptError(f"{codec.name(layout.TIMES_KIND, key)} lies beyond the last ordinal")
        times[start : start + TIME_ORDINALS] = decode_chunk(key, value)
    return times[:count]


def changed_chunks(
    transaction: Any, handle: Any, changes: Sequence[Change]
) -> Iterator[tuple[bytes, Any]]:
    """Yield the keys and values to store so that times change; later changes count."""
    numbers = sorted_unique(np.concatenate([ordinals for ordinals, _ in changes]) // TIME_ORDINALS)
    times = np.zeros((len(numbers), TIME_ORDINALS), np.uint32)
    keys = [layout.number_key(number) for number in numbers.tolist()]
    for at, key in enumerate(keys):
        value = get_value(transaction, handle, key)
        if value is not None:
            times[at] = decode_chunk(key, value)
    for ordinals, seconds in changes:
        times[np.searchsorted(numbers, ordinals // TIME_ORDINALS), ordinals % TIME_ORDINALS] = (
            seconds
        )
    for key, chunk in zip(keys, times, strict=True):
        yield key, codec.encode_array(layout.TIMES_KIND, key, chunk)


def whole_chunks(times: U32) -> Iterator[tuple[bytes, Any]]:
    """Yield the keys and values of all chunks, given the time of every ordinal."""
    for number in range(-(-len(times) // TIME_ORDINALS)):
        key = layout.number_key(number)
        chunk = np.zeros(TIME_ORDINALS, np.uint32)
        part = times[number * TIME_ORDINALS : (number + 1) * TIME_ORDINALS]
        chunk[: len(part)] = part
        yield key, codec.encode_array(layout.TIMES_KIND, key, chunk)


def decode_chunk(key: bytes, value: Any) -> U32:
    """Return the times in one stored chunk; CorruptError."""
    times = codec.decode_array(layout.TIMES_KIND, key, value, np.uint32, verify=True)
    if len(times) != TIME_ORDINALS:
        raise CorruptError(
            f"{codec.name(layout.TIMES_KIND, key)} has {len(times)} times, not {TIME_ORDINALS}"
        )
    return times
