"""Burst: lets threads and processes use one database at once, and end what others use.

The documents of the session's model are kept, so every reader must find them.  Documents of the
burst have their own ids, from which their texts follow.  At the end, every document whose verb has
returned must be stored.  A document whose verb raised an error of simdb may be stored, unless the
error came before the commit.  No other document may be stored, and a transaction has stored all of
its documents or none.  Then they are deleted, and the session goes on as before.

Processes are killed: writers, which replace a pair of documents by the next one in each
transaction, and readers, for which every snapshot has just one pair of each writer.
"""

import faulthandler
import itertools
import os
import random
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import asking
import simdb
from cases import Child, outcome_of

JOIN_SECONDS, CHILD_SECONDS = 60, 30
SHORT_SECONDS, LONG_SECONDS = 0.15, 1.0
SETTINGS = {"map_size": 1 << 20, "timeout": 0.3}
PATIENT = {"timeout": 30}
WRITERS, READERS = 2, 2
MEDDLERS = 0.2


def metadata_of(id):
    return {"x": "y" * 4000} if id.startswith("large") else None


@dataclass(eq=False)
class Shared:
    """A write transaction that any thread may use; `ids` were inserted before it was ended."""

    transaction: simdb.WriteTransaction
    ids: list = field(default_factory=list)
    maybe: list = field(default_factory=list)
    ended: str = ""


class World:
    """The databases, snapshots and transactions that threads share, and what they have stored."""

    def __init__(self, session, own):
        """Open the database of the session once or twice."""
        self.path, self.model = session.path, session.model
        self.document_of = session.document_of
        self.settings = SETTINGS | {"durability": own.choice(["process", "none"])}
        self.stop, self.guard = threading.Event(), threading.Lock()
        self.opened, self.snapshots, self.transactions, self.ended = [], [], [], []
        self.databases = [self.open() for _ in range(own.choice([1, 1, 2]))]
        self.sure, self.maybe, self.problems = set(), set(), []
        self.known, self.acts, self._numbers = self.model.live_ids(), 0, itertools.count()

    def open(self):
        """Open one more database on the directory."""
        database = simdb.open(self.path, "w", **self.settings)
        self.opened.append(database)
        return database

    def fresh(self, kind):
        """Return a new id; its document may be stored in the end or not."""
        id = f"{kind} {next(self._numbers)}"
        with self.guard:
            self.maybe.add(id)
        return id

    def keep(self, ids):
        """Note that the documents are stored and committed."""
        with self.guard:
            self.sure.update(ids)

    def insert(self, shared, id):
        """Insert into a shared transaction, which another thread may end meanwhile."""
        shared.maybe.append(id)
        shared.transaction.insert(id, self.document_of(id))
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
            alone = is_first and shared.ended == f"{how} under way"
            shared.ended = how if alone else "by several"
            if shared in self.transactions:
                self.transactions.remove(shared)
                self.ended.append(shared)

    def readable(self):
        """Return every open object that has reading verbs."""
        with self.guard:
            others = [shared.transaction for shared in self.transactions]
            return [*self.databases, *self.snapshots, *others]

    def close(self):
        """End and close everything in one thread, which must work."""
        for snapshot in self.snapshots:
            snapshot.close()
        for shared in list(self.transactions):
            shared.transaction.abort()
            shared.ended = shared.ended or "abort"
            self.ended.append(shared)
        for database in self.opened:
            database.close()

    def wrong(self, found):
        """Yield what is wrong with the documents found in addition to the model."""
        if self.sure - found:
            yield f"acknowledged documents are missing: {list(self.sure - found)[:5]}"
        allowed = self.maybe.union(*(shared.maybe for shared in self.ended))
        if found - allowed - self.sure:
            yield f"documents were never inserted: {list(found - allowed - self.sure)[:5]}"
        for shared in self.ended:
            there = found & set(shared.ids)
            if shared.ended == "commit" and len(there) < len(shared.ids):
                yield f"of a committed transaction, only {there} are stored"
            elif shared.ended == "abort" and found & set(shared.maybe):
                yield f"{found & set(shared.maybe)} of an aborted transaction are stored"
            elif 0 < len(there) < len(shared.ids):
                yield f"only {there} of a transaction's {shared.ids} are stored"


