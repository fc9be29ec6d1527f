"""The verbs of interrupts.py, and one trial of one verb: interrupted once, and looked at after it.

A trial runs in a process of its own, on a copy of one small database.  Wherever a verb was
interrupted: its database is then in the state before or in the state after, takes the next
insertion, passes the deep check, closes at once, leaves no file open and opens again; and what the
verb was to make elsewhere is there whole or not at all.
"""

import gc
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from injecting import NEVER, Injector

OPTIONS = simdb.Options(delta_documents=100, keep_clusters="distance", blocks=4)
SETTINGS = {"durability": "none", "map_size": 1 << 20, "timeout": 0.5}
STORED = 150
FINGERPRINTS = np.arange(1, 400, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
FAR = int(FINGERPRINTS[300])
NEAR = int(FINGERPRINTS[5]) ^ 1
AT_ONCE_SECONDS = 1.0
PROBE = "written afterwards"
# An interrupt that finds a finaliser at work is dropped by CPython, and the verb goes on.
ENDS = ("interrupted", "finished")


@dataclass
class Trial:
    """The folder of a trial: its database, and places beside it for what verbs make."""

    folder: Path
    database: Any = None
    opened: list[Any] = field(default_factory=list)

    @property
    def path(self):
        return self.folder / "db"

    @property
    def made(self):
        return self.folder / "made"


def prepare(folder):
    """What every trial begins with: a database of runs, delta, tombstones and clusters; a dump."""
    with simdb.open(folder / "db", options=OPTIONS, **SETTINGS) as database:
        database.insert_many(range(100), FINGERPRINTS[:100])
        database.insert_many(range(100, STORED), FINGERPRINTS[100:STORED], [{"n": 1}] * 50)
        database.insert("near", NEAR)
        database.delete_many([3, 4])
        database.dump(folder / "dumped")


def insert(trial):
    trial.database.insert("new", FAR, {"n": 1})


def query(trial):
    trial.database.query(NEAR, distance=3)


def read(trial):
    with trial.database.read() as snapshot:
        snapshot.query(NEAR, distance=3)
        len(snapshot)


def write(trial):
    with trial.database.write() as transaction:
        transaction.insert("new", FAR)
        transaction.query(FAR)
        transaction.delete(7)


def claim(trial):
    trial.database.add_if_new("new", FAR, distance=3)
    trial.database.add_if_new("newer", FAR ^ 1, distance=3)


def grow(trial):
    names, metadata = [f"g{number}" for number in range(200)], [{"x": "y" * 8000}] * 200
    trial.database.insert_many(names, FINGERPRINTS[150:350], metadata)


def compact(trial):
    trial.database.compact()


def rebuild(trial):
    trial.database.rebuild()


def calibrate(trial):
    trial.database.calibrate(20)


def pairs(trial):
    for _ in trial.database.find_all(distance=3).chunks():
        pass


def check(trial):
    list(trial.database.check(deep=True))


def copy(trial):
    trial.database.copy(trial.made)


def dump(trial):
    trial.database.dump(trial.made)


def load(trial):
    simdb.load(trial.folder / "dumped", trial.made)


def close(trial):
    trial.database.close()


def open_second(trial):
    """Open the database again beside the one that is open, and close that one."""
    with simdb.open(trial.path, "w", durability="none") as second:
        second.query(NEAR)


def reopen(trial):
    trial.database.close()
    open_second(trial)


def create(trial):
    with simdb.open(trial.made, options=OPTIONS, durability="none") as database:
        database.insert(1, 1)


VERBS = {
    "insert": insert, "query": query, "read": read, "write": write, "claim": claim, "grow": grow,
    "compact": compact, "rebuild": rebuild, "calibrate": calibrate, "pairs": pairs, "check": check,
    "copy": copy, "dump": dump, "load": load, "close": close, "open": open_second,
    "reopen": reopen, "create": create,
}  # fmt: skip
IS_WHOLE = {"copy": "database", "load": "database", "dump": "dump", "create": "any database"}


def warm(verb, base, folder):
    """Run a verb once, so that what is imported or made once in a process is so from now on."""
    trial = begin(base, folder / "warm")
    VERBS[verb](trial)
    end(trial)


def places(verb, base, folder):
    """{number: where} of the places of a verb, and the states before it and after it."""
    trial = begin(base, folder / "states")
    before = state_after(trial)
    trial = begin(base, folder / "counted")
    injector = Injector(NEVER)
    injector.run(lambda: VERBS[verb](trial))
    return injector.places, [before, state_after(trial)]


def run(verb, number, base, folder, states):
    """(where it was interrupted, how it ended, what was wrong after that) of one place."""
    trial = begin(base, folder)
    injector, ended = Injector(number), "finished"
    try:
        if injector.run(lambda: VERBS[verb](trial)):
            ended = "interrupted"
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"
    if not injector.where:
        ended = "not reached"
    gc.collect()
    wrong = [] if ended in ENDS else [ended]
    return injector.where, ended, wrong + looked_at(trial, verb, states)


def begin(base, folder):
    """A trial on a copy of the database in `base`."""
    shutil.copytree(base, folder)
    return Trial(folder, simdb.open(folder / "db", "w", **SETTINGS))


def end(trial):
    if not trial.database.is_closed:
        trial.database.close()


def state(database):
    """What it holds, for comparing."""
    return [(each.id, each.fingerprint.bits, each.metadata) for each in documents(database)]


def documents(database):
    return database.get_many(list(database))


def state_after(trial):
    end(trial)
    with simdb.open(trial.path, "r") as database:
        return state(database)


def looked_at(trial, verb, states):
    """What is wrong with the database and with what was made beside it; [] for nothing."""
    wrong = []
    steps = [still_works, closes_at_once, opens_again, leaves_nothing]
    for step in steps:
        try:
            wrong += step(trial, verb, states)
        except Exception as error:
            said = str(error).replace(f"{trial.folder}{os.sep}", "")
            wrong.append(f"{step.__name__} {type(error).__name__}: {said}")
    return wrong


def still_works(trial, _verb, states):
    try:
        found = state(trial.database)
    except simdb.ClosedError:
        trial.database.close()  # of one whose closing was interrupted, that is no harm
        trial.database = simdb.open(trial.path, "w", **SETTINGS)
        found = state(trial.database)
    database = trial.database
    if found not in states:
        yield "the state is neither the one before nor the one after"
    database.insert(PROBE, 1)
    if PROBE not in database:
        yield "what was inserted afterwards is not there"
    yield from (f"check: {finding}" for finding in database.check(deep=True))


def closes_at_once(trial, _verb, _states):
    start = time.perf_counter()
    trial.database.close()
    if time.perf_counter() - start > AT_ONCE_SECONDS:
        yield "closing took long"


def opens_again(trial, _verb, states):
    # Another durability is refused while anything of this process has the database open.
    with simdb.open(trial.path, "w", durability="process", timeout=0) as database:
        database.delete_many([PROBE])
        if state(database) not in states:
            yield "what is stored is neither the state before nor the one after"


def leaves_nothing(trial, verb, states):
    names = open_files(trial.folder)
    if names:
        yield f"still open: {', '.join(names)}"
    left = sorted(set(os.listdir(trial.folder)) - {"db", "dumped", "made"})
    yield from (f"left behind: {name}" for name in left)
    if verb in IS_WHOLE and trial.made.exists():
        yield from whole(trial, IS_WHOLE[verb], states[0])


def whole(trial, kind, stored):
    """Why what was made is not whole."""
    if kind == "dump":
        shutil.move(trial.made, trial.folder / "checked")
        simdb.load(trial.folder / "checked", trial.made)
    mode = "c" if kind == "any database" else "w"
    with simdb.open(trial.made, mode, durability="none") as database:
        if kind != "any database" and state(database) != stored:
            yield "what was made is not the state that was there"
        yield from (f"check of what was made: {finding}" for finding in database.check(deep=True))


def open_files(folder):
    """Names of the files below `folder` that this process has open."""
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue  # the listing itself
    start = f"{folder}{os.sep}"
    return sorted(name.removeprefix(start) for name in names if name.startswith(start))
