"""If there is no room, FullError says so, and everything stored stays as it was."""

import errno
import os
import textwrap

import lmdb
import pytest
from forked import run
from soundness import TINY, assert_sound

import simdb

LIMITED = """
import os, resource, sys
import numpy as np
import simdb

def limit(more):
    size = os.stat(os.path.join(sys.argv[1], "data.mdb")).st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + more, resource.RLIM_INFINITY))

def unlimit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

def expect_full(verb, said="nothing was changed"):
    try:
        verb()
    except simdb.FullError as error:
        assert said in str(error), error
    else:
        raise AssertionError("no FullError")

many = np.arange(200_000, dtype=np.uint64) << np.uint64(8)
database = simdb.open(sys.argv[1], "w", durability=sys.argv[2])
"""


def run_limited(path, script, durability="full"):
    status, _, complained = run(LIMITED + textwrap.dedent(script), path, durability)

    assert status == 0, complained


@pytest.fixture
def path(tmp_path):
    """A database of a hundred documents."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(100), range(100))
    return tmp_path / "db"


@pytest.mark.parametrize("durability", ["full", "process"])
def test_a_commit_that_does_not_fit_changes_nothing(path, durability):
    script = """
        limit(65536)
        for attempt in range(3):
            expect_full(lambda: database.insert_many(range(1000, 201000), many))
        assert list(database) == list(range(100))
        assert [match.id for match in database.query(7, distance=0)] == [7]
        unlimit()
        database.insert("later", 7)
        assert [match.id for match in database.query(7, distance=0)] == [7, "later"]
        database.close()
    """
    run_limited(path, script, durability)

    with simdb.open(path, "r") as database:
        assert list(database) == [*range(100), "later"]
    assert_sound(path)


def test_a_compaction_that_does_not_fit_loses_nothing(path):
    with simdb.open(path) as database:
        database.insert_many(range(1000, 60_000), range(59_000))
        database.delete_many(range(1000, 59_900, 2))
        count = len(database)
    script = """
        limit(-100_000)
        expect_full(database.compact, "")
        unlimit()
        assert database.compact().note == ""
        database.close()
    """
    run_limited(path, script)

    with simdb.open(path, "r") as database:
        assert len(database) == count
    assert_sound(path)


def test_a_copy_that_does_not_fit_leaves_no_half_of_it(path, tmp_path):
    script = f"""
        resource.setrlimit(resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))
        expect_full(lambda: database.copy({str(tmp_path / "copy")!r}), "")
        unlimit()
        assert not os.path.exists({str(tmp_path / "copy")!r})
        database.copy({str(tmp_path / "copy")!r})
    """
    run_limited(path, script)

    assert_sound(tmp_path / "copy")


@pytest.mark.parametrize("verb", ["compact", "copy"])
@pytest.mark.parametrize(
    "lack", [lmdb.MemoryError("mdb_env_copyfd2"), OSError(errno.ENOMEM, "Cannot allocate memory")]
)
def test_a_copy_without_memory_is_told_and_changes_nothing(path, monkeypatch, verb, lack):
    def fail(*_):
        raise lack

    with simdb.open(path, "w") as database:
        database.delete_many(range(50))
        with monkeypatch.context() as patched:
            patched.setattr("simdb.storage.environment._touch", fail)
            with pytest.raises(simdb.FullError, match=r"no memory left .* nothing was changed"):
                database.compact() if verb == "compact" else database.copy(path.parent / "copy")

        assert set(database) == set(range(50, 100))
        database.insert("more", 5)
        assert list(database.check(deep=True)) == []
    assert sorted(os.listdir(path.parent)) == ["db"]
