"""The only interface to LMDB: sub-databases, transactions, growth of the map, forks.

A process opens the LMDB environment of a directory once, since LMDB forbids a second time; all its
databases there share it (`Lease.acquire`).  Every transaction enters the gate.  Closing the
environment or growing its map waits until the gate is empty.

In a forked child, LMDB's transactions seem to work but corrupt the transactions of the parent.
Here the child gets ForkedError, and a database opens a new environment in the child for reading.

Handles are numbers of named sub-databases, valid until the environment is closed.  Damaged pages
raise CorruptError.  All processes share LMDB's reader table, which holds the number of the last
transaction and so decides which of the two meta pages of the file counts.  If the data file or its
content was replaced, the numbers in table and file differ.
"""

import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from threading import Lock, get_ident
from typing import Any, TypeVar

import lmdb
import numpy.typing as npt

from simdb.core import errors
from simdb.core.memory import memory_bytes
from simdb.storage import codec, layout
from simdb.storage.delta import Keying
from simdb.storage.file_map import (
    READERS_MAX,
    FileMap,
    Pages,
    find_map,
    get_value,
    keys_from,
    open_map,
    pages_bytes,
    value_at_or_before,
    values_from,
)
from simdb.storage.files import DATA_FILE, MapFull, closed, pauses, translate, translated
from simdb.storage.gate import Gate, Holder, Turn, WriteRight
from simdb.storage.open_files import OpenFiles

# Another process can commit between the two reads.  A commit writes the file before the reader
# table, and the system can suspend it in between.
COMPARED_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 0.02
BEGIN_TRIES = 20  # another process can enlarge the map after each try

Result = TypeVar("Result")
# The garbage collector can release a lease even while this thread has the lock.
_lock = threading.RLock()
_open: dict[tuple[int, int], "Environment"] = {}


class Handles:
    """The attached or created sub-databases of one environment."""

    def __init__(self, path: str) -> None:
        """Start without handles; `path` is for messages."""
        self._path = path
        self._named: dict[bytes, Any] = {}
        self._lock = threading.Lock()

    def every(self) -> list[Any]:
        """Return all handles."""
        return list(self._named.values())

    def __contains__(self, name: bytes) -> bool:
        """Return whether the sub-database `name` is open."""
        return name in self._named

    def __getitem__(self, name: bytes) -> Any:
        """Return the handle of the sub-database `name`."""
        return self._named[name]

    def attach(self, environment: Any, names: Iterable[bytes]) -> None:
        """Open the sub-databases in `names` that are not open yet.

        Raises FormatError if one is missing, and lmdb.MapResizedError if another process has
        enlarged the map.
        """
        with self._lock:
            wanted = [name for name in names if name not in self._named]
            self._named = {**self._named, **self._opened(environment, wanted)}

    def renew(self, environment: Any) -> None:
        """Open all sub-databases again, or none, after the environment was reopened.

        No other thread of this process may have a transaction open.
        """
        while True:
            try:
                self._named = self._opened(environment, list(self._named))
            except lmdb.MapResizedError:
                environment.set_mapsize(0)  # another process has enlarged it
            else:
                return

    def create(self, environment: Any, names: Iterable[bytes], transaction: Any) -> None:
        """Create sub-databases in a write transaction."""
        for name in names:
            self._named[name] = environment.open_db(name, txn=transaction, create=True)

    def forget(self, names: Collection[bytes] | None = None) -> None:
        """Drop the handles in `names`, or all, after a failed commit or after closing."""
        dropped = self._named if names is None else names
        self._named = {name: each for name, each in self._named.items() if name not in dropped}

    def _opened(self, environment: Any, names: list[bytes]) -> dict[bytes, Any]:
        """Open sub-databases and return their handles, which are valid at once.

        LMDB lets one thread at a time open a sub-database, in a transaction that is then committed.
        A writable environment gets this transaction here.  LMDB's binding would begin its own while
        it holds the interpreter lock, and then two threads could wait for each other for ever.
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
            raise errors.FormatError(
                f"{self._path} has no sub-database {name.decode()}: it is not a simdb database"
            ) from error
        except lmdb.Error as error:
            translate(error, self._path)


def last_number(environment: Any) -> int:
    """Return the number of the last transaction in the data file; 0 if nothing was written yet."""
    return int(environment.info()["last_txnid"])


def finish_commit(environment: Any) -> None:
    """Let LMDB note the last commit in its reader table if the writer was killed before that.

    LMDB does so when it finds that the holder of its write lock has died.
    """
    environment.begin(write=True).abort()


def check_number(
    environment: Any, path: str, reading: Callable[[], AbstractContextManager[Any]]
) -> None:
    """Raise ReplacedError unless reader table and data file have the same transaction number.

    `reading` opens a read transaction for a `with` statement.  A writer that was killed during its
    commit leaves the table one transaction behind.  Until the next write, that commit is invisible.
    """
    again = pauses(COMPARED_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
    was_finished = False
    while True:
        written = last_number(environment)
        with reading() as transaction:
            number = transaction.id()
        if number == written:
            return
        if next(again, False):
            continue
        if number + 1 != written or was_finished:
            break
        if environment.flags()["readonly"]:
            return
        finish_commit(environment)
        was_finished = True
    raise errors.ReplacedError(
        f"{os.path.join(path, DATA_FILE)} is at transaction {written}, but other processes that"
        f" have the database open are at {number}: the file was overwritten while it was open. "
        " Close the database in every process, then open it again"
    )


def check_next(environment: Any, path: str, transaction: Any, base: int | None) -> None:
    """Raise ReplacedError unless a write transaction directly follows the last one in the file.

    `base`: the number of the last transaction when the change was prepared; None allows any.
    """
    written, number = last_number(environment), transaction.id()
    if number != written + 1 or base not in (None, written):
        raise errors.ReplacedError(
            f"{path} was written by a process that does not share its locks, up to transaction"
            f" {max(written, number - 1)}; nothing was changed.  Close the database in every"
            " process, then open it again"
        )


def _touch(transaction: Any, handle: Any) -> None:
    """Read every value, so that its pages are in memory; LMDB's binding touches returned values."""
    for _ in transaction.cursor(handle).iternext(keys=False, values=True):
        pass


