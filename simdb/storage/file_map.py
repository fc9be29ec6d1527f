"""The map of the data file: opens it, finds values in it, and advises the system about its pages.

LMDB's binding touches every page of each value it returns.  For a database larger than memory, a
single query would then read whole tables.  A cursor touches only the pages of the tree, and it
returns a key inside a leaf page.  After the key of a large value, its node has the number of the
first page of the value.  Since every page begins with its own number, the address of the value
follows.  `pages.py` describes and checks this layout.

A column is read ahead as a whole before it is scanned, and afterwards released from the process;
the system caches its pages while it has room.  Only memory that `FileMap` has located in the map
may be released, since the file has the same bytes.  Data of a write transaction are in private
memory until the commit, and would be lost.
"""

import ctypes
import errno
import mmap
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

import lmdb
import numpy as np

from simdb.core.dtypes import Array
from simdb.core.errors import CorruptError, Error, ForbiddenError, FormatError, FullError
from simdb.core.values import dataclass
from simdb.storage.files import DATA_FILE, LMDB_LOCK, is_left_from_fork, is_out_of_memory, translate
from simdb.storage.pages import BIG_DATA, NODE, NUMBER, PAGE, REMEDY, check_metas, check_version

# Address space, not disk: the file grows as it is filled.
LEAST_MAP_BYTES = 1 << 20
DEFAULT_MAP_BYTES = 1 << 40
MOST_MAP_BYTES = 1 << 62
READERS_MAX = 2048  # slots in the lock file; many readers soon fill LMDB's default of 126
SUBDATABASES_MAX = 128
# simdb checks the pages of this version of LMDB; other versions may lay them out differently.
LIBRARY = (0, 9)
OPEN_TRIES = 20  # opening can fail while another process opens or closes the environment
# Advice of madvise(2).  POPULATE_READ waits until all pages are read.  WILL_NEED, for systems
# without it, only starts reading.
RANDOM, WILL_NEED, DO_NOT_NEED, POPULATE_READ = 1, 3, 4, 22
# By default, the system reads ahead at most this part of a longer range.
AHEAD_BYTES = 128 << 10
_MADVISE: Any = getattr(ctypes.CDLL(None), "madvise", None) if os.name == "posix" else None


def open_map(path: str, map_bytes: int, *, is_read_only: bool, is_synced: bool) -> Any:
    """Open the LMDB environment of the directory `path`, with a map of `map_bytes` or less.

    Raises FormatError if this LMDB cannot read the data file, or simdb does not know its pages.
    Raises CorruptError if the data file refers to pages outside its map, which LMDB reports by
    various errors.
    """
    check_library(lmdb.version())
    try:
        return _open_smaller(path, map_bytes, is_read_only=is_read_only, is_synced=is_synced)
    except FormatError:
        raise
    except Error:
        name = os.path.join(path, DATA_FILE)
        with open(name, "rb") as file:
            check_metas(file.fileno(), name, least=0)
        raise


def check_library(version: tuple[int, ...]) -> None:
    """Raise FormatError unless `version` is an LMDB whose pages `pages` checks."""
    if tuple(version[:2]) != LIBRARY:
        raise FormatError(
            f"the package lmdb has LMDB {'.'.join(map(str, version))}, and simdb knows the files "
            f"of LMDB {'.'.join(map(str, LIBRARY))}: install it with pip install 'lmdb>=3.0,<4'"
        )


def try_open(path: str, map_bytes: int, *, is_read_only: bool, is_synced: bool) -> Any:
    """Open the environment once, with a map of exactly `map_bytes`; lmdb.Error."""
    environment = lmdb.open(
        os.fsencode(path),
        map_size=map_bytes,
        max_dbs=SUBDATABASES_MAX,
        max_readers=READERS_MAX,
        readonly=is_read_only,
        create=not is_read_only,
        sync=is_synced,
        metasync=is_synced,
        mode=0o600,
        meminit=False,
    )
    if not is_read_only:
        environment.reader_check()
    return environment


