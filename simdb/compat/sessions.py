"""Many insertions or removals in few commits, by the names that datasketch has for it.

A session keeps what it is given and commits it so many keys at a time, and at its end: also when an
exception passes through, as datasketch does.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any

from simdb.database import Database
from simdb.errors import ExistsError, InputError, OptionError
from simdb.signatures import Signature
from simdb.values import Id

Sign = Callable[[Any], Signature]
Message = Callable[[Id], str]


class InsertionSession:
    """Insertions that wait; made by `MinHashLSH.insertion_session`, for use with `with`."""

    def __init__(self, database: Database, sign: Sign, taken: Message, buffer_size: int) -> None:
        """Use `MinHashLSH.insertion_session`."""
        self._database = database
        self._sign = sign
        self._taken = taken
        self._size = _checked(buffer_size)
        self._new: dict[Id, Signature] = {}
        self._replacing: dict[Id, Signature] = {}

    def insert(self, key: Id, minhash: Any, check_duplication: bool = True) -> None:
        """Add a MinHash by a key; see `MinHashLSH.insert`."""
        signature = self._sign(minhash)
        if not check_duplication:
            # What it replaces may be waiting, too.
            self._new.pop(key, None)
            self._replacing[key] = signature
        elif key in self._new or key in self._replacing or key in self._database:
            raise InputError(self._taken(key))
        else:
            self._new[key] = signature
        if len(self._new) + len(self._replacing) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit what waits; the session can go on."""
        new, self._new = self._new, {}
        replacing, self._replacing = self._replacing, {}
        if not new and not replacing:
            return
        try:
            with self._database.write() as transaction:
                transaction.insert_many(list(new), list(new.values()))
                transaction.insert_many(list(replacing), list(replacing.values()), replace=True)
        except ExistsError as error:
            raise InputError(str(error)) from None

    def __enter__(self) -> "InsertionSession":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit what waits."""
        self.close()


class DeletionSession:
    """Removals that wait; made by `MinHashLSH.deletion_session`, for use with `with`."""

    def __init__(self, database: Database, unknown: Message, buffer_size: int) -> None:
        """Use `MinHashLSH.deletion_session`."""
        self._database = database
        self._unknown = unknown
        self._size = _checked(buffer_size)
        self._keys: dict[Id, None] = {}

    def remove(self, key: Id) -> None:
        """Remove a key; see `MinHashLSH.remove`."""
        if key in self._keys or key not in self._database:
            raise InputError(self._unknown(key))
        self._keys[key] = None
        if len(self._keys) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit what waits; the session can go on."""
        keys, self._keys = self._keys, {}
        if keys:
            self._database.delete_many(list(keys))

    def __enter__(self) -> "DeletionSession":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit what waits."""
        self.close()


def _checked(buffer_size: int) -> int:
    if buffer_size < 1:
        raise OptionError(f"buffer_size is 1 or more, not {buffer_size}")
    return buffer_size
