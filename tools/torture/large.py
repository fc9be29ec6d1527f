"""Call all verbs of databases of thousands to millions of documents, and compare with brute force.

    python tools/torture/large.py --documents 20000 --seeds 10
    python tools/torture/large.py --documents 2000000 --seed 17

Sizes decide which code runs, and small databases do not reach all of it.  After the documents are
inserted, each verb is called once a round, in random order.  Answers for a sample of documents are
compared with all stored documents; `check(deep=True)` follows whatever rewrites the database.
"""

import argparse
import faulthandler
import math
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests" / "support"), str(ROOT)]

from soundness import assert_sound  # noqa: E402

import reaping  # noqa: E402
import simdb  # noqa: E402
import sowing  # noqa: E402
from crops import Texts, some_options  # noqa: E402
from expected import Tally  # noqa: E402
from shelf import Shelf  # noqa: E402
from simdb.engine.maintenance import calibration  # noqa: E402
from simdb.engine.state import staged  # noqa: E402
from simdb.plan.cost import USUAL_DELAYS  # noqa: E402
from sizes import SHARES, shrunk  # noqa: E402

SIZES = (1000, 20_000, 200_000, 2_000_000)
FEW = 2000  # documents up to which constants may be tiny, see sizes.py
CROWD = 1200  # equal documents, if there are many documents
LAST_STEPS = 12
DEVIATIONS = 5.0  # by chance in less than one of a million runs


class AbortError(Exception):
    """An error raised to leave a transaction without a commit."""


