"""Sessions: many insertions or removals in few commits, with the names of datasketch.

A session collects keys and commits them `buffer_size` at a time, and at the end of `with`: also
after an exception, like datasketch.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any

from simdb.database import Database
from simdb.errors import ExistsError, InputError, OptionError
from simdb.signatures import Signature
from simdb.values import Id

MakeSignature = Callable[[Any], Signature]
Message = Callable[[Id], str]


class InsertionSession:
    """A buffer of insertions, made by `MinHashLSH.insertion_session` and used with `with`."""

    def __init__(
        self, database: Database, make_signature: MakeSignature, taken: Message, buffer_size: int
    ) -> None:
        """Make an empty session; users call `MinHashLSH.insertion_session`."""
        self._database = database
        self._make_signature = make_signature
        self._taken = taken
        self._size = _checked(buffer_size)
        self._new: dict[Id, Signature] = {}
        self._replacing: dict[Id, Signature] = {}

    def insert(self, key: Id, minhash: Any, check_duplication: bool = True) -> None:
        """Add a MinHash with a key to the buffer; see `MinHashLSH.insert`."""
        signature = self._make_signature(minhash)
        if not check_duplication:
            # The key can be in the buffer, too.
            self._new.pop(key, None)
            self._replacing[key] = signature
        elif key in self._new or key in self._replacing or key in self._database:
            raise InputError(self._taken(key))
        else:
            self._new[key] = signature
        if len(self._new) + len(self._replacing) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit the buffer and empty it; the session stays usable."""
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
        """Return this session."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit the buffer."""
        self.close()


class DeletionSession:
    """A buffer of removals, made by `MinHashLSH.deletion_session` and used with `with`."""

    def __init__(self, database: Database, unknown: Message, buffer_size: int) -> None:
        """Make an empty session; users call `MinHashLSH.deletion_session`."""
        self._database = database
        self._unknown = unknown
        self._size = _checked(buffer_size)
        self._keys: dict[Id, None] = {}

    def remove(self, key: Id) -> None:
        """Add a key to the buffer; see `MinHashLSH.remove`."""
        if key in self._keys or key not in self._database:
            raise InputError(self._unknown(key))
        self._keys[key] = None
        if len(self._keys) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit the buffer and empty it; the session stays usable."""
        keys, self._keys = self._keys, {}
        if keys:
            self._database.delete_many(list(keys))

    def __enter__(self) -> "DeletionSession":
        """Return this session."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit the buffer."""
        self.close()


def _checked(buffer_size: int) -> int:
    if buffer_size < 1:
        raise OptionError(f"buffer_size must be 1 or more, got {buffer_size}")
    return buffer_size
