"""The codec: the form of every stored value, a 48-byte header followed by an array or an object.

    magic "smdb" | kind (4 bytes) | version u32 | zero u32 | count u64 | payload bytes u64 |
    checksum u64 | zero u64 | payload

Some arrays have a shorter form, marked by the kind.  Evenly spaced numbers may be stored as "even":
the payload is the first number and the step, u64 each.  Integer ids may be stored as "inte", in the
form of `pack_ids` of the kernel.  A header table stores "tags" instead of keys.

Integers and arrays are little-endian; objects are msgpack.  The checksum is XXH3-64 over header and
payload, since LMDB does not notice flipped bits.  It is seeded by the key, so that a value under
another key is detected as well.  LMDB puts large values 16 bytes after the start of a page.  So a
header of 48 bytes makes arrays begin at a multiple of 64 bytes, a cache line.
"""

import math
import struct
from functools import lru_cache
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt
import xxhash

from simdb.core import kernel
from simdb.core.dtypes import U8
from simdb.core.errors import CorruptError, FormatError

MAGIC = b"smdb"
FORMAT_VERSION = 1
HEADER = struct.Struct("<4s4sIIQQQQ")
HEADER_BYTES = HEADER.size
assert HEADER_BYTES == 48
INTEGERS_KIND = b"inte"
EVEN_KIND = b"even"
EVEN = struct.Struct("<QQ")
TAGS_KIND = b"tags"
# Above the length of any evenly spaced array, so that a forged count cannot exhaust memory.
EVEN_ENTRIES_MAX = 1 << 24
# LMDB keeps values of up to half a page inside leaf pages.  They have any alignment and move when a
# neighbour changes, so pointers to them are valid in one transaction only.  Larger values have
# pages of their own and do not move.  Half of the largest possible page would be enough.
SMALL_BYTES = 1 << 16
# An object of up to this size cannot claim lengths that take much memory.
SMALL_OBJECT_BYTES = 1 << 12


def allocate(dtype: npt.DTypeLike, shape: int | tuple[int, ...]) -> npt.NDArray[Any]:
    """Allocate an uninitialised array with room for the header before it."""
    kind = np.dtype(dtype)
    count = shape if isinstance(shape, int) else math.prod(shape)
    buffer = np.empty(HEADER_BYTES + count * kind.itemsize, np.uint8)
    return buffer[HEADER_BYTES:].view(kind).reshape(shape)


