"""A copy that follows its database is the database, value by value, and nothing travels twice."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from following import values, values_of
from forked import Child
from merging import merging_slowly, unfinished
from soundness import TINY, assert_sound

import simdb
from simdb.database.maintenance import compaction
from simdb.database.write import commit
from simdb.plan import compaction as policy

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omikron",
]
SMALL = {"delta_documents": 4, "growth": 2}
KINDS = {
    "fingerprints": TINY,
    "clusters and times": simdb.Options(**SMALL, keep_clusters="distance", keep_times="seen"),
    "passages and features": simdb.Options(**SMALL, passages=True, features=True),
    "texts and fields": simdb.Options(**SMALL, texts=True, fields=["now"]),
    "signatures": simdb.Options(**SMALL, sketch=simdb.Minhash(permutations=32)),
    "hashes": simdb.Options(**SMALL, sketch=simdb.Bits(128)),
    "several tables": simdb.Options(**SMALL, blocks=4, leading=2, distance=2),
}
FEW = [f"{word} and some other words of one text" for word in WORDS]


def document(database, chance):
    if isinstance(database.options.sketch, simdb.Bits):
        return chance.randbytes(16)
    return " ".join(chance.choices(WORDS, k=chance.choice([0, 4, 20])))


def insert(database, chance):
    count = chance.choice([1, 1, 3, 9, 30])
    ids = [chance.randrange(1 << 30) for _ in range(count)]
    metadata = [chance.choice([None, {"from": number}]) for number in ids]
    documents = [document(database, chance) for _ in ids]
    database.insert_many(ids, documents, metadata, on_conflict="skip")


def delete(database, chance):
    known = list(database)
    if known:
        database.delete(chance.choice(known))


def update(database, chance):
    known = list(database)
    if known:
        database.update_metadata(chance.choice(known), {"now": chance.randrange(9)})


def note(database, chance):
    with database.write() as transaction:
        transaction.set_note(
            chance.choice("ab"), chance.choice([None, "x" * chance.randrange(9000)])
        )


def compact(database, chance):
    database.compact()


def rebuild(database, chance):
    database.rebuild()


def calibrate(database, chance):
    if len(database) > 3 and not isinstance(database.options.sketch, simdb.Minhash | simdb.Bits):
        database.calibrate(3)


READER = """
import simdb, sys
with simdb.open(sys.argv[1], "r") as database, database.read() as snapshot:
    print(len(snapshot), flush=True)
    sys.stdin.read()
    print(len(snapshot), len(database))
"""
VERBS = [*[insert] * 6, delete, delete, update, note, compact, rebuild, calibrate]


@pytest.fixture
def path(tmp_path):
    """A database of some runs and a delta, and a copy of it."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(30), np.arange(30, dtype=np.uint64) << np.uint64(9))
        database.copy(tmp_path / "copy", incremental=True)
    return tmp_path / "db"


@pytest.mark.parametrize("is_whole", [False, True], ids=["values", "files"])
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_was_done_the_copy_has_the_same_values(kind, is_whole, tmp_path, monkeypatch):
    if is_whole:
        monkeypatch.setattr(compaction, "AT_ONCE_BYTES", 0)
        monkeypatch.setattr(compaction, "MEMORY_PERCENT", 0)
    monkeypatch.setattr(policy, "AHEAD_LEAST", 40)
    monkeypatch.setattr(commit, "WAITING_BYTES", 1)
    chance, seen = random.Random(f"{kind} {is_whole}"), set()
    path, copy = tmp_path / "db", tmp_path / "copy"
    with merging_slowly(), simdb.open(path, options=KINDS[kind], durability="none") as database:
        for _ in range(12):
            for verb in chance.choices(VERBS, k=chance.choice([1, 2, 6])):
                verb(database, chance)
            database.copy(copy, incremental=True)
            seen.add(unfinished(database) is None)

            assert values(copy) == values_of(database)
            assert_sound(copy)
            assert database.copy(copy, incremental=True) == 0
    assert True in seen


def test_what_the_copy_has_already_is_neither_read_nor_written(tmp_path):
    few, many = tmp_path / "few", tmp_path / "many"
    bits = np.random.default_rng(1).integers(0, 1 << 63, 60_000, np.uint64)
    written = []
    for path, count in ((few, 6_000), (many, 60_000)):
        with simdb.open(path, options=simdb.Options(delta_documents=100)) as database:
            database.insert_many(range(count), bits[:count])
            database.copy(f"{path}-copy", incremental=True)
            database.insert_many(range(count, count + 50), bits[:50])
            written.append(database.copy(f"{path}-copy", incremental=True))

    assert written[0] == pytest.approx(written[1], rel=0.05)
    assert written[1] < 50 * 100 + 4096


