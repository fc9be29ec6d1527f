"""Handle: what a `Database` holds of its store, which a forked child opens again.

LMDB forbids a child to use the environment that its parent opened, or to close it.  So in a child
the first verb opens the directory once more, in the same mode.  Snapshots, transactions and results
stay with the store on which they began, and are refused in the child.
"""

import os
import threading

from simdb.engine.state.opening import open_store
from simdb.engine.state.store import Store
from simdb.ground.errors import ForkedError

_lock = threading.Lock()


class Handle:
    """A database that one process opened, for it and for the children that it forks."""

    def __init__(self, store: Store, mode: str, durability: str) -> None:
        """Hold the open `store`; it was opened with `mode` and `durability`."""
        self._store = store
        self._mode = "r" if mode == "r" else "w"  # the database exists by now
        self._durability = durability
        self._process = os.getpid()
        self._parent_wrote = False
        self._closing = threading.Lock()

    @property
    def store(self) -> Store:
        """The store of this process; in a forked child it is opened when it is first needed."""
        store = self._store
        return store if store.environment.is_open or store.is_closed else self._reopened()

    @property
    def latest(self) -> Store:
        """The store as it is, even if it is the parent's."""
        return self._store

    @property
    def is_inherited(self) -> bool:
        """Whether a parent of this process opened the database."""
        return self._process != os.getpid()

    def check_may_write(self) -> None:
        """Raise ForkedError in a child that was forked in the middle of a write transaction.

        The parent may wait for this child, and the child would wait for the transaction.
        """
        store = self.store
        if self._parent_wrote:
            path = store.environment.path
            raise ForkedError(
                f"process {self._process} was writing to {path} when it forked this one, which"
                " only reads then; fork outside of write transactions, or open the database again"
                f" in this process: simdb.open({path!r}, 'w')"
            )

    def close(self) -> None:
        """Close the store; in a child, the parent's stays open."""
        if self._store.environment.is_foreign:
            self._store.close()
            return
        with self._closing:
            self._store.close()

    def _reopened(self) -> Store:
        with _lock:
            parents = self._store
            if parents.environment.is_foreign and not parents.is_closed:
                self._parent_wrote = parents.environment.parent_wrote
                self._store = open_store(
                    parents.environment.path,
                    self._mode,
                    None,
                    durability=self._durability,
                    map_size=parents.environment.map_bytes,
                    timeout=parents.timeout,
                    allow=parents.allowed,
                )
                self._closing = threading.Lock()  # a thread of the parent may have held the old one
            return self._store


def _renew_in_child() -> None:
    """After a fork, free the lock: a thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_in_child)
