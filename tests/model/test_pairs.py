"""Whatever somebody has in hand shows what it must when something changes under it.

What is in hand, and what changes, are a table (docs/GUARANTEES.md); each cell is tried, beside a
dict and double loops.
"""

import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle, product

import pairs
import pytest
from merging import merging_slowly
from pairs import CHANGES, CHECKED, CLUSTERED, FILLED, SIGNED, STAGED, Hand, Other, World
from readings import check_reading
from soundness import assert_sound

import simdb
from simdb.database import reading
from simdb.database.state import staged

WORLDS = {"clusters": CLUSTERED, "shards": FILLED, "signatures": SIGNED}
# Changes that are tried while a transaction is open; one needs no write lock.
STAGED_UNDER = [each for each in CHANGES if each != "is_killed"]
READING = ("copies",)
# Who holds something: only handles, all in this process; also what was begun; other processes, too.
WHO = ("handles", "begun", "processes")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(reading, "ITERATED_IDS", 16)
    monkeypatch.setattr(reading, "ITERATED_DOCUMENTS", 16)
    monkeypatch.setattr(staged, "time", staged.time)


class Table:
    """A database in the hands of many, and the world beside it; one of two shards if `sharded`."""

    def __init__(self, path, world, who, end, *, sharded=False):
        self.world = world
        self.path = path / "shard-00001"
        if sharded:
            path.rmdir()
            simdb.write_sharded(path, [], 2, options=world.options)
        else:
            simdb.open(self.path, "x", options=world.options).close()
        # The process that makes changes, and one that only reads, are there before all the rest.
        self.actor = Other(end)
        readers = [Other(end) for _ in range(who == "processes")]
        self.database = end.enter_context(simdb.open(self.path, "w", durability="none"))
        second = end.enter_context(pickle.loads(pickle.dumps(self.database)))
        is_only = who == "handles"
        self.hands = [Hand(each, is_only=is_only) for each in (self.database, second)]
        if sharded:
            shards = end.enter_context(simdb.open_sharded(path))
            self.hands.append(Hand(shards, is_only=True, has_notes=False))
        pairs.change(self.database, "inserts_many", world)
        self.thread = end.enter_context(ThreadPoolExecutor(1))
        self.of_thread = Hand(self.database, is_only=is_only)
        for each in readers:
            each.do(pairs.hold, str(self.path))
        self.others = [*readers, *(Other(end, self.database) for _ in readers)]

    def cross(self, name, actor):
        """Begin to read everywhere, make a change, and check everywhere."""
        self.begin(self.world.held())
        self.world.now += 10
        if actor == "own":
            pairs.change(self.database, name, self.world)
        else:
            self.world = self.actor.do(pairs.change_in, str(self.path), name, self.world)
        with simdb.open(self.path, durability="none") as fresh:
            is_planned = name == "calibrates" and not self.world.options.is_minhash
            shown = pairs.shown_by(fresh, is_planned)
        self.check(self.world.held(), shown)

    def begin(self, held):
        for each in self.hands:
            each.begin(held)
        self.thread.submit(self.of_thread.begin, held).result()
        for each in self.others:
            each.do(pairs.begin_in, held)

    def check(self, held, shown=None):
        for each in self.hands:
            each.check(held, shown)
        self.thread.submit(self.of_thread.check, held, shown).result()
        for each in self.others:
            each.do(pairs.check_in, held, shown)


def cross_all(path, world, who, *, sharded=False):
    """Try all cells in an order of its own, and compact what nothing was deleted of."""
    cells = list(product(CHANGES, ("own", "other")))
    random.Random(who).shuffle(cells)
    names = ("compacts", "inserts", "rebuilds", "inserts", "compacts")
    with ExitStack() as end:
        end.enter_context(merging_slowly(world.size < 500))
        table = Table(path, world, who, end, sharded=sharded)
        world.size = min(world.size, 500)
        for name, actor in [*cells, *zip(names, cycle(("own", "other")), strict=False)]:
            table.cross(name, actor)
    assert_sound(table.path)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("options", WORLDS)
def test_whatever_is_held_shows_what_it_must_whatever_changes(tmp_path, options, who):
    cross_all(tmp_path, World(WORLDS[options]), who, sharded=options == "shards")