def allocated(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Copy a one-dimensional array to memory with room for the header before it."""
    copied = allocate(values.dtype, len(values))
    copied[...] = values
    return copied


def encode_array(kind: bytes, key: bytes, array: npt.NDArray[Any]) -> U8:
    """Return the stored form of `array`, without a copy if it comes from `allocate`."""
    buffer = _buffer_before(array)
    if buffer is None:
        buffer = np.empty(HEADER_BYTES + array.nbytes, np.uint8)
        buffer[HEADER_BYTES:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    payload = buffer[HEADER_BYTES:]
    buffer[:HEADER_BYTES] = np.frombuffer(_header(kind, key, len(array), payload), np.uint8)
    return buffer


def decode_array(
    kind: bytes, key: bytes, value: Any, dtype: npt.DTypeLike, *, verify: bool = False
) -> npt.NDArray[Any]:
    """Return the array in a stored value, read-only, and without a copy unless it is small.

    A two-dimensional array is returned flat; the caller knows the length of its rows.  `verify`:
    also compare the checksum, which reads every byte.
    """
    count, payload_bytes = _checked_header(kind, key, value)
    if verify:
        verify_value(key, value)
    array = np.frombuffer(value, np.uint8, payload_bytes, HEADER_BYTES)
    itemsize = np.dtype(dtype).itemsize
    if payload_bytes % itemsize or (count and payload_bytes % count):
        raise CorruptError(f"{name(kind, key)} has {payload_bytes} bytes for {count} entries")
    if len(array) < SMALL_BYTES:
        array = array.copy()
        array.flags.writeable = False
    return array.view(dtype)


def decode_numbers(
    kind: bytes, key: bytes, value: Any, dtype: npt.DTypeLike, count: int
) -> npt.NDArray[Any]:
    """Return the `count` numbers in a stored value.

    Raises CorruptError for another count or checksum.
    """
    array = decode_array(kind, key, value, dtype, verify=True)
    if len(array) != count:
        raise CorruptError(f"{name(kind, key)} has {len(array)} numbers, not {count}")
    return array


def encode_even(key: bytes, array: npt.NDArray[Any]) -> bytes | None:
    """Return the stored form of an array that ascends in equal steps; None for other arrays."""
    if len(array) < 2:
        return None
    first, step = int(array[0]), int(array[1]) - int(array[0])
    # The last number rules out most other arrays.
    if step < 0 or int(array[-1]) != first + step * (len(array) - 1):
        return None
    if not np.array_equal(array, _even(first, step, array.dtype.str, len(array))):
        return None
    return encode_bytes(EVEN_KIND, key, len(array), EVEN.pack(first, step))


def encode_packed(key: bytes, ids: kernel.PackedIds) -> bytes:
    """Return the stored form of packed ids."""
    return encode_bytes(INTEGERS_KIND, key, ids.count, ids.packed.tobytes())


def decode_ids(kind: bytes, key: bytes, value: Any) -> U8 | kernel.PackedIds:
    """Return the bytes of ids in a stored value like `decode_array`, or packed integer ids."""
    if kind_of(value) != INTEGERS_KIND:
        return decode_array(kind, key, value, np.uint8)
    count, payload_bytes = _checked_header(INTEGERS_KIND, key, value)
    if payload_bytes < SMALL_BYTES:
        verify_value(key, value)
        value = bytes(value)
    try:
        packed = np.frombuffer(value, np.uint8, payload_bytes, HEADER_BYTES)
        return kernel.PackedIds(packed, min(count, EVEN_ENTRIES_MAX))
    except ValueError as error:
        raise CorruptError(f"{name(kind, key)}: {error}") from error


def decode_column(
    kind: bytes, key: bytes, value: Any, dtype: npt.DTypeLike, *, verify: bool = False
) -> npt.NDArray[Any]:
    """Return the array in a stored value like `decode_array`, also if `encode_even` stored it."""
    if kind_of(value) != EVEN_KIND:
        return decode_array(kind, key, value, dtype, verify=verify)
    count, payload_bytes = _checked_header(EVEN_KIND, key, value)
    verify_value(key, value)
    if payload_bytes != EVEN.size or not 2 <= count <= EVEN_ENTRIES_MAX:
        raise CorruptError(f"{name(kind, key)} is not an array of {count} evenly spaced numbers")
    first, step = EVEN.unpack_from(value, HEADER_BYTES)
    if first + step * (count - 1) > np.iinfo(dtype).max:
        raise CorruptError(f"{name(kind, key)} has numbers that are too large for {dtype}")
    return _even(first, step, np.dtype(dtype).str, count)


def decode_keys(kind: bytes, key: bytes, value: Any) -> npt.NDArray[Any]:
    """Return the keys in a stored value, uint64[n], or the tags stored instead, uint16[n]."""
    found, dtype = (TAGS_KIND, "<u2") if kind_of(value) == TAGS_KIND else (kind, "<u8")
    return decode_array(found, key, value, dtype)


def encode_object(kind: bytes, key: bytes, value: Any) -> bytes:
    """Return the stored form of an object of plain types.

    Plain types are None, bool, int, float, str, bytes, list and dict.
    """
    return encode_bytes(kind, key, 1, pack(value))


def encode_bytes(kind: bytes, key: bytes, count: int, payload: bytes) -> bytes:
    """Return the stored form of a payload of `count` entries; fast for few bytes."""
    return _header(kind, key, count, payload) + payload


def decode_object(kind: bytes, key: bytes, value: Any) -> Any:
    """Return the object in a stored value; always verify the checksum."""
    _checked_header(kind, key, value)
    verify_value(key, value)
    return unpack(bytes(memoryview(value)[HEADER_BYTES:]), name(kind, key))


def unpack(payload: bytes, place: str) -> Any:
    """Unpack a msgpack object; raise CorruptError, which names `place`, if that fails."""
    try:
        if len(payload) > SMALL_OBJECT_BYTES:
            # Unpacking nested lists would allocate their claimed length before it finds an entry
            # missing.
            unpacker = msgpack.Unpacker(None, max_buffer_size=len(payload), strict_map_key=False)
            unpacker.feed(payload)
            unpacker.skip()
        return msgpack.unpackb(payload, raw=False, strict_map_key=False)
    except (ValueError, TypeError, MemoryError, msgpack.exceptions.UnpackException) as error:
        # A list as the key of a map raises TypeError.
        raise CorruptError(f"{place} is not readable: {error}") from error


def pack(value: Any) -> bytes:
    """Pack plain types as msgpack; raise TypeError, ValueError or OverflowError for others."""
    return bytes(msgpack.packb(value, use_bin_type=True))


def pack_exactly(value: Any) -> bytes:
    """Pack `value` like `pack`, but raise TypeError for a tuple or a subclass of a plain type."""
    return bytes(msgpack.packb(value, use_bin_type=True, strict_types=True))


def verify_value(key: bytes, value: Any) -> None:
    """Raise CorruptError unless the bytes of `value` are what was written under `key`."""
    view = memoryview(value)
    if len(view) < HEADER_BYTES:
        raise CorruptError(f"the value under {key.hex()} has only {len(view)} bytes")
    magic, kind, version, zero, count, payload_bytes, checksum, last = HEADER.unpack_from(view)
    if payload_bytes != len(view) - HEADER_BYTES or zero or last:
        raise CorruptError(f"{name(kind, key)} has another length than its header says")
    payload = view[HEADER_BYTES:]
    if checksum != _checksum(key, (magic, kind, version, count, payload_bytes), payload):
        raise CorruptError(f"{name(kind, key)} is not what was written: its checksum differs")


def has_length(value: Any) -> bool:
    """Return whether a value begins with a header that has its length."""
    if len(value) < HEADER_BYTES:
        return False
    magic, _, _, _, _, payload_bytes, _, _ = HEADER.unpack_from(value)
    return bool(magic == MAGIC and payload_bytes == len(value) - HEADER_BYTES)


def kind_of(value: Any) -> bytes:
    """Return the kind that the header of a stored value names."""
    return bytes(memoryview(value)[len(MAGIC) : 2 * len(MAGIC)])


def present(kind: bytes, key: bytes, value: Any, subdatabase: bytes) -> Any:
    """Return a stored value; raise CorruptError if it is None, which means missing."""
    if value is None:
        raise CorruptError(f"{name(kind, key)} is missing from {subdatabase.decode()}")
    return value


def name(kind: bytes, key: bytes) -> str:
    """Return the name of a value for messages."""
    return f"the value {kind.decode('ascii', 'replace').strip()!r} under key {key.hex()}"


def checksum_of(content: bytes) -> int:
    """Return a 64-bit checksum of any content."""
    return xxhash.xxh3_64_intdigest(content)


def _even(first: int, step: int, dtype: str, count: int) -> npt.NDArray[Any]:
    """Return evenly spaced numbers, read-only."""
    return _longest_even(first, step, dtype, (count - 1).bit_length())[:count]


@lru_cache(maxsize=8)
def _longest_even(first: int, step: int, dtype: str, bits: int) -> npt.NDArray[Any]:
    """Return 2^`bits` evenly spaced numbers; equal segments share one such array.

    Numbers that the type cannot hold wrap around.
    """
    array = np.arange(1 << bits, dtype=np.uint32).astype(dtype, copy=False)
    array *= array.dtype.type(step)
    array += array.dtype.type(first)
    array.flags.writeable = False
    return array


def _header(kind: bytes, key: bytes, count: int, payload: Any) -> bytes:
    size = memoryview(payload).nbytes
    checksum = _checksum(key, (MAGIC, kind, FORMAT_VERSION, count, size), payload)
    return HEADER.pack(MAGIC, kind, FORMAT_VERSION, 0, count, size, checksum, 0)


def _checksum(key: bytes, said: tuple[bytes, bytes, int, int, int], payload: Any) -> int:
    magic, kind, version, count, size = said
    plain = HEADER.pack(magic, kind, version, 0, count, size, 0, 0)
    return xxhash.xxh3_64_intdigest(payload, xxhash.xxh3_64_intdigest(plain + key))


def _checked_header(kind: bytes, key: bytes, value: Any) -> tuple[int, int]:
    """Check a header, without reading the payload; return the count and the payload bytes."""
    view = memoryview(value)
    if len(view) < HEADER_BYTES:
        raise CorruptError(f"{name(kind, key)} has only {len(view)} bytes")
    magic, found, version, _, count, payload_bytes, _, _ = HEADER.unpack_from(view)
    if magic != MAGIC or found != kind:
        raise CorruptError(
            f"{name(kind, key)} starts with {bytes(magic + found)!r}, not {MAGIC + kind!r}"
        )
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{name(kind, key)} has format version {version}; this simdb reads up to"
            f" {FORMAT_VERSION}: open the database with a newer simdb"
        )
    if payload_bytes != len(view) - HEADER_BYTES:
        raise CorruptError(
            f"the header of {name(kind, key)} says {payload_bytes} bytes, but"
            f" {len(view) - HEADER_BYTES} follow it"
        )
    return count, payload_bytes


def _address(array: npt.NDArray[Any]) -> int:
    """Return the address of an array; `ctypes.data` takes several times longer."""
    return int(array.__array_interface__["data"][0])


def _buffer_before(array: npt.NDArray[Any]) -> U8 | None:
    """Return the memory of an array from `allocate`, with the header; None for other arrays."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    fits = base.dtype == np.uint8 and base.ndim == 1 and base.size == HEADER_BYTES + array.nbytes
    starts = fits and _address(array) == _address(base) + HEADER_BYTES
    is_own = starts and base.flags.owndata and base.flags.writeable
    return base if is_own and array.flags.c_contiguous else None
