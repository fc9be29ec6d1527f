"""Handles: LMDB's numbers for named sub-databases, valid until the environment is closed."""

import os
import threading
from collections.abc import Collection, Iterable
from typing import Any

import lmdb

from simdb.ground.errors import FormatError
from simdb.storage.translation import translate


class Handles:
    """The sub-databases of one environment that were attached or created."""

    def __init__(self, path: str) -> None:
        """Start without handles; `path` is for messages."""
        self._path = path
        self._named: dict[bytes, Any] = {}
        self._lock = threading.Lock()

    def every(self) -> list[Any]:
        """Return all handles."""
        return list(self._named.values())

    def __contains__(self, name: bytes) -> bool:
        """Whether the sub-database `name` is open."""
        return name in self._named

    def __getitem__(self, name: bytes) -> Any:
        """Return the handle of the sub-database `name`."""
        return self._named[name]

    def attach(self, environment: Any, names: Iterable[bytes]) -> None:
        """Open the sub-databases in `names` that are not open yet; FormatError if one is missing.

        lmdb.MapResizedError if another process has made the map larger.
        """
        with self._lock:
            wanted = [name for name in names if name not in self._named]
            self._named = {**self._named, **self._opened(environment, wanted)}

    def renew(self, environment: Any) -> None:
        """Open all sub-databases again, or none, after the environment was closed and reopened.

        No other thread of this process may have a transaction open.
        """
        while True:
            try:
                self._named = self._opened(environment, list(self._named))
            except lmdb.MapResizedError:
                environment.set_mapsize(0)  # another process has made it larger
            else:
                return

    def create(self, environment: Any, names: Iterable[bytes], transaction: Any) -> None:
        """Create sub-databases in a write transaction."""
        for name in names:
            self._named[name] = environment.open_db(name, txn=transaction, create=True)

    def forget(self, names: Collection[bytes] | None = None) -> None:
        """Drop the handles in `names`, or all: the environment was closed, or did not commit."""
        dropped = self._named if names is None else names
        self._named = {name: each for name, each in self._named.items() if name not in dropped}

    def _opened(self, environment: Any, names: list[bytes]) -> dict[bytes, Any]:
        """Open sub-databases and return their handles, which are valid at once.

        LMDB lets one thread at a time open a sub-database, in a transaction that is then committed.
        In a writable environment that transaction is begun here: LMDB's binding would begin its own
        while it holds the interpreter lock, and two threads could then wait for each other for
        ever.
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


def copy_compacted(environment: Any, transaction: Any, handles: Iterable[Any], path: str) -> None:
    """Write a compacted copy to the new file `path`, and sync it; FullError.

    All values are read first.  The system copies mapped memory in large pieces, and maps what was
    written in large pieces in large pieces too, so that opening the copy takes a tenth of the time.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            for handle in handles:
                _touch(transaction, handle)
            environment.copyfd(descriptor, compact=True)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except (lmdb.Error, OSError) as error:
        translate(error, path)


def _touch(transaction: Any, handle: Any) -> None:
    """Read every value, so that its pages are in memory; LMDB's binding touches what it returns."""
    for _ in transaction.cursor(handle).iternext(keys=False, values=True):
        pass