class Environment:
    """An open LMDB environment, shared by all databases of this process in one directory."""

    # The number of this process, cached because asking the system takes as long as `begin`.
    process = os.getpid()

    def __init__(
        self,
        path: str,
        *,
        is_read_only: bool,
        durability: str,
        map_bytes: int,
        timeout: float | None,
    ) -> None:
        """Open the existing directory `path`; create an empty data file unless read-only.

        `timeout`: seconds to wait while another process replaces the data file.
        """
        self.path = path
        self.durability = durability
        self.is_read_only = is_read_only
        self.map_bytes = map_bytes
        self.generation = 0  # incremented whenever pointers into the map become invalid
        self._pid = os.getpid()
        self._gate = Gate(f"snapshots and transactions of this process on {path}")
        self._turn = Turn()
        self.parent_wrote = False  # in a forked child: whether the parent was writing at the fork
        self._right: weakref.ref[WriteRight] | None = None
        self.handles = Handles(path)
        self.leases: weakref.WeakSet[Lease] = weakref.WeakSet()
        self._lmdb: Any = None
        self._is_closed = False
        self._has_replaced = False  # whether this process has replaced the data file
        self._is_lost = False  # whether reopening failed; the next verb tries again
        self._is_left = False  # whether it has no lease and waits for transactions to end
        self._files = OpenFiles(
            path, is_read_only=is_read_only, is_synced=durability == "full", timeout=timeout
        )
        self.presence, self.watch = self._files.presence, self._files.watch
        try:
            self._lmdb = self._open()
            with self.reading():
                self.watch.walk()
            check_number(self._lmdb, path, self.reading)
        except BaseException:
            if self._lmdb is not None:
                self._lmdb.close()
            self._files.close()
            raise

    def begin(self, *, tries: int = BEGIN_TRIES) -> Holder:
        """Begin a read transaction and return its holder, which the caller passes to `end`."""
        if self._is_lost:
            self.recover()
        holder = self._gate.enter()
        try:
            if self._lmdb is None or self._pid != self.process:
                self.check_usable()
            holder.transaction = self._lmdb.begin(buffers=True)
        except lmdb.Error as error:
            self._gate.leave(holder)
            return self._begin_again(error, tries)
        except BaseException:
            self._gate.leave(holder)
            raise
        return holder

    def end(self, holder: Holder) -> None:
        """End the transaction of `holder`; call this once."""
        if holder.transaction is not None:  # None in a forked child, see leave_to_parent
            try:
                holder.transaction.abort()
            finally:
                self._gate.leave(holder)
            if self._is_left:
                _close_unused(self)

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Open a read transaction for a `with` statement."""
        holder = self.begin()
        try:
            yield holder.transaction
        finally:
            self.end(holder)

    def begin_write(self, timeout: float | None) -> WriteRight:
        """Become the only writer until the returned right is ended.

        Raises BusyError if the write lock is not free within `timeout` seconds.
        """
        self.check_writable()
        right = WriteRight(self.path, self._turn, self._files.writer_lock, self._gate)
        with translated(self.path):
            right.take(timeout)
        self._right = weakref.ref(right)
        self.check_writable()
        with self.reading() as transaction:
            number = transaction.id()
        if number + 1 == last_number(self._lmdb):
            finish_commit(self._lmdb)
        return right

    def write(self, change: Callable[[Any], Result], *, base: int | None = None) -> Result:
        """Run `change` in a write transaction, commit it, and return its result.

        `base`: number of the transaction that the change is based on.  Raises `MapFull` if the map
        has no room; call `grow` and try again.  Raises ReplacedError if the files are not the
        opened ones, or another writer committed after `base`.  If anything raises, even `change`,
        nothing is changed.
        """
        self.check_writable()
        number = None
        try:
            with self._gate.held(), self._lmdb.begin(write=True, buffers=True) as transaction:
                with translated(self.path):
                    self.watch.begin_own()
                    result = change(transaction)
                    self.presence.check()
                check_next(self._lmdb, self.path, transaction, base)
                writing = transaction.id()
            number = writing
            return result
        except lmdb.MapFullError as error:
            raise MapFull from error
        except lmdb.MapResizedError:
            self._adopt_size()
            return self.write(change, base=base)
        except lmdb.Error as error:
            translate(error, self.path)
        finally:
            with translated(self.path):
                self.watch.end_own(number)

    def grow(self, needed_bytes: int, right: WriteRight) -> None:
        """Double the map until it has `needed_bytes` more.

        Raises BusyError for open transactions.
        """
        with self._alone("the database must grow beyond its map", right):
            now = int(self._lmdb.info()["map_size"])
            wanted = max(2 * now, now + 2 * needed_bytes)
            self.generation += 1
            try:
                self._lmdb.set_mapsize(wanted)
            except (lmdb.Error, MemoryError, OverflowError) as error:
                # LMDB has already unmapped the old map.
                self._open_anew()
                raise errors.FullError(
                    f"{self.path} cannot map {wanted} bytes, which the new documents need;"
                    f" nothing was changed: {error}"
                ) from error
            self.map_bytes = wanted

    def reopen(
        self,
        replacement: str | None,
        right: WriteRight | None = None,
        *,
        is_read_only: bool | None = None,
    ) -> None:
        """Close and open again; first move the data file `replacement` into place, if given.

        Only a process that is alone may give one, see `Presence.alone`.  If this fails, the
        databases continue with the file in place, at once or as soon as it can be opened.
        """
        so = "" if is_read_only is None else " to write to it"
        with self._alone(f"the data file must be opened again{so}", right):
            self.generation += 1
            was_read_only = self.is_read_only
            try:
                if replacement is not None:
                    self._has_replaced = True
                    self._files.put_in_place(replacement)
                if is_read_only is not None:
                    self.is_read_only = is_read_only
                self._open_anew()
            except BaseException:
                self.is_read_only = was_read_only
                # Otherwise the next verb tries again.
                with suppress(errors.Error, OSError, lmdb.Error):
                    self._open_anew()
                with translated(self.path):
                    raise

    def recover(self) -> None:
        """Open the environment if a failed `reopen` has left it closed."""
        if not self._is_lost or self._pid != os.getpid():
            return
        with self._alone("the data file must be opened again", None):
            if self._is_lost:
                self.generation += 1
                with translated(self.path):
                    self._open_anew()

    def close(self) -> None:
        """Close the environment; raise BusyError if transactions are still open after a short wait.

        Raises FullError if committed data could not be written to the disk; even then, the
        environment is closed.
        """
        if self._pid != os.getpid() or self._is_closed:
            return
        with self._alone("close() was called", None):
            environment, self._lmdb = self._lmdb, None
            try:
                if environment is None:
                    return  # it could not be reopened
                if self.durability == "process" and not self.is_read_only:
                    environment.sync(True)
            except lmdb.Error as error:
                raise errors.FullError(
                    f"{self.path} is closed, but its disk did not take everything that was"
                    f" committed since it was opened; a power loss would lose that: {error}"
                ) from error
            finally:
                self.generation += 1
                if environment is not None:
                    environment.close()
                self._files.close()
                self._is_closed, self._is_lost = True, False

    def subdatabase(self, name: bytes) -> Any:
        """Return the handle of an attached or created sub-database, for use inside a transaction.

        Raises CorruptError if the file was damaged since its pages were last checked.
        """
        self.watch.look()
        return self.handles[name]

    def attach(self, names: Iterable[bytes]) -> None:
        """Open sub-databases; raise FormatError if one is missing."""
        while True:
            self.check_usable()
            try:
                with self._gate.held():
                    self.check_usable()
                    return self.handles.attach(self._lmdb, names)
            except lmdb.MapResizedError:
                self._adopt_size()
            except lmdb.Error as error:
                translate(error, self.path)

    def create_subdatabases(self, names: Iterable[bytes], transaction: Any) -> None:
        """Create sub-databases in a write transaction."""
        self.handles.create(self._lmdb, names, transaction)

    def copy_to(self, path: str) -> None:
        """Copy the data file, compacted, to the new file `path`, and sync it; raise FullError.

        All values are read first.  Then the system copies the mapped memory in large pieces, and
        later maps the copy in large pieces, so that opening it takes a tenth of the time.
        """
        with self.reading() as transaction:
            with translated(self.path):
                self.watch.walk()
            try:
                with open(path, "xb", opener=partial(os.open, mode=0o600)) as file:
                    for handle in self.handles.every():
                        _touch(transaction, handle)
                    self._lmdb.copyfd(file.fileno(), compact=True)
                    os.fsync(file.fileno())
            except (lmdb.Error, OSError) as error:
                translate(error, path)

    def sizes(self, transaction: Any) -> tuple[int, int, int]:
        """Return three sizes in bytes: the data file on disk, the pages in use, and the map."""
        self.watch.look()
        main = self._lmdb.open_db(None, txn=transaction)
        pages = [pages_bytes(transaction, each) for each in (main, *self.handles.every())]
        information, page_bytes = self._lmdb.info(), self._lmdb.stat()["psize"]
        return self.presence.data_bytes, 2 * page_bytes + sum(pages), information["map_size"]

    def readers(self, *, clears: bool = True) -> list[tuple[int, int, int]]:
        """Return process, thread and transaction of each reader slot in use.

        `clears`: first free the slots of dead processes.
        """
        self.check_usable()
        with self._gate.held():
            self.check_usable()
            if clears:
                self._lmdb.reader_check()
            rows = [line.split() for line in self._lmdb.readers().splitlines()[1:]]
        used = [row for row in rows if len(row) == 3 and row[2] != "-"]
        return [(int(process), int(thread, 16), int(last)) for process, thread, last in used]

    @property
    def used_bytes(self) -> int:
        """Size of the data file up to the last page that was ever used."""
        return int((self._lmdb.info()["last_pgno"] + 1) * self._lmdb.stat()["psize"])

    @property
    def last_number(self) -> int:
        """Number of the last transaction in the data file; 0 if nothing was written yet."""
        return last_number(self._lmdb)

    def is_idle(self, right: WriteRight) -> bool:
        """Return whether this process has no transaction open except that of `right`."""
        return self._gate.is_idle(besides=right.holder)

    @property
    def can_be_alone(self) -> bool:
        """Whether there are lock files, which show other processes that use the database."""
        return self._files.can_be_alone

    @property
    def is_open(self) -> bool:
        """Whether the environment is open, or the next verb will reopen it."""
        return self._lmdb is not None or self._is_lost

    def is_at(self, path: str) -> bool:
        """Return whether the environment is open with the data file of the directory `path`."""
        return self.is_open and self.presence.is_of(os.path.join(path, DATA_FILE))

    @property
    def is_used(self) -> bool:
        """Whether any lease is alive; a lease that is being deleted may still count."""
        return any(True for _ in self.leases)

    def lease(self) -> "Lease":
        """Return another lease of this environment."""
        lease, self._is_left = Lease(self), False
        # At the end of the process, the system closes everything.
        weakref.finalize(lease, _close_unused, self).atexit = False
        self.leases.add(lease)
        return lease

    def try_close(self) -> bool:
        """Close an environment without leases now, or when its last transaction ends.

        Returns whether it is closed now.  Errors are dropped, since no caller is left to receive
        them.
        """
        if self._gate.is_idle():
            with suppress(errors.Error):
                self.close()
        self._is_left = self.is_open
        return not self._is_left

    @property
    def is_foreign(self) -> bool:
        """Whether the parent of this process opened the environment."""
        return self._pid != os.getpid()

    def _alone(self, why: str, right: WriteRight | None) -> AbstractContextManager[None]:
        """Return a context manager that waits until no other holder is inside the gate.

        `right` remains inside; None means the write right of this thread, if it has one.
        """
        if right is None and self._right is not None:
            current = self._right()
            right = current if current is not None and current.is_of(get_ident()) else None
        return self._gate.alone(why, besides=None if right is None else right.holder)

    def _open(self) -> Any:
        environment = open_map(
            self.path,
            self.map_bytes,
            is_read_only=self.is_read_only,
            is_synced=self.durability == "full",
        )
        try:
            self.map_bytes = environment.info()["map_size"]
            self._files.note_opened()
        except BaseException:
            environment.close()
            raise
        return environment

    def _open_anew(self) -> None:
        """Close and open again, with all handles; the caller is alone in the gate.

        Meanwhile, threads outside the gate do not see the environment as closed.
        """
        self._is_lost = True
        old, self._lmdb = self._lmdb, None
        if old is not None:
            old.close()
        if self._has_replaced:
            self.presence.follow()
        made = self._open()
        try:
            self.handles.renew(made)
        except BaseException:
            made.close()
            raise
        self._lmdb, self._is_lost, self._has_replaced = made, False, False

    def _begin_again(self, error: Exception, tries: int) -> Holder:
        """Begin a read transaction after `error`, if its cause can be repaired."""
        if not tries:
            translate(error, self.path)
        if isinstance(error, lmdb.MapResizedError):
            self._adopt_size()
        elif isinstance(error, lmdb.PanicError):
            # The last page of a commit could not be written, so LMDB refuses everything.
            self.reopen(None)
        elif isinstance(error, lmdb.ReadersFullError):
            if not self._lmdb.reader_check():
                raise errors.BusyError(
                    f"{self.path} already has {READERS_MAX} readers; close some snapshots"
                ) from error
        else:
            translate(error, self.path)
        return self.begin(tries=tries - 1)

    def _adopt_size(self) -> None:
        """Adopt the larger map that another process has given the file."""
        self.watch.check_metas()  # a damaged meta page could claim a larger map
        with self._alone("another process has made the database larger", None):
            if self._lmdb is None:
                return  # another thread has closed it; `begin` will say so
            self.generation += 1
            try:
                self._lmdb.set_mapsize(0)
            except (lmdb.Error, MemoryError):
                self._open_anew()  # LMDB has already unmapped the old map
            self.map_bytes = self._lmdb.info()["map_size"]

    def check_usable(self) -> None:
        """Raise ForkedError in a child of the process that opened it, ClosedError after `close`."""
        if self._pid != os.getpid():
            raise errors.ForkedError(
                f"this was begun by process {self._pid}, which opened {self.path}; begin it again"
                " in this process with the database, or open it again in this process to write"
            )
        if self._is_lost:
            self.recover()
        if self._lmdb is None:
            raise closed(self.path)

    def check_writable(self) -> None:
        """Raise ReadOnlyError if opened for reading, or an error of `check_usable`."""
        self.check_usable()
        if self.is_read_only:
            raise errors.ReadOnlyError(
                f"{self.path} was opened for reading; open it with mode 'w' or 'c'"
            )

    def leave_to_parent(self) -> None:
        """Drop everything in a forked child, without disturbing the parent.

        The child must not close the inherited environment or end its transactions, since both
        change the reader table that the processes share.  LMDB's binding drops unreferenced objects
        harmlessly.  Only afterwards can this process open the path again.
        """
        self._gate.forget_all()
        self.handles.forget()
        self._lmdb, self._is_lost = None, False
        self.parent_wrote = self._turn.owner is not None
        self._turn = Turn()
        self._files.close()


class Source:
    """A read transaction that fetches the values of stored runs.

    `keying`: the keys of tables.  `width`: the bytes of a volatility vector.  `header_offset`: sets
    the width of the directories of tables of keys, see `header_bits`.  `holder` has the
    transaction, which ends with the source; None after that.  `is_lent`: the source reads the
    uncommitted changes of a write transaction.  Its owner ends it, and must not write while fetched
    arrays are in use.
    """

    __slots__ = (
        "_file_map", "_reading", "environment", "header_offset", "holder", "is_lent", "keying",
        "width",
    )  # fmt: skip

    # Every query makes a source, and a dataclass would take twice as long to make.
    def __init__(
        self, environment: Environment, keying: Keying, width: int, header_offset: int,
        holder: Holder | None, is_lent: bool = False,
    ) -> None:  # fmt: skip
        """Share the lock of the holder."""
        self.environment, self.keying, self.width = environment, keying, width
        self.header_offset, self.holder, self.is_lent = header_offset, holder, is_lent
        self._file_map: FileMap | None = None  # None until it is known
        self._reading = Lock() if holder is None else holder.reading

    def __enter__(self) -> "Source":
        """Return the source itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the transaction."""
        self.end()

    @property
    def transaction(self) -> Any:
        """The LMDB transaction; None after `end`, and in a forked child."""
        return None if self.holder is None else self.holder.transaction

    def end(self) -> None:
        """End the transaction; a second call does nothing.

        Arrays that were fetched through it must not be used afterwards.
        """
        holder, self.holder = self.holder, None
        if holder is not None and not self.is_lent:
            self.environment.end(holder)

    def check_open(self) -> None:
        """Raise ClosedError after `end`, ForkedError in a child of the process that began it."""
        self.environment.check_usable()
        if self.transaction is None:
            raise errors.ClosedError(
                "the snapshot or transaction that this comes from has ended; read all of it before,"
                " or ask again"
            )

    def fetch(self, name: bytes, kind: bytes, key: bytes, dtype: npt.DTypeLike) -> Any:
        """Return the array stored under `key`, without reading the pages of a large one.

        It may be stored as evenly spaced numbers.  Raises CorruptError if it is missing.
        """
        return codec.decode_column(kind, key, self.unread(name, kind, key), dtype)

    def unread(self, name: bytes, kind: bytes, key: bytes) -> Any:
        """Return the bytes stored under `key` like `value`; pages of a large value are not read."""
        with self._reading:
            # Threads may share the work of a verb, and LMDB changes the transaction when it reads.
            file_map, handle = self._map(), self.handle(name)
            if file_map is None:
                found = get_value(self.transaction, handle, key)
            else:
                found = file_map.value(self.transaction, handle, key)
        return codec.present(kind, key, found, name)

    def pages_of(self, array: npt.NDArray[Any]) -> Pages | None:
        """Return the whole pages of an array that are in the map; None if it is elsewhere.

        Arrays fetched inside a write transaction are never in the map.
        """
        with self._reading:
            file_map = self._map()
        return None if file_map is None else file_map.pages_of(array)

    @property
    def data_bytes(self) -> int:
        """Size of the data file up to its last used page, in bytes."""
        return self.environment.used_bytes

    @property
    def memory_bytes(self) -> int:
        """Memory that this process may use, in bytes."""
        return memory_bytes()

    @property
    def is_larger_than_memory(self) -> bool:
        """Whether the data file is larger than the memory that this process may use."""
        return self.data_bytes > self.memory_bytes

    def value(self, name: bytes, kind: bytes, key: bytes) -> Any:
        """Return the bytes stored under `key` of a sub-database.

        Raises CorruptError if there are none.
        """
        return codec.present(kind, key, self.find(name, key), name)

    def _map(self) -> FileMap | None:
        """Return the map of the data file; None inside a write transaction.

        The caller holds `_reading`.
        """
        if self._file_map is None and not self.is_lent:
            handle, size = self.handle(layout.MANIFEST), self.environment.used_bytes
            self._file_map = find_map(self.transaction, handle, layout.MANIFEST_KEY, size)
        return self._file_map

    def find(self, name: bytes, key: bytes) -> Any:
        """Return the bytes stored under `key` of a sub-database; None if there are none."""
        with self._reading:
            return get_value(self.transaction, self.handle(name), key)

    def handle(self, name: bytes) -> Any:
        """Return LMDB's handle of a sub-database."""
        return self.environment.subdatabase(name)

    def every(self, name: bytes, start: bytes = b"") -> Iterator[tuple[bytes, Any]]:
        """Yield the keys of a sub-database in order, starting at `start`, with their values."""
        return values_from(self.transaction, self.handle(name), start)

    def unread_values(self, name: bytes) -> Iterator[tuple[bytes, Any]]:
        """Yield keys and values like `every`, without reading the pages of large values."""
        for key in keys_from(self.transaction, self.handle(name), b""):
            yield key, self.unread(name, name, key)

    def before(self, name: bytes, key: bytes) -> tuple[bytes, Any] | None:
        """Return the last key at or before `key` and its value; None if there is none."""
        return value_at_or_before(self.transaction, self.handle(name), key)

    def pages_bytes(self, name: bytes) -> int:
        """Return the size of the pages of a sub-database in bytes."""
        return pages_bytes(self.transaction, self.handle(name))


