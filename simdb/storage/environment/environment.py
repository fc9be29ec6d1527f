"""The one door to LMDB: transactions, growth of the map, forks.

A process opens the environment of a directory once, however many databases it opens there
(`registry.acquire`); LMDB forbids more.  Whoever begins a transaction passes the gate, and closing
or growing waits until nobody is inside.  LMDB's transactions work in a forked child without a
word and spoil each other; here the child gets ForkedError.
"""

import os
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, TypeVar

import lmdb

from simdb.errors import (
    BusyError,
    ClosedError,
    Error,
    ForkedError,
    FullError,
    ReadOnlyError,
)
from simdb.storage.environment import status
from simdb.storage.environment.copy import copy_compacted
from simdb.storage.environment.gate import Alone, Gate, Holder, Turn
from simdb.storage.environment.handles import Handles
from simdb.storage.environment.map import READERS_MAX, open_map
from simdb.storage.environment.right import WriteRight
from simdb.storage.environment.transaction_numbers import check_next, check_number
from simdb.storage.files.open_files import OpenFiles
from simdb.storage.translation import MapFull, translate

BEGIN_TRIES = 20  # another process can make the map larger once more meanwhile

Result = TypeVar("Result")


class Environment:
    """An open LMDB environment, shared by all databases of this process on one directory."""

    def __init__(
        self,
        path: str,
        *,
        is_read_only: bool,
        durability: str,
        map_bytes: int,
        timeout: float | None,
    ) -> None:
        """Open `path`, an existing directory; makes an empty data file unless read-only.

        `timeout`: seconds to wait while another process puts another data file in place.
        """
        self.path = path
        self.durability = durability
        self.is_read_only = is_read_only
        self.map_bytes = map_bytes
        self.generation = 0  # changes whenever pointers into the map become void
        self._pid = os.getpid()
        self._gate = Gate(f"snapshots and transactions of this process on {path}")
        self._turn = Turn()
        self._right: weakref.ref[WriteRight] | None = None
        self.handles = Handles(path)
        self._lmdb: Any = None
        self._files = OpenFiles(
            path, is_read_only=is_read_only, is_synced=durability == "full", timeout=timeout
        )
        self.presence, self._watch = self._files.presence, self._files.watch
        try:
            self._lmdb = self._open()
            with self.reading():
                self._watch.walk()
            check_number(self._lmdb, path, self.reading)
        except BaseException:
            if self._lmdb is not None:
                self._lmdb.close()
            self._files.close()
            raise

    def begin(self, *, tries: int = BEGIN_TRIES) -> Holder:
        """Begin a read transaction; whoever has its holder gives it back with `end`."""
        holder = self._gate.enter()
        try:
            if self._lmdb is None or self._pid != os.getpid():
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
        """End the transaction of a holder, once."""
        if holder.transaction is not None:  # as it is in a forked child, see leave_to_parent
            try:
                holder.transaction.abort()
            finally:
                self._gate.leave(holder)

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A read transaction for a `with` statement."""
        holder = self.begin()
        try:
            yield holder.transaction
        finally:
            self.end(holder)

    def begin_write(self, timeout: float | None) -> WriteRight:
        """Become the only writer, until the right is ended; BusyError after `timeout` seconds."""
        self.check_writable()
        right = WriteRight(self.path, self._turn, self._files.writer_lock, self._gate)
        right.take(timeout)
        self._right = weakref.ref(right)
        self.check_writable()
        return right

    def write(self, change: Callable[[Any], Result], *, base: int | None = None) -> Result:
        """Run `change` in a write transaction and commit it.

        `base`: the number of the transaction that the change was made for.  Raises `MapFull` when
        the map has no room: nothing is changed then, and `grow` followed by another call will do.
        ReplacedError when the files are not those that were opened, or others have written after
        `base`.  Nothing is changed either when `change` raises.
        """
        self.check_writable()
        number = None
        try:
            with self._gate.held(), self._lmdb.begin(write=True, buffers=True) as transaction:
                self._watch.begin_own()
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
            self._watch.end_own(number)

    def check_pages(self, only: Collection[bytes] | None = None) -> None:
        """CorruptError where LMDB cannot bear the pages; `only`: of these sub-databases.

        Before anything is dropped, which frees the pages that its values say they have.
        """
        self._watch.walk(only)

    def grow(self, needed_bytes: int, right: WriteRight) -> None:
        """Double the map until it has `needed_bytes` more; nobody may be reading meanwhile."""
        with self._alone("the database must grow beyond its map", right):
            now = status.map_bytes(self._lmdb)
            wanted = max(2 * now, now + 2 * needed_bytes)
            self.generation += 1
            try:
                self._lmdb.set_mapsize(wanted)
            except (lmdb.Error, MemoryError, OverflowError) as error:
                # LMDB has given up the map that it had.
                self._open_anew()
                raise FullError(
                    f"{self.path} cannot map {wanted} bytes, so what was to be written has no"
                    f" room; nothing was changed: {error}"
                ) from error
            self.map_bytes = wanted

    def reopen(
        self,
        replacement: str | None,
        right: WriteRight | None = None,
        *,
        is_read_only: bool | None = None,
    ) -> None:
        """Close and open again, with another data file (a path) moved into place if given.

        Only who is alone, see `Presence.alone`, may give one.
        """
        with self._alone("the data file is to be opened anew", right):
            self.generation += 1
            was_read_only = self.is_read_only
            try:
                if replacement is not None:
                    self._files.put_in_place(replacement)
                if is_read_only is not None:
                    self.is_read_only = is_read_only
                self._open_anew()
            except BaseException as error:
                # Whoever has it open goes on as before.
                self.is_read_only = was_read_only
                if replacement is not None:
                    self.presence.follow()
                self._open_anew()
                if isinstance(error, OSError) and not isinstance(error, Error):
                    translate(error, self.path)
                raise

    def close(self) -> None:
        """Close; BusyError while transactions do not end, other errors when it is closed."""
        if self._pid != os.getpid():
            return
        if self._lmdb is None:
            self._files.close()  # an exception may have kept it from that
            return
        with self._alone("the database is to be closed", None):
            environment, self._lmdb = self._lmdb, None
            try:
                if self.durability == "process" and not self.is_read_only:
                    environment.sync(True)
            except lmdb.Error as error:
                raise FullError(
                    f"{self.path} is closed, but its disk did not take what was committed since it"
                    f" was opened; that is lost with the power: {error}"
                ) from error
            finally:
                self.generation += 1
                environment.close()
                self._files.close()

    def subdatabase(self, name: bytes) -> Any:
        """The handle of a sub-database that was attached or created; a transaction is open.

        CorruptError where somebody has damaged the file since it was looked at.
        """
        self._watch.look()
        return self.handles[name]

    def attach(self, names: Iterable[bytes]) -> None:
        """Open sub-databases; FormatError when one is not there."""
        while True:
            try:
                with self._gate.held():
                    self.check_usable()
                    return self.handles.attach(self._lmdb, names)
            except lmdb.MapResizedError:
                self._adopt_size()
            except lmdb.Error as error:
                translate(error, self.path)

    def create_subdatabases(self, names: Iterable[bytes], transaction: Any) -> None:
        """Make sub-databases in a write transaction."""
        self.handles.create(self._lmdb, names, transaction)

    def copy_to(self, path: str) -> None:
        """Write a compacted copy of the data file to the new file `path`."""
        with self.reading() as transaction:
            self.check_pages()
            copy_compacted(self._lmdb, transaction, self.handles.every(), path)

    def sizes(self, transaction: Any) -> tuple[int, int, int]:
        """Bytes of the data file, of the pages in use and of the map."""
        self._watch.look()
        return self.presence.data_bytes, *status.sizes(
            self._lmdb, transaction, self.handles.every()
        )

    def readers(self, *, clears: bool = True) -> list[tuple[int, int, int]]:
        """(process, thread, transaction) of each reader slot in use; `clears` those of the dead."""
        with self._gate.held():
            self.check_usable()
            return status.readers(self._lmdb, clears=clears)

    @property
    def used_bytes(self) -> int:
        """See `status.used_bytes`."""
        return status.used_bytes(self._lmdb)

    @property
    def last_number(self) -> int:
        """See `status.last_number`."""
        return status.last_number(self._lmdb)

    def is_idle(self, right: WriteRight) -> bool:
        """Whether nobody but who has `right` has a transaction of this process open."""
        return self._gate.is_idle(besides=right.holder)

    @property
    def can_be_alone(self) -> bool:
        """Whether the place lets us have lock files, which tell who else is here."""
        return self._files.can_be_alone

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return self._lmdb is not None

    @property
    def is_foreign(self) -> bool:
        """Whether it was opened by the parent of this process."""
        return self._pid != os.getpid()

    def _alone(self, why: str, right: WriteRight | None) -> Alone:
        """Keep everybody out but who has `right`, or this thread's, for a `with` statement."""
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
        """Close and open again, with all handles; nobody is inside."""
        environment, self._lmdb = self._lmdb, None
        if environment is not None:
            environment.close()
        self._lmdb = self._open()
        self.handles.renew(self._lmdb)

    def _begin_again(self, error: Exception, tries: int) -> Holder:
        """Begin after a try that failed in a way that can be mended."""
        if not tries:
            translate(error, self.path)
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
        return self.begin(tries=tries - 1)

    def _adopt_size(self) -> None:
        """Take over the larger map that another process has given to the file."""
        self._watch.check_metas()  # damaged ones say that it is larger, too
        with self._alone("another process has made the database larger", None):
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
        """Raise ReadOnlyError unless it may be written; see `check_usable`."""
        self.check_usable()
        if self.is_read_only:
            raise ReadOnlyError(f"{self.path} was opened for reading; open it with mode 'w' or 'c'")

    def leave_to_parent(self) -> None:
        """In a forked child: let go of everything without touching what the parent goes on with.

        The inherited environment must not be closed, nor its transactions ended: both would change
        the table of readers that the processes share.  LMDB's binding drops them harmlessly when
        nobody refers to them, and only then lets this process open the path again.
        """
        self._gate.forget_all()
        self.handles.forget()
        self._lmdb = None
        self._turn = Turn()
        self._files.close()
