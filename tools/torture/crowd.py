"""Crowd: several processes use one database and are killed one after the other.

Two writers and one that compacts take turns at the ledger of tests/faults/tortured.py, and write
down in the same transaction that it is theirs, and the number of it; each is told to us once it is
committed.  Readers hold snapshots, which must stay what they were.  Whoever is killed, the others
go on, and in the end every acknowledged transaction is there, none by half and none twice.
"""

import os
import random
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter

import tortured
from soundness import assert_sound

import simdb
from trials import outcome_of

NUMBER = struct.Struct("<q")
ROLES = ["writer", "writer", "compacting writer", "reader", "reader"]
HANGS_SECONDS = 60
LONGEST_PAUSE_SECONDS = 0.4
SETTINGS = {"timeout": 30, "map_size": tortured.LEAST_MAP}


class Worker:
    """One process at a time in a role; `acknowledged` counts its committed transactions."""

    def __init__(self, path, number, chance):
        self.path, self.number, self.chance = path, number, chance
        self.role = ROLES[number]
        self.acknowledged = 0
        self.start()

    def start(self):
        """Start its next process."""
        durability = self.chance.choice(["full", "process", "none"])
        chance = random.Random(f"{self.chance.random()} {self.number}")
        self.said = tempfile.TemporaryFile()  # noqa: SIM115 - `kill` closes it
        self.told, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.dup2(self.said.fileno(), sys.stderr.fileno())
            try:
                work(self.role, self.path, self.number, durability, chance, writing)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(1)
        os.close(writing)

    def kill(self):
        """Kill its process; what it said aside, which is nothing if all was well."""
        os.kill(self.process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        self.listen()
        os.close(self.told)
        with self.said:
            self.said.seek(0)
            said = self.said.read().decode(errors="replace")
        return said or ("" if code == -signal.SIGKILL else f"ended by itself with {code}")

    def listen(self):
        """Take in what it has told since."""
        while select.select([self.told], [], [], 0)[0]:
            told = os.read(self.told, NUMBER.size << 10)
            if not told:
                return
            self.acknowledged += len(told) // NUMBER.size

    def waits_for_next(self):
        """Whether it goes on within a minute."""
        self.listen()
        return bool(select.select([self.told], [], [], HANGS_SECONDS)[0])


def torture(path, kills, seed):
    """(how often each role was killed, what was wrong) of a crowd on a new database."""
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
    """Assert what must be true at the end, `counts` being what each writer was told."""
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


def work(role, path, number, durability, chance, told):
    """In a process of the crowd: work until it is killed, and tell what is committed."""
    if role == "reader":
        with simdb.open(path, "r", **SETTINGS) as database:
            read_for_ever(database, chance, told)
    with simdb.open(path, "w", durability=durability, **SETTINGS) as database:
        write_for_ever(database, number, chance, told, compacts=role == "compacting writer")


def write_for_ever(database, number, chance, told, *, compacts):
    """Move money, say whose transaction it is and which, and acknowledge it."""
    own = sum(str(id).startswith(f"done {number} ") for id in database)
    while True:
        with database.write() as transaction:
            tortured.change(transaction, chance)
            transaction.insert(f"done {number} {own}", tortured.far(10_000_000 * number + own))
        os.write(told, NUMBER.pack(own))
        own += 1
        if compacts and chance.random() < 0.1:
            database.compact()


def read_for_ever(database, chance, told):
    """Hold a snapshot for a while, and compare what it says at both ends."""
    while True:
        with database.read() as snapshot:
            tortured.assert_consistent(snapshot)
            before = everything(snapshot)
            time.sleep(chance.uniform(0, 0.3))
            after = everything(snapshot)
        if before != after:
            raise AssertionError("a snapshot has changed")
        os.write(told, NUMBER.pack(0))


def everything(snapshot):
    ids = list(snapshot)
    return [(each.id, each.fingerprint.bits, each.metadata) for each in snapshot.get_many(ids)]
