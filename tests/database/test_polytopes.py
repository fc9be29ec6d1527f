"""Databases of older versions get cross-polytope tables, and their number can be changed."""

import older
import polytope_tables
import pytest
from soundness import TINY, everything

import simdb
from simdb.storage import layout

TEXTS = [f"red green blue number {at} of {at * at % 7}" for at in range(30)]


@pytest.fixture
def path(tmp_path):
    """A database that an older version has made, with texts, ready and empty documents."""
    older.create(tmp_path / "old", TINY)
    with simdb.open(tmp_path / "old") as database:
        fill(database, "old")
    return tmp_path / "old"


def fill(database, prefix):
    database.insert_many([f"{prefix} text {at}" for at in range(30)], TEXTS)
    for at in range(10):
        database.insert(f"{prefix} bits {at}", 7919 * at)
        database.insert(f"{prefix} empty {at}", "")
    database.delete_many([f"{prefix} text 3", f"{prefix} bits 5", f"{prefix} empty 7"])


def answers(database):
    return {name: each for name, each in everything(database).items() if name != "options"}


def assert_tables(database, count):
    """Assert that every weighted document has its keys in `count` tables."""
    assert database.options.polytope_count == count
    assert len(polytope_tables.stored_values(database)) == count
    assert polytope_tables.stored(database) == polytope_tables.expected(database)


@pytest.mark.parametrize("verb", ["compact", "rebuild"])
def test_it_gets_the_tables(path, open_database, verb):
    database = open_database(path, "w")
    wanted = answers(database)
    getattr(database, verb)()

    assert_tables(database, 4)
    assert answers(database) == wanted
    database.close()
    with open_database(path) as again:
        assert_tables(again, 4)
        assert answers(again) == wanted


@pytest.mark.parametrize(
    "sketch",
    [simdb.Minhash(permutations=16), simdb.Simhash(store_volatility=False)],
    ids=["signatures", "no vectors"],
)
def test_a_database_without_vectors_of_weights_never_has_them(open_database, sketch):
    database = open_database(options=simdb.Options(sketch=sketch, delta_documents=4, growth=2))
    database.insert_many(range(20), TEXTS[:20])
    database.compact()
    database.rebuild()

    with pytest.raises(simdb.OptionError, match="polytopes=2 works only with fingerprints"):
        database.rebuild(polytopes=2)

    assert database.options.polytopes is None
    assert not older.has_number(database)
    database.rebuild(polytopes=0)
    assert not older.has_number(database)


def test_another_database_object_follows_the_change(path, open_database):
    database, other = open_database(path, "w"), open_database(path, "w")
    other.insert("before", "some text before")
    database.compact()
    fill(other, "new")

    assert_tables(other, 4)
    assert_tables(database, 4)


def test_a_manifest_older_than_its_options_is_refused(tmp_path):
    older.create(tmp_path / "db", TINY)
    with simdb.open(tmp_path / "db") as database:
        before = database._store.environment
        handle = before.subdatabase(layout.MANIFEST)
        with before.reading() as transaction:
            manifest = bytes(transaction.get(layout.MANIFEST_KEY, db=handle))
        database.compact()
        database.insert("a", "text")
        environment = database._store.environment
        handle = environment.subdatabase(layout.MANIFEST)
        environment.write(lambda writer: writer.put(layout.MANIFEST_KEY, manifest, db=handle))

        with pytest.raises(simdb.CorruptError, match="older than its options"):
            list(database)
