"""Crowd: several processes use one database and are killed one after the other.

Two writers and a compacting writer change the ledger of tests/faults/tortured.py in turn.  Each
transaction also stores its writer's name and number; the writer tells the parent process after the
commit.  Readers hold snapshots, which must not change.  After each kill the other processes must go
on.  At the end every acknowledged transaction must be there, whole and once.
"""

import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress

import tortured
from soundness import assert_sound

import simdb
from trials import outcome_of

DONE = b"done"
FORK = multiprocessing.get_context("fork")
ROLES = ["writer", "writer", "compacting writer", "reader", "reader"]
HANGS_SECONDS = 60
LONGEST_PAUSE_SECONDS = 0.4
SETTINGS = {"timeout": 30, "map_size": tortured.LEAST_MAP}


class Worker:
    """A role with one process at a time; `acknowledged` counts its committed transactions."""

    def __init__(self, path, number, chance):
        self.path, self.number, self.chance = path, number, chance
        self.role = ROLES[number]
        self.acknowledged = 0
        self.start()

    def start(self):
        """Start the next process of this role."""
        durability = self.chance.choice(["full", "process", "none"])
        chance = random.Random(f"{self.chance.random()} {self.number}")
        self.said = tempfile.TemporaryFile()  # noqa: SIM115 - `kill` closes it
        self.told, telling = FORK.Pipe(duplex=False)
        given = self.said.fileno(), self.role, self.path, self.number, durability, chance, telling
        self.process = FORK.Process(target=work, args=given, daemon=True)
        self.process.start()
        telling.close()

    def kill(self):
        """Kill its process; return what it wrote to stderr, which is nothing if all was well."""
        self.process.kill()
        self.process.join()
        self.listen()
        with self.said:
            self.said.seek(0)
            said = self.said.read().decode(errors="replace")
        code = self.process.exitcode
        return said or ("" if code == -signal.SIGKILL else f"ended by itself with {code}")

    def listen(self):
        """Read what it has reported since the last call."""
        with suppress(EOFError):
            while self.told.poll():
                self.told.recv_bytes()
                self.acknowledged += 1

    def waits_for_next(self):
        """Return whether the process reports progress within a minute."""
        self.listen()
        return self.told.poll(HANGS_SECONDS)


def torture(path, kills, seed):
    """Kill processes of a crowd on a new database.

    Return how often each role was killed, and what was wrong.
    """
    chance, found, bad = random.Random(seed), Counter(), []
    begun = outcome_of(lambda: tortured.begin(path), HANGS_SECONDS)
    workers = [Worker(path, number, chance) for number in range(len(ROLES))]
    for _ in range(kills):
        time.sleep(chance.uniform(0, LONGEST_PAUSE_SECONDS))
        one = chance.choice(workers)
        if chance.random() < 0.5 and not one.waits_for_next():
            bad.append(f"{one.role} {one.number} hangs")
        said = one.kill()
        found[one.role] += 1
        bad += [f"{one.role} {one.number}: {said}"] if said else []
        one.start()
        for worker in workers:
            worker.listen()
    for worker in workers:
        if not worker.waits_for_next():
            bad.append(f"{worker.role} {worker.number} hangs")
    bad += [f"{each.role}: {said}" for each in workers if (said := each.kill())]
    counts = {each.number: each.acknowledged for each in workers if "writer" in each.role}
    restarts = sum(found[role] for role in set(ROLES)) + len(workers)
    ended = outcome_of(lambda: look(path, counts, restarts), HANGS_SECONDS)
    bad += [text for text in (begun.error, ended.error) if text]
    found["transactions"] = sum(counts.values())
    return found, bad


def look(path, counts, restarts):
    """Assert what must be true at the end; `counts` has each writer's reported transactions."""
    assert_sound(path)
    with simdb.open(path, "r") as database, database.read() as snapshot:
        tortured.assert_consistent(snapshot)
        done = Counter()
        for id in snapshot:
            if str(id).startswith("done "):
                done[int(id.split()[1])] += 1
        for number, count in counts.items():
            # A kill can come between the commit and the acknowledgement.
            assert count <= done[number] <= count + restarts, (counts, done)
        assert sum(done.values()) == snapshot.get("twins").metadata + 1, done


def work(said, role, path, number, durability, chance, told):
    """Work in a process of the crowd until it is killed, and report what is committed."""
    os.dup2(said, sys.stderr.fileno())
    if role == "reader":
        with simdb.open(path, "r", **SETTINGS) as database:
            read_for_ever(database, chance, told)
    with simdb.open(path, "w", durability=durability, **SETTINGS) as database:
        write_for_ever(database, number, chance, told, compacts=role == "compacting writer")


def write_for_ever(database, number, chance, told, *, compacts):
    """Move money, store the writer's name and the transaction's number, and report it."""
    own = sum(str(id).startswith(f"done {number} ") for id in database)
    while True:
        with database.write() as transaction:
            tortured.change(transaction, chance)
            transaction.insert(f"done {number} {own}", tortured.far(10_000_000 * number + own))
        told.send_bytes(DONE)
        own += 1
        if compacts and chance.random() < 0.1:
            database.compact()


def read_for_ever(database, chance, told):
    """Hold a snapshot for a while, and compare what it holds at the start and the end."""
    while True:
        with database.read() as snapshot:
            tortured.assert_consistent(snapshot)
            before = everything(snapshot)
            time.sleep(chance.uniform(0, 0.3))
            after = everything(snapshot)
        if before != after:
            raise AssertionError("a snapshot has changed")
        told.send_bytes(DONE)


def everything(snapshot):
    ids = list(snapshot)
    return [(each.id, each.fingerprint.bits, each.metadata) for each in snapshot.get_many(ids)]
