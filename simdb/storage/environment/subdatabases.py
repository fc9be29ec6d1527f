"""Sub-databases: LMDB's handles of them, their values, and what LMDB reports about itself.

Handles are numbers for named sub-databases, valid until the environment is closed.  Damaged pages
raise CorruptError.  The reader table, which all processes share, holds the number of the last
transaction, and so says which of the two meta pages of the file counts.  If the data file, or its
content, was replaced by another one, the numbers of the table and of the file differ.
"""

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import lmdb

from simdb.core.errors import CorruptError, FormatError, ReplacedError
from simdb.storage.files.locks import pauses
from simdb.storage.files.pages import REMEDY
from simdb.storage.files.plain import DATA_FILE
from simdb.storage.translation import translate

# Another process can commit between the two reads.  A commit writes first the file and then the
# reader table, and the system can hold it up between the two.
COMPARED_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 0.02


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


def last_number(environment: Any) -> int:
    """Return the number of the last transaction in the data file; 0 if nothing was ever written."""
    return int(environment.info()["last_txnid"])


def used_bytes(environment: Any) -> int:
    """Return the size of the data file up to the last page that was ever written."""
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def sizes(environment: Any, transaction: Any, handles: Iterable[Any]) -> tuple[int, int]:
    """Return the bytes of the pages in use, and of the map."""
    information, page_bytes = environment.info(), environment.stat()["psize"]
    live = 2 * page_bytes
    for handle in (environment.open_db(None, txn=transaction), *handles):
        pages = statistics_of(transaction, handle)
        live += page_bytes * sum(
            pages[kind] for kind in ("branch_pages", "leaf_pages", "overflow_pages")
        )
    return live, information["map_size"]


def readers(environment: Any, *, clears: bool) -> list[tuple[int, int, int]]:
    """Return (process, thread, transaction) of each reader slot in use.

    `clears`: first free the slots of processes that have died.
    """
    if clears:
        environment.reader_check()
    rows = []
    for line in environment.readers().splitlines()[1:]:
        parts = line.split()
        if len(parts) == 3 and parts[2] != "-":
            rows.append((int(parts[0]), int(parts[1], 16), int(parts[2])))
    return rows


def engine_version() -> str:
    """Return the version of the LMDB library."""
    return ".".join(map(str, lmdb.version()))


def check_number(
    environment: Any, path: str, reading: Callable[[], AbstractContextManager[Any]]
) -> None:
    """Raise ReplacedError unless reader table and data file are at the same transaction number.

    `reading` opens a read transaction for a `with` statement.
    """
    again = pauses(COMPARED_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
    while True:
        written = last_number(environment)
        with reading() as transaction:
            number = transaction.id()
        if number == written:
            return
        if not next(again, False):
            break
    raise ReplacedError(
        f"{os.path.join(path, DATA_FILE)} is at transaction {written}, but other processes that"
        f" have the database open are at {number}: the file was overwritten while it was open. "
        " Close the database in every process, then open it again"
    )


def check_next(environment: Any, path: str, transaction: Any, base: int | None) -> None:
    """Raise ReplacedError unless a write transaction directly follows the last one in the file.

    `base`: the number of the last transaction when the change was made; None if any will do.
    """
    written, number = last_number(environment), transaction.id()
    if number != written + 1 or base not in (None, written):
        raise ReplacedError(
            f"{path} was written by a process that does not share its locks, up to transaction"
            f" {max(written, number - 1)}; nothing was changed.  Close the database in every"
            " process, then open it again"
        )


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


def _refuse(error: lmdb.Error) -> NoReturn:
    raise CorruptError(f"the pages of the data file are damaged: {error}; {REMEDY}") from error


def _touch(transaction: Any, handle: Any) -> None:
    """Read every value, so that its pages are in memory; LMDB's binding touches what it returns."""
    for _ in transaction.cursor(handle).iternext(keys=False, values=True):
        pass
