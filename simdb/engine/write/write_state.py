"""Writing: what a write transaction stands on, without its verbs.

That is the right to write, the state it began from, and what is staged on top of it.  A verb that
changes something is alone inside; verbs that read are there together.  So nothing is changed,
committed or aborted in the middle of a verb, neither by another thread nor by what a verb calls
back; and a verb that fails, wherever it is struck, leaves what was staged before it.
"""

import threading
from collections.abc import Callable, Sequence
from threading import get_ident
from types import TracebackType
from typing import Any

from simdb.engine.state.state import State
from simdb.engine.state.store import GROWTH_BYTES, Store
from simdb.engine.state.view import View
from simdb.engine.write.commit import write_staged
from simdb.engine.write.staging import Saved, Staging
from simdb.errors import ClosedError, Error
from simdb.storage.environment.gate import Gate, Holder
from simdb.storage.membership import Membership
from simdb.storage.translation import MapFull


class WriteState:
    """The one write transaction of a database, from its begin to its end."""

    def __init__(self, store: Store) -> None:
        """Wait for the right to write, and begin."""
        self.is_ended = True
        self._store = store
        self._gate = Gate("verbs of this transaction", timeout=store.timeout)
        self._preparing = threading.RLock()  # reading prepares what is staged for the kernel
        self._is_torn = False
        self._right = store.begin_write()
        try:
            self._begin_from(store.state())
            self.staging = Staging(store, self._base, self.source)
        except BaseException:
            self._right.end()
            raise
        self.is_ended = False

    def alone(self, why: str) -> "Change":
        """Keep all other verbs out for a `with` statement; what fails inside changes nothing."""
        return Change(self, why)

    def begin_change(self, owner: Holder, why: str) -> Saved:
        """Let `owner` be alone inside; what is staged now."""
        self._gate.block(owner, why, None, self._store.timeout)
        try:
            self.check_open()
            return self.staging.saved()
        except BaseException:
            self._gate.unblock(owner)
            raise

    def end_change(self, owner: Holder, failed: Saved | None) -> None:
        """Let others in; what was staged since `failed` is taken back first."""
        try:
            if failed is not None and not self.is_ended:
                self._take_back(failed)
        finally:
            self._gate.unblock(owner)

    def state(self) -> State:
        """The state with all that is staged, for the length of a verb."""
        return self._entered(self._view)

    def hold(self) -> State:
        """The state from before, for the length of a verb."""
        return self._entered(lambda: self._base_view)

    def current(self) -> State:
        """The state with all that is staged, for a verb that is inside already."""
        return State(self._view(), self.source, self.staging, staged=self)

    def metadata_of(self, ordinal: int) -> Any:
        """The metadata staged for a new document; None where there is none."""
        return self.staging.metadata_of(ordinal)

    def all_metadata(self) -> Sequence[tuple[int, bytes]]:
        """(ordinal, packed metadata) of every new document that has any."""
        return self.staging.metadata

    def membership(self) -> Membership | None:
        """The kept clusters, up to date with what is staged; None where none are kept."""
        maintainer = self.staging.maintainer
        if maintainer is None:
            return None
        with self._preparing:
            self._check_whole()
            self._is_torn = True
            maintainer.settle(self.current(), self.staging.deleted)
            self._is_torn = False
        return maintainer.membership

    def commit(self) -> None:
        """Make everything staged durable and visible, and end; ends also where that fails."""
        with self._gate.alone("the transaction is to commit", is_patient=True):
            self.check_open()
            try:
                self._check_whole()
                if self.staging.has_changes:
                    self.membership()
                    self._write()
            finally:
                self.end()

    def inside(self) -> set[Holder]:
        """Verbs of this thread that are in progress."""
        return self._gate.inside()

    def forgive(self, outer: set[Holder]) -> None:
        """Take verbs of this thread for ended, but `outer` ones; see `Gate.forgive`."""
        self._gate.forgive(outer)

    def abort(self) -> None:
        """Forget everything staged, and end; again is fine."""
        if self.is_ended:
            return
        if self._store.environment.is_foreign:
            self.is_ended = True
            return
        with self._gate.alone("the transaction is to abort"):
            self.end()

    def end(self) -> None:
        """Give everything back; nobody is inside."""
        self.source.end()
        self._right.end()
        self.is_ended = True

    def check_open(self) -> None:
        """Raise ClosedError after the end, ForkedError in a child of the process that began."""
        if self.is_ended:
            raise ClosedError("the write transaction has ended")
        self.source.check_open()

    def _begin_from(self, base: State) -> None:
        """Stand on a committed state, whose transaction this one ends."""
        self._base_view, self.source = base.view, base.source
        self._base = self._store.contents(base.source)

    def _view(self) -> View:
        with self._preparing:
            return self.staging.view(self._base_view)

    def _entered(self, view: Callable[[], View]) -> State:
        gate = self._gate
        holder = gate.enter(get_ident())
        try:
            self.check_open()
            return State(view(), self.source, self.staging, gate=gate, holder=holder, staged=self)
        except BaseException:
            gate.leave(holder)
            raise

    def _check_whole(self) -> None:
        if self._is_torn:
            raise Error(
                "an exception struck while kept clusters were being brought up to date; abort this"
                " write transaction, and begin another one"
            )

    def _take_back(self, saved: Saved) -> None:
        """Forget what was staged since `saved`."""
        with self._preparing:
            # Clusters that were settled in between know documents that are no more.
            self._is_torn = self._is_torn or self.staging.is_settled_since(saved)
            self.staging.restore(saved)

    def _write(self) -> None:
        """Commit, as often as the map must grow for it."""
        environment = self._store.environment
        while True:
            try:
                number = environment.write(self._write_staged, base=self._base.transaction_number)
            except MapFull:
                self._grow()
            else:
                break
        if self.staging.maintainer is not None:
            membership = self.staging.maintainer.membership
            membership.written()
            self._store.membership = (number, environment.generation), membership

    def _write_staged(self, transaction: Any) -> int:
        """Write everything staged; returns the number of the LMDB transaction."""
        write_staged(self._store, transaction, self._base, self.staging, self.source)
        return int(transaction.id())

    def _grow(self) -> None:
        """Make the map larger.  No pointer into it survives, so the base is read again."""
        self.source.end()
        self._base_view = self._store.empty_view()
        self._store.forget_views()
        try:
            self._store.environment.grow(GROWTH_BYTES, self._right)
        finally:
            self._begin_from(self._store.state())
        self.staging.rebase(self._base, self.source)


class Change:
    """A verb that changes a transaction, for the length of a `with` statement."""

    __slots__ = ("_owner", "_saved", "_why", "_writing")

    def __init__(self, writing: WriteState, why: str) -> None:
        """By `WriteState.alone`."""
        self._writing = writing
        self._why = why
        self._owner = Holder()
        self._saved: Saved | None = None

    def __enter__(self) -> None:
        """Wait until no other verb is inside."""
        self._owner.thread = get_ident()
        self._saved = self._writing.begin_change(self._owner, self._why)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others in, after taking back what an exception has cut off."""
        self._writing.end_change(self._owner, None if kind is None else self._saved)