@pytest.mark.slow
@pytest.mark.parametrize("who", WHO)
def test_whatever_is_held_shows_what_it_must_of_20_000_documents(tmp_path, who):
    options = simdb.Options(recall=1.0, keep_times="inserted")
    cross_all(tmp_path, World(options, size=7000, families=9000), who)


def test_what_a_transaction_staged_is_its_own_until_it_commits(tmp_path):
    """Others read what it began from, and cannot change that; each verb of it sees all of it."""
    with ExitStack() as end:
        table = Table(tmp_path, World(CLUSTERED), "processes", end)
        for at, (name, *verbs) in enumerate(
            zip(STAGED_UNDER, STAGED * 3, STAGED[1:] * 3, strict=False)
        ):
            held, staged_world = table.world.held(), table.world.copy()
            pairs.tick(staged_world)
            with table.database.write() as transaction:
                for verb in verbs:
                    verb(transaction, staged_world)
                check_reading(transaction, staged_world.held(), CHECKED)
                table.begin(held)
                busy = table.actor.do(pairs.change_in, str(table.path), name, table.world)
                table.check(held)
                if at % 3 == 2:
                    transaction.abort()
            assert (busy is None) == (name not in READING)
            table.world = table.world if at % 3 == 2 else staged_world
            table.world = table.actor.do(pairs.change_in, str(table.path), name, table.world)
    assert_sound(table.path)


@pytest.mark.parametrize("name", ["deletes", "deletes_by_metadata", "expires", "replaces"])
@pytest.mark.parametrize("options", [CLUSTERED, SIGNED])
def test_a_reader_in_another_process_sees_a_deletion(tmp_path, options, name):
    """A handle that had answered before went on to answer with documents that were deleted."""
    with ExitStack() as end:
        reader = Other(end)
        with simdb.open(tmp_path / "db", options=options) as database:
            world = pairs.change(database, "inserts_many", World(options))
            reader.do(pairs.hold, database.path)
            for _ in range(3):
                reader.do(pairs.read_in, world.held())
                world.now += 10
                pairs.change(database, name, world)
                pairs.change(database, "inserts", world)
            reader.do(pairs.read_in, world.held())


QUESTIONS = [
    {"distance": 3}, {"distance": 12}, {"similarity": 0.5}, {"similarity": 0.9},
    *({"distance": 12, "search": method} for method in ("exhaustive", "psm")),
    {"distance": 4, "search": "bphs"},
    {"similarity": 0.5, "search": "exhaustive"}, {"similarity": 0.9, "limit": 1}, {},
]  # fmt: skip


def test_a_call_answers_for_its_own_arguments_whatever_was_asked_before(tmp_path):
    asked = [{"recall": recall, **each} for each in QUESTIONS for recall in (0.5, 1.0)]
    with simdb.open(tmp_path / "db", options=FILLED) as database:
        world = pairs.change(database, "inserts_many", World(FILLED, size=20))
    held, fresh = world.held(), []
    for given in asked:
        with simdb.open(tmp_path / "db", "r") as database:
            fresh.append(answers(database, held, given))

    with simdb.open(tmp_path / "db", "r") as database:
        for one in range(len(asked)):
            for other in range(one, len(asked)):  # so each comes right before and after each
                for at in (one, other):
                    assert answers(database, held, asked[at]) == fresh[at]


def answers(database, held, given):
    """Return what a few queries answer, and how; check them where all matches are asked for."""
    texts = held.asked[:3]
    found = database.query_many(texts, **given)
    found = [[(each.id, each.distance, each.similarity) for each in row] for row in found]
    one = database.query(texts[0], **given)
    bound = {name: given[name] for name in ("distance", "similarity") if name in given}
    if given["recall"] == 1.0 and bound and given.get("search") != "psm":
        rows = [held.matches(text, **bound)[: given.get("limit")] for text in texts]
        assert [[row[:2] for row in each] for each in found] == [
            [row[:2] for row in each] for each in rows
        ]
    plan = database.plan(**{name: given[name] for name in given if name != "limit"})
    return found, [each.id for each in one], plan.method, plan.recall
