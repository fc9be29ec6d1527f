"""Pairs: combines each handle that a program can hold with each change under it.

A test crosses `CHANGES` with the things that a `Hand` holds, in this process or in an `Other` one.
A `World`, which is a dict, is what the answers are compared with.
"""

import os
import pickle
import random
import signal
import traceback
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from multiprocessing import Pipe
from typing import Any

import pytest
from readings import Entry, Held, assert_same_pairs, check_document, check_reading, columns

import simdb
from simdb.database import reading
from simdb.database.state import staged
from simdb.database.write import commit

WORDS = [f"w{number}" for number in range(400)]
TINY = {"delta_documents": 6, "growth": 2, "recall": 1.0, "keep_times": "inserted"}
FILLED = simdb.Options(passages=True, features=True, texts=True, **TINY)
CLUSTERED = simdb.Options(passages=True, features=True, keep_clusters="distance", **TINY)
SIGNED = simdb.Options(
    sketch=simdb.Minhash(), keep_clusters="similarity", texts=True, **TINY
)  # fmt: skip


@dataclass
class World:
    """The expected content of a database, to be changed with it; some ids are of one shard of two.

    `size`: documents of a large change.  `families`: number of kinds of texts.
    """

    options: simdb.Options
    size: int = 5
    families: int = 12
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    documents: dict[Any, Entry] = field(default_factory=dict)
    gone: list[Any] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    now: int = 1000
    made: int = 0

    def held(self, **own):
        own = {"notes": self.notes, "gone": self.gone[-9:]} | own
        return Held(self.documents, self.options, is_brief=True, sample=99, **own)

    def copy(self):
        """Return a world that changes by itself, and in the same way."""
        return pickle.loads(pickle.dumps(self))

    def new(self, count):
        """Return new documents."""
        ids: list[Any] = []
        while len(ids) < count:
            self.made += 1
            id = [f"d{self.made}", self.made, b"%d" % self.made][self.made % 3]
            if simdb.shard_of([id], 2)[0] == 1:
                ids.append(id)
        return {id: self.entry() for id in ids}

    def entry(self):
        """Return a document of a family, with some words changed or without words."""
        chance = self.chance
        words = random.Random(chance.randrange(self.families)).choices(WORDS, k=40)
        for _ in range(chance.choice([0, 0, 1, 3])):
            words[chance.randrange(3)] = WORDS[chance.randrange(3)]
        text = " ".join(words) if chance.random() > 0.03 else ""
        return Entry(text, {"at": chance.randrange(3)}, self.now)

    def some(self, count):
        return self.chance.sample(list(self.documents), min(count, len(self.documents)))

    def put(self, entries):
        for id, entry in entries.items():
            self.documents.pop(id, None)
            self.documents[id] = entry

    def drop(self, ids):
        for id in ids:
            del self.documents[id]
        self.gone += ids


def inserts(database, world, count=1):
    entries = world.new(count)
    database.insert_many(*columns(entries))
    world.put(entries)


def inserts_many(database, world):
    inserts(database, world, 3 * world.size)


def deletes(database, world):
    ids = world.some(world.size)
    assert database.delete_many(ids) == len(ids)
    world.drop(ids)


def deletes_by_metadata(database, world):
    """Delete the documents that were updated."""
    ids = [id for id, each in world.documents.items() if "new" in each.metadata]
    assert database.delete_where(lambda metadata: "new" in metadata) == len(ids)
    world.drop(ids)