def ask(world, chance):
    ask_one(world, chance.choice(world.readable()), chance)


def ask_one(world, reader, chance):
    """Ask an object that reads, which has the documents of the model and more."""
    model, known = world.model, world.known
    verb = chance.randrange(4)
    if verb == 0 or not known:
        assert list(map(asking.key, reader))[: len(known)] == list(map(asking.key, known))
        assert len(reader) >= len(known)
    elif verb == 1:
        id = chance.choice(known)
        assert id in reader
        assert reader.get(id).metadata == model.metadata[model.places[id]]
    else:
        ids = chance.sample(known, min(len(known), chance.choice([1, 3, 30])))
        bound = {"similarity": 0.8} if model.is_minhash else {"distance": 3}
        bound |= {"search": chance.choice(["auto", "exhaustive"]), "recall": 1.0}
        if verb == 2:
            rows = [reader.query(id=ids[0], **bound)]
        else:
            rows = reader.query_many(ids=ids, **bound)
        for id, row in list(zip(ids, rows, strict=False))[:3]:
            matches, near = model.matches(model.entry(id), bound, without=id)
            assert set(matches) - near <= {match.id for match in row}, f"{id!r}: {matches}"


def stream(world, chance):
    """Read pairs while the search is still running."""
    bound = {"similarity": 0.8} if world.model.is_minhash else {"distance": 1}
    for at, _ in enumerate(chance.choice(world.readable()).find_all(**bound).chunks()):
        if at > 20 or world.stop.is_set():
            return


def take_snapshot(world, chance):
    """Open a snapshot, or close a snapshot that other threads may use."""
    with world.guard:
        one = world.snapshots.pop(0) if len(world.snapshots) > 3 else None
    if one is not None:
        one.close()
    snapshot = chance.choice(world.databases).read()
    with world.guard:
        world.snapshots.append(snapshot)


def insert(world, chance):
    """Store one document, or several, with and without much metadata; delete a few again."""
    database = chance.choice(world.databases)
    kind = chance.choice(["one", "small", "large"])
    ids = [world.fresh(kind) for _ in range(1 if kind == "one" else chance.choice([3, 40]))]
    database.insert_many(ids, map(world.document_of, ids), map(metadata_of, ids))
    gone = ids[:1] if chance.random() < 0.3 else []
    world.keep(ids[len(gone) :])
    assert database.delete_many(gone) == len(gone)
    with world.guard:
        world.maybe.difference_update(gone)


def transact(world, chance):
    """Begin a transaction for all threads, insert, and end it unless another thread has."""
    shared = Shared(chance.choice(world.databases).write())
    with world.guard:
        world.transactions.append(shared)
    try:
        for _ in range(chance.choice([1, 5, 20])):
            world.insert(shared, world.fresh("part"))
            if chance.random() < 0.2:
                ask_one(world, shared.transaction, chance)
    finally:
        world.finish(shared, chance.choice(["commit", "commit", "abort"]))


def meddle(world, chance):
    """Use or end a transaction of another thread."""
    with world.guard:
        shared = chance.choice(world.transactions) if world.transactions else None
    if shared is None:
        time.sleep(0.002)
    elif chance.random() < MEDDLERS:
        world.finish(shared, chance.choice(["commit", "abort"]))
    else:
        world.insert(shared, world.fresh("meddled"))


def close(world, chance):
    """Close a database that other threads are using, and open it again."""
    time.sleep(chance.uniform(0, 0.05))
    at = chance.randrange(len(world.databases))
    world.databases[at].close()
    world.databases[at] = world.open()


def compact(world, chance):
    time.sleep(chance.uniform(0, 0.1))
    chance.choice(world.databases).compact()


