"""Frames: a stream of checked pieces, which a dump is made of.

    magic "simdbdmp" | version u32 | zero u32, then frames, the last one of the kind "end "
    frame: kind (4 bytes) | number u32 | payload bytes u64 | checksum u64 | payload

All integers are little-endian.  Frames are numbered from 0.  The checksum is XXH3-64 over the
payload, seeded by that over the 16 bytes before it, so a frame that is changed, missing, doubled
or out of place is noticed, and so is a stream that ends before its end.
"""

import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

import xxhash

from simdb.errors import CorruptError, FormatError
from simdb.storage.records.metadata import METADATA_BYTES_MAX

MAGIC = b"simdbdmp"
VERSION = 1
HEAD = struct.Struct("<8sII")
FRAME = struct.Struct("<4sIQQ")
SEEDED_BYTES = FRAME.size - 8
END = b"end "
# The largest thing in a frame is the metadata of one document.
FRAME_BYTES_MAX = METADATA_BYTES_MAX + (1 << 20)
# What a length that cannot be held against a file makes us allocate before its bytes have come.
PART_BYTES = 1 << 20


class FrameWriter:
    """Writes frames one after the other; counts `size_bytes`."""

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
        """Write all of it, also where the stream takes parts of what it is given."""
        self.size_bytes += len(content)
        view = memoryview(content)
        while view:
            taken = self._stream.write(view)
            view = view[len(view) if taken is None else taken :]


class FrameReader:
    """Reads frames; FormatError for another kind of stream, CorruptError for a damaged one."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        """Read the head; `name` of the stream for messages."""
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
        """The frame that was read last, for messages."""
        return f"{self._name}, frame {self._number - 1}"

    def frames(self) -> Iterator[tuple[bytes, bytearray]]:
        """Kind and payload of each frame up to the last, whose kind is `END`."""
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
                f"{self._name} is cut off or damaged in {where}: that says {size} bytes, and"
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
        """So many bytes, or fewer at the end of the stream."""
        content = bytearray()
        while len(content) < count:
            part = self._stream.read(min(count - len(content), PART_BYTES))
            if not part:
                break
            content += part
        self._at += len(content)
        return content


def _checksum(seeded: bytes, payload: bytes | bytearray) -> int:
    return xxhash.xxh3_64_intdigest(payload, xxhash.xxh3_64_intdigest(seeded))


def _bytes_left(stream: BinaryIO) -> int | None:
    """Bytes of a regular file from where the stream stands; None for anything else."""
    try:
        state = os.fstat(stream.fileno())
        return state.st_size - stream.tell() if stat.S_ISREG(state.st_mode) else None
    except (AttributeError, OSError, ValueError):
        return None
