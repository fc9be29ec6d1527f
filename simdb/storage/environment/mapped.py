"""Mapped: where a large stored value lies in the map, found without reading it.

LMDB's binding touches every page of a value that it returns.  If the database is larger than the
memory, a single query would then read whole tables.  A cursor touches only the pages of the tree,
and the key that it returns lies in a leaf page.  The node of a large value has there, behind the
key, the number of the first page of the value, and every page has its own number at its start: so
the distance between the two is known.  `files/pages.py` has the layout, and has checked it.
"""

import ctypes
from typing import Any

import lmdb
import numpy as np

from simdb.errors import CorruptError
from simdb.storage.environment.reading import get_value, statistics_of
from simdb.storage.files.meta_pages import PAGE
from simdb.storage.files.pages import BIG_DATA, NODE, NUMBER

UNKNOWN = 0


def map_start(transaction: Any, handle: Any, key: bytes) -> int:
    """Return the address of the map, or `UNKNOWN`; `key` has a small value in the sub-database.

    `transaction` only reads, since the pages of a write transaction need not be in the map.
    """
    try:
        cursor = transaction.cursor(handle)
        if not cursor.set_key(key):
            return UNKNOWN
        return _start_of(_address(cursor), _page_bytes(transaction, handle))
    except (lmdb.Error, CorruptError):
        return UNKNOWN  # LMDB's binding then names the error


def mapped_value(transaction: Any, handle: Any, key: bytes, *, start: int, used_bytes: int) -> Any:
    """Return the value under `key` of a sub-database, in the map; None if there is none.

    `start` from `map_start`, and `used_bytes` of the file: if the pages do not fit them, LMDB's
    binding returns the value.
    """
    try:
        cursor = transaction.cursor(handle)
        if not cursor.set_key(key):
            return None
        found, page_bytes = _address(cursor), _page_bytes(transaction, handle)
    except (lmdb.Error, CorruptError):
        return get_value(transaction, handle, key)  # which names the error
    low, high, flags, key_bytes = NODE.unpack(ctypes.string_at(found - NODE.size, NODE.size))
    if not flags & BIG_DATA or key_bytes != len(key) or _start_of(found, page_bytes) != start:
        return get_value(transaction, handle, key)
    (number,) = NUMBER.unpack(ctypes.string_at(found + key_bytes, NUMBER.size))
    size = low | high << 16
    if number * page_bytes + PAGE.size + size > used_bytes:
        return get_value(transaction, handle, key)
    value = (ctypes.c_uint8 * size).from_address(start + number * page_bytes + PAGE.size)
    return memoryview(value).cast("B").toreadonly()


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
