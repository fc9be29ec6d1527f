"""IDF table files: read through a memory map, so that all processes share their pages.

    header      magic "simdbidf" | version u32 | default u32 | documents u64 | n u64 | t u32 |
                settings bytes u32 | body checksum u64 | zero u64 | head checksum u64
    settings    a msgpack map of options
    directory   uint32[2**t + 1]
    entries     uint64[n]

All numbers are little-endian.  Each part begins at a multiple of 64 bytes; zeros between two parts
belong to the first one.  The checksums are XXH3-64.  The body checksum covers directory and
entries.  The head checksum covers the settings and the header without its last field; it identifies
the table and is compared whenever a file is opened.  The body is verified only on request.
"""

import mmap
import os
import stat
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import xxhash

from simdb.core import errors, kernel
from simdb.core.errors import CorruptError, FormatError, InputError, NotFoundError
from simdb.core.stored_options import decode_settings
from simdb.core.text_sketch import WEIGHT_BITS, WEIGHT_MASK, IdfTable, directory_bits
from simdb.storage import codec, files

MAGIC = b"simdbidf"
VERSION = 1
HEADER = struct.Struct("<8sIIQQIIQQQ")
ALIGNMENT = 64
assert HEADER.size == ALIGNMENT
CHECKSUM_BYTES = 8
ENTRIES_MAX = 2**32 - 1
CHECKED_ENTRIES = 1 << 20


def write_idf(path: str, table: IdfTable, *, temporary: str, mode: int) -> int:
    """Write a table to the file `path`, completely or not at all; return its checksum.

    Until the file is synced, it is called `temporary`, in the same directory.
    """
    with files.translated(path):
        return files.write_whole(path, temporary, lambda file: _write(file, table), mode=mode)


def read_idf(path: str, *, is_verified: bool) -> tuple[IdfTable, int]:
    """Return the table in the file `path`, mapped into memory, and its checksum.

    Always checks the header, the settings and the ends of the directory, which takes the same time
    for any size; `is_verified`: check every byte.  NotFoundError, CorruptError, or FormatError for
    another kind of file.
    """
    content = _mapped(path)
    head = _read_head(path, content)
    directory = np.frombuffer(content, "<u4", head.slot_count, head.directory_start)
    entries = np.frombuffer(content, "<u8", head.entry_count, head.entries_start)
    is_ordered = directory[0] == 0 and directory[-1] == len(entries)
    if is_verified:
        with memoryview(content) as view:
            found = xxhash.xxh3_64_intdigest(view[head.directory_start :])
        if found != head.body_checksum:
            raise CorruptError(f"{path} is damaged: its checksum differs")
        is_ordered = is_ordered and not (directory[1:] < directory[:-1]).any()
    if not is_ordered:
        raise CorruptError(f"{path} is damaged: its directory is out of order")
    table = IdfTable(
        entries.astype(np.uint64, copy=False),
        directory.astype(np.uint32, copy=False),
        head.default,
        head.document_count,
        decode_settings(head.settings, path),
    )
    return table, head.checksum


def write_own_idf(directory: str, table: IdfTable) -> int:
    """Write the table of the database in `directory`; return its checksum."""
    path = os.path.join(directory, files.IDF_FILE)
    temporary = os.path.join(directory, files.IDF_TEMPORARY)
    checksum = write_idf(path, table, temporary=temporary, mode=files.OWN_MODE)
    files.share_files(directory)
    return checksum


def read_own_idf(directory: str, checksum: int, *, is_verified: bool = False) -> IdfTable:
    """Return the table of the database in `directory`.

    Raises CorruptError if its checksum differs.
    """
    path = os.path.join(directory, files.IDF_FILE)
    try:
        table, found = read_idf(path, is_verified=is_verified)
    except (FormatError, NotFoundError, InputError) as error:
        raise CorruptError(f"the database has lost its IDF table: {error}") from error
    if found != checksum:
        raise CorruptError(f"{path} holds another IDF table than the one this database uses")
    return table


def problems_of(path: str, checksum: int | None) -> Iterator[str]:
    """Yield the problems of a table file: damage, or a checksum other than `checksum`."""
    try:
        table, found = read_idf(path, is_verified=True)
    except (CorruptError, FormatError, InputError, NotFoundError) as error:
        yield str(error)
        return
    if checksum is not None and found != checksum:
        yield f"{path} holds another IDF table than the one that belongs there"
    entries = table.entries
    for start in range(0, len(entries), CHECKED_ENTRIES):
        part = entries[start : start + CHECKED_ENTRIES + 1]
        if (np.diff(part >> np.uint64(WEIGHT_BITS)).view(np.int64) <= 0).any():
            yield f"{path} has entries out of order, at entry {start} or later"
            return
        if not (part & np.uint64(WEIGHT_MASK)).all():
            yield f"{path} has features without weight, at entry {start} or later"
    directory = np.empty_like(table.directory)
    kernel.directory(entries, directory_bits(len(entries)), directory)
    if not np.array_equal(directory, table.directory):
        yield f"{path} has a directory that does not fit its entries"


