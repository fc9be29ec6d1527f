"""The write state: a write transaction without its verbs.

It has the write lock, the state it began from, and the changes staged on top.  A verb that changes
something runs alone; verbs that only read run at the same time.  So no other thread, and no
function that a verb calls, can change, commit or abort the transaction in the middle of a verb.  A
verb that fails, at any instruction, leaves the changes staged before it.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from threading import get_ident
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.errors import ClosedError, Error, InputError, undoing
from simdb.core.threads import crew
from simdb.database.state.incoming import rehashed, repeated
from simdb.database.state.state import State
from simdb.database.state.store import GROWTH_BYTES, Store
from simdb.database.state.view import View
from simdb.database.write.commit import Ahead, Writer, write_ahead, write_staged
from simdb.database.write.staging import Saved, Staging
from simdb.storage import Gate, Holder, Manifest, MapFull, Membership, StoredBatch


class WriteState:
    """The one write transaction of a database, from its begin to its end."""

    def __init__(self, store: Store) -> None:
        """Wait for the write lock, and begin."""
        self.is_ended = True
        self.store = store
        self.gate = Gate("verbs of this transaction", timeout=store.timeout)
        self._preparing = threading.RLock()  # reading prepares staged changes for the kernel
        self._is_torn = False
        self._has_written = False  # or has tried to
        self._right = store.begin_write()
        base = None
        try:
            base = store.state()
            self._begin_from(base)
            self.staging = Staging(store, self._base, self.source, self._base_view.kept)
        except BaseException:
            # Staged changes are in a reference cycle, which would keep the state open for long.
            if base is not None:
                base.source.end()
            self._right.end()
            raise
        self.is_ended = False

    def alone(self, why: str) -> "Change":
        """Keep all other verbs out for a `with` statement; an exception undoes its changes."""
        return Change(self, why)

    def state(self) -> State:
        """Return the state with all staged changes, for the duration of a verb."""
        return self._entered(self._view)

    def hold(self) -> State:
        """Return the committed state that the transaction began from, for one verb."""
        return self._entered(lambda: self._base_view)

    def base(self) -> State:
        """Return the committed state that the transaction began from, for a running verb."""
        return State(self.store, self._base_view, self.source, self._base.manifest)

    def current(self, threads: int = 1) -> State:
        """Return the state with all staged changes, for a verb that has entered already."""
        state = State(self.store, self._view(), self.source, self.staging, staged=self)
        state.threads = threads
        return state

    @property
    def changes(self) -> Staging:
        """The staged changes, as a `State` reads them."""
        return self.staging

    def membership(self) -> Membership | None:
        """Return the maintained clusters, with all staged changes; None if there are none."""
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
        """Make all staged changes durable and visible, and end, even if that fails."""
        with self.gate.alone("the transaction must be idle to commit", is_patient=True):
            self.check_open()
            try:
                self._check_whole()
                if self.staging.has_changes or self.staging.notes:
                    with crew():
                        self.membership()
                        self._write()
            finally:
                self.end()

    def abort(self) -> None:
        """Discard all staged changes, and end; aborting again does nothing."""
        if self.is_ended:
            return
        if self.store.environment.is_foreign:
            self.is_ended = True
            return
        with self.gate.alone("the transaction must be idle to abort"):
            self.end()

    def end(self) -> None:
        """Release the state and the write lock; no verb may be running."""
        if not (self._is_torn or self._has_written):
            self.staging.give_back()
        self.source.end()
        self._right.end()
        self.is_ended = True

    def check_open(self) -> None:
        """Raise ClosedError after the transaction has ended, ForkedError in a forked child."""
        if self.is_ended:
            raise ClosedError(
                "the write transaction has ended; begin another with Database.write()"
            )
        self.source.check_open()

    def _begin_from(self, base: State) -> None:
        """Begin from a committed state, and take over its LMDB transaction."""
        self._base_view, self.source = base.view, base.source
        self._base = self.store.contents(base.source)

    def _view(self) -> View:
        with self._preparing:
            return self.staging.view(self._base_view)

    def _entered(self, view: Callable[[], View]) -> State:
        gate = self.gate
        holder = gate.enter(get_ident())
        try:
            self.check_open()
            return State(
                self.store, view(), self.source, self.staging, holder, gate=gate, staged=self
            )
        except BaseException:
            gate.leave(holder)
            raise

    def _check_whole(self) -> None:
        if self._is_torn:
            raise Error(
                "an exception interrupted the update of the maintained clusters; abort this write"
                " transaction, and begin a new one"
            )

    def take_back(self, saved: Saved) -> None:
        """Discard the changes staged since `saved`."""
        with self._preparing:
            # Clusters settled since then include documents that are now taken back.
            self._is_torn = self._is_torn or self.staging.is_settled_since(saved)
            self.staging.restore(saved)

    def _write(self) -> None:
        """Commit, again after each growth of the map that the commit needs."""
        self._has_written = True
        environment = self.store.environment
        while True:
            base = self._base
            ahead = Ahead(self.store, base.manifest, base.transaction_number)
            try:
                write_ahead(ahead, base, self.staging, self.source)
                number, manifest = environment.write(
                    partial(self._write_staged, ahead), base=ahead.number
                )
            except MapFull:
                self._grow()
            except BaseException:
                ahead.abandon()
                raise
            else:
                break
        stamp = number, environment.generation
        if self.staging.maintainer is not None:
            membership = self.staging.maintainer.membership
            membership.written()
            self.store.membership = stamp, membership
        if self.staging.merging is not None:
            self.store.merging = stamp, self.staging.merging
        kept = self.staging.kept or self._base_view.kept
        self.store.publish(self.staging.committed(number, manifest), kept)

    def _write_staged(self, ahead: Ahead, transaction: Any) -> tuple[int, Manifest]:
        """Write all staged changes; return the number of the LMDB transaction and the manifest."""
        writer = Writer(self.store, transaction)
        manifest = write_staged(ahead, writer, self._base, self.staging, self.source)
        return int(transaction.id()), manifest

    def _grow(self) -> None:
        """Make the map larger.  Pointers into it become invalid, so the base is read again."""
        self.source.end()
        self._base_view = self.store.empty_view()
        self.store.forget_views()
        try:
            self.store.environment.grow(GROWTH_BYTES, self._right)
        finally:
            self._begin_from(self.store.state())
        self.staging.rebase(self._base, self.source)


class Change:
    """A verb that changes a transaction, for the duration of a `with` statement."""

    __slots__ = ("_owner", "_saved", "_why", "_writing")

    def __init__(self, writing: WriteState, why: str) -> None:
        """Use `WriteState.alone` instead."""
        self._writing = writing
        self._why = why
        self._owner = Holder()
        self._saved: Saved | None = None

    def __enter__(self) -> WriteState:
        """Wait until no other verb is running, and return the transaction."""
        writing, self._owner.thread = self._writing, get_ident()
        writing.gate.block(self._owner, self._why, None, writing.store.timeout)
        try:
            writing.check_open()
            self._saved = writing.staging.saved()
        except BaseException:
            writing.gate.unblock(self._owner)
            raise
        return writing

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Let other verbs in, after taking back the changes if there was an exception."""
        writing = self._writing
        try:
            if kind is not None and self._saved is not None and not writing.is_ended:
                writing.take_back(self._saved)
        finally:
            writing.gate.unblock(self._owner)


def store_batch(
    store: Store, batch: StoredBatch, metadata: Sequence[tuple[int, bytes]], threads: int
) -> None:
    """Store new documents and commit; `metadata`: position in the batch and stored form.

    Raises InputError with an id that is stored already, or appears twice in the batch.
    """
    writing = WriteState(store)
    with undoing(writing.abort):
        with writing.alone("the transaction must be idle to insert"):
            writing.staging.threads = threads
            batch = rehashed(batch, writing.staging.id_key)
            for at in repeated(batch.hashes, batch.offsets, batch.content):
                _refuse(batch, at)
            found = writing.current().find(batch.offsets, batch.content, batch.hashes)
            taken = np.flatnonzero(found >= 0)
            if len(taken):
                _refuse(batch, int(taken[0]))
            writing.staging.insert(batch, metadata)
        writing.commit()


def _refuse(batch: StoredBatch, at: int) -> None:
    part = batch.part(at, at + 1)
    (id,) = kernel.decode_ids(part.offsets, part.content)
    raise InputError(f"the id {id!r} is given twice; each document needs an id of its own")