def _open_smaller(path: str, map_bytes: int, *, is_read_only: bool, is_synced: bool) -> Any:
    """Open the environment with the largest possible map up to `map_bytes`."""
    size = map_bytes
    for attempt in range(OPEN_TRIES):
        try:
            return try_open(path, size, is_read_only=is_read_only, is_synced=is_synced)
        except lmdb.Error as error:
            if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
                check_version(os.path.join(path, DATA_FILE))
                raise FormatError(
                    f"{path}/{DATA_FILE} is not a data file that this LMDB can read: {error};"
                    " restore the database from a copy or a dump, or save what can be read:"
                    " simdb.rebuild(path, drop_damaged=True), simdb rebuild --drop-damaged"
                ) from error
            if is_read_only and str(error).endswith(os.strerror(errno.EACCES)):
                raise ForbiddenError(
                    f"this user may not write {os.path.join(path, LMDB_LOCK)}, and every"
                    " reader must write to it; its owner can let others write this file"
                    f" (chmod go+rw {os.path.join(path, LMDB_LOCK)}), or share the directory with a"
                    " group from the beginning (mkdir -m 2750)"
                ) from error
            if is_out_of_memory(error) and size > LEAST_MAP_BYTES:
                size //= 2
            elif attempt + 1 == OPEN_TRIES or is_left_from_fork(error):
                translate(error, path)
            else:
                time.sleep(0.01 * attempt)
    raise FullError(f"{path} cannot be mapped: the system has no address space for it")


def get_value(transaction: Any, handle: Any, key: bytes) -> Any:
    """Return the value under `key` of a sub-database, in the map; None if there is none."""
    try:
        return transaction.get(key, db=handle)
    except lmdb.Error as error:
        _refuse(error)


def values_from(transaction: Any, handle: Any, key: bytes = b"") -> Iterator[tuple[bytes, Any]]:
    """Yield keys and values of a sub-database in order, from the first key at or after `key`."""
    try:
        cursor = transaction.cursor(handle)
        if cursor.set_range(key):
            for found, value in cursor:
                yield bytes(found), value
    except lmdb.Error as error:
        _refuse(error)


def keys_from(transaction: Any, handle: Any, key: bytes) -> list[bytes]:
    """Return all keys of a sub-database from the first one at or after `key`; read no values."""
    try:
        cursor = transaction.cursor(handle)
        if not cursor.set_range(key):
            return []
        return [bytes(found) for found in cursor.iternext(keys=True, values=False)]
    except lmdb.Error as error:
        _refuse(error)


def value_at_or_before(transaction: Any, handle: Any, key: bytes) -> tuple[bytes, Any] | None:
    """Return the last key at or before `key` and its value; None if there is none."""
    try:
        cursor = transaction.cursor(handle)
        if not cursor.set_range(key):
            is_found = cursor.last()
        else:
            is_found = bytes(cursor.key()) == key or cursor.prev()
        return (bytes(cursor.key()), cursor.value()) if is_found else None
    except lmdb.Error as error:
        _refuse(error)


def statistics_of(transaction: Any, handle: Any) -> dict[str, int]:
    """Return LMDB's counts of pages and entries of a sub-database."""
    try:
        return dict(transaction.stat(handle))
    except lmdb.Error as error:
        _refuse(error)


def pages_bytes(transaction: Any, handle: Any) -> int:
    """Return the bytes of the pages of a sub-database."""
    pages = statistics_of(transaction, handle)
    count = pages["branch_pages"] + pages["leaf_pages"] + pages["overflow_pages"]
    return pages["psize"] * count


@dataclass(frozen=True, slots=True)
class Pages:
    """Whole pages of the data file in the map, between two addresses.

    Only `FileMap.pages_of` makes them.
    """

    start: int
    stop: int


