"""The one door to LMDB: transactions, growth of the map, forks.

A process opens the environment of a directory once, however many databases it opens there
(`registry.acquire`); LMDB forbids more.  Whoever begins a transaction passes the gate, and closing
or growing waits until nobody is inside.  LMDB's transactions work in a forked child without a
word and spoil each other; here the child gets ForkedError.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import lmdb

from simdb.errors import (
    BusyError,
    ClosedError,
    Error,
    ForkedError,
    FormatError,
    FullError,
    ReadOnlyError,
)
from simdb.storage.birth import make_data_file
from simdb.storage.gate import Gate, Holder
from simdb.storage.locks import PRESENCE_LOCK, WRITER_LOCK, open_lock
from simdb.storage.mapping import READERS_MAX, open_map
from simdb.storage.pages import check_pages
from simdb.storage.place import DATA_FILE, not_cut_off, sync_directory
from simdb.storage.reading import statistics_of
from simdb.storage.translation import translate

# Address space, not disk: the file grows as it is filled.
DEFAULT_MAP_BYTES = 1 << 40
MOST_MAP_BYTES = 1 << 62
RESIZED_TRIES = 20  # another process can make the map larger once more meanwhile

Result = TypeVar("Result")


class Environment:
    """An open LMDB environment, shared by all databases of this process on one directory."""

    def __init__(self, path: str, *, is_read_only: bool, durability: str, map_bytes: int) -> None:
        """Open `path`, an existing directory; makes an empty data file unless read-only."""
        self.path = path
        self.durability = durability
        self.is_read_only = is_read_only
        self.map_bytes = map_bytes
        self.generation = 0  # changes whenever pointers into the map become void
        self.reference_count = 0
        self.write_guard = threading.Lock()
        self.writing_thread = 0
        self._pid = os.getpid()
        self._gate = Gate(path)
        self._names: dict[bytes, Any] = {}
        self._lmdb: Any = None
        self.writer_lock = open_lock(os.path.join(path, WRITER_LOCK), is_read_only)
        self.presence_lock = open_lock(os.path.join(path, PRESENCE_LOCK), is_read_only)
        if self.presence_lock is not None:
            self.presence_lock.share()
        try:
            if self.writer_lock is not None and not is_read_only:
                make_data_file(path, self.writer_lock, is_synced=durability == "full")
            self._lmdb = self._open()
            with self.reading():
                check_pages(os.path.join(path, DATA_FILE))
        except BaseException:
            if self._lmdb is not None:
                self._lmdb.close()
            self._close_locks()
            raise

    def begin(self, holder: Holder) -> None:
        """Begin a read transaction for `holder`, which gives it back with `end`."""
        self._gate.enter(holder)
        try:
            if self._lmdb is None or self._pid != os.getpid():
                self.check_usable()
            holder.transaction = self._lmdb.begin(buffers=True)
        except lmdb.Error as error:
            self._gate.leave(holder)
            self._begin_again(error, holder)
        except BaseException:
            self._gate.leave(holder)
            raise

    def end(self, holder: Holder) -> None:
        """End the holder's transaction; more often than once is fine."""
        transaction, holder.transaction = holder.transaction, None
        if transaction is not None:  # as it is in a forked child, see leave_to_parent
            transaction.abort()
        self._gate.leave(holder)

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A read transaction for a `with` statement."""
        holder = Holder()
        self.begin(holder)
        try:
            yield holder.transaction
        finally:
            self.end(holder)

    def write(self, change: Callable[[Any], Result]) -> Result:
        """Run `change` in a write transaction and commit it.

        Raises `MapFull` when the map has no room: nothing is changed then, and `grow` followed by
        another call will do.  Nothing is changed either when `change` raises.
        """
        self.check_writable()
        try:
            with self._gate.held(), self._lmdb.begin(write=True, buffers=True) as transaction:
                return change(transaction)
        except lmdb.MapFullError as error:
            raise MapFull from error
        except lmdb.MapResizedError:
            self._adopt_size()
            return self.write(change)
        except lmdb.Error as error:
            translate(error, self.path)

    def grow(self, needed_bytes: int) -> None:
        """Double the map until it has `needed_bytes` more; nobody may be reading meanwhile."""
        with self._gate.alone("the database must grow beyond its map"):
            wanted = max(2 * self.map_bytes, self.map_bytes + 2 * needed_bytes)
            self.generation += 1
            try:
                self._lmdb.set_mapsize(wanted)
            except (lmdb.Error, MemoryError) as error:
                raise FullError(f"{self.path} cannot map {wanted} bytes: {error}") from error
            self.map_bytes = wanted

    def reopen(self, replacement: str | None, *, is_read_only: bool | None = None) -> None:
        """Close and open again, with another data file (a path) moved into place if given."""
        with self._gate.alone("the data file is to be opened anew"):
            self.generation += 1
            self._lmdb.close()
            names, was_read_only = list(self._names), self.is_read_only
            self._names.clear()
            try:
                if replacement is not None:
                    os.replace(replacement, os.path.join(self.path, DATA_FILE))
                    sync_directory(self.path)
                if is_read_only is not None:
                    self.is_read_only = is_read_only
                self._lmdb = self._open()
            except BaseException as error:
                # Whoever has it open goes on as before.
                self.is_read_only = was_read_only
                self._lmdb = self._open()
                if isinstance(error, OSError) and not isinstance(error, Error):
                    translate(error, self.path)
                raise
            finally:
                self.attach(names)

    def close(self) -> None:
        """Close; BusyError while transactions of this process do not end.

        Any other error comes when it is closed: the disk did not take what was not written yet.
        """
        if self._pid != os.getpid():
            return
        if self._lmdb is None:
            return
        with self._gate.alone("the database is to be closed"):
            try:
                if self.durability == "process" and not self.is_read_only:
                    self._lmdb.sync(True)
            except lmdb.Error as error:
                raise FullError(
                    f"{self.path} is closed, but its disk did not take what was committed since it"
                    f" was opened; that is lost with the power: {error}"
                ) from error
            finally:
                self.generation += 1
                self._lmdb.close()
                self._lmdb = None
                self._close_locks()

    def subdatabase(self, name: bytes) -> Any:
        """The handle of a sub-database that was attached or created."""
        return self._names[name]

    def attach(self, names: Iterable[bytes]) -> None:
        """Open sub-databases; FormatError when one is not there.

        Not inside a transaction: a handle lives no longer than the transaction it is opened in,
        unless that one commits.
        """
        for name in names:
            if name not in self._names:
                try:
                    self._names[name] = self._handle(name)
                except (lmdb.NotFoundError, lmdb.ReadonlyError, lmdb.IncompatibleError) as error:
                    raise FormatError(
                        f"{self.path} has no sub-database {name.decode()}: it is no simdb database"
                    ) from error
                except lmdb.Error as error:
                    translate(error, self.path)

    def _handle(self, name: bytes) -> Any:
        """The handle of a sub-database; nobody reads yet."""
        try:
            return self._lmdb.open_db(name, create=False)
        except lmdb.MapResizedError:
            self._lmdb.set_mapsize(0)  # others have made it larger
        return self._handle(name)

    def create_subdatabases(self, names: Iterable[bytes], transaction: Any) -> None:
        """Make sub-databases in a write transaction."""
        for name in names:
            self._names[name] = self._lmdb.open_db(name, txn=transaction, create=True)

    def forget_subdatabases(self) -> None:
        """Drop handles that were opened in a transaction which did not commit."""
        self._names.clear()

    def copy_to(self, path: str) -> None:
        """Write a compacted copy of the data file to the new file `path`.

        The values are touched first (handing one out does that).  From memory that is mapped the
        system copies in large pieces, and what was written in large pieces is also mapped in
        large pieces when the copy is opened: that takes a tenth of the time.
        """
        self.check_usable()
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with self.reading() as transaction:
                for handle in self._names.values():
                    for _ in transaction.cursor(handle).iternext(keys=False, values=True):
                        pass
                self._lmdb.copyfd(descriptor, compact=True)
            os.fsync(descriptor)
        except (lmdb.Error, OSError) as error:
            translate(error, path)
        finally:
            os.close(descriptor)

    def used_bytes(self) -> int:
        """Bytes of the data file up to the last page that was ever written."""
        return int((self._lmdb.info()["last_pgno"] + 1) * self._lmdb.stat()["psize"])

    def sizes(self, transaction: Any) -> tuple[int, int, int]:
        """Bytes of the data file, of the pages in use and of the map."""
        page_bytes = self._lmdb.stat()["psize"]
        used = self.used_bytes()
        file_bytes = os.stat(os.path.join(self.path, DATA_FILE)).st_blocks * 512
        live = 2 * page_bytes
        main = self._lmdb.open_db(None, txn=transaction)
        for handle in [main, *self._names.values()]:
            pages = statistics_of(transaction, handle)
            live += page_bytes * sum(
                pages[kind] for kind in ("branch_pages", "leaf_pages", "overflow_pages")
            )
        return max(file_bytes, min(used, file_bytes)), live, self.map_bytes

    def readers(self, *, clears: bool = True) -> list[tuple[int, int, int]]:
        """(process, thread, transaction) of each reader slot in use; `clears` those of the dead."""
        if clears:
            self._lmdb.reader_check()
        rows = []
        for line in self._lmdb.readers().splitlines()[1:]:
            parts = line.split()
            if len(parts) == 3 and parts[2] != "-":
                rows.append((int(parts[0]), int(parts[1], 16), int(parts[2])))
        return rows

    @property
    def is_idle(self) -> bool:
        """Whether no transaction of this process is open."""
        return self._gate.is_idle

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return self._lmdb is not None

    @property
    def is_foreign(self) -> bool:
        """Whether it was opened by the parent of this process."""
        return self._pid != os.getpid()

    @property
    def engine_version(self) -> str:
        """Version of the LMDB engine in use."""
        return ".".join(map(str, lmdb.version()))

    def _open(self) -> Any:
        environment = open_map(
            self.path,
            self.map_bytes,
            is_read_only=self.is_read_only,
            is_synced=self.durability == "full",
        )
        self.map_bytes = environment.info()["map_size"]
        self.data_file = os.stat(os.path.join(self.path, DATA_FILE))
        return environment

    def _begin_again(self, error: Exception, holder: Holder, *, tries: int = RESIZED_TRIES) -> None:
        """Begin after the first try failed in a way that can be mended."""
        if isinstance(error, lmdb.MapResizedError):
            self._adopt_size()
        elif isinstance(error, lmdb.PanicError):
            # The last page of a commit could not be written; LMDB refuses all after that.
            self.reopen(None)
        elif isinstance(error, lmdb.ReadersFullError):
            if not self._lmdb.reader_check():
                raise BusyError(
                    f"{self.path} already has {READERS_MAX} readers; end some of them"
                ) from error
        else:
            translate(error, self.path)
        self._gate.enter(holder)
        try:
            holder.transaction = self._lmdb.begin(buffers=True)
        except lmdb.Error as again:
            self._gate.leave(holder)
            if isinstance(again, lmdb.MapResizedError) and tries:
                self._begin_again(again, holder, tries=tries - 1)  # larger once more meanwhile
            else:
                translate(again, self.path)

    def _adopt_size(self) -> None:
        """Take over the larger map that another process has given to the file."""
        with self._gate.alone("another process has made the database larger"):
            self.generation += 1
            self._lmdb.set_mapsize(0)
            self.map_bytes = self._lmdb.info()["map_size"]

    def check_usable(self) -> None:
        """Raise ForkedError in a child of the process that opened it, ClosedError after `close`."""
        if self._pid != os.getpid():
            raise ForkedError(
                f"{self.path} was opened by process {self._pid}; open it again in this process"
            )
        if self._lmdb is None:
            raise ClosedError(f"{self.path} is closed")

    def check_writable(self) -> None:
        """Raise ReadOnlyError unless it may be written, and as `check_usable` does."""
        self.check_usable()
        if self.is_read_only:
            raise ReadOnlyError(f"{self.path} was opened for reading; open it with mode 'w' or 'c'")

    def check_length(self) -> None:
        """Raise CorruptError when somebody has cut off the data file, which only grows."""
        self.data_file = not_cut_off(os.path.join(self.path, DATA_FILE), self.data_file)

    def _close_locks(self) -> None:
        for lock in (self.writer_lock, self.presence_lock):
            if lock is not None:
                lock.close()

    def leave_to_parent(self) -> None:
        """In a forked child: let go of everything without touching what the parent goes on with.

        The inherited environment must not be closed, nor its transactions ended: both would change
        the table of readers that the processes share.  LMDB's binding drops them harmlessly when
        nobody refers to them, and only then lets this process open the path again.
        """
        self._gate.forget_all()
        self._names = {}
        self._lmdb = None
        self.write_guard = threading.Lock()
        self._close_locks()


class MapFull(Exception):  # noqa: N818 - not an error: the writer grows the map and goes on
    """The map has no room for what is being written."""