class Lease:
    """A right to use an environment, released once, or when the object is deleted."""

    __slots__ = ("__weakref__", "environment")

    def __init__(self, environment: Environment) -> None:
        """Use `Environment.lease` to make leases."""
        self.environment = environment

    @staticmethod
    def acquire(
        path: str,
        *,
        is_read_only: bool,
        durability: str,
        map_bytes: int,
        timeout: float | None = None,
    ) -> "Lease":
        """Return a lease of the environment of the directory `path`; open it if needed.

        An environment that was opened for reading is reopened for the first caller that writes.
        All users share the durability.  Raises OptionError if it is already open with another one.
        `timeout`: seconds to wait while another process replaces the data file.
        """
        with _lock:
            state = os.stat(path)
            place = (state.st_dev, state.st_ino)
            known = _open.get(place)
            if known is not None and known.is_used:
                known.recover()
            if known is not None and not known.is_used:
                _close_unused(known)
            if known is None or not known.is_at(path):
                environment = Environment(
                    os.path.abspath(path),
                    is_read_only=is_read_only,
                    durability=durability,
                    map_bytes=map_bytes,
                    timeout=timeout,
                )
                try:
                    _open[place] = environment
                    return environment.lease()
                except BaseException:
                    # After an interrupt there may be no lease, and so no finaliser.
                    _close_unused(environment)
                    raise
            lease = known.lease()
            if not is_read_only:
                if known.is_read_only:
                    known.durability = durability
                    known.reopen(None, is_read_only=False)
                elif known.durability != durability:
                    raise errors.OptionError(
                        f"{path} is open in this process with durability={known.durability!r};"
                        f" close it first, or open it with the same durability"
                    )
            return lease

    def release(self) -> None:
        """Release the lease; a second call does nothing.  The last lease closes its environment.

        Raises BusyError if its transactions do not end in time; the environment then remains open.
        """
        with _lock:
            environment = self.environment
            if list(environment.leases) == [self]:
                try:
                    environment.close()
                finally:
                    if not environment.is_open:
                        _forget(environment)
            environment.leases.discard(self)

    def abandon(self) -> None:
        """Release the lease while handling an exception, which may keep transactions open.

        If the environment cannot be closed now, that happens when the exception and the lease are
        deleted.
        """
        with suppress(errors.BusyError):
            self.release()


def _close_unused(environment: Environment) -> None:
    """Close an environment without leases as soon as its transactions have ended."""
    with _lock:
        if not environment.is_used and environment.try_close():
            _forget(environment)


def _forget(environment: Environment) -> None:
    environment.leases.clear()
    for place, each in list(_open.items()):
        if each is environment:
            del _open[place]


def _forget_in_child() -> None:
    """Forget all environments after a fork: the child has none open."""
    global _lock
    _lock = threading.RLock()
    Environment.process = os.getpid()
    for environment in _open.values():
        environment.leave_to_parent()
    _open.clear()


os.register_at_fork(after_in_child=_forget_in_child)
