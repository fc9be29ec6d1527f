"""Handles of sub-databases: LMDB's numbers for names, good until the environment is closed."""

import threading
from collections.abc import Iterable
from typing import Any

import lmdb

from simdb.errors import FormatError
from simdb.storage.translation import translate


class Handles:
    """The sub-databases of one environment that were attached or created."""

    def __init__(self, path: str) -> None:
        """None yet; `path` is for messages."""
        self._path = path
        self._named: dict[bytes, Any] = {}
        self._lock = threading.Lock()

    def every(self) -> list[Any]:
        """All handles."""
        return list(self._named.values())

    def __getitem__(self, name: bytes) -> Any:
        """The handle of one."""
        return self._named[name]

    def attach(self, environment: Any, names: Iterable[bytes]) -> None:
        """Open those of the sub-databases that are not open yet; FormatError when one is missing.

        lmdb.MapResizedError when others have made the map larger.
        """
        with self._lock:
            wanted = [name for name in names if name not in self._named]
            self._named = {**self._named, **self._opened(environment, wanted)}

    def renew(self, environment: Any) -> None:
        """Open all of them anew, or none: the environment was closed and opened again.

        Nobody else of this process may be inside.
        """
        while True:
            try:
                self._named = self._opened(environment, list(self._named))
            except lmdb.MapResizedError:
                environment.set_mapsize(0)  # others have made it larger
            else:
                return

    def create(self, environment: Any, names: Iterable[bytes], transaction: Any) -> None:
        """Make sub-databases in a write transaction."""
        for name in names:
            self._named[name] = environment.open_db(name, txn=transaction, create=True)

    def forget(self) -> None:
        """Drop all: the environment is not open any more, or the transaction did not commit."""
        self._named = {}

    def _opened(self, environment: Any, names: list[bytes]) -> dict[bytes, Any]:
        """Handles of sub-databases, good from now on.

        LMDB lets only one thread at a time open any, in a transaction that is committed.  Where
        that is one that writes it is begun here, since its binding would begin one without letting
        go of the interpreter, and threads that wait for each other so wait for ever.
        """
        if not names:
            return {}
        if environment.flags()["readonly"]:
            return {name: self._open(environment, name, None) for name in names}
        with environment.begin(write=True, buffers=True) as transaction:
            return {name: self._open(environment, name, transaction) for name in names}

    def _open(self, environment: Any, name: bytes, transaction: Any) -> Any:
        try:
            return environment.open_db(name, txn=transaction, create=False)
        except lmdb.MapResizedError:
            raise
        except (lmdb.NotFoundError, lmdb.ReadonlyError, lmdb.IncompatibleError) as error:
            raise FormatError(
                f"{self._path} has no sub-database {name.decode()}: it is no simdb database"
            ) from error
        except lmdb.Error as error:
            translate(error, self._path)
