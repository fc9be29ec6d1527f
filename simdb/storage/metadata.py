"""Records by ordinal outside the documents: metadata and times; and notes.

A value holds the metadata of up to `BLOCK_DOCUMENTS` documents of one commit, after the header:

    count u32 | ordinals u32[k] | offsets u32[k + 1] | msgpack objects

Its key is its first ordinal.  Values never overlap, so an ordinal is in the last value whose key is
not greater.  Changed metadata replace the old ones in the value of their ordinal, which may then
become several values, or none.

Stored metadata must come back equal. msgpack accepts more: it packs tuples as lists, and it packs
tuple keys, which it then cannot unpack.

A value of times has the times of `TIME_ORDINALS` ordinals, after the header: seconds since 1970,
u32[TIME_ORDINALS], 0 for an ordinal without a time.  Its key is the number of the chunk.  The
sub-database of times exists only if the options keep times; then every chunk with an ordinal in use
is stored.

A note is one object under a key of the sub-database `meta`.
"""

import math
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from simdb.core import arrays
from simdb.core.checks import shown
from simdb.core.dtypes import U8, U32
from simdb.core.errors import CorruptError, FormatError, InputError
from simdb.storage import codec, layout
from simdb.storage.delta import stored_offsets
from simdb.storage.environment import Source
from simdb.storage.layout import NOTE_NAME_BYTES_MAX, TIME_ORDINALS

BLOCK_DOCUMENTS = 256
BLOCK_BYTES = 1 << 16
METADATA_BYTES_MAX = 1 << 30

PLAIN = "use None, bool, int (of 64 bits), float, str, bytes, list and dict"
# Checking the metadata of this number of documents together takes a tenth of the time.
CHECKED_TOGETHER = 64

# The stored form of None, for a document without metadata.
NO_METADATA = codec.pack(None)

_COUNT = struct.Struct("<I")
# In a value that packs exactly, only NaN comes back unequal, and NaN must not be a key. msgpack
# writes NaN in these two forms.
_NAN = (b"\xcb\x7f\xf8", b"\xcb\xff\xf8")
_REFUSALS = (TypeError, ValueError, OverflowError, RecursionError, BufferError)

# Documents, and the time or times that they get.
TimeChange = tuple[U32, int | U32]


def pack_every(values: Sequence[Any], name: Callable[[int], str]) -> list[tuple[int, bytes]]:
    """Pack all metadata except None; return (position, packed metadata) pairs.

    `name(position)` returns the name of the document for messages.
    """
    every: list[tuple[int, bytes]] = []
    for start in range(0, len(values), CHECKED_TOGETHER):
        part = [
            (at, value)
            for at, value in enumerate(values[start : start + CHECKED_TOGETHER], start)
            if value is not None
        ]
        try:
            packed = [(at, codec.pack_exactly(value)) for at, value in part]
            is_sure = _is_sure(b"".join([each for _, each in packed]))
        except _REFUSALS:
            is_sure = False
        every += packed if is_sure else [(at, pack_metadata(each, name(at))) for at, each in part]
    return every


def pack_metadata(metadata: Any, what: str) -> bytes:
    """Pack `metadata`; raise InputError, naming `what`, unless it will come back equal."""
    try:
        packed = _packed(metadata, what)
    except InputError:
        raise
    except _REFUSALS as error:
        raise _refusal(what, f"{error}; {PLAIN}", _place_of_refused(metadata)) from error
    if len(packed) > METADATA_BYTES_MAX:
        raise InputError(f"metadata of {what} has {len(packed)} bytes, more than 1 GiB")
    return packed


def check_packed(packed: bytes, what: str) -> None:
    """Raise CorruptError, naming `what`, unless `pack_metadata` could have made `packed`."""
    metadata = codec.unpack(packed, what)
    try:
        _packed(metadata, what)
    except (InputError, TypeError, ValueError) as error:
        raise CorruptError(f"{what} is not a plain object: {error}") from error