def fork(world, chance):
    """Fork a child, which reads its own database, and its parent's or an error."""

    def read():
        with suppress(simdb.ForkedError, simdb.ClosedError, simdb.BusyError):
            assert set(world.known) <= set(world.databases[0])
        with suppress(simdb.Error), simdb.open(world.path, "r") as own:
            assert set(world.known) <= set(own)

    time.sleep(chance.uniform(0, 0.1))
    assert not outcome_of(read, CHILD_SECONDS).error


def call_back(world, chance):
    """Close, abort, insert or query in a callback of a verb that is running."""
    database, inner = chance.choice(world.databases), world.fresh("inner")
    with database.write() as transaction:
        deed = chance.choice([
            transaction.abort, transaction.commit, database.close,
            lambda: ask_one(world, transaction, chance),
            lambda: transaction.insert(inner, world.document_of(inner)),
            lambda: database.insert(inner, world.document_of(inner)),
        ])  # fmt: skip
        ids = [world.fresh("called") for _ in range(100)]
        texts = [world.document_of(id) for id in ids]
        if chance.random() < 0.5:
            transaction.insert_many(once(deed, ids), texts)
        else:
            transaction.query(texts[0], accept=lambda _id: not deed())


def once(deed, values):
    """Yield the values, and call `deed` in the middle."""
    for at, value in enumerate(values):
        if at == len(values) // 2:
            deed()
        yield value


TROUBLE = (close, meddle, take_snapshot, compact)
ACTORS = (
    ask, ask, stream, take_snapshot, insert, insert, transact, meddle, close, compact, call_back,
)  # fmt: skip


def keep_at(world, actor, seed):
    """Repeat one action until the time is over; errors of simdb are allowed."""
    chance = random.Random(seed)
    while not world.stop.is_set():
        try:
            actor(world, chance)
        except simdb.Error:
            time.sleep(0.001)
        except BaseException:
            world.problems.append(f"{actor.__name__}: {traceback.format_exc(limit=-8)}")
        world.acts += 1


def write_pairs(world, number, telling):
    """Replace a pair of documents by the next one in each transaction, and report each."""
    chance = random.Random(f"{os.getpid()}")
    with simdb.open(world.path, "w", **world.settings | PATIENT) as database:
        while True:
            with suppress(simdb.BusyError), database.write() as transaction:
                olds = [id for id in pairs_in(transaction) if pair(id)[0] == number]
                step = 1 + max((pair(id)[1] for id in olds), default=0)
                assert transaction.delete_many(olds) in (0, 2)
                ids = [f"pair {number} {step} {side}" for side in "ab"]
                transaction.insert_many(ids, map(world.document_of, ids))
                transaction.commit()
                os.write(telling, b"%d %d\n" % (number, step))
            if number == 0 and chance.random() < 0.1:
                with suppress(simdb.BusyError):
                    database.compact()


def read_pairs(world):
    """Take snapshots, which must have whole pairs and never change."""
    with simdb.open(world.path, "r", **PATIENT) as database:
        while True:
            with database.read() as snapshot:
                before = list(snapshot)
                assert before[: len(world.known)] == world.known
                assert_whole(pairs_in(snapshot))
                time.sleep(0.01)
                assert list(snapshot) == before, "a snapshot has changed"


def pairs_in(reader):
    return [id for id in reader if str(id).startswith("pair ")]


def pair(id):
    """Return the numbers of the writer and of its transaction."""
    return tuple(map(int, id.split()[1:3]))


def assert_whole(ids):
    """Check that there are two documents of one transaction of each writer, or none."""
    numbers = [pair(id) for id in ids]
    assert len(set(numbers)) == len(dict(numbers)) == len(ids) / 2, ids