def assert_stays(copy, path, error, message):
    """Check that a copy cannot follow its database, and that nothing of it has changed."""
    before = values(copy)
    with simdb.open(path) as database, pytest.raises(error, match=message):
        database.copy(copy, incremental=True)
    assert values(copy) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda copy: copy.insert("new", 5), "was written to after it was copied"),
        (lambda copy: copy.delete(3), "was written to"),
        (lambda copy: copy.compact(), "was written to"),
        (lambda copy: copy.rebuild(), "was written to"),
        (lambda copy: note(copy, random.Random(1)), "was written to"),
    ],
)
def test_a_copy_that_was_written_to_is_refused_and_stays(path, change, message, tmp_path):
    copy = tmp_path / "copy"
    with simdb.open(copy, "w") as other:
        change(other)

    assert_stays(copy, path, simdb.ExistsError, f"{message}.*a new directory, or remove this one")


def test_a_copy_that_was_compacted_and_written_to_as_often_as_before_is_refused(path, tmp_path):
    copy = tmp_path / "copy"
    with simdb.open(path) as database:
        for number in range(3):
            database.insert(f"more {number}", number)
            database.copy(copy, incremental=True)
        with simdb.open(copy, "w") as other:
            last = other._store.environment.last_number
            other.delete("more 1")
            other.compact()
            while other._store.environment.last_number < last:
                note(other, random.Random(1))

        with pytest.raises(simdb.ExistsError, match="was written to"):
            database.copy(copy, incremental=True)


def test_something_else_than_a_copy_of_the_database_is_refused(path, tmp_path):
    other, empty = tmp_path / "other", tmp_path / "empty"
    simdb.open(other, options=TINY).close()
    empty.mkdir()
    with simdb.open(path) as database:
        database.dump(tmp_path / "dump")
        simdb.load(tmp_path / "dump", tmp_path / "loaded")
        for place in (other, tmp_path / "loaded"):
            with pytest.raises(simdb.ExistsError, match="but another database; give the path"):
                database.copy(place, incremental=True)
        (tmp_path / "link").symlink_to(path)
        for place in (path, tmp_path / "link", f"{path}/."):
            with pytest.raises(simdb.OptionError, match="is the database itself"):
                database.copy(place, incremental=True)
        with pytest.raises(simdb.ExistsError, match="exists already"):
            database.copy(empty, incremental=True)
        with pytest.raises(simdb.ExistsError, match="exists already"):
            database.copy(tmp_path / "copy")


@pytest.mark.parametrize("mode", ["r", "w"])
def test_the_database_itself_is_named_as_such_also_after_it_was_moved(path, mode, tmp_path):
    moved = tmp_path / "moved"
    with simdb.open(path, mode) as database:
        path.rename(moved)
        for has_another in (False, True):
            if has_another:
                simdb.open(path, options=TINY).close()
            with pytest.raises(simdb.OptionError, match=f"{moved} is the database itself; name"):
                database.copy(moved, incremental=True)


def test_a_copy_by_an_older_version_is_refused_and_so_is_a_database_without_a_mark(tmp_path):
    old = tmp_path / "old"
    shutil.copytree(Path(__file__).parents[1] / "format" / "v1", old)
    with simdb.open(old, "w") as database:
        database.copy(tmp_path / "copy")
        with pytest.raises(
            simdb.ExistsError, match="has no mark to know its copies by until it is rebuilt"
        ):
            database.copy(tmp_path / "copy", incremental=True)
        database.rebuild()
        shutil.copytree(old, tmp_path / "cp", ignore=shutil.ignore_patterns("*lock*"))
        with pytest.raises(simdb.ExistsError, match="an older simdb has copied it"):
            database.copy(tmp_path / "cp", incremental=True)


def test_a_copy_of_a_copy_follows_the_first_copy(path, tmp_path):
    first, second = tmp_path / "copy", tmp_path / "second"
    with simdb.open(path) as database, simdb.open(first, "r") as copied:
        copied.copy(second, incremental=True)
        for number in range(3):
            database.insert(f"more {number}", number)
            database.copy(first, incremental=True)
            copied.copy(second, incremental=True)

            assert len(copied) == len(database)
            assert values(second) == values_of(database)


