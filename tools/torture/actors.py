"""Actors: the actions of the threads of a trial; `actor(world, chance)` acts once."""

import os
import signal
import time
from contextlib import suppress

import numpy as np

import simdb
from world import BITS, FOUND_DISTANCE, STORED

CHILD_SECONDS = 20
MEDDLERS = 0.2


def ask(world, chance):
    """Query once, or many times, a database or any open snapshot or transaction."""
    ask_one(chance.choice(readable(world)), chance)


def ask_one(reader, chance):
    number = chance.randrange(STORED)
    verb = chance.randrange(6)
    if verb == 0:
        found = {match.id for match in reader.query(int(BITS[number]), distance=0)}
        assert number in found, (number, found)
    elif verb == 1:
        asked = BITS[chance.randrange(STORED // 2) :][: chance.choice([10, 3000])]
        rows = reader.query_many(asked, distance=FOUND_DISTANCE, search=method_of(chance))
        assert len(rows) >= len(asked), len(rows)
    elif verb == 2:
        assert reader.get(number).fingerprint.bits == int(BITS[number])
    elif verb == 3:
        assert len(reader) >= STORED
    elif verb == 4:
        assert sum(1 for _ in iter(reader)) >= STORED
    else:
        number in reader  # noqa: B015


def stream(world, chance):
    """Read pairs while the search is still running."""
    reader = chance.choice(readable(world))
    pairs = reader.find_all(distance=FOUND_DISTANCE)
    for at, chunk in enumerate(pairs.chunks()):
        assert (chunk.left != chunk.right).all() if hasattr(chunk, "left") else chunk
        if at > 20 or world.stop.is_set():
            return


def take_snapshot(world, chance):
    """Open a snapshot, or close one that other threads may be using."""
    with world.guard:
        one = world.snapshots.pop(0) if len(world.snapshots) > 3 else None
    if one is not None:
        one.close()
    snapshot = chance.choice(world.databases).read()
    with world.guard:
        world.snapshots.append(snapshot)


def insert(world, chance):
    """Store one document, or several, with and without much metadata."""
    database = chance.choice(world.databases)
    if chance.random() < 0.7:
        id = world.fresh("one")
        world.store([id], lambda: database.insert(id, chance.getrandbits(64)))
        return
    ids = [world.fresh("many") for _ in range(chance.choice([3, 300]))]
    bits = [chance.getrandbits(64) for _ in ids]
    metadata = [{"x": "y" * chance.choice([1, 4000])}] * len(ids)
    world.store(ids, lambda: database.insert_many(ids, bits, metadata))


def transact(world, chance):
    """Begin a transaction that all threads may use, insert, and end it if no other thread has."""
    shared = world.share(chance.choice(world.databases).write())
    try:
        for _ in range(chance.choice([1, 5, 20])):
            world.insert(shared, world.fresh("part"), chance.getrandbits(64))
            if chance.random() < 0.2:
                ask_one(shared.transaction, chance)
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
        world.insert(shared, world.fresh("meddled"), chance.getrandbits(64))


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
    """Fork a child, which reads a database of its parent, or is told why not, and its own."""
    time.sleep(chance.uniform(0, 0.2))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(CHILD_SECONDS)
            code = 2
            with suppress(simdb.ForkedError, simdb.ClosedError, simdb.BusyError):
                assert world.databases[0].get(1).fingerprint.bits == int(BITS[1])
            code = 3
            with suppress(simdb.Error), simdb.open(world.path, "r") as own:
                assert own.get(1).fingerprint.bits == int(BITS[1])
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, f"a forked child ended with {code}"


def call_back(world, chance):
    """Close, abort, insert or query in a callback of a verb that is running."""
    database = chance.choice(world.databases)
    with database.write() as transaction:
        deed = chance.choice([
            transaction.abort, transaction.commit, database.close,
            lambda: ask_one(transaction, chance),
            lambda: transaction.insert(world.maybe("inner"), 1),
            lambda: database.insert(world.maybe("inner"), 1),
        ])  # fmt: skip
        ids = [world.maybe("called") for _ in range(3000)]
        bits = np.array([chance.getrandbits(64) for _ in ids], np.uint64)
        how = chance.randrange(4)
        if how == 0:
            transaction.insert_many(ids, bits, progress=lambda _done: deed())
        elif how == 1:
            transaction.insert_many(ids, once(deed, bits.tolist()))
        elif how == 2:
            transaction.insert_batch(
                ids,
                bits,
                distance=1,
                search=simdb.Search(memory_limit=100_000),
                progress=lambda _done: deed(),
            )
        else:
            transaction.query(int(BITS[0]), distance=1, accept=lambda _id: not deed())


def once(deed, values):
    """Yield the values, and call `deed` in the middle."""
    for at, value in enumerate(values):
        if at == len(values) // 2:
            deed()
        yield value


def method_of(chance):
    return chance.choice([None, None, "exhaustive"])


def readable(world):
    """Return every open object that has reading verbs."""
    with world.guard:
        others = [shared.transaction for shared in world.transactions]
        return [*world.databases, *world.snapshots, *others]


ACTORS = {
    "ask": ask, "stream": stream, "snapshot": take_snapshot, "insert": insert,
    "transact": transact, "meddle": meddle, "close": close, "compact": compact, "fork": fork,
    "callback": call_back,
}  # fmt: skip