class Field:
    """A database of many documents with what it must hold, driven by one seed."""

    def __init__(self, seed, count, tally):
        self.seed, self.count = seed, count
        self.chance = random.Random(f"{seed} {count}")
        self.options = some_options(self.chance, count)
        self.directory = tempfile.mkdtemp(prefix="simdb-large-")
        self.path = os.path.join(self.directory, "db")
        self.texts = Texts(seed, count, min(CROWD, count // 20))
        self.tally, self.now, self.made = tally, 1_000_000_000, 0
        self.last, self.seconds, self.shrunk = [], {}, []
        staged.now_seconds = lambda: self.now
        calibration.measured_delays = lambda: USUAL_DELAYS

    def run(self, rounds, until):
        """Insert the documents and call all verbs, as long as there is time."""
        chance = random.Random(f"sizes {self.seed}")
        share = chance.choice(SHARES) if self.count <= FEW else 0.0
        with shrunk(chance, share) as self.shrunk:
            self.work(rounds, until)

    def work(self, rounds, until):
        self.timed(self.fill)
        for _ in range(rounds):
            verbs = [*self.verbs()]
            self.chance.shuffle(verbs)
            for verb in verbs:
                if time.monotonic() > until:
                    break
                self.timed(verb)
        self.close()
        assert_sound(self.path)
        shutil.rmtree(self.directory)

    def timed(self, verb):
        """Call a verb, and remember what it did and how long it took."""
        begun = time.monotonic()
        name = getattr(verb, "__name__", "")
        self.last.append(f"{name} begins")
        told = verb()
        self.last[-1] = f"{name}: {told}"
        self.seconds[name] = self.seconds.get(name, 0) + time.monotonic() - begun
        assert len(self.database) == len(self.shelf), f"{len(self.database)}, {len(self.shelf)}"

    def fill(self):
        """Insert nearly all documents: half of them at once, then ever smaller parts."""
        self.open("x", options=self.options)
        if self.options.sketch.uses_idf:
            self.database.fit_idf(self.texts.draw(500))
        self.options = self.database.options
        self.shelf = Shelf(self.options, self.tally)
        left = self.count
        while left > self.count // 10:
            part = max(left // 2, 1)
            sowing.insert_many(self.database, self.shelf, self, part)
            left -= part
        return f"{self.count - left} documents"

    def verbs(self):
        """Yield the verbs of one round."""
        for verb in (*sowing.WRITING, *reaping.READING):
            yield self.bound(verb)
        yield from (
            self.transact, self.transact, self.hold, self.compact, self.rebuild, self.copy,
            self.dump, self.calibrate, self.reopen, self.rewrite,
        )  # fmt: skip

    def bound(self, verb):
        def call():
            return verb(self.database, self.shelf, self)

        call.__name__ = verb.__name__
        return call

    def fresh_ids(self, count):
        """Return new ids, all numbers or all texts."""
        start, self.made = self.made, self.made + count
        if self.chance.random() < 0.5:
            return list(range(start, start + count))
        return [f"document {number}" for number in range(start, start + count)]

    def some_ids_of(self, shelf, count):
        """Draw ids of documents on a shelf."""
        places = np.flatnonzero(shelf.is_live).tolist()
        return [shelf.ids[at] for at in self.chance.sample(places, min(count, len(places)))]

    def tick(self):
        """Let a second pass, and return the time."""
        self.now += 1
        return self.now

    def open(self, mode, **settings):
        self.database = simdb.open(self.path, mode, durability="none", **settings)

    def close(self):
        self.database.close()

    def transact(self):
        """Change and read in a transaction that commits or aborts."""
        staged, told = self.shelf.copy(), []
        end = self.chance.choice(["commit", "raise"])
        try:
            with self.database.write() as transaction:
                for verb in self.chance.sample(sowing.WRITING, 3):
                    told.append(verb(transaction, staged, self))
                told.append(reaping.query(transaction, staged, self))
                if end == "raise":
                    raise AbortError
        except AbortError:
            pass
        else:
            self.shelf = staged
        return f"{told}, {end}"

    def hold(self):
        """Hold a snapshot while the database is changed and compacted, and read from it."""
        before = self.shelf.copy()
        with self.database.read() as snapshot:
            sowing.insert_many(self.database, self.shelf, self, self.count // 20)
            sowing.delete_many(self.database, self.shelf, self)
            self.database.compact()
            told = [verb(snapshot, before, self) for verb in (reaping.query, reaping.read)]
            assert len(snapshot) == len(before)
        return told

    def compact(self):
        self.database.compact()
        stats = self.database.stats()
        assert (stats.deleted_count, stats.delta_count) == (0, 0)
        return self.look(self.database)

    def rebuild(self):
        has_weights = not self.shelf.is_minhash and self.options.sketch.vector_bytes
        number = self.chance.choice([None, 0, 3]) if has_weights else None
        assert not self.database.rebuild(polytopes=number).dropped
        self.options = self.shelf.options = self.database.options
        return f"for {number} polytopes, {self.look(self.database)}"

    def rewrite(self):
        """Rebuild, insert on top and compact: each works on what the one before has written."""
        self.database.rebuild()
        sowing.insert_many(self.database, self.shelf, self, self.count // 20)
        self.database.compact()
        return self.look(self.database)

    def copy(self):
        path = os.path.join(self.directory, "copy")
        self.database.copy(path)
        return self.compare_with(path)

    def dump(self):
        path = os.path.join(self.directory, "copy")
        assert self.database.dump(path + ".dump") == len(self.shelf)
        simdb.load(path + ".dump", path)
        os.remove(path + ".dump")
        return self.compare_with(path)

    def compare_with(self, path):
        """Check that another database holds the same documents and answers alike."""
        with simdb.open(path, "r") as other:
            told = self.look(other)
        shutil.rmtree(path)
        return told

    def look(self, database):
        """Check everything that is stored, and the answers of some queries."""
        findings = list(database.check(deep=True))
        assert findings == [], findings[:5]
        for verb in (reaping.read, reaping.query, reaping.cluster):
            verb(database, self.shelf, self)
        return f"{len(self.shelf)} documents"

    def calibrate(self):
        if self.shelf.is_minhash or not self.options.sketch.vector_bytes:
            return "nothing to calibrate"
        self.database.calibrate(self.chance.choice([None, 50]), seed=self.seed)
        return "done"

    def reopen(self):
        self.close()
        self.open(self.chance.choice(["w", "c"]))
        assert self.database.options == self.options
        return self.look(self.database)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, nargs="+", default=SIZES, help="of each database")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--rounds", type=int, default=1, help="calls of each verb")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="call no verb after this many seconds"
    )
    given = parser.parse_args()
    faulthandler.enable()
    until = time.monotonic() + given.seconds
    tally, failures, databases = Tally(), 0, 0
    for seed in range(given.seed, given.seed + given.seeds):
        for count in given.documents:
            if time.monotonic() < until:
                databases += 1
                failures += not passes(Field(seed, count, tally), given.rounds, until)
    margin = DEVIATIONS * math.sqrt(tally.variance)
    print(
        f"{databases} databases: {failures} failed; probabilistic answers found"
        f" {tally.found:.0f} matches, where {tally.promised:.0f} were promised, or {margin:.0f}"
        " fewer by chance",
        flush=True,
    )
    return int(failures > 0 or tally.found < tally.promised - margin)


def passes(field, rounds, until):
    """Run one database; print what was done and what is wrong; return whether nothing is."""
    begun = time.monotonic()
    try:
        field.run(rounds, until)
    except Exception:
        print(f"FAILED with seed {field.seed}, in {field.directory}, options {field.options}")
        print("tiny constants:", *field.shrunk)
        print("last steps:", *field.last[-LAST_STEPS:], sep="\n  ")
        print(traceback.format_exc())
        print(f"run just that by\n  {sys.executable} {HERE} --documents {field.count}", end="")
        print(f" --seed {field.seed} --rounds {rounds}", flush=True)
        return False
    slowest = sorted(field.seconds, key=field.seconds.get, reverse=True)[:4]
    told = ", ".join(f"{name} {field.seconds[name]:.1f}" for name in slowest)
    seconds = time.monotonic() - begun
    print(
        f"seed {field.seed}, {field.count} documents, {seconds:.0f} seconds ({told}):"
        f" {field.options}",
        flush=True,
    )
    return True


if __name__ == "__main__":
    sys.exit(main())
