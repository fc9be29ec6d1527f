"""Reading values in an LMDB transaction; damaged pages raise CorruptError."""

from collections.abc import Iterator
from typing import Any, NoReturn

import lmdb

from simdb.ground.errors import CorruptError


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
    """Return all keys of a sub-database, from the first key at or after `key`; reads no values."""
    try:
        cursor = transaction.cursor(handle)
        if not cursor.set_range(key):
            return []
        return [bytes(found) for found in cursor.iternext(keys=True, values=False)]
    except lmdb.Error as error:
        _refuse(error)


def value_at_or_before(transaction: Any, handle: Any, key: bytes) -> tuple[bytes, Any] | None:
    """Return the last key at or before `key`, and its value; None if there is none."""
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


def _refuse(error: lmdb.Error) -> NoReturn:
    raise CorruptError(
        f"the pages of the data file are damaged: {error}; restore the database from a copy, or"
        " rebuild it from the documents"
    ) from error
