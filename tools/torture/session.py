"""Session: one database from creation to end, driven by one seed, and its expected state."""

import os
import random
import shutil
import tempfile
from collections import deque

from pricing import tables_first
from soundness import assert_sound

import asking
import changing
import misbehaving
import simdb
from drawn import some_options, some_text
from expected import Expected, Tally
from simdb.engine.maintenance import calibration
from simdb.plan.cost import USUAL_DELAYS
from simdb.storage.environment import gate
from sizes import SHARES, shrunk

LAST_STEPS = 12
SNAPSHOTS_MAX = 3


class AbortError(Exception):
    """An error raised to leave a transaction without a commit."""


class Session:
    """A database with what it must hold, and its snapshots with what they must hold."""

    def __init__(self, seed, *, callbacks, tally=None, tiny=None):
        """`tiny`: the share of the constants in `sizes` that are tiny; None draws it."""
        self.seed, self.callbacks, self.tiny = seed, callbacks, tiny
        self.chance = random.Random(seed)
        self.steps = 0
        self.last = deque(maxlen=LAST_STEPS)
        self.doing = []  # what the running transaction has done
        self.options = some_options(self.chance)
        self.tally = tally or Tally()
        self.directory = tempfile.mkdtemp(prefix="simdb-torture-")
        self.path = os.path.join(self.directory, "db")
        self.copies = 0
        self.snapshots = []
        self.pricing = tables_first(self.chance.random() < 0.5)
        self.shrunk = []  # names of the constants that are tiny

    def run(self, steps):
        """Run `steps` steps, and check everything at the end."""
        calibration.measured_delays = lambda: USUAL_DELAYS
        gate.WAIT_SECONDS = 0.02
        with self.pricing, self.shrink() as self.shrunk:
            self.create()
            for _ in range(steps):
                self.last.append(self.step())
                self.steps += 1
            self.close()
            assert_sound(self.path)
        shutil.rmtree(self.directory)

    def shrink(self):
        """Make constants tiny by draws of their own, so that the steps of a seed stay the same."""
        chance = random.Random(f"sizes {self.seed}")
        return shrunk(chance, chance.choice(SHARES) if self.tiny is None else self.tiny)

    def create(self):
        self.open("x", options=self.options)
        if self.options.sketch.uses_idf:
            texts = [some_text(self.chance) for _ in range(30)]
            if self.chance.random() < 0.5:
                self.database.fit_idf(texts)
            else:
                self.database.set_idf(simdb.fit_idf(texts, self.options.sketch))
        self.options = self.database.options
        self.expected = Expected(self.options, self.tally)

    def open(self, mode, **settings):
        chance = self.chance
        self.database = simdb.open(
            self.path,
            mode,
            durability=chance.choice(["full", "process", "none", "none"]),
            map_size=chance.choice([None, 2**20]),
            timeout=chance.choice([None, 5]),
            **settings,
        )

    def close_snapshots(self):
        while self.snapshots:
            self.snapshots.pop()[0].close()

    def close(self):
        self.close_snapshots()
        self.database.close()
        self.database.close()

    def step(self):
        """Run one verb, or a transaction of several verbs; return what was done, in words."""
        kinds = [self.change, self.read, self.transact, self.look_after, self.misbehave, self.hold]
        kind = self.chance.choices(kinds, weights=[30, 30, 15, 12, 8, 5])[0]
        try:
            told = kind()
        except simdb.BusyError as error:
            if not self.snapshots or "must grow" not in str(error):
                raise
            told = "refused, because the map cannot grow under a snapshot"
            self.close_snapshots()
            self.database.delete_many(misbehaving.IDS)
        asking.check_all(self.database, self.expected)
        return f"{self.steps}: {told}"

    def change(self):
        return self.chance.choice(changing.WRITING)(self.database, self.expected, self.chance)

    def read(self):
        readers = [(self.database, self.expected), *self.snapshots]
        target, expected = self.chance.choice(readers)
        told = self.chance.choice(asking.READING)(target, expected, self.chance)
        asking.check_all(target, expected)
        return told if target is self.database else f"of a snapshot: {told}"

    def transact(self):
        """Run a transaction that commits, aborts or raises."""
        staged, told = self.expected.copy(), []
        self.doing = told
        end = self.chance.choice(["commit", "leave", "abort", "raise"])
        try:
            with self.database.write() as transaction:
                for _ in range(self.chance.randint(0, 6)):
                    told.append(self.act(transaction, staged))
                asking.check_all(transaction, staged)
                if end == "commit":
                    transaction.commit()
                elif end == "abort":
                    transaction.abort()
                elif end == "raise":
                    raise AbortError
        except AbortError:
            pass
        if end in ("commit", "leave"):
            self.expected = staged
        return f"transaction {told}, {end}"

    def act(self, transaction, staged):
        verbs = changing.WRITING if self.chance.random() < 0.6 else asking.READING
        if self.chance.random() < 0.1:
            verbs = misbehaving.MISCHIEF
        elif self.callbacks and self.chance.random() < 0.1:
            told = misbehaving.use_inside(self.database, transaction, staged, self.chance)
            asking.check_all(transaction, staged)
            return told
        return self.chance.choice(verbs)(transaction, staged, self.chance)

    def misbehave(self):
        if self.chance.random() < 0.2:
            with self.database.write() as transaction:
                return misbehaving.read_inside(transaction, self.expected, self.chance)
        return self.chance.choice(misbehaving.MISCHIEF)(self.database, self.expected, self.chance)

    def hold(self):
        """Take a snapshot, or close one."""
        if self.snapshots and (len(self.snapshots) == SNAPSHOTS_MAX or self.chance.random() < 0.5):
            self.snapshots.pop(self.chance.randrange(len(self.snapshots)))[0].close()
            return "close a snapshot"
        self.snapshots.append((self.database.read(), self.expected.copy()))
        return "take a snapshot"

    def look_after(self):
        """Run a verb of maintenance."""
        verbs = [
            self.compact, self.rebuild, self.reopen, self.reopen, self.copy, self.dump,
            self.statistics, self.calibrate, self.look_again,
        ]  # fmt: skip
        return self.chance.choice(verbs)()

    def compact(self):
        self.database.compact()
        stats = self.database.stats()
        assert (stats.deleted_count, stats.delta_count) == (0, 0)
        assert len(stats.runs) <= 1
        return "compact"

    def rebuild(self):
        has_weights = not self.options.is_minhash and self.options.sketch.vector_bytes
        number = self.chance.choice([None, 0, 1, 3, 16]) if has_weights else None
        report = self.database.rebuild(polytopes=number)
        assert not report.dropped
        self.options = self.database.options
        assert number in (None, self.options.polytopes)
        return f"rebuild for {number}"

    def reopen(self):
        self.close()
        self.open(self.chance.choice(["w", "c"]))
        assert self.database.options == self.options
        return "reopen"

    def copy(self):
        self.copies += 1
        path = os.path.join(self.directory, f"copy{self.copies}")
        self.database.copy(path)
        self.compare_with(path)
        return "copy"

    def dump(self):
        self.copies += 1
        path = os.path.join(self.directory, f"copy{self.copies}")
        assert self.database.dump(path + ".dump") == len(self.expected.documents)
        simdb.load(path + ".dump", path)
        self.compare_with(path)
        return "dump and load"

    def compare_with(self, path):
        """Check that another database holds the same documents and answers alike."""
        with simdb.open(path, "r") as other:
            asking.check_all(other, self.expected)
            for verb in (asking.query, asking.find_clusters, asking.get):
                verb(other, self.expected, self.chance)
            assert list(other.check(deep=True)) == []
        shutil.rmtree(path)

    def statistics(self):
        stats, held = self.database.stats(), self.expected.documents.values()
        assert stats.document_count == len(held)
        assert stats.empty_count == sum(entry.bits is None for entry in held)
        assert list(self.database.check(deep=self.chance.random() < 0.5)) == []
        list(self.database.advice())
        return "stats, check, advice"

    def calibrate(self):
        texts = [some_text(self.chance) for _ in range(self.chance.choice([1, 5, 20]))]
        sample = self.chance.choice([None, 3, texts])
        try:
            self.database.calibrate(sample, seed=self.chance.randrange(5))
        except simdb.OptionError:
            is_given = isinstance(sample, list)
            assert self.options.is_minhash or not (self.options.sketch.vector_bytes or is_given)
        return f"calibrate({type(sample).__name__})"

    def look_again(self):
        """Read the same database by another handle, which must refuse to write."""
        with simdb.open(self.path, "r") as other:
            asking.check_all(other, self.expected)
            told = self.chance.choice(asking.READING)(other, self.expected, self.chance)
            try:
                other.insert("a", "b")
            except simdb.ReadOnlyError:
                return f"by another handle: {told}"
        raise AssertionError("a handle for reading has written")
