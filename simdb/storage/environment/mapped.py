"""File map: where values lie in the map of the data file, found without reading them.

LMDB's binding touches every page of a value that it returns.  If the database is larger than the
memory, a single query would then read whole tables.  A cursor touches only the pages of the tree,
and the key that it returns lies in a leaf page.  The node of a large value has there, behind the
key, the number of the first page of the value, and every page has its own number at its start: so
the distance between the two is known.  `files/pages.py` has the layout, and has checked it.

Only memory of which a `FileMap` says that it lies in the map may be released from the process: the
file has the same bytes.  What a write transaction has written lies in memory of its own until the
commit, and nothing else has those bytes.
"""

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

import lmdb
import numpy as np
import numpy.typing as npt

from simdb.ground.errors import CorruptError
from simdb.storage.environment.reading import get_value, statistics_of
from simdb.storage.files.meta_pages import PAGE
from simdb.storage.files.pages import BIG_DATA, NODE, NUMBER


@dataclass(frozen=True, slots=True)
class Pages:
    """Whole pages of the data file in the map, from the address `start` to the address `stop`.

    Only `FileMap.pages_of` makes them.
    """

    start: int
    stop: int


class FileMap:
    """The map of the data file, as a read transaction has it."""

    __slots__ = ("_start", "_used_bytes")

    def __init__(self, start: int, used_bytes: int) -> None:
        """Give the address of the map, see `find_map`, and the `used_bytes` of the file."""
        self._start = start
        self._used_bytes = used_bytes

    def value(self, transaction: Any, handle: Any, key: bytes) -> Any:
        """Return the value under `key` of a sub-database, in the map; None if there is none.

        If its pages do not fit the map, LMDB's binding returns the value.
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

    def pages_of(self, array: npt.NDArray[Any]) -> Pages | None:
        """Return the whole pages of a contiguous array; None if it does not lie in the map."""
        start = int(array.ctypes.data)
        stop = start + array.nbytes
        if not self._start <= start <= stop <= self._start + self._used_bytes:
            return None
        return Pages(
            -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, stop // mmap.PAGESIZE * mmap.PAGESIZE
        )


def find_map(transaction: Any, handle: Any, key: bytes, used_bytes: int) -> FileMap | None:
    """Return the map of the data file; None if it cannot be told where it lies.

    `transaction` only reads: the pages of a write transaction need not be in the map.  `key` has a
    small value in the sub-database.
    """
    try:
        cursor = transaction.cursor(handle)
        if not cursor.set_key(key):
            return None
        return FileMap(_start_of(_address(cursor), _page_bytes(transaction, handle)), used_bytes)
    except (lmdb.Error, CorruptError):
        return None  # LMDB's binding then names the error


def _address(cursor: Any) -> int:
    """Return the address of the key on which a cursor is; it lies in a leaf page."""
    return int(np.frombuffer(cursor.key(), np.uint8).ctypes.data)


def _page_bytes(transaction: Any, handle: Any) -> int:
    return int(statistics_of(transaction, handle)["psize"])


def _start_of(address: int, page_bytes: int) -> int:
    """Return the address of the map, given an address inside a page that has its number."""
    page = address // page_bytes * page_bytes
    number, *_ = PAGE.unpack(ctypes.string_at(page, PAGE.size))
    return page - int(number) * page_bytes
