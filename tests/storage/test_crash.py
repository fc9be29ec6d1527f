"""A process killed at any point leaves a committed state and a sound database."""

import numpy as np
import pytest
from forked import run_until_killed
from merging import merging_slowly
from soundness import TINY, assert_sound

import simdb

BEFORE = list(range(20))
BITS = np.arange(20, dtype=np.uint64) << np.uint64(9)
KEPT = simdb.Options(delta_documents=4, growth=2, keep_clusters="distance", fields=("new",))
FAR = np.uint64(0x9E3779B97F4A7C15)  # its multiples are far from each other
AFTER = [id for id in range(40) if id not in (3, 5)]

CHILD = """
import os, signal, sys
import numpy as np
import simdb
from simdb.database.maintenance import compaction
from simdb.database.search import many
from simdb.database.write import commit
from simdb.plan import compaction as policy
from simdb.storage import environment
from simdb.storage import open_files

def die():
    os.kill(os.getpid(), signal.SIGKILL)

write = environment.Environment.write

def write_then_die(self, change, **settings):
    write(self, change, **settings)
    die()

def die_before_commit(self, change, **settings):
    def change_then_die(transaction):
        change(transaction)
        die()
    return write(self, change_then_die, **settings)

def die_at_put(number):
    put = commit.Writer.put
    count = [0]
    def put_or_die(self, name, key, value):
        count[0] += 1
        if count[0] == number:
            die()
        put(self, name, key, value)
    commit.Writer.put = put_or_die

def die_at_chunk(number):
    opened = many.opened
    count = [0]
    def opened_or_die(*arguments):
        count[0] += 1
        if count[0] == number:
            die()
        return opened(*arguments)
    many.opened = opened_or_die

path, point, verb = sys.argv[1:]
database = simdb.open(path, "w")
if point == "before commit":
    environment.Environment.write = die_before_commit
elif point == "after commit":
    environment.Environment.write = write_then_die
elif point == "before the copy takes its place":
    os.replace = lambda *names: die()
elif point == "after the copy took its place":
    open_files.files.sync_directory = lambda *names: die()
elif point == "while copying":
    environment.Environment.copy_to = lambda self, name: (open(name, "wb").write(b"half"), die())
elif point.startswith("chunk"):
    die_at_chunk(int(point.split()[1]))
else:
    die_at_put(int(point))
if verb == "compact":
    database.compact()
elif verb == "compact ahead":
    policy.AHEAD_LEAST, policy.COMPACTED_MOST, commit.WAITING_BYTES = 1, 8, 1
    database.compact()
elif verb == "rebuild":
    database.rebuild()
elif verb == "batch":
    bits = np.arange(20, dtype=np.uint64) << np.uint64(9)
    many.LEAST_QUERIES = many.LEAST_ENTRIES = 1
    slow = simdb.Search(memory_limit=800)
    database.insert_batch(range(20, 40), bits, [None, "m"] * 10, distance=1, search=slow)
elif verb == "grow":
    policy.AT_ONCE_DELTAS = policy.PACE = 1
    for first in range(100, 300, 5):
        bits = np.arange(first, first + 5, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        database.insert_many(range(first, first + 5), bits)
        database.delete(first)
elif verb == "update":
    with database.write() as transaction:
        for id in range(1, 20):
            transaction.update_metadata(id, {"new": "x" * 20000} if id % 3 else None)
else:
    with database.write() as transaction:
        transaction.insert_many(range(20, 40), np.arange(20, dtype=np.uint64), [None, "m"] * 10)
        transaction.delete_many([3, 5])
print("survived")
"""


@pytest.fixture(params=[TINY, KEPT], ids=["plain", "kept"])
def path(request, tmp_path):
    """A database of twenty documents in some runs and a delta, with clusters kept or not."""
    with simdb.open(tmp_path / "db", options=request.param) as database:
        database.insert_many(BEFORE, np.arange(20, dtype=np.uint64) << np.uint64(9))
        database.delete(19)
        database.insert(19, 19 << 9)
    return tmp_path / "db"


@pytest.mark.parametrize(
    ("verb", "point"),
    [("write", "7"), ("write", "before commit"), ("compact ahead", "17"), ("compact ahead", "45")],
)
def test_killed_before_the_commit_nothing_has_happened(path, verb, point):
    run_until_killed(CHILD, path, point, verb)

    with simdb.open(path, "w") as database:
        assert list(database) == BEFORE
        assert [match.id for match in database.query(7 << 9, distance=0)] == [7]
        database.insert("later", 1)
    assert_sound(path)


