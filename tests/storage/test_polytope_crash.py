"""A process killed while it gives a database cross-polytope tables leaves all of them or none."""

import older
import polytope_tables
import pytest
from forked import run_until_killed
from soundness import TINY, assert_sound, everything

import simdb

TEXTS = [f"red green blue number {at} of {at * at % 7}" for at in range(30)]

CHILD = """
import os, signal, sys
import simdb
from simdb.database.write import commit
from simdb.storage import environment

def die(*arguments, **settings):
    os.kill(os.getpid(), signal.SIGKILL)

path, verb, point = sys.argv[1:]
database = simdb.open(path, "w")
write, put = environment.Environment.write, commit.Writer.put
count = [0]

def write_or_die(self, change, **settings):
    count[0] += 1
    result = write(self, change, **settings)
    if f"after commit {count[0]}" == point:
        die()
    return result

def put_or_die(self, name, key, value):
    count[0] += 1
    if f"before put {count[0]}" == point:
        die()
    put(self, name, key, value)

if point.startswith("after commit"):
    environment.Environment.write = write_or_die
else:
    commit.Writer.put = put_or_die
getattr(database, verb)()
print("survived")
"""


@pytest.fixture
def path(tmp_path):
    """A database that an older version has made."""
    older.create(tmp_path / "db", TINY)
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(30), TEXTS)
        database.insert_many(range(30, 40), range(10))
        database.delete_many([3, 33])
    return tmp_path / "db"


@pytest.mark.parametrize(
    ("verb", "point"), [("compact", "before put 11"), ("rebuild", "after commit 1")]
)
def test_killed_before_the_commit_the_database_is_as_before(path, verb, point):
    with simdb.open(path) as database:
        wanted = everything(database)

    run_until_killed(CHILD, path, verb, point)

    with simdb.open(path) as database:
        assert everything(database) == wanted
        assert not older.has_number(database)
        database.compact()
        assert database.options.polytopes == 4
        assert polytope_tables.stored(database) == polytope_tables.expected(database)
    assert_sound(path)
