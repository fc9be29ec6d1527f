"""World: the state that the threads of one trial share, and the checks at the end.

Every document that a thread stores has an id of its own.  At the end, every document must be there
whose verb has returned.  A document whose verb raised an error of simdb may be there, unless the
error came before the commit.  No other document may be there.  Of a transaction, all documents are
there or none.
"""

import itertools
import threading
from dataclasses import dataclass, field

import numpy as np

import simdb

STORED = 30_000
# Fingerprints of few bits have many pairs, and reading these takes a while.
BITS = np.random.default_rng(5).integers(0, 2**64, STORED, np.uint64) & np.uint64(0x3FFFF)
FOUND_DISTANCE = 1
OPTIONS = simdb.Options(delta_documents=200, growth=2, blocks=4)
SETTINGS = {"durability": "none", "map_size": 1 << 20, "timeout": 0.3}


@dataclass(eq=False)
class Shared:
    """A write transaction that any thread may use; `ids` were inserted before it was ended."""

    transaction: simdb.WriteTransaction
    ids: list = field(default_factory=list)
    maybe: list = field(default_factory=list)
    ended: str = ""


class World:
    """A directory, open as several databases, and what the threads have stored there."""

    def __init__(self, path, handles):
        """Open `path` `handles` times."""
        self.path = path
        self.stop = threading.Event()
        self.guard = threading.Lock()
        self.opened = []
        self.databases = [self.open() for _ in range(handles)]
        self.snapshots = []
        self.transactions = []
        self.ended = []
        self.acknowledged = set()
        self.uncertain = set()
        self.done = {}
        self.problems = []
        self._numbers = itertools.count()

    def open(self):
        """Open one more database on the directory."""
        database = simdb.open(self.path, "w", **SETTINGS)
        self.opened.append(database)
        return database

    def fresh(self, kind):
        """Return a new id."""
        return f"{kind} {next(self._numbers)}"

    def maybe(self, kind):
        """Return a new id whose document may or may not be there in the end."""
        id = self.fresh(kind)
        with self.guard:
            self.uncertain.add(id)
        return id

    def store(self, ids, action):
        """Call `action`, which stores all `ids` and commits."""
        with self.guard:
            self.uncertain.update(ids)
        action()
        with self.guard:
            self.uncertain.difference_update(ids)
            self.acknowledged.update(ids)

    def share(self, transaction):
        """Make a transaction available to all threads."""
        shared = Shared(transaction)
        with self.guard:
            self.transactions.append(shared)
        return shared

    def insert(self, shared, id, bits):
        """Insert into a shared transaction, which another thread may end meanwhile."""
        shared.maybe.append(id)
        shared.transaction.insert(id, bits)
        with self.guard:
            if not shared.ended:
                shared.ids.append(id)

    def finish(self, shared, how):
        """Commit or abort a shared transaction.

        "commit" is recorded if the call returned and no other thread has aborted.  The first thread
        that ends it says so before, so that documents inserted meanwhile count as uncertain.
        """
        with self.guard:
            is_first = not shared.ended
            shared.ended = shared.ended or f"{how} under way"
        getattr(shared.transaction, how)()
        with self.guard:
            if is_first and shared.ended == f"{how} under way":
                shared.ended = how
            else:
                shared.ended = "by several"
            if shared in self.transactions:
                self.transactions.remove(shared)
                self.ended.append(shared)

    def end(self):
        """End and close everything in one thread, which must work."""
        for snapshot in self.snapshots:
            snapshot.close()
        for shared in list(self.transactions):
            shared.transaction.abort()
            shared.ended = shared.ended or "abort"
            self.ended.append(shared)
        for database in self.opened:
            database.close()

    def look(self):
        """Yield what is wrong with the stored documents."""
        with simdb.open(self.path, "w", durability="process", timeout=0) as database:
            yield from (f"check: {finding}" for finding in database.check(deep=True))
            found = set(database)
            database.insert("written afterwards", 1)
        allowed = set(range(STORED)) | self.acknowledged | self.uncertain
        must = set(range(STORED)) | self.acknowledged
        for shared in self.ended:
            allowed.update(shared.maybe)
            if shared.ended == "commit":
                must.update(shared.ids)
            elif shared.ended == "abort" and found & set(shared.maybe):
                yield f"{found & set(shared.maybe)} of an aborted transaction are stored"
            elif 0 < len(found & set(shared.ids)) < len(shared.ids):
                yield f"only {found & set(shared.ids)} of a transaction's {shared.ids} are stored"
        gone, strange = must - found, found - allowed
        if gone:
            yield f"{len(gone)} acknowledged documents are missing, such as {list(gone)[:5]}"
        if strange:
            yield f"{len(strange)} documents were never inserted, such as {list(strange)[:5]}"


def prepare(path):
    """Make the database that every trial begins with a copy of."""
    with simdb.open(path, options=OPTIONS, durability="none") as database:
        database.insert_many(range(STORED), BITS)