def encode_blocks(entries: list[tuple[int, bytes]]) -> Iterator[tuple[bytes, Any]]:
    """Yield keys and values for (ordinal, packed metadata) pairs in order of ordinals."""
    for group in grouped(entries):
        key = layout.number_key(group[0][0])
        array = np.frombuffer(pack_block(group), np.uint8)
        yield key, codec.encode_array(layout.METADATA_KIND, key, array)


def changed_blocks(source: Source, changes: Mapping[int, bytes]) -> Iterator[tuple[bytes, Any]]:
    """Yield the keys and values to store for changed metadata; None removes a value.

    `changes`: the packed metadata of some ordinals, `NO_METADATA` for none.  Each block is read
    only when it is reached, so every pair can be stored at once.
    """
    ordinals = sorted(changes)
    start = 0
    while start < len(ordinals):
        block = source.before(layout.METADATA, layout.number_key(ordinals[start]))
        stop = bisect_left(ordinals, _next_block(source, ordinals[start]))
        entries = {} if block is None else dict(decode_block(*block))
        entries.update((ordinal, changes[ordinal]) for ordinal in ordinals[start:stop])
        kept = sorted(entry for entry in entries.items() if entry[1] != NO_METADATA)
        blocks = list(encode_blocks(kept))
        if block is not None and block[0] not in [key for key, _ in blocks]:
            yield block[0], None
        yield from blocks
        start = stop