def test_killed_after_the_commit_everything_has_happened(path):
    run_until_killed(CHILD, path, "after commit", "write")

    with simdb.open(path, "w") as database:
        assert list(database) == AFTER
        assert [database.get(id).metadata for id in (20, 21)] == [None, "m"]
        assert {match.id for match in database.query(7, distance=0)} == {27}
    assert_sound(path)


@pytest.mark.parametrize("point", ["chunk 2", "chunk 30", "5"])
def test_killed_in_a_batch_nothing_of_it_has_happened(path, point):
    run_until_killed(CHILD, path, point, "batch")

    with simdb.open(path, "w") as database:
        assert list(database) == BEFORE
        found = database.insert_batch(range(20, 40), BITS, distance=1)
        assert [row[0].id for row in found] == BEFORE
    assert_sound(path)


@pytest.mark.parametrize("point", ["2", "after commit"])
def test_killed_while_metadata_change_all_of_them_have_changed_or_none(path, point):
    with simdb.open(path, "w") as database:
        for id in range(0, 20, 2):
            database.update_metadata(id, "old")

    run_until_killed(CHILD, path, point, "update")

    old = ["old" if id % 2 == 0 else None for id in range(20)]
    new = ["old", *[{"new": "x" * 20000} if id % 3 else None for id in range(1, 20)]]
    with simdb.open(path, "w") as database:
        found = [database[id].metadata for id in range(20)]
        assert found == (new if point == "after commit" else old)
        assert list(database.check(deep=True)) == []
    assert_sound(path)


@pytest.mark.parametrize(
    "point", ["5", "after commit", "while copying", "before the copy takes its place"]
)
def test_killed_while_compacting_no_document_is_lost(path, point):
    run_until_killed(CHILD, path, point, "compact")

    with simdb.open(path, "w") as database:
        assert list(database) == BEFORE
        assert database.compact().note == ""
        assert list(database) == BEFORE
    assert_sound(path)


@pytest.mark.parametrize("point", ["20", "before commit", "after the copy took its place"])
def test_killed_while_rebuilding_no_kept_cluster_is_lost(tmp_path, point):
    # Between two commits there were documents without clusters: each was said to be alone.
    path = tmp_path / "db"
    with simdb.open(path, options=KEPT) as database:
        database.insert_many(range(60), np.arange(60, dtype=np.uint64) // 3 * FAR)
        database.delete_many([1, 30])
        expected = [database.cluster(id) for id in database]

    run_until_killed(CHILD, path, point, "rebuild")

    with simdb.open(path, "r") as database:
        assert [database.cluster(id) for id in database] == expected
        assert database.stats().cluster_count == len(database.find_clusters())
    assert_sound(path)


@pytest.mark.parametrize("point", ["70", "150"])
def test_killed_during_a_merge_of_many_commits_every_commit_stays(path, point):
    run_until_killed(CHILD, path, point, "grow")

    with simdb.open(path, "w") as database:
        grown = [id for id in database if id not in BEFORE]
        last = max(grown)
        assert list(database)[: len(BEFORE)] == BEFORE
        assert {*range(100, last), last} - set(grown) <= set(range(100, 300, 5))
        with merging_slowly():
            for first in range(300, 400, 5):
                bits = np.arange(first, first + 5, dtype=np.uint64) * FAR
                database.insert_many(range(first, first + 5), bits)
        assert list(database) == [*BEFORE, *grown, *range(300, 400)]
        found = [database.query(int(FAR) * id % 2**64, distance=0)[0].id for id in grown]
        assert found == grown
    assert_sound(path)


def test_killed_while_creating_the_database_can_be_created(tmp_path):
    script = CHILD.replace(
        'database = simdb.open(path, "w")',
        "environment.Environment.write = die_before_commit\nsimdb.open(path)",
    )
    run_until_killed(script, tmp_path / "db", "1", "write")

    with simdb.open(tmp_path / "db") as database:
        database.insert(1, 1)
    assert_sound(tmp_path / "db")


def test_the_slots_of_killed_readers_are_freed(path):
    script = (
        "import simdb, os, signal, sys\n"
        "snapshot = simdb.open(sys.argv[1], 'r').read()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run_until_killed(script, path)

    with simdb.open(path) as database:
        assert len(database.stats().readers) == 1
