"""The one interface to LMDB: transactions, growth of the map, forks.

A process opens the LMDB environment of a directory once, however many databases it opens there
(`registry.acquire`); LMDB forbids a second time.  Every transaction enters the gate, and closing
the environment or growing its map waits until the gate is empty.

In a forked child LMDB's transactions seem to work, but corrupt those of the parent; here the child
gets ForkedError.  A database opens an environment of its own in the child, to read.
"""

import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any, TypeVar

import lmdb

from simdb.core.errors import BusyError, Error, ForkedError, FullError, ReadOnlyError
from simdb.storage.environment import subdatabases
from simdb.storage.environment.file_map import READERS_MAX, open_map
from simdb.storage.environment.gate import Alone, Gate, Holder, Turn, WriteRight
from simdb.storage.files.location import closed
from simdb.storage.files.open_files import OpenFiles
from simdb.storage.translation import MapFull, translate, translated

BEGIN_TRIES = 20  # another process can enlarge the map again after each try

Result = TypeVar("Result")


class Environment:
    """An open LMDB environment, shared by all databases of this process in one directory."""

    # The number of this process, for `begin`: to ask the system takes as long as to begin.
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
        """Open the existing directory `path`; make an empty data file unless read-only.

        `timeout`: seconds to wait while another process replaces the data file.
        """
        self.path = path
        self.durability = durability
        self.is_read_only = is_read_only
        self.map_bytes = map_bytes
        self.generation = 0  # changes whenever pointers into the map become invalid
        self._pid = os.getpid()
        self._gate = Gate(f"snapshots and transactions of this process on {path}")
        self._turn = Turn()
        self.parent_wrote = False  # in a forked child: at the fork
        self._right: weakref.ref[WriteRight] | None = None
        self.handles = subdatabases.Handles(path)
        self._lmdb: Any = None
        self._is_closed = False
        self._has_replaced = False  # whether this process has put another data file in place
        self._is_lost = False  # whether it could not be opened again; the next verb tries
        self._files = OpenFiles(
            path, is_read_only=is_read_only, is_synced=durability == "full", timeout=timeout
        )
        self.presence, self.watch = self._files.presence, self._files.watch
        try:
            self._lmdb = self._open()
            with self.reading():
                self.watch.walk()
            subdatabases.check_number(self._lmdb, path, self.reading)
        except BaseException:
            if self._lmdb is not None:
                self._lmdb.close()
            self._files.close()
            raise

    def begin(self, *, tries: int = BEGIN_TRIES) -> Holder:
        """Begin a read transaction and return its holder; the caller passes that to `end`."""
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
        if holder.transaction is not None:  # it is None in a forked child, see leave_to_parent
            try:
                holder.transaction.abort()
            finally:
                self._gate.leave(holder)

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

        BusyError if the write lock is not free within `timeout` seconds.
        """
        self.check_writable()
        right = WriteRight(self.path, self._turn, self._files.writer_lock, self._gate)
        with translated(self.path):
            right.take(timeout)
        self._right = weakref.ref(right)
        self.check_writable()
        return right

    def write(self, change: Callable[[Any], Result], *, base: int | None = None) -> Result:
        """Run `change` in a write transaction, commit it, and return its result.

        `base`: number of the transaction on which the change was based.  Raises `MapFull` if the
        map has no room; call `grow` and try again.  Raises ReplacedError if the files are not those
        that were opened, or if another writer has committed after `base`.  If anything raises,
        `change` too, nothing is changed.
        """
        self.check_writable()
        number = None
        try:
            with self._gate.held(), self._lmdb.begin(write=True, buffers=True) as transaction:
                with translated(self.path):
                    self.watch.begin_own()
                    result = change(transaction)
                    self.presence.check()
                subdatabases.check_next(self._lmdb, self.path, transaction, base)
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
        """Double the map until it has `needed_bytes` more; BusyError if transactions stay open."""
        with self._alone("the database must grow beyond its map", right):
            now = int(self._lmdb.info()["map_size"])
            wanted = max(2 * now, now + 2 * needed_bytes)
            self.generation += 1
            try:
                self._lmdb.set_mapsize(wanted)
            except (lmdb.Error, MemoryError, OverflowError) as error:
                # LMDB has already unmapped the old map.
                self._open_anew()
                raise FullError(
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
        """Close and open again; if a `replacement` is given, move that data file into place first.

        Only a process that is alone may give one, see `Presence.alone`.  If this fails, the
        databases go on with the file that is in place, at once or as soon as it can be opened.
        """
        with self._alone("the data file must be opened again", right):
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
                with suppress(Error, OSError, lmdb.Error):
                    self._open_anew()
                with translated(self.path):
                    raise

    def recover(self) -> None:
        """Open the environment that a failed `reopen` has left closed; do nothing otherwise."""
        if not self._is_lost or self._pid != os.getpid():
            return
        with self._alone("the data file must be opened again", None):
            if self._is_lost:
                self.generation += 1
                with translated(self.path):
                    self._open_anew()

    def close(self) -> None:
        """Close the environment; BusyError if transactions are still open after a short wait.

        FullError if the disk did not take what was committed; the environment is then closed
        anyway.
        """
        if self._pid != os.getpid() or self._is_closed:
            return
        with self._alone("close() was called", None):
            environment, self._lmdb = self._lmdb, None
            try:
                if environment is None:
                    return  # it could not be opened again
                if self.durability == "process" and not self.is_read_only:
                    environment.sync(True)
            except lmdb.Error as error:
                raise FullError(
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
        """Return the handle of an attached or created sub-database; call it inside a transaction.

        CorruptError if somebody has damaged the file since its pages were last checked.
        """
        self.watch.look()
        return self.handles[name]

    def attach(self, names: Iterable[bytes]) -> None:
        """Open sub-databases; FormatError if one is missing."""
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
        """Write a compacted copy of the data file to the new file `path`."""
        with self.reading() as transaction:
            with translated(self.path):
                self.watch.walk()
            subdatabases.copy_compacted(self._lmdb, transaction, self.handles.every(), path)

    def sizes(self, transaction: Any) -> tuple[int, int, int]:
        """Return the bytes of the data file on disk, of the pages in use, and of the map."""
        self.watch.look()
        return self.presence.data_bytes, *subdatabases.sizes(
            self._lmdb, transaction, self.handles.every()
        )

    def readers(self, *, clears: bool = True) -> list[tuple[int, int, int]]:
        """Return (process, thread, transaction) of each reader slot in use."""
        self.check_usable()
        with self._gate.held():
            self.check_usable()
            return subdatabases.readers(self._lmdb, clears=clears)

    @property
    def used_bytes(self) -> int:
        """Size of the data file up to the last page that was ever written."""
        return subdatabases.used_bytes(self._lmdb)

    @property
    def last_number(self) -> int:
        """Number of the last transaction in the data file."""
        return subdatabases.last_number(self._lmdb)

    def is_idle(self, right: WriteRight) -> bool:
        """Whether this process has no transaction open, except the one of `right`."""
        return self._gate.is_idle(besides=right.holder)

    @property
    def can_be_alone(self) -> bool:
        """Whether there are lock files that tell which other processes use the database."""
        return self._files.can_be_alone

    @property
    def is_open(self) -> bool:
        """Whether the environment is open, or the next verb opens it again."""
        return self._lmdb is not None or self._is_lost

    @property
    def is_foreign(self) -> bool:
        """Whether the parent of this process opened the environment."""
        return self._pid != os.getpid()

    def _alone(self, why: str, right: WriteRight | None) -> Alone:
        """Return a `with` context in which no other holder is inside the gate.

        `right` stays inside; None means the write right of this thread, if it has one.
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

        Meanwhile the environment does not look closed to threads that are outside the gate.
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
        """Begin a read transaction after `error`, if the cause can be repaired."""
        if not tries:
            translate(error, self.path)
        if isinstance(error, lmdb.MapResizedError):
            self._adopt_size()
        elif isinstance(error, lmdb.PanicError):
            # The last page of a commit could not be written; LMDB then refuses everything.
            self.reopen(None)
        elif isinstance(error, lmdb.ReadersFullError):
            if not self._lmdb.reader_check():
                raise BusyError(
                    f"{self.path} already has {READERS_MAX} readers; close some snapshots"
                ) from error
        else:
            translate(error, self.path)
        return self.begin(tries=tries - 1)

    def _adopt_size(self) -> None:
        """Use the larger map that another process has given to the file."""
        self.watch.check_metas()  # a damaged meta page can also claim a larger map
        with self._alone("another process has made the database larger", None):
            self.generation += 1
            try:
                self._lmdb.set_mapsize(0)
            except (lmdb.Error, MemoryError):
                self._open_anew()  # LMDB has already unmapped the old map
            self.map_bytes = self._lmdb.info()["map_size"]

    def check_usable(self) -> None:
        """Raise ForkedError in a child of the process that opened it, ClosedError after `close`."""
        if self._pid != os.getpid():
            raise ForkedError(
                f"this was begun by process {self._pid}, which opened {self.path}; begin it again"
                " in this process with the database, or open it again in this process to write"
            )
        if self._is_lost:
            self.recover()
        if self._lmdb is None:
            raise closed(self.path)

    def check_writable(self) -> None:
        """Raise ReadOnlyError if opened for reading; otherwise like `check_usable`."""
        self.check_usable()
        if self.is_read_only:
            raise ReadOnlyError(f"{self.path} was opened for reading; open it with mode 'w' or 'c'")

    def leave_to_parent(self) -> None:
        """In a forked child, drop everything without disturbing the parent.

        The child must not close the inherited environment or end its transactions: both would
        change the reader table that the processes share.  LMDB's binding drops unreferenced objects
        harmlessly, and only after that this process may open the path again.
        """
        self._gate.forget_all()
        self.handles.forget()
        self._lmdb, self._is_lost = None, False
        self.parent_wrote = self._turn.owner is not None
        self._turn = Turn()
        self._files.close()
