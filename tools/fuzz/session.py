"""Session: drives one database and its model from creation to end, by one seed."""

import os
import random
import shutil
import stat
from itertools import pairwise

from pricing import tables_first
from soundness import assert_sound

import asking
import burst
import changing
import harming
import misbehaving
import simdb
from drawn import Few, Many
from drawn_hashes import FewHashes, ManyHashes, some_document
from model import Model
from simdb.core.memory import memory_bytes
from simdb.database.maintenance import calibration
from simdb.database.state import staged
from simdb.plan import compaction
from simdb.plan.calibration import USUAL_DELAYS
from simdb.storage import gate
from sizes import SHARES, shrunk

SHRUNK_MOST = 2000  # documents up to which constants may be tiny, see sizes.py


def run(case):
    """Run a session with a database that begins empty, or with `case.documents`."""
    session = Session(case)
    session.run(case.steps, [burst.burst] if case.kind == "burst" else session.verbs())


class AbortError(Exception):
    """An error raised to leave a transaction without a commit."""


class Session:
    """A database with its model, and its snapshots with theirs."""

    def __init__(self, case):
        """Draw the options."""
        self.case, seed, count = case, case.seed, case.documents
        self.chance = random.Random(f"{seed} {count}")
        draws = ManyHashes if case.kind == "hashes" else Many
        few = FewHashes if case.kind == "hashes" else Few
        self.draw = draws(self.chance, seed, count) if count else few(self.chance)
        self.options = self.draw.options()
        self.pricing = tables_first(not count and self.chance.random() < 0.5)
        # Sizes have draws of their own, so that the steps of a seed stay the same.
        self.sizes = random.Random(f"sizes {seed}")
        tiny = self.sizes.choice(SHARES) if count <= SHRUNK_MOST else 0.0
        self.tiny = tiny if case.tiny is None else case.tiny
        self.directory = str(case.folder)
        # The notes of the session, next to it, are not among the files that fail.
        os.environ["FAULT_DIRECTORY"] = f"{self.directory}/"
        self.path = os.path.join(self.directory, "db")
        self.snapshots, self.steps = [], 0

    def run(self, steps, verbs):
        """Run `steps` steps of these verbs, or each of them once; check all at the end."""
        calibration.measured_delays = lambda: USUAL_DELAYS
        staged.now_seconds = lambda: self.draw.now
        gate.WAIT_SECONDS = 0.02
        with self.pricing, shrunk(self.sizes, self.tiny) as names:
            self.case.note(f"options: {self.options}\ntiny constants: {' '.join(names)}")
            self.step(self.create)
            deck, only = [], self.case.verbs
            verbs = [verb for verb in verbs if not only or verb.__name__ in only]
            for _ in range(steps or len(verbs)):
                if not deck:
                    deck = verbs.copy()
                    self.chance.shuffle(deck)
                self.step(deck.pop())
            self.close()
            assert_sound(self.path)
            assert open_files(self.directory) == [], "files are still open"

    def verbs(self):
        """Return all verbs, the frequent ones several times."""
        maintenance = [
            self.compact, self.rebuild, self.reopen, self.reopen, self.copy, self.dump,
            self.statistics, self.calibrate, self.look_again, self.rewrite, self.follow,
        ]  # fmt: skip
        hardship = [*harming.HARMS, harming.elsewhere, harming.elsewhere, burst.burst]
        return [
            *changing.WRITING, *asking.READING, *maintenance, *[self.hold] * 2,
            *[self.misbehave] * 4, *[self.transact] * self.draw.transactions, *hardship,
        ]  # fmt: skip

    def step(self, verb):
        """Run one verb, or a transaction of several verbs, and note what was done."""
        self.case.step(self.steps, verb.__name__)
        try:
            told = self.call(verb)
            self.compare()
        except simdb.BusyError as error:
            if not self.snapshots or "close them first" not in str(error):
                raise
            told = f"refused because of a snapshot: {error}"
            self.close_snapshots()
            self.database.delete_many([*misbehaving.IDS, harming.PROBE])
            self.compare()
        self.case.note(f"    {told}")
        self.steps += 1

    def compare(self):
        """Compare the ids in order, or of a large database their number."""
        if self.draw.count:
            assert len(self.database) == len(self.model), f"{len(self.database)}, {len(self.model)}"
        else:
            asking.check_ids(self.database, self.model)

    def call(self, verb):
        if getattr(verb, "__self__", None) is self:
            return verb()
        if verb.__module__ in ("harming", "burst"):
            return verb(self)
        if verb in changing.WRITING:
            return verb(self.database, self.model, self.draw)
        target, model = self.chance.choice([(self.database, self.model), *self.snapshots])
        told = verb(target, model, self.draw)
        return told if target is self.database else f"of a snapshot: {told}"

    def document_of(self, id):
        """Return a document that follows from its id."""
        return some_document(random.Random(id), self.options)

    def deeds(self):
        """Return verbs that commit at most once, so the state is the one before or after them."""
        return [
            self.write, self.write, self.transact, self.transact, self.compact, self.rebuild,
            self.reopen, self.copy, self.dump, *[self.calibrate] * (not self.draw.count),
        ]  # fmt: skip

    def write(self):
        """Call one writing verb that commits once."""
        verb = self.chance.choice(changing.COMMITTING_ONCE)
        return f"{verb.__name__} {verb(self.database, self.model, self.draw)}"

    def carry(self):
        """Return what another process must know to go on with this session."""
        return self.model, self.draw

    def adopt(self, carried):
        """Go on where another process has stopped."""
        self.model, self.draw = carried
        self.chance, self.options = self.draw.chance, self.model.options
        self.case.tally.join(self.model.tally)
        self.model.tally = self.case.tally

    def create(self):
        """Create the database: half of its documents are inserted at once, then ever fewer."""
        self.open("x", options=self.options)
        if self.options.sketch.uses_idf:
            texts = self.draw.texts((self.draw.count and 500) or 30)
            if self.chance.random() < 0.5:
                self.database.fit_idf(texts)
            else:
                self.database.set_idf(simdb.fit_idf(texts, self.options.sketch))
        self.options = self.database.options
        self.model = Model(self.options, self.case.tally)
        left = self.draw.count
        while left > self.draw.count // 10:
            changing.insert_many(self.database, self.model, self.draw, max(left // 2, 1))
            left -= max(left // 2, 1)
        return f"{len(self.model)} documents"

    def open(self, mode, **settings):
        self.database = simdb.open(self.path, mode, **self.draw.opening(), **settings)

    def close_snapshots(self):
        while self.snapshots:
            self.snapshots.pop()[0].close()

    def close(self):
        self.close_snapshots()
        self.database.close()
        self.database.close()

    def transact(self):
        """Run a transaction that commits, aborts or raises."""
        staged, told = self.model.copy(), []
        end = self.chance.choice(["commit", "leave", "abort", "raise"])
        try:
            with self.database.write() as transaction:
                for _ in range(self.chance.randint(0, 6)):
                    told.append(self.act(transaction, staged))
                asking.check_ids(transaction, staged)
                if end == "commit":
                    transaction.commit()
                elif end == "abort":
                    transaction.abort()
                elif end == "raise":
                    raise AbortError
        except AbortError:
            pass
        if end in ("commit", "leave"):
            self.model = staged
        return f"{told}, {end}"

    def act(self, transaction, staged):
        verbs = changing.WRITING if self.chance.random() < 0.6 else asking.READING
        if self.chance.random() < 0.1:
            verbs = misbehaving.MISCHIEF
        elif self.case.callbacks and self.chance.random() < 0.1:
            told = misbehaving.use_inside(self.database, transaction, staged, self.draw)
            asking.check_ids(transaction, staged)
            return told
        verb = self.chance.choice(verbs)
        return f"{verb.__name__} {verb(transaction, staged, self.draw)}"

    def misbehave(self):
        if self.chance.random() < 0.2:
            with self.database.write() as transaction:
                return misbehaving.read_inside(transaction, self.model, self.draw)
        return self.chance.choice(misbehaving.MISCHIEF)(self.database, self.model, self.draw)

    def hold(self):
        """Take a snapshot, or close one."""
        if len(self.snapshots) == self.draw.snapshots or self.chance.random() < 0.3:
            if self.snapshots:
                self.snapshots.pop(self.chance.randrange(len(self.snapshots)))[0].close()
            return "closes"
        self.snapshots.append((self.database.read(), self.model.copy()))
        return "takes"

    def compact(self):
        self.database.compact()
        stats = self.database.stats()
        assert (stats.deleted_count, stats.delta_count) == (0, 0)
        lengths = [run.document_count for run in stats.runs]
        assert all(
            sum(two) > compaction.compacted_most(memory_bytes()) for two in pairwise(lengths)
        )
        return self.look(self.database)

    def rebuild(self):
        has_weights = self.model.is_simhash and self.options.sketch.vector_bytes
        number = self.chance.choice([None, 0, 1, 3, 16]) if has_weights else None
        assert not self.database.rebuild(polytopes=number).dropped
        self.options = self.model.options = self.database.options
        assert number in (None, self.options.polytopes)
        return f"for {number} polytopes, {self.look(self.database)}"

    def rewrite(self):
        """Rebuild, insert and compact, each on the result of the step before."""
        self.database.rebuild()
        changing.insert_many(self.database, self.model, self.draw)
        self.database.compact()
        return self.look(self.database)

    def reopen(self):
        self.close()
        self.open(self.chance.choice(["w", "c"]))
        assert self.database.options == self.options
        return self.look(self.database)

    def copy(self):
        path = os.path.join(self.directory, "copy")
        self.database.copy(path)
        return self.compare_with(path)

    def follow(self):
        """Make a copy that lasts as long as the session, or bring it up to date."""
        path = os.path.join(self.directory, "followed")
        written = self.database.copy(path, incremental=True)
        with simdb.open(path, "r") as other:
            return f"{written} bytes, {self.look(other)}"

    def dump(self):
        path = os.path.join(self.directory, "copy")
        assert self.database.dump(path + ".dump") == len(self.model)
        simdb.load(path + ".dump", path)
        os.remove(path + ".dump")
        return self.compare_with(path)

    def compare_with(self, path):
        """Check that another database holds the same documents and gives the same answers."""
        with simdb.open(path, "r") as other:
            told = self.look(other)
        shutil.rmtree(path)
        return told

    def look(self, database):
        """Check everything that is stored, and the answers of some queries."""
        findings = list(database.check(deep=True))
        assert findings == [], findings[:5]
        verbs = [asking.read, asking.query, asking.cluster]
        for verb in verbs if self.draw.count else [*verbs, asking.find_clusters]:
            verb(database, self.model, self.draw)
        return f"{len(self.model)} documents"

    def statistics(self):
        stats = self.database.stats()
        assert stats.document_count == len(self.model)
        assert stats.empty_count == (self.model.kinds[self.model.is_live] == 0).sum()
        assert list(self.database.check(deep=self.chance.random() < 0.5)) == []
        list(self.database.advice())
        return "stats, check, advice"

    def calibrate(self):
        texts = self.draw.texts(self.chance.choice([1, 5, 20]))
        sample = self.chance.choice([None, 50 if self.draw.count else 3, texts])
        try:
            self.database.calibrate(sample, seed=self.chance.randrange(5))
        except simdb.OptionError:
            is_given = isinstance(sample, list)
            is_simhash = self.model.is_simhash
            assert not is_simhash or not (self.options.sketch.vector_bytes or is_given)
        return type(sample).__name__

    def look_again(self):
        """Read the same database by another handle, which must refuse to write."""
        with simdb.open(self.path, "r") as other:
            asking.check_ids(other, self.model)
            verb = self.chance.choice(asking.READING)
            told = verb(other, self.model, self.draw)
            asking.refused(lambda: other.insert("a", "b"), simdb.ReadOnlyError)
        return f"by another handle: {verb.__name__} {told}"


def open_files(folder):
    """Return the names of the files below `folder` that this process has open.

    An IDF table may stay open: it is mapped as long as the options exist.  So may a directory that
    is synced: no object can own its descriptor from the first moment.
    """
    names = []
    for descriptor in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        place = f"/proc/self/fd/{descriptor}"
        try:
            if not stat.S_ISDIR(os.stat(place).st_mode):
                names.append(os.readlink(place))
        except OSError:
            continue  # the listing itself
    inside = (name for name in names if name.startswith(f"{folder}{os.sep}"))
    return [name for name in inside if "idf.table" not in name]  # also a deleted one
