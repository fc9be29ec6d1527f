"""Sessions: many insertions or removals in few commits, with the names of datasketch.

A session collects keys and commits them `buffer_size` at a time, and at the end of `with`: also
after an exception, like datasketch.
"""

from typing import Any, Protocol, TypeVar

from simdb.core.arrays import Id
from simdb.core.dtypes import U32
from simdb.core.errors import ExistsError, InputError, OptionError

Kind = TypeVar("Kind", bound="Session")


class Index(Protocol):
    """What a session needs of its index."""

    def take(self, key: Any, minhash: Any) -> tuple[Id, U32]:
        """Return the id and the row of a new key."""

    def find_id(self, key: Any) -> Id | None:
        """Return the id of a key; None if the index does not have it."""

    def write(self, new: dict[Id, U32], replacing: dict[Id, U32]) -> None:
        """Insert rows; ExistsError if a new id exists."""

    def delete(self, ids: list[Id]) -> None:
        """Delete rows."""


class Session:
    """A buffer for an index, which is committed at the end of `with`."""

    def __init__(self, index: Index, buffer_size: int) -> None:
        """Take the index; `buffer_size`: how much is committed at a time."""
        if buffer_size < 1:
            raise OptionError(f"buffer_size must be 1 or more, got {buffer_size}")
        self._index, self._size = index, buffer_size

    def close(self) -> None:
        """Commit the buffer and empty it; the session stays usable."""
        raise NotImplementedError

    def __enter__(self: Kind) -> Kind:
        """Return this session."""
        return self

    def __exit__(self, *error: object) -> None:
        """Commit the buffer."""
        self.close()


class InsertionSession(Session):
    """A buffer of insertions, made by `MinHashLSH.insertion_session` and used with `with`."""

    def __init__(self, index: Index, buffer_size: int) -> None:
        """Make an empty session; users call `MinHashLSH.insertion_session`."""
        super().__init__(index, buffer_size)
        self._new: dict[Id, U32] = {}
        self._replacing: dict[Id, U32] = {}

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Add a MinHash with a key to the buffer; see `MinHashLSH.insert`."""
        is_stored = check_duplication and self._index.find_id(key) is not None
        id, row = self._index.take(key, minhash)
        if not check_duplication:
            # The key can be in the buffer, too.
            self._new.pop(id, None)
            self._replacing[id] = row
        elif is_stored or id in self._new or id in self._replacing:
            raise InputError(taken(key))
        else:
            self._new[id] = row
        if len(self._new) + len(self._replacing) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit the buffer and empty it; the session stays usable."""
        new, self._new = self._new, {}
        replacing, self._replacing = self._replacing, {}
        if not new and not replacing:
            return
        try:
            self._index.write(new, replacing)
        except ExistsError as error:
            raise InputError(str(error)) from None


class DeletionSession(Session):
    """A buffer of removals, made by `MinHashLSH.deletion_session` and used with `with`."""

    def __init__(self, index: Index, buffer_size: int) -> None:
        """Make an empty session; users call `MinHashLSH.deletion_session`."""
        super().__init__(index, buffer_size)
        self._ids: dict[Id, None] = {}

    def remove(self, key: Any) -> None:
        """Add a key to the buffer; see `MinHashLSH.remove`."""
        id = self._index.find_id(key)
        if id is None or id in self._ids:
            raise InputError(unknown(key))
        self._ids[id] = None
        if len(self._ids) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit the buffer and empty it; the session stays usable."""
        ids, self._ids = self._ids, {}
        if ids:
            self._index.delete(list(ids))


def taken(key: Any) -> str:
    """Return the message for a key that exists."""
    return f"the key {key!r} exists; remove it first, or pass check_duplication=False"


def unknown(key: Any) -> str:
    """Return the message for a key that does not exist."""
    return f"the key {key!r} is not in the index"
