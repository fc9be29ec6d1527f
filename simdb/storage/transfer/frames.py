"""Frames: the checked parts of a stream; a dump is made of them.

    magic "simdbdmp" | version u32 | zero u32, then frames, the last one of the kind "end "
    frame: kind (4 bytes) | number u32 | payload bytes u64 | checksum u64 | payload

All integers are little-endian.  Frames are numbered from 0.  The checksum is XXH3-64 of the
payload, seeded by the XXH3-64 of the 16 bytes before it, so a reader notices a frame that is
changed, missing, doubled or out of place, and a stream that ends too early.
"""

import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

import xxhash

from simdb.ground.errors import CorruptError, FormatError
from simdb.storage.records.metadata import METADATA_BYTES_MAX

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


def _checksum(seeded: bytes, payload: bytes | bytearray) -> int:
    return xxhash.xxh3_64_intdigest(payload, xxhash.xxh3_64_intdigest(seeded))


def _bytes_left(stream: BinaryIO) -> int | None:
    """Return the bytes from the position of the stream to the end of a regular file, else None."""
    try:
        state = os.fstat(stream.fileno())
        return state.st_size - stream.tell() if stat.S_ISREG(state.st_mode) else None
    except (AttributeError, OSError, ValueError):
        return None