def salvaged_idf(directory: str, checksum: int) -> tuple[IdfTable | None, str]:
    """Return the usable part of a damaged table, and its problem ("" for a sound table).

    Entries that are out of order or have no weight are dropped.  The table is None if the head is
    damaged or belongs to another table.
    """
    path = os.path.join(directory, files.IDF_FILE)
    problem = next(problems_of(path, checksum), "")
    if not problem:
        return read_own_idf(directory, checksum), ""
    try:
        head = _read_head(path, content := _mapped(path))
    except (CorruptError, FormatError, InputError, NotFoundError):
        return None, problem
    if head.checksum != checksum:
        return None, problem
    stored = np.frombuffer(content, "<u8", head.entry_count, head.entries_start)
    entries = stored[(stored & np.uint64(WEIGHT_MASK)) > 0].astype(np.uint64)
    while True:
        hashes = (entries >> np.uint64(WEIGHT_BITS)).astype(np.int64)
        descents = np.flatnonzero(np.diff(hashes) <= 0)
        if not len(descents):
            break
        entries = np.delete(entries, np.concatenate([descents, descents + 1]))
    bits = directory_bits(len(entries))
    starts = np.empty((1 << bits) + 1, np.uint32)
    kernel.directory(entries, bits, starts)
    table = IdfTable(
        entries, starts, head.default, head.document_count, decode_settings(head.settings, path)
    )
    return table, f"{problem}; {len(entries)} of its {len(stored)} features can be used"


class _IdfHead(NamedTuple):
    """The contents of header and settings."""

    default: int
    document_count: int
    settings: Any
    body_checksum: int
    checksum: int
    slot_count: int
    directory_start: int
    entry_count: int
    entries_start: int


def _write(file: BinaryIO, table: IdfTable) -> int:
    """Write all parts; return the head checksum."""
    entries = np.ascontiguousarray(table.entries, "<u8")
    directory = np.ascontiguousarray(table.directory, "<u4")
    settings = codec.pack(dict(table.settings))
    parts = (directory.data, _zeros_after(directory.nbytes), entries.data)
    body = xxhash.xxh3_64()
    for part in parts:
        body.update(part)
    plain = HEADER.pack(
        MAGIC, VERSION, table.default, table.document_count, len(entries),
        directory_bits(len(entries)), len(settings), body.intdigest(), 0, 0,
    )  # fmt: skip
    head = plain[:-CHECKSUM_BYTES] + settings + _zeros_after(len(settings))
    checksum = xxhash.xxh3_64_intdigest(head)
    stored = checksum.to_bytes(CHECKSUM_BYTES, "little")
    for each in (plain[:-CHECKSUM_BYTES], stored, head[HEADER.size - CHECKSUM_BYTES :], *parts):
        file.write(each)
    return checksum


def _mapped(path: str) -> mmap.mmap:
    """Map the file into memory; raise an error for a file that cannot be a table."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError(f"{path} is not a regular file, so it cannot be an IDF table")
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < HEADER.size:
                raise FormatError(f"{path} is not an IDF table: it is shorter than a header")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no IDF table at {path}") from error
    except OSError as error:
        kind = errors.Error if error.errno in errors.TOO_MANY_FILES else InputError
        raise kind(f"{path} cannot be read: {error}") from error


def _read_head(path: str, content: mmap.mmap) -> _IdfHead:
    """Read the header and the settings, and check everything that needs no other bytes."""
    magic, version, default, documents, entries, bits, settings_bytes, body, zero, checksum = (
        HEADER.unpack_from(content)
    )
    if magic != MAGIC:
        raise FormatError(f"{path} is not an IDF table: it starts with {magic!r}")
    if version > VERSION:
        raise FormatError(
            f"{path} has format version {version}; this simdb reads up to {VERSION}: use a newer"
            " simdb"
        )
    settings = content[HEADER.size : _aligned(HEADER.size + settings_bytes)]
    plain = content[: HEADER.size - CHECKSUM_BYTES]
    if checksum != xxhash.xxh3_64_intdigest(plain + settings):
        raise CorruptError(f"{path} is damaged: the checksum of its header differs")
    named = codec.unpack(settings[:settings_bytes], f"the settings in {path}")
    is_possible = 0 < default <= WEIGHT_MASK and entries <= ENTRIES_MAX and not zero
    is_possible = is_possible and bits == directory_bits(entries)
    slots = (1 << bits) + 1 if is_possible else 0
    directory_start = _aligned(HEADER.size + settings_bytes)
    entries_start = _aligned(directory_start + 4 * slots)
    if not is_possible or entries_start + 8 * entries != len(content):
        raise CorruptError(
            f"{path} is damaged: it has {len(content)} bytes, which cannot be {entries} features"
        )
    places = slots, directory_start, entries, entries_start
    return _IdfHead(default, documents, named, body, checksum, *places)


def _zeros_after(size: int) -> bytes:
    return bytes(_aligned(size) - size)


def _aligned(size: int) -> int:
    """Round up to the next multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT
