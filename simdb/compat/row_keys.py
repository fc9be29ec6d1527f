"""Row keys: the keys of an index as ids of a database, and back.

A database has ids of str, bytes and int.  A key of one of these types is its own id, and bool and
float keys that are equal to an int are that int, as in a dict.  Each other key becomes bytes that
begin with `MARK`.  `WrittenKeys` writes None, float and tuples of keys as Python writes them;
`NumberedKeys` takes any hashable key, gives it a number and remembers it in memory.
"""

import ast
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from simdb.ground.errors import InputError
from simdb.values.arrays import Id, describe

MARK = b"\0simdb-key:"
# The ids that a database accepts: whole numbers of 64 bits, and 1 to 1,023 bytes.
LEAST, MOST = -(2**63), 2**64 - 1
BYTES_MOST = 1023
NESTED_MOST = 50


class WrittenKeys:
    """The keys of an index at a path, all of which the database stores."""

    def encode(self, key: Any) -> Id:
        """Return the id of a key; raise InputError for a type that is not stored."""
        plain = _plain(key)
        return MARK + repr(_written(key)).encode() if plain is None else plain

    def find(self, key: Any) -> Id | None:
        """Return the id of a key that may be unknown; None if no index can have it."""
        try:
            return self.encode(key)
        except InputError:
            return None

    def decode(self, id: Id) -> Any:
        """Return the key of an id."""
        if not isinstance(id, bytes) or not id.startswith(MARK):
            return id
        try:
            return ast.literal_eval(id[len(MARK) :].decode())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return id

    def forget(self, id: Id) -> None:
        """Do nothing: nothing is remembered."""


class NumberedKeys:
    """The keys of a temporary index; those that are no ids of a database are in memory."""

    def __init__(self) -> None:
        """Begin without keys."""
        self._ids: dict[Any, bytes] = {}
        self._keys: dict[bytes, Any] = {}
        self._next = 0

    def encode(self, key: Hashable) -> Id:
        """Return the id of a key, and remember the key if it is no id itself."""
        known = self.find(key)
        if known is not None:
            return known
        made = MARK + b"%d" % self._next
        self._next += 1
        self._ids[key], self._keys[made] = made, key
        return made

    def find(self, key: Hashable) -> Id | None:
        """Return the id of a key that may be unknown; None if it is."""
        plain = _plain(key)
        try:
            return self._ids.get(key) if plain is None else plain
        except TypeError:
            raise InputError(
                f"the key is {describe(key)}, which has no hash; give a key that a dict accepts"
            ) from None

    def decode(self, id: Id) -> Any:
        """Return the key of an id."""
        return self._keys.get(id, id) if isinstance(id, bytes) else id

    def forget(self, id: Id) -> None:
        """Forget the key of an id that was removed."""
        if isinstance(id, bytes) and id in self._keys:
            del self._ids[self._keys.pop(id)]


Keys = WrittenKeys | NumberedKeys


def _plain(key: Any) -> Id | None:
    """Return the key as an id if it is one; None for every other key."""
    if isinstance(key, str):
        try:
            return str(key) if 0 < len(key.encode()) <= BYTES_MOST else None
        except UnicodeEncodeError:
            return None
    if isinstance(key, bytes):
        is_plain = 0 < len(key) <= BYTES_MOST and not key.startswith(MARK)
        return bytes(key) if is_plain else None
    if isinstance(key, int | float | np.integer) and math.isfinite(key) and key == int(key):
        return int(key) if LEAST <= key <= MOST else None
    return None


def _written(key: Any, depth: int = 0) -> Any:
    """Return a key of plain types, equal to `key`; raise InputError for any other."""
    if isinstance(key, tuple) and depth < NESTED_MOST:
        return tuple(_written(each, depth + 1) for each in key)
    if isinstance(key, int | float | np.integer) and math.isfinite(key):
        return int(key) if key == int(key) else float(key)
    if key is None or isinstance(key, str):
        return key if key is None else str(key)
    if isinstance(key, bytes):
        return bytes(key)
    raise InputError(
        f"the key is {describe(key)}; an index with path= stores keys of str, bytes, int, float,"
        " None and tuples of these: give such a key, for example str(key)"
    )
