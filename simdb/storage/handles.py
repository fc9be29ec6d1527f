"""Handles of sub-databases: LMDB's numbers for names, good until the environment is closed."""

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

    def every(self) -> list[Any]:
        """All handles."""
        return list(self._named.values())

    def __getitem__(self, name: bytes) -> Any:
        """The handle of one."""
        return self._named[name]

    def attach(self, environment: Any, names: Iterable[bytes]) -> None:
        """Open sub-databases; FormatError when one is not there.

        Not inside a transaction: a handle lives no longer than the transaction it is opened in,
        unless that one commits.
        """
        for name in names:
            if name not in self._named:
                try:
                    self._named[name] = _open(environment, name)
                except (lmdb.NotFoundError, lmdb.ReadonlyError, lmdb.IncompatibleError) as error:
                    raise FormatError(
                        f"{self._path} has no sub-database {name.decode()}: it is no simdb database"
                    ) from error
                except lmdb.Error as error:
                    translate(error, self._path)

    def renew(self, environment: Any) -> None:
        """Open all of them anew, or none: the environment was closed and opened again."""
        try:
            self._named = {name: _open(environment, name) for name in self._named}
        except lmdb.Error as error:
            translate(error, self._path)

    def create(self, environment: Any, names: Iterable[bytes], transaction: Any) -> None:
        """Make sub-databases in a write transaction."""
        for name in names:
            self._named[name] = environment.open_db(name, txn=transaction, create=True)

    def forget(self) -> None:
        """Drop all: the environment is not open any more, or the transaction did not commit."""
        self._named = {}


def _open(environment: Any, name: bytes) -> Any:
    """The handle of a sub-database; nobody reads yet."""
    while True:
        try:
            return environment.open_db(name, create=False)
        except lmdb.MapResizedError:
            environment.set_mapsize(0)  # others have made it larger