def grouped(entries: Iterable[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Group (ordinal, packed metadata) pairs so that each group fills one block."""
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


def unpacked(packed: Mapping[int, bytes], ordinal: int) -> Any:
    """Return the metadata of one ordinal; None if it has none."""
    found = packed.get(ordinal)
    return None if found is None else codec.unpack(found, f"metadata of ordinal {ordinal}")


def read_many(source: Source, ordinals: Iterable[int]) -> dict[int, bytes]:
    """Return the packed metadata of `ordinals` that have some; each block is read once."""
    found: dict[int, bytes] = {}
    block: dict[int, bytes] = {}
    stop = 0  # the block has the metadata of all ordinals below this
    for ordinal in sorted(ordinals):
        if ordinal >= stop:
            stored = source.before(layout.METADATA, layout.number_key(ordinal))
            block = {} if stored is None else dict(decode_block(*stored))
            stop = _next_block(source, ordinal)
        if ordinal in block:
            found[ordinal] = block[ordinal]
    return found


def _next_block(source: Source, ordinal: int) -> int:
    """Return the first ordinal of the block after that of `ordinal`; beyond all for the last."""
    later = source.every(layout.METADATA, layout.number_key(ordinal + 1))
    return next((layout.key_number(key) for key, _ in later), arrays.ORDINALS_MAX + 1)


def read_all(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield (ordinal, packed metadata) for every document with metadata, by ordinal."""
    for key, value in source.every(layout.METADATA):
        yield from decode_block(key, value)


def decode_block(key: bytes, value: Any) -> list[tuple[int, bytes]]:
    """Return (ordinal, packed metadata) pairs of a stored value; verify the checksum."""
    payload = codec.decode_array(layout.METADATA_KIND, key, value, np.uint8, verify=True)
    return unpack_block(payload, codec.name(layout.METADATA_KIND, key))


def unpack_block(payload: U8, place: str) -> list[tuple[int, bytes]]:
    """Return (ordinal, packed metadata) pairs of a bare block; raise CorruptError for damage.

    `place` names the block in messages.
    """
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
    bounds = zip(ordinals.tolist(), pairwise(offsets.tolist()), strict=True)
    return [(ordinal, content[start:stop]) for ordinal, (start, stop) in bounds]


def pack_block(entries: list[tuple[int, bytes]]) -> bytes:
    """Return the block of (ordinal, packed metadata) pairs, without header."""
    ordinals = np.array([ordinal for ordinal, _ in entries], np.uint32)
    every = arrays.offsets_of([len(packed) for _, packed in entries])
    offsets = stored_offsets(every, f"the metadata of {len(entries)} documents")
    content = b"".join(packed for _, packed in entries)
    return _COUNT.pack(len(entries)) + ordinals.tobytes() + offsets.tobytes() + content


def read_times(chunks: Iterable[tuple[bytes, Any]], count: int) -> U32:
    """Return the time of every ordinal below `count` from stored chunks; 0 for a missing time.

    Raises CorruptError if a chunk is damaged or beyond the last ordinal.
    """
    times = np.zeros(-(-count // TIME_ORDINALS) * TIME_ORDINALS, np.uint32)
    for key, value in chunks:
        start = layout.key_number(key) * TIME_ORDINALS
        if start >= len(times):
            raise CorruptError(f"{codec.name(layout.TIMES_KIND, key)} lies beyond the last ordinal")
        times[start : start + TIME_ORDINALS] = decode_times(key, value)
    return times[:count]


def changed_times(source: Source, changes: Sequence[TimeChange]) -> Iterator[tuple[bytes, Any]]:
    """Yield the keys and values to store for changed times; times never decrease.

    Otherwise, an insert while the clock is slow could let recently seen documents expire.
    """
    numbers = arrays.sorted_unique(
        np.concatenate([ordinals for ordinals, _ in changes]) // TIME_ORDINALS
    )
    times = np.zeros((len(numbers), TIME_ORDINALS), np.uint32)
    for chunk, key in zip(times, map(layout.number_key, numbers.tolist()), strict=True):
        value = source.find(layout.TIMES, key)
        if value is not None:
            chunk[:] = decode_times(key, value)
    for ordinals, seconds in changes:
        places = np.searchsorted(numbers, ordinals // TIME_ORDINALS), ordinals % TIME_ORDINALS
        times[places] = np.maximum(times[places], seconds)
    return _encoded_times(numbers.tolist(), times)


def whole_times(times: U32) -> Iterator[tuple[bytes, Any]]:
    """Yield the keys and values of all chunks, made from the times of all ordinals."""
    chunks = np.zeros((-(-len(times) // TIME_ORDINALS), TIME_ORDINALS), np.uint32)
    chunks.reshape(-1)[: len(times)] = times
    return _encoded_times(range(len(chunks)), chunks)


def _encoded_times(numbers: Iterable[int], chunks: U32) -> Iterator[tuple[bytes, Any]]:
    for number, chunk in zip(numbers, chunks, strict=True):
        key = layout.number_key(number)
        yield key, codec.encode_array(layout.TIMES_KIND, key, chunk)


def decode_times(key: bytes, value: Any) -> U32:
    """Return the times in one stored chunk; raise CorruptError for damage."""
    return codec.decode_numbers(layout.TIMES_KIND, key, value, np.uint32, TIME_ORDINALS)


def note_key(name: object) -> bytes:
    """Return the key under which a note is stored; raise InputError for an invalid name."""
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of a note must be text, got {shown(name)}")
    try:
        key = layout.NOTE_PREFIX + name.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the name of a note must be valid Unicode, got {shown(name)}") from error
    if len(key) > len(layout.NOTE_PREFIX) + NOTE_NAME_BYTES_MAX:
        raise InputError(f"the name of a note has at most {NOTE_NAME_BYTES_MAX} bytes; shorten it")
    return key


def packed_note(content: Any) -> bytes | None:
    """Return the stored form of the content of a note; None, which removes it, for None."""
    if content is None:
        return None
    try:
        packed = codec.pack_exactly(content)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(
            "the content of a note must be of plain types (None, bool, int, float, str, bytes,"
            f" list, dict): {error}"
        ) from error
    if len(packed) > METADATA_BYTES_MAX:
        raise InputError(f"a note holds at most {METADATA_BYTES_MAX} bytes, got {len(packed)}")
    return packed


def unpacked_note(packed: bytes | None) -> Any:
    """Return the content of a packed note; None for a removed note."""
    return None if packed is None else codec.unpack(packed, "a staged note")


def encode_note(key: bytes, packed: bytes) -> bytes:
    """Return the stored form of a note with packed content."""
    return codec.encode_bytes(layout.NOTE_KIND, key, 1, packed)


def read_note(source: Source, key: bytes) -> Any:
    """Return the content of a note, or None; raise CorruptError if it is damaged."""
    found = source.find(layout.META, key)
    return None if found is None else codec.decode_object(layout.NOTE_KIND, key, found)


def note_name(key: bytes) -> str:
    """Return the name of a note."""
    return key[len(layout.NOTE_PREFIX) :].decode("utf-8", "replace")


def note_keys(source: Source) -> list[bytes]:
    """Return the keys of all notes in order."""
    keys = (key for key, _ in source.every(layout.META, layout.NOTE_PREFIX))
    return [key for key in keys if key.startswith(layout.NOTE_PREFIX)]


def damaged_notes(source: Source) -> Iterator[tuple[bytes, str]]:
    """Yield the key of each unreadable note, and the reason."""
    for key in note_keys(source):
        try:
            read_note(source, key)
        except (CorruptError, FormatError) as error:
            yield key, str(error)


def _packed(metadata: Any, what: str) -> bytes:
    """Pack `metadata` as msgpack; raise InputError unless it comes back equal."""
    try:
        packed = codec.pack_exactly(metadata)
    except TypeError:
        packed = codec.pack(metadata)
    else:
        if _is_sure(packed):
            return packed
    if not _comes_back(metadata, packed):
        _check_parts(metadata, "", what)
    return packed


def _is_sure(packed: bytes) -> bool:
    """Return whether unpacking `packed` is certain to give an equal value.

    `packed` comes from `codec.pack_exactly`.
    """
    return len(packed) <= METADATA_BYTES_MAX and _NAN[0] not in packed and _NAN[1] not in packed


def _comes_back(value: Any, packed: bytes) -> bool:
    """Return whether unpacking gives an equal value; NaN equals nothing."""
    try:
        return bool(codec.unpack(packed, "metadata") == value)
    except CorruptError:
        return False


def _check_parts(value: Any, place: str, what: str) -> None:
    """Raise InputError for the first part of the metadata that does not come back equal.

    NaN is allowed as a value, and so are bytes-like objects, which come back as bytes.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            if not _comes_back(key, codec.pack(key)):
                found = f"{key!r:.80} is a {type(key).__name__} as a key"
                raise _refusal(what, f"{found}, which cannot be looked up again; use a str", place)
            _check_parts(part, f"{place}[{key!r:.80}]", what)
    elif isinstance(value, list):
        for at, part in enumerate(value):
            _check_parts(part, f"{place}[{at}]", what)
    elif isinstance(value, tuple) and not _comes_back(value, codec.pack(value)):
        found = f"{value!r:.80} is a tuple"
        raise _refusal(what, f"{found}, which would come back as a list; use a list", place)
    elif isinstance(value, float) and math.isnan(value):
        return
    elif isinstance(value, str | int | float) and not _comes_back(value, codec.pack(value)):
        found = f"{value!r:.80} is a {type(value).__name__}"
        raise _refusal(what, f"{found}, which would come back as another type; {PLAIN}", place)


def _place_of_refused(value: Any, place: str = "") -> str:
    """Return the place of the first part of `value` that cannot be packed, or a part around it."""
    # A message shows 200 characters of a place, and a list may contain itself.
    if len(place) < 200 and isinstance(value, dict | list):
        for at, part in value.items() if isinstance(value, dict) else enumerate(value):
            try:
                codec.pack(part)
            except _REFUSALS:
                return _place_of_refused(part, f"{place}[{at!r:.80}]")
    return place


def _refusal(what: str, why: str, place: str) -> InputError:
    where = f", at {place:.200}," if place else ""
    return InputError(f"metadata of {what}{where} cannot be stored: {why}")