def test_a_restored_database_goes_on_with_the_copy_that_it_was_restored_from(path, tmp_path):
    with simdb.open(path, "w") as database:
        database.insert("lost", 5)
    shutil.rmtree(path)
    with simdb.open(tmp_path / "copy", "r") as copied:
        copied.copy(path)
    with simdb.open(path, "w") as database:
        database.insert("new", 6)
        database.copy(tmp_path / "copy", incremental=True)

        assert values(tmp_path / "copy") == values_of(database)


def insert_new(database, name):
    database.insert(name, 5)


def insert_many_new(database, name):
    """So many that the delta is emptied and a run is written."""
    database.insert_many([f"{name} {number}" for number in range(9)], range(9))


def delete_one(database, name):
    database.delete({"y": 1, "z": 2}[name])


@pytest.mark.parametrize(
    ("change", "other"),
    [
        (insert_new, None),
        (insert_many_new, None),
        (delete_one, None),
        (lambda database, name: database.compact(), None),
        (insert_new, insert_new),
        (insert_many_new, insert_many_new),
        (delete_one, delete_one),
        (insert_new, delete_one),
        (insert_new, lambda database, name: [insert_new(database, f"{name}{n}") for n in "ab"]),
    ],
)
def test_a_sibling_that_went_on_from_an_earlier_state_is_refused(path, change, other, tmp_path):
    copy, sibling = tmp_path / "copy", tmp_path / "sibling"
    with simdb.open(path, "w") as database:
        database.insert("one for the delta", 7)
        database.copy(copy, incremental=True)
    path.rename(sibling)
    with simdb.open(copy, "r") as copied:
        copied.copy(path)
    with simdb.open(path, "w") as database:
        change(database, "y")
        database.copy(copy, incremental=True)
        wanted = values_of(database)
    with simdb.open(sibling, "w") as database:
        if other is not None:
            other(database, "z")
        with pytest.raises(simdb.ExistsError, match=r"never had.*; give the path of a new direct"):
            database.copy(copy, incremental=True)

    assert values(copy) == wanted
    with simdb.open(path, "w") as database:
        insert_new(database, "last")
        database.copy(copy, incremental=True)
        assert values(copy) == values_of(database)


def test_an_idf_table_that_was_set_later_comes_with_the_options(tmp_path):
    path, copy = tmp_path / "db", tmp_path / "copy"
    weighted = simdb.Options(sketch=simdb.Simhash(weighting="tf-idf"))
    with simdb.open(path, options=weighted) as database:
        database.copy(copy, incremental=True)
        shutil.copytree(path, tmp_path / "same", ignore=shutil.ignore_patterns("*lock*"))
        database.fit_idf(FEW)
        database.insert_many(range(len(FEW)), FEW)
        database.copy(copy, incremental=True)
        wanted = database.options
    with simdb.open(copy, "r") as copied:
        assert copied.options == wanted
        assert [each.id for each in copied.query(FEW[3])] == [3]
    assert_sound(copy)
    with simdb.open(tmp_path / "same") as same:
        same.fit_idf(FEW[:3])
        with pytest.raises(simdb.ExistsError, match="but another database"):
            same.copy(copy, incremental=True)


def test_a_damaged_value_is_not_copied_and_the_copy_stays(path, tmp_path):
    with simdb.open(path) as database:
        ids = [f"a name that is long {number}" for number in range(40)]
        database.insert_many(ids, np.arange(40, dtype=np.uint64))
    content = (path / "data.mdb").read_bytes()
    (path / "data.mdb").write_bytes(content.replace(b"is long 7", b"is wrong!"))

    message = f"{path} is damaged; copy unchanged: .*'iden'"
    assert_stays(tmp_path / "copy", path, simdb.CorruptError, message)


def test_a_snapshot_of_the_copy_in_the_same_process_must_end_first(path, tmp_path):
    copy = tmp_path / "copy"
    with simdb.open(path) as database, simdb.open(copy, "r") as copied:
        database.insert("new", 12345)
        with copied.read() as snapshot:
            with pytest.raises(
                simdb.BusyError, match=r"again to write to it, .*snapshots .*copy.*close them first"
            ):
                database.copy(copy, incremental=True)
            assert len(snapshot) == 30

        database.copy(copy, incremental=True)

        assert len(copied) == 31


def test_readers_of_the_copy_go_on_and_see_the_new_state_next(path, tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "AT_ONCE_BYTES", 0)
    copy = tmp_path / "copy"
    reader = Child(READER, copy)
    assert reader.stdout.readline() == "30\n"
    with simdb.open(path) as database:
        database.insert("new", 12345)
        database.compact()
        database.copy(copy, incremental=True)

    assert reader.rest() == ("30 31\n", "")
    assert_sound(copy)