def replaces(database, world):
    entries = {id: world.entry() for id in world.some(world.size // 2)}
    database.insert_many(*columns(entries), on_conflict="replace")
    world.put(entries)


def expires(database, world):
    times = sorted(each.time for each in world.documents.values())
    before = times[min(world.size // 2, len(times) - 1)]
    old = [id for id, each in world.documents.items() if each.time < before]
    assert database.expire(datetime.fromtimestamp(before, timezone.utc)) == len(old)
    world.drop(old)


def notes_and_updates(database, world):
    for id in world.some(3):
        metadata = {"at": world.chance.randrange(3), "new": world.made}
        database.update_metadata(id, metadata)
        world.documents[id] = world.documents[id]._replace(metadata=metadata)
    name, content = world.chance.choice("ab"), world.chance.choice([None, [world.made]])
    is_staged = not isinstance(database, simdb.Database)
    with nullcontext(database) if is_staged else database.write() as transaction:
        transaction.set_note(name, content)
    world.notes[name] = content


def claims(database, world):
    entries = {**world.new(world.size), **{id: world.documents[id] for id in world.some(1)}}
    bound = {"similarity": 0.8} if world.options.is_minhash else {"distance": 6}
    found = database.add_many_if_new(*columns(entries), **bound, recall=1.0)
    for (id, entry), row in zip(entries.items(), found, strict=True):
        is_near = id in world.documents or bool(world.held().matches(entry.text, **bound))
        assert bool(row) == is_near
        if not is_near:
            world.put({id: entry})


def aborts(database, world):
    with database.write() as transaction:
        inserts_many(transaction, world.copy())
        deletes(transaction, world.copy())
        transaction.set_note("a", "never")
        transaction.abort()


def in_child(work):
    """Do something in a forked child; return how it ended."""
    child = os.fork()
    if not child:
        with suppress(BaseException):
            work()
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def is_killed(database, world):
    """Let a child be killed when its commit is written, except for the manifest."""

    def work():
        commit.Writer.put_manifest = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
        with simdb.open(database.path, timeout=9) as own, own.write() as transaction:
            inserts_many(transaction, world)
            deletes(transaction, world)

    assert in_child(work) == -signal.SIGKILL


def merges(database, world):
    entries = world.new(world.size)
    with simdb.open(None, options=database.options) as other:
        other.insert_many(*columns(entries))
        assert database.merge(other) == len(entries)
    world.put(entries)


def compacts(database, world):
    database.compact()


def rebuilds(database, world):
    more = {} if world.options.is_minhash else {"polytopes": world.chance.randrange(3)}
    database.rebuild(**more)


def calibrates(database, world):
    if not world.options.is_minhash:
        database.calibrate(seed=world.made)


def copies(database, world):
    world.made += 1
    path = f"{database.path}-{world.made}-copy"
    database.copy(path)
    with simdb.open(path) as copy:
        check_reading(copy, world.held(), CHECKED)
        deletes(copy, world.copy())


def moves(database, world):
    """Move the directory away, where a child writes to it, and back."""
    away, entries = f"{database.path}-away", world.new(1)

    def work():
        with simdb.open(away, timeout=9) as own:
            own.insert_many(*columns(entries))

    os.rename(database.path, away)
    try:
        with pytest.raises(simdb.ReplacedError):
            inserts(database, world.copy())
        assert in_child(work) == 0
        world.put(entries)
    finally:
        os.rename(away, database.path)


CHANGES = {
    each.__name__: each
    for each in (
        inserts, inserts_many, deletes, deletes_by_metadata, replaces, expires, notes_and_updates,
        claims, aborts, is_killed, merges, compacts, rebuilds, calibrates, copies,
        moves,
    )
}  # fmt: skip
# Changes that a write transaction can stage, too.
STAGED = (inserts_many, deletes, deletes_by_metadata, replaces, expires, notes_and_updates, claims)
CHECKED = (
    "__len__", "keys", "__contains__", "contains_many", "get", "query", "first", "find_all",
    "times_many", "texts_many", "compare", "note", "cluster",
)  # fmt: skip


class Hand:
    """A handle, and the readings that were begun with it, such as a snapshot.

    `is_only`: no reading is begun, so no old state is kept.
    """

    def __init__(self, database, *, is_only=False, has_notes=True):
        self.database, self.is_only, self.has_notes = database, is_only, has_notes

    def begin(self, held):
        """Begin to read; later changes must not change the answers."""
        self.then = held
        if self.is_only:
            return
        self.snapshot = self.database.read()
        self.parts = [iter(self.database), self.database.items()]
        self.first = [next(each, None) for each in self.parts]
        self.pairs = self.database.find_all(**held.criteria[0], recall=1.0, verify="estimate")

    def check(self, held, shown=None):
        """Assert that the handle shows the last commit, and each reading its own state."""
        assert shown is None or not self.has_notes or shown == shown_by(self.database, *shown[:1])
        check_reading(self.database, held, CHECKED if self.has_notes else CHECKED[:-2])
        if self.is_only:
            return
        check_reading(self.snapshot, self.then, CHECKED)
        self.snapshot.close()
        ids, items = ([first, *rest] for first, rest in zip(self.first, self.parts, strict=True))
        assert ids == (self.then.ids or [None])
        assert [id for id, _ in items if id in self.then.texts] == self.then.some
        for id, found in items:
            if id in self.then.texts:
                check_document(self.then, id, found)
        assert_same_pairs(self.pairs, self.then, self.then.pairs(**self.then.criteria[0]))


def shown_by(database, is_planned):
    """Return the calibration that a handle sees and, if `is_planned`, its plan of a search."""
    bounds = [{"distance": 3}, {"distance": 9}, {"similarity": 0.8}] if is_planned else []
    plans = [database.plan(**each, recall=0.9, search="psm") for each in bounds]
    calibrated = database.stats().calibrated_count
    return is_planned, calibrated, [(each.recall, each.reason) for each in plans]


class Other:
    """A forked process that works on request, with its own hands."""

    def __init__(self, end, database=None):
        """Fork; `end` is an ExitStack that ends the process.  It holds the parent's `database`."""
        self.link, link = Pipe()
        self.child = os.fork()
        if not self.child:
            self.link.close()
            try:
                serve(link, [] if database is None else [Hand(database)])
            finally:
                os._exit(0)
        link.close()
        end.callback(self.end)

    def do(self, work, *given):
        self.link.send((work, given))
        error, answer = self.link.recv()
        assert not error, error
        return answer

    def end(self):
        self.link.close()
        os.waitpid(self.child, 0)


def serve(link, hands):
    reading.ITERATED_IDS, reading.ITERATED_DOCUMENTS = 16, 16
    with suppress(EOFError):
        while True:
            work, given = link.recv()
            try:
                link.send(("", work(hands, *given)))
            except BaseException:
                link.send((traceback.format_exc(), None))


def change(database, name, world):
    """Apply a change; return the world with it."""
    tick(world)
    CHANGES[name](database, world)
    return world


def tick(world):
    """Set the clock to the time of a world."""
    staged.time = lambda: world.now


def change_in(hands, path, name, world):
    """Apply a change in a process that opens the database for it; return None if it was busy."""
    try:
        with simdb.open(path, "w", timeout=0.01, durability="none") as database:
            return change(database, name, world)
    except simdb.BusyError:
        return None


def hold(hands, path):
    hands.append(Hand(simdb.open(path, "r")))


def begin_in(hands, held):
    for each in hands:
        each.begin(held)


def check_in(hands, held, shown=None):
    for each in hands:
        each.check(held, shown)


def read_in(hands, held):
    """Ask a handle in another process by the verbs that find documents."""
    for each in hands:
        check_reading(each.database, held, (*CHECKED, "find_clusters", "items", "nearest"))
