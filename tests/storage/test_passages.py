"""Stored passages: all verbs keep them right, features too, and damage to them is noticed."""

import random
from datetime import datetime, timezone

import numpy as np
import pytest
from forked import run_until_killed
from soundness import assert_sound
from stored_values import change_array, change_value, put_value, remove_value

import simdb
from simdb.database.write import commit as writing
from simdb.storage import by_ordinal, codec, layout, passages as stored

OPTIONS = simdb.Options(
    passages=True, features=True, texts=True, delta_documents=4, growth=2, keep_times="inserted"
)
WORDS = [f"w{number}" for number in range(500)]
FAR = datetime(2100, 1, 1, tzinfo=timezone.utc)


@pytest.fixture(params=["usual", "tiny"])
def sizes(request, monkeypatch):
    """The constants as they are, and so small that every merge, part and commit ahead happens."""
    if request.param == "tiny":
        monkeypatch.setattr(writing, "MERGED_MOST", 60)
        monkeypatch.setattr(writing, "AHEAD_ENTRIES", 90)
        monkeypatch.setattr(stored, "WINDOW_ENTRIES", 16)
        monkeypatch.setattr(stored, "BLOCK_ENTRIES", 30)
        monkeypatch.setattr(by_ordinal, "FEATURE_DOCUMENTS", 3)
        monkeypatch.setattr(by_ordinal, "FEATURE_BYTES", 90)
        monkeypatch.setattr(by_ordinal, "TEXT_BYTES", 90)
        monkeypatch.setattr(by_ordinal, "RENUMBERED_DOCUMENTS", 4)


def text_of(chance):
    return " ".join(chance.choices(WORDS, k=chance.choice([0, 3, 7, 8, 20, 100])))


def rows_of(database):
    with database._store.state() as state:
        return state.counts.passages


def assert_passages(database, texts):
    """Assert that each document has just the grains and features of its text, and nothing else."""
    with database._state() as state:
        ids, live = list(database), state.live()
        wanted = database._store.winnower.grains([texts[id] for id in ids], errors="strict")
        found = state.passages().grains(0, state.next_ordinal, state.source).taken(live)
        assert sorted(ids) == sorted(texts)
        assert np.array_equal(found.offsets, wanted.offsets)
        assert np.array_equal(found.values, wanted.values)
        packed = database._store.exact_similarity().packed(
            [texts[id] for id in ids], errors="strict"
        )
        assert list(state.texts(live)) == [texts[id] for id in ids]
        assert np.array_equal(state.beside(by_ordinal.FEATURES, live).offsets, packed.offsets)
        assert np.array_equal(state.beside(by_ordinal.FEATURES, live).values, packed.values)
        keys = {bytes(key) for key, _ in state.source.every(layout.PASSAGES)}
        assert keys == {key for row in state.counts.passages for key in row.value_keys()}


