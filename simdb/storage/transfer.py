"""Transfer: the portable form of a dump, a stream of checked frames with documents.

    magic "simdbdmp" | version u32 | zero u32, then frames, the last one of the kind "end "
    frame: kind (4 bytes) | number u32 | payload bytes u64 | checksum u64 | payload

All integers are little-endian.  Frames are numbered from 0.  The checksum is XXH3-64 of the
payload, seeded by the XXH3-64 of the 16 bytes before it, so a reader notices a frame that is
changed, missing, doubled or out of place, and a stream that ends too early.

A frame of some thousands of documents, without anything that can be derived:

    count u32 | vector width u32 | fingerprints u64[n] | offsets of ids u32[n + 1] | states u8[n] |
    vectors u8[n, width] | stored forms of ids

A frame of their passages, if the database has passages:

    grains of each document u32[n] | hashes u64[k], which ascend strictly within a document

Documents are numbered from 0 in order of insertion.  Their metadata follow in frames with the
layout of stored metadata blocks (see `metadata`), with these numbers in place of ordinals.
"""

import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import xxhash

from simdb.ground.dtypes import Array
from simdb.ground.errors import CorruptError, FormatError
from simdb.running import kernel
from simdb.storage import layout
from simdb.storage.records.delta import StoredBatch
from simdb.storage.records.metadata import METADATA_BYTES_MAX
from simdb.storage.runs.run import Segment
from simdb.values.arrays import WEIGHTED, Grains, Ragged, offsets_of

MAGIC = b"simdbdmp"
VERSION = 1
HEAD = struct.Struct("<8sII")
FRAME = struct.Struct("<4sIQQ")
SEEDED_BYTES = FRAME.size - 8
END = b"end "
# The largest thing in a frame is the metadata of one document.
FRAME_BYTES_MAX = METADATA_BYTES_MAX + (1 << 20)
# Bytes allocated at a time for a frame from a pipe, whose length cannot be compared with a file.
PART_BYTES = 1 << 20
_COUNTS = struct.Struct("<II")


class FrameWriter:
    """A writer of frames to a stream; `size_bytes` counts what was written."""

    def __init__(self, stream: BinaryIO) -> None:
        """Write the head of the stream."""
        self._stream = stream
        self._number = 0
        self.size_bytes = 0
        self._put(HEAD.pack(MAGIC, VERSION, 0))

    def write(self, kind: bytes, payload: bytes) -> None:
        """Write one frame."""
        seeded = FRAME.pack(kind, self._number, len(payload), 0)[:SEEDED_BYTES]
        self._put(FRAME.pack(kind, self._number, len(payload), _checksum(seeded, payload)))
        self._put(payload)
        self._number += 1

    def _put(self, content: bytes) -> None:
        """Write all of `content`, even if the stream takes only parts at a time."""
        self.size_bytes += len(content)
        view = memoryview(content)
        while view:
            taken = self._stream.write(view)
            view = view[len(view) if taken is None else taken :]


class FrameReader:
    """A reader of frames; FormatError for another kind of stream, CorruptError for damage."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        """Read the head; `name` is the name of the stream in messages."""
        self._stream = stream
        self._name = name
        self._number = 0
        self._at = 0
        self._left = _bytes_left(stream)
        content = self._read(HEAD.size)
        if content[: len(MAGIC)] != MAGIC[: len(content)] or not content:
            raise FormatError(f"{name} is no dump of simdb: it starts with {bytes(content[:8])!r}")
        if len(content) < HEAD.size:
            raise CorruptError(f"{name} ends inside its head, at byte {self._at}")
        _, version, zero = HEAD.unpack(content)
        if not 0 < version <= VERSION or zero:
            raise FormatError(
                f"{name} is a dump of version {version}; this simdb reads up to {VERSION}: use a"
                " newer simdb, or make the dump again"
            )

    @property
    def place(self) -> str:
        """Name of the last frame that was read, for messages."""
        return f"{self._name}, frame {self._number - 1}"

    def frames(self) -> Iterator[tuple[bytes, bytearray]]:
        """Yield kind and payload of each frame, including the last one of the kind `END`."""
        kind = b""
        while kind != END:
            kind, payload = self._frame()
            yield kind, payload
        if self._read(1):
            raise CorruptError(f"{self._name} goes on after its end, at byte {self._at - 1}")

    def _frame(self) -> tuple[bytes, bytearray]:
        start = self._at
        where = f"frame {self._number} at byte {start}"
        head = self._read(FRAME.size)
        if len(head) < FRAME.size:
            raise CorruptError(f"{self._name} is cut off in {where}: it ends at byte {self._at}")
        kind, number, size, checksum = FRAME.unpack(head)
        if number != self._number or size > FRAME_BYTES_MAX:
            raise CorruptError(f"{self._name} is damaged in the head of {where}")
        if self._left is not None and size > self._left - self._at:
            raise CorruptError(
                f"{self._name} is cut off or damaged in {where}: its head says {size} bytes, but"
                f" {self._left - self._at} are left"
            )
        payload = self._read(size)
        if len(payload) < size:
            raise CorruptError(f"{self._name} is cut off in {where}: it ends at byte {self._at}")
        if checksum != _checksum(bytes(head[:SEEDED_BYTES]), payload):
            raise CorruptError(f"{self._name} is damaged in {where}: its checksum differs")
        self._number += 1
        return kind, payload

    def _read(self, count: int) -> bytearray:
        """Read `count` bytes, or fewer at the end of the stream."""
        content = bytearray()
        while len(content) < count:
            part = self._stream.read(min(count - len(content), PART_BYTES))
            if not part:
                break
            content += part
        self._at += len(content)
        return content


def pack_documents(segment: Segment) -> bytes:
    """Return the payload of a frame."""
    columns = segment.columns
    offsets = columns[layout.OFFSET]
    is_weighted = columns[layout.STATE] == WEIGHTED
    # Vectors of documents without weights have no meaning; zeros give equal databases equal dumps.
    vectors = np.where(is_weighted[:, None], columns[layout.VECTOR], np.uint8(0))
    parts: list[tuple[Array, str]] = [
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
    return sizes.tobytes() + grains.values.astype("<u8").tobytes()


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
    return Ragged(offsets, hashes)


def parts_of(segment: Segment, count: int) -> Iterator[Segment]:
    """Yield a segment in parts of `count` documents."""
    for start in range(0, len(segment), count):
        yield segment.part(start, min(start + count, len(segment)))


def _checksum(seeded: bytes, payload: bytes | bytearray) -> int:
    return xxhash.xxh3_64_intdigest(payload, xxhash.xxh3_64_intdigest(seeded))


def _bytes_left(stream: BinaryIO) -> int | None:
    """Return the bytes from the position of the stream to the end of a regular file, else None."""
    try:
        state = os.fstat(stream.fileno())
        return state.st_size - stream.tell() if stat.S_ISREG(state.st_mode) else None
    except (AttributeError, OSError, ValueError):
        return None