class Crowd:
    """Processes that write and read pairs; `said` has the last reported step of each writer."""

    def __init__(self, world):
        """Start them."""
        self._reading, self._telling = os.pipe()
        os.set_blocking(self._reading, False)
        self._works = [partial(write_pairs, world, at, self._telling) for at in range(WRITERS)]
        self._works += [partial(read_pairs, world)] * READERS
        self._children = [Child(work) for work in self._works]
        self.said, self.kills, self.complaints = {}, 0, []

    def listen(self):
        """Take what was reported since."""
        with suppress(BlockingIOError):
            for line in os.read(self._reading, 1 << 20).decode().splitlines():
                number, step = map(int, line.split())
                self.said[number] = step

    def kill(self, at):
        """Kill a process."""
        self.complaints += [said for said in [self._children[at].kill()] if said]
        self.kills += 1

    def suffer(self, own):
        """Kill some of them and start them again; all writers must go on."""
        for _ in range(own.choice([2, 5])):
            time.sleep(own.uniform(0, 0.2))
            at = own.randrange(len(self._children))
            self.kill(at)
            self._children[at] = Child(self._works[at])
        self.listen()
        begun, late = dict(self.said), time.monotonic() + JOIN_SECONDS
        while any(self.said.get(at, 0) <= begun.get(at, 0) for at in range(WRITERS)):
            assert time.monotonic() < late, f"writers hang: {begun}, {self.said}"
            time.sleep(0.01)
            self.listen()

    def end(self):
        for at in range(len(self._children)):
            self.kill(at)
        self.listen()
        os.close(self._reading)
        os.close(self._telling)


def burst(session):
    """Let threads, processes or both use the database at once, and end what the others use."""
    own = random.Random(f"burst {session.case.seed} {session.steps}")
    session.close()
    base, session.model = session.model, session.model.copy()
    world = World(session, own)
    drawn = [own.choice(TROUBLE), insert, *own.choices(ACTORS, k=own.choice([1, 2, 4]))]
    drawn += [fork] * (session.case.forks and own.random() < 0.3)
    is_crowd = session.case.forks and own.random() < 0.6
    drawn = [] if is_crowd and own.random() < 0.5 else drawn
    crowd = Crowd(world) if is_crowd else None
    if drawn:
        run_threads(world, drawn, own, LONG_SECONDS if session.draw.count else SHORT_SECONDS)
    elif crowd:
        crowd.suffer(own)
    if crowd:
        crowd.end()
        world.problems += crowd.complaints
        session.case.counts["kills"] += crowd.kills
        session.case.counts["transactions of processes"] += sum(crowd.said.values())
    world.close()
    session.open("w")
    settle(session, world, base, crowd.said if crowd else {})
    session.case.counts["acts of threads"] += world.acts
    return f"{[actor.__name__ for actor in drawn]}, {world.acts} acts, crowd: {is_crowd}"


def run_threads(world, actors, own, seconds):
    """Let a thread repeat each action for some seconds."""
    threads = [
        threading.Thread(target=keep_at, args=(world, actor, own.random()), daemon=True)
        for actor in actors
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    world.stop.set()
    late = time.monotonic() + JOIN_SECONDS
    for thread in threads:
        thread.join(max(0, late - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        faulthandler.dump_traceback(all_threads=True)
        raise RuntimeError("threads hang")


def settle(session, world, base, said):
    """Compare the documents of the burst, delete them, and go on with the model."""
    ids, known = list(session.database), world.known
    more, pairs = ids[len(known) :], pairs_in(ids)
    wrong = [*world.problems[:9], *world.wrong(set(more) - set(pairs))]
    assert wrong == [], "\n".join(wrong)
    assert list(map(asking.key, ids[: len(known)])) == list(map(asking.key, known))
    assert_whole(pairs)
    stored = dict(map(pair, pairs))
    assert all(stored[number] >= step for number, step in said.items()), f"{stored}, {said}"
    session.model.insert(
        more, list(map(session.document_of, more)), list(map(metadata_of, more)), session.draw.now
    )
    if not session.draw.count:
        assert asking.holds(session.database, session.model)
    session.look(session.database)
    assert session.database.delete_many(more) == len(more)
    session.model = base