class World:
    """A database and a dict of the texts that it must have the passages of."""

    def __init__(self, folder, seed):
        self.folder, self.chance = folder, random.Random(seed)
        self.database = simdb.open(folder / "db", options=OPTIONS, durability="none")
        self.texts, self.number, self.copies = {}, 0, 0

    def insert(self):
        new = {}
        for _ in range(self.chance.randrange(1, 9)):
            self.number += 1
            new[self.number] = text_of(self.chance)
        self.database.insert_many(new)
        self.texts |= new

    def insert_one(self):
        self.number += 1
        self.texts[self.number] = text_of(self.chance)
        self.database.insert(self.number, self.texts[self.number])

    def replace(self):
        some = self.chance.sample(sorted(self.texts), min(len(self.texts), 5))
        new = {id: text_of(self.chance) for id in some}
        self.database.insert_many(new, on_conflict="replace")
        self.texts |= new

    def claim(self):
        self.number += 1
        text = text_of(self.chance)
        if self.database.add_if_new(self.number, text) is None:
            self.texts[self.number] = text
        self.number += 1
        both = [self.number, -self.number]
        matches = self.database.add_many_if_new(both, [text, text])
        self.texts |= {id: text for id, found in zip(both, matches, strict=True) if not found}

    def batch(self):
        self.number += 1
        text = text_of(self.chance)
        self.database.insert_batch([self.number], [text])
        self.texts[self.number] = text

    def delete(self):
        for id in self.chance.sample(sorted(self.texts), len(self.texts) // 3):
            self.database.delete(id)
            del self.texts[id]

    def abort(self):
        with self.database.write() as transaction:
            transaction.insert_many([f"x{at}" for at in range(9)], [text_of(self.chance)] * 9)
            transaction.delete_many(self.texts)
            transaction.abort()

    def mix(self):
        with self.database.write() as transaction:
            for _ in range(12):
                self.number += 1
                transaction.insert(self.number, text_of(self.chance))
                transaction.delete(self.number)
            self.number += 1
            self.texts[self.number] = text_of(self.chance)
            transaction.insert(self.number, self.texts[self.number])

    def expire(self):
        if self.chance.random() < 0.2:
            self.database.expire(FAR)
            self.texts.clear()

    def compact(self):
        self.database.compact()
        assert len(rows_of(self.database)) <= 1

    def rebuild(self):
        self.database.rebuild()

    def reopen(self):
        self.database.close()
        self.database = simdb.open(self.database.path, durability="none")

    def copy(self):
        self.copies += 1
        target = self.folder / f"copy{self.copies}"
        self.database.copy(target)
        self.database.close()
        self.database = simdb.open(target, durability="none")

    def dump(self):
        self.copies += 1
        path = self.folder / f"dump{self.copies}"
        self.database.dump(path)
        self.database.close()
        simdb.load(path, self.folder / f"loaded{self.copies}")
        self.database = simdb.open(self.folder / f"loaded{self.copies}", durability="none")


VERBS = [
    "insert", "insert_one", "replace", "claim", "batch", "delete", "abort", "mix", "expire",
    "compact", "rebuild", "reopen", "copy", "dump",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_passages_are_those_of_the_texts_whatever_was_done(tmp_path, sizes, seed):
    world = World(tmp_path, seed)
    plain = ["insert", "insert_one", "replace", "delete", "mix", "claim"]
    for _ in range(4):
        for verb in [*world.chance.sample(plain, 4), *world.chance.sample(VERBS, 3)]:
            getattr(world, verb)()

            assert_passages(world.database, world.texts)
    path = world.database.path
    world.database.close()
    assert_sound(path)


@pytest.fixture
def database(tmp_path):
    """A database with two passage runs, the first of them longer."""
    chance = random.Random(1)
    with simdb.open(tmp_path / "db", options=OPTIONS, durability="none") as database:
        database.insert_many({number: " ".join(chance.choices(WORDS, k=99)) for number in range(9)})
        database.insert(9, " ".join(chance.choices(WORDS, k=40)))
        assert len(rows_of(database)) == 2
        yield database


def put_ordinals(database, row):
    """Store other ordinals of a passage run, with a right checksum."""
    key = layout.segment_key(row.number, layout.ORDINALS, 0)
    kind = layout.TABLE_KINDS[layout.ORDINALS]

    def changed(ordinals):
        ordinals[0] = row.start if ordinals[0] != row.start else row.start + 1
        return ordinals

    change_array(database, layout.PASSAGES, kind, key, changed, "<u4")


@pytest.mark.parametrize("column", [layout.KEYS, layout.ORDINALS])
@pytest.mark.parametrize(
    "change",
    [lambda _: None, lambda value: value[:-4], lambda value: value[:-1] + bytes([value[-1] ^ 1])],
    ids=["lost", "short", "flipped"],
)
def test_check_finds_lost_and_damaged_passages_and_rebuild_can_drop_them(database, column, change):
    first, second = rows_of(database)
    change_value(database, layout.PASSAGES, layout.segment_key(first.number, column, 0), change)

    findings = list(database.check())

    assert [finding.place for finding in findings] == ["passages"]
    with pytest.raises(simdb.CorruptError, match=r"documents of 0 \.\. 9 lose their passages"):
        database.rebuild()
    done = database.rebuild(drop_damaged=True)
    assert (done.document_count, done.dropped) == (10, ())
    assert list(database.check(deep=True)) == []
    (row,) = rows_of(database)
    assert (row.start, row.stop, row.entry_count) == (0, 10, second.entry_count)


def test_check_compares_entries_with_the_sum_in_the_manifest(database):
    """Two values of another run, whose own checksums are right, are not those that were written."""
    put_ordinals(database, rows_of(database)[0])

    (finding,) = database.check()

    assert "not what was written" in finding.message
    database.rebuild(drop_damaged=True)


@pytest.mark.parametrize("verb", ["compact", "insert"])
def test_a_merge_does_not_pass_damage_on(database, verb):
    for row in rows_of(database):
        put_ordinals(database, row)
    ids = list(database)

    with pytest.raises(simdb.CorruptError, match="passages are not what was written"):
        database.compact() if verb == "compact" else database.insert("x", " ".join(WORDS * 2))

    assert list(database) == ids
    database.rebuild(drop_damaged=True)


def test_the_deep_check_finds_values_of_no_run_and_rebuild_removes_them(database):
    stray, kind = layout.segment_key(77, layout.KEYS, 0), layout.TABLE_KINDS[layout.KEYS]
    value = codec.encode_array(kind, stray, np.zeros(3, np.uint64))
    put_value(database, layout.PASSAGES, stray, value)

    (finding,) = database.check(deep=True)

    assert finding.place == "passages"
    database.rebuild()
    assert list(database.check(deep=True)) == []


def test_without_its_manifest_a_database_loses_its_passages_only_if_it_may(database):
    remove_value(database, layout.MANIFEST, layout.MANIFEST_KEY)

    with pytest.raises(simdb.CorruptError, match="passages"):
        database.rebuild()
    done = database.rebuild(drop_damaged=True)

    assert done.document_count >= 9
    assert list(database.check(deep=True)) == []
    assert database.query("some words", contained=0.5) == []


CHILD = """
import os, signal, sys
import simdb
from simdb.database.write import commit as writing
from simdb.storage import passages as stored

path, verb, point = sys.argv[1], sys.argv[2], int(sys.argv[3])
writing.AHEAD_ENTRIES, stored.WINDOW_ENTRIES = 90, 16
database = simdb.open(path, "w")
count = [0]
put = writing.Writer.put

def put_or_die(self, name, key, value):
    count[0] += name == b"passages"
    if count[0] == point:
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, name, key, value)

writing.Writer.put = put_or_die
if verb == "insert_many":
    texts = [" ".join(f"v{word}" for word in range(at, at + 60)) for at in range(30)]
    database.insert_many([f"n{at}" for at in range(30)], texts)
else:
    getattr(database, verb)()
print("survived")
"""


@pytest.mark.parametrize(("verb", "point"), [("insert_many", 4), ("compact", 9), ("rebuild", 1)])
def test_killed_while_passages_are_written_a_database_is_as_before(database, verb, point):
    path = database.path
    wanted = {id: [m.id for m in database.query(id=id, contained=0.01)] for id in database}
    entries = sum(row.entry_count for row in rows_of(database))
    database.close()

    run_until_killed(CHILD, path, verb, str(point))

    with simdb.open(path) as again:
        assert {id: [m.id for m in again.query(id=id, contained=0.01)] for id in again} == wanted
        assert list(again.check(deep=True)) == []
        again.insert("more", " ".join(WORDS[:50]))
        assert rows_of(again)[-1].stop == 11
        assert sum(row.entry_count for row in rows_of(again)) > entries
    assert_sound(path)