class FileMap:
    """The map of the data file as a read transaction sees it."""

    __slots__ = ("_start", "_used_bytes")

    def __init__(self, start: int, used_bytes: int) -> None:
        """Store the address of the map (see `find_map`) and the used bytes of the file."""
        self._start = start
        self._used_bytes = used_bytes

    def value(self, transaction: Any, handle: Any, key: bytes) -> Any:
        """Return the value under `key` of a sub-database, in the map; None if there is none.

        If its pages do not fit the map, the value comes from LMDB's binding.
        """
        try:
            cursor = transaction.cursor(handle)
            if not cursor.set_key(key):
                return None
            found, page_bytes = _address(cursor), _page_bytes(transaction, handle)
        except (lmdb.Error, CorruptError):
            return get_value(transaction, handle, key)  # which names the error
        low, high, flags, key_bytes = NODE.unpack(ctypes.string_at(found - NODE.size, NODE.size))
        fits = flags & BIG_DATA and key_bytes == len(key)
        if not fits or _start_of(found, page_bytes) != self._start:
            return get_value(transaction, handle, key)
        (number,) = NUMBER.unpack(ctypes.string_at(found + key_bytes, NUMBER.size))
        size, place = low | high << 16, number * page_bytes + PAGE.size
        if place + size > self._used_bytes:
            return get_value(transaction, handle, key)
        value = (ctypes.c_uint8 * size).from_address(self._start + place)
        return memoryview(value).cast("B").toreadonly()

    def pages_of(self, array: Array) -> Pages | None:
        """Return the whole pages of a contiguous array; None if it is not in the map."""
        start = int(array.ctypes.data)
        stop = start + array.nbytes
        if not self._start <= start <= stop <= self._start + self._used_bytes:
            return None
        return Pages(
            -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, stop // mmap.PAGESIZE * mmap.PAGESIZE
        )


def find_map(transaction: Any, handle: Any, key: bytes, used_bytes: int) -> FileMap | None:
    """Return the map of the data file; None if its address cannot be found.

    `transaction` is read-only, since pages of a write transaction may be outside the map.  `key`
    has a small value in the sub-database.
    """
    try:
        cursor = transaction.cursor(handle)
        if not cursor.set_key(key):
            return None
        return FileMap(_start_of(_address(cursor), _page_bytes(transaction, handle)), used_bytes)
    except (lmdb.Error, CorruptError):
        return None  # LMDB's binding will name the error


def _address(cursor: Any) -> int:
    """Return the address of the key at a cursor, which is in a leaf page."""
    return int(np.frombuffer(cursor.key(), np.uint8).ctypes.data)


def _page_bytes(transaction: Any, handle: Any) -> int:
    return int(statistics_of(transaction, handle)["psize"])


def _start_of(address: int, page_bytes: int) -> int:
    """Return the address of the map from an address inside a page, using the number of the page."""
    page = address // page_bytes * page_bytes
    number, *_ = PAGE.unpack(ctypes.string_at(page, PAGE.size))
    return page - int(number) * page_bytes


def fetch(pages: Pages) -> None:
    """Read pages into memory, or at least start reading them."""
    # Needed after `expect_random`, which would make the system read the pages one by one.
    _advise(pages, WILL_NEED, AHEAD_BYTES)
    _advise(pages, POPULATE_READ)


def expect_random(pages: Pages) -> None:
    """Tell the system to read single pages without their neighbours."""
    _advise(pages, RANDOM)


def give_back(pages: Pages) -> None:
    """Release pages from this process; their content remains readable."""
    _advise(pages, DO_NOT_NEED)


def _advise(pages: Pages, advice: int, part_bytes: int = sys.maxsize) -> None:
    """Give the system advice in parts of at most `part_bytes`, until it refuses."""
    start, accepted = pages.start, _MADVISE is not None
    while start < pages.stop and accepted:
        place, size = ctypes.c_void_p(start), ctypes.c_size_t(min(pages.stop - start, part_bytes))
        accepted = _MADVISE(place, size, ctypes.c_int(advice)) == 0
        start += size.value


def _refuse(error: lmdb.Error) -> NoReturn:
    raise CorruptError(f"the pages of the data file are damaged: {error}; {REMEDY}") from error
