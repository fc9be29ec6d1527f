"""Verbs: the verbs that are interrupted or killed, and the small databases for them.

A trial has a folder of its own, a copy of the folder that `prepare` made.  It holds the databases
"db" and "weighted", which has no IDF table yet, and a dump.  A verb changes one of the databases,
or makes "made".
"""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import simdb
from simdb.compat.importing import import_datasketch
from trials import scratch

PICKLE = Path(__file__).parents[2] / "tests" / "compat" / "datasketch" / "list-2.0.0.pickle"

OPTIONS = simdb.Options(delta_documents=100, keep_clusters="distance", blocks=4)
SETTINGS = {"durability": "none", "map_size": 1 << 20, "timeout": 0.5}
WEIGHTED = simdb.Options(sketch=simdb.Simhash(weighting="tf-idf"))
TEXTS = [f"the weighted document number {number} of few" for number in range(10)]
STORED = 150
FINGERPRINTS = np.arange(1, 400, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
FAR = int(FINGERPRINTS[300])
NEAR = int(FINGERPRINTS[5]) ^ 1
PROBE = "written afterwards"


@dataclass
class Trial:
    """The folder of a trial, the database that its verb uses, and the path of a new database."""

    folder: Path
    path: Path
    database: Any

    @property
    def made(self):
        return self.folder / "made"


def prepare(folder):
    """Make the folder of every trial: databases with runs, delta, tombstones, clusters; a dump."""
    with simdb.open(folder / "db", options=OPTIONS, **SETTINGS) as database:
        database.insert_many(range(100), FINGERPRINTS[:100])
        database.insert_many(range(100, STORED), FINGERPRINTS[100:STORED], [{"n": 1}] * 50)
        database.insert("near", NEAR)
        database.delete_many([3, 4])
        database.dump(folder / "dumped")
    simdb.open(folder / "weighted", options=WEIGHTED, **SETTINGS).close()


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


def open_second(trial):
    """Open the database again beside the open one, and close the second."""
    with simdb.open(trial.path, "w", durability="none") as second:
        second.query(NEAR)


def reopen(trial):
    trial.database.close()
    open_second(trial)


def create(trial):
    with simdb.open(trial.made, options=OPTIONS, durability="none") as database:
        database.insert(1, 1)


VERBS = {
    "insert": lambda trial: trial.database.insert("new", FAR, {"n": 1}),
    "query": lambda trial: trial.database.query(NEAR, distance=3),
    "read": read, "write": write, "claim": claim, "grow": grow,
    "compact": lambda trial: trial.database.compact(),
    "rebuild": lambda trial: trial.database.rebuild(),
    "calibrate": lambda trial: trial.database.calibrate(20),
    "pairs": lambda trial: list(trial.database.find_all(distance=3).chunks()),
    "check": lambda trial: list(trial.database.check(deep=True)),
    "copy": lambda trial: trial.database.copy(trial.made),
    "dump": lambda trial: trial.database.dump(trial.made),
    "load": lambda trial: simdb.load(trial.folder / "dumped", trial.made),
    "close": lambda trial: trial.database.close(),
    "open": open_second, "reopen": reopen, "create": create,
    "import": lambda trial: import_datasketch(str(PICKLE), trial.made),
    "set_idf": lambda trial: trial.database.set_idf(simdb.fit_idf(TEXTS, WEIGHTED.sketch)),
    "fit_idf": lambda trial: trial.database.fit_idf(TEXTS),
}  # fmt: skip
MAKING = ("copy", "dump", "load", "create", "import")
DONE_TO = {"set_idf": "weighted", "fit_idf": "weighted"}


def begin(verb, base, folder, **settings):
    """Begin a trial on a copy of the folder `base`."""
    shutil.copytree(base, folder)
    path = folder / DONE_TO.get(verb, "db")
    return Trial(folder, path, simdb.open(path, "w", **(SETTINGS | settings)))


def end(trial):
    if not trial.database.is_closed:
        trial.database.close()


def state(database):
    """Return what a database holds: its documents, and whether its IDF table is missing."""
    found = database.get_many(list(database))
    rows = [(each.id, each.fingerprint.bits, each.metadata) for each in found]
    return rows, database.options.sketch.idf is None


def opened(trial):
    """Return the same trial with its database open."""
    return Trial(trial.folder, trial.path, simdb.open(trial.path, "w", **SETTINGS))


def state_after(trial):
    """Close the database; return what is stored."""
    end(trial)
    return stored(trial.path)


def stored(path):
    with simdb.open(path, "r") as database:
        return state(database)


@contextmanager
def prepared(verb):
    """Make the folders for trials of a verb.

    Yield a scratch folder, the folder that every trial copies, and the states before and after.
    """
    with scratch() as folder:
        base = folder / "base"
        base.mkdir()
        prepare(base)
        yield folder, base, states_of(verb, base, folder)


def states_of(verb, base, folder):
    """Return the states before and after a verb."""
    before = state_after(begin(verb, base, folder / "before"))
    trial = begin(verb, base, folder / "after")
    VERBS[verb](trial)
    return [before, state_after(trial)]


def sound(path, states):
    """Return what is wrong with a database, which must be in a known state and take a document."""
    # Opening with another durability is refused while this process has the database open.
    with simdb.open(path, "w", durability="process", timeout=0) as database:
        if state(database) not in states:
            yield "the stored state is neither the one before the verb nor the one after it"
        database.insert(PROBE, 1)
        if PROBE not in database:
            yield "the document inserted afterwards is not there"
        yield from (f"check: {finding}" for finding in database.check(deep=True))
        database.delete(PROBE)


def whole(verb, trial, expected):
    """Return what is wrong with what a verb has made, if it is there."""
    made = trial.made
    if verb == "dump":
        shutil.move(made, trial.folder / "checked")
        simdb.load(trial.folder / "checked", made)
    with simdb.open(made, "c" if verb == "create" else "w", durability="none") as database:
        if verb in ("copy", "load", "dump") and state(database) != expected:
            yield "what the verb made differs from its source"
        if verb == "import" and len(database) == 0:
            yield "nothing was imported, but the new database exists"
        yield from (f"check of what was made: {finding}" for finding in database.check(deep=True))
